#!/bin/sh
# resources.sh OBJECTS...: what ptxas reported when it compiled the kernels, and status 1 where one that is meant to be
# fast spills registers to memory. The naive rungs may. OBJECTS may also be one list with semicolons.
names=$(command -v c++filt || echo cat)
IFS=' ;
'
for object in $*; do
  [ -s "$object.resources" ] || { echo "there is no $object.resources: was it compiled by kernels/gpu/keep_report.sh?"; exit 1; }
  sed "s|^|$(basename "$(dirname "$object")")/$(basename "$object" .o) |" "$object.resources"
done | $names | awk '
  /Compiling entry function/ { kernel = $0; sub(/^[^\x27]*\x27/, "", kernel); target = kernel
    sub(/\x27 for \x27.*/, "", kernel); sub(/.*\x27 for \x27/, "", target); sub(/\x27.*/, "", target); sub(/\(.*/, "", kernel) }
  /bytes spill stores/ { match($0, /[0-9]+ bytes spill stores/); stores = substr($0, RSTART) + 0
    match($0, /[0-9]+ bytes spill loads/); loads = substr($0, RSTART) + 0 }
  /Used [0-9]+ registers/ { match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5) + 0; kernels++
    fault = stores + loads > 0 && $1 !~ /\/01_naive/
    printf "%-6s %3d registers %5d + %5d bytes spilled  %s %s%s\n", target, registers, stores, loads, $1, kernel, fault ? "  <-- spills" : ""
    faults += fault }
  END { printf "%d kernels, %d that spill\n", kernels, faults
    if (!kernels || faults) exit 1 }'
