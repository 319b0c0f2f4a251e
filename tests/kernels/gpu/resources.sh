#!/bin/sh
# resources.sh BLOCKS OBJECTS...: what ptxas reported when it compiled the kernels. Status 1 where one that is meant to be
# fast spills registers to memory (the naive rungs may), and where the largest block that a test launched wants more than
# the 65,536 registers of a multiprocessor, so that it would not start on a GPU. BLOCKS has those sizes, a line each, as
# kernel_tests wrote them; OBJECTS may also be one list with semicolons.
names=$(command -v c++filt || echo cat)
blocks=$1
shift
[ -s "$blocks" ] || { echo "there is no $blocks: kernel_tests writes it when RUNGS_EVERY_KERNEL names it"; exit 1; }
IFS=' ;
'
for object in $*; do
  [ -s "$object.resources" ] || { echo "there is no $object.resources: was it compiled by kernels/gpu/keep_report.sh?"; exit 1; }
  sed "s|^|$(basename "$(dirname "$object")")/$(basename "$object" .o) |" "$object.resources"
done | $names | awk -v blocks="$blocks" '
  function short(name) {  # without what is returned, namespaces and parameters
    gsub(/\(anonymous namespace\)::|rungs::/, "", name); sub(/^void /, "", name)
    if (name ~ /</) sub(/>\(.*/, ">", name); else sub(/\(.*/, "", name)
    return name
  }
  BEGIN { while ((getline line < blocks) > 0) { name = line; sub(/^[0-9]+ /, "", name); threads[short(name)] = line + 0 } }
  /Compiling entry function/ { kernel = $0; sub(/^[^\x27]*\x27/, "", kernel); target = kernel
    sub(/\x27 for \x27.*/, "", kernel); sub(/.*\x27 for \x27/, "", target); sub(/\x27.*/, "", target); kernel = short(kernel) }
  /bytes spill stores/ { match($0, /[0-9]+ bytes spill stores/); stores = substr($0, RSTART) + 0
    match($0, /[0-9]+ bytes spill loads/); loads = substr($0, RSTART) + 0 }
  /Used [0-9]+ registers/ { match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5) + 0; kernels++
    spills = stores + loads > 0 && $1 !~ /\/01_naive/
    known = kernel in threads || $1 ~ /_gpu_only/  # those run on no CPU
    many = int((registers + 7) / 8) * 8 * threads[kernel] > 65536  # a warp gets them in eights for each thread
    printf "%-6s %3d registers %4d threads %5d + %5d bytes spilled  %s %s%s%s%s\n", target, registers, threads[kernel], stores,
      loads, $1, kernel, spills ? "  <-- spills" : "", many ? "  <-- too many registers for its block" : "",
      known ? "" : "  <-- launched by no test"
    faults += spills || many || !known; spilling += spills; large += many; unknown += !known }
  END { printf "%d kernels, %d that spill, %d too large to start, %d launched by no test\n", kernels, spilling, large, unknown
    if (!kernels || faults) exit 1 }'
