#!/bin/sh
# resources.sh BLOCKS OBJECTS...: what ptxas reported when it compiled the kernels. Status 1 where one that is meant to be
# fast spills registers to memory (the naive rungs may), and where a multiprocessor holds fewer blocks, as large as tests
# launched them, than __launch_bounds__ asks for (else one): by its 65,536 registers, its 2,048 threads and its shared
# memory. With none, the kernel would not start on a GPU. BLOCKS has the sizes of blocks, a line each, as kernel_tests
# wrote them; OBJECTS may also be one list with semicolons.
names=$(command -v c++filt || echo cat)
blocks=$1
shift
[ -s "$blocks" ] || { echo "there is no $blocks: kernel_tests writes it when RUNGS_EVERY_KERNEL names it"; exit 1; }
IFS=' ;
'
for object in $*; do
  [ -s "$object.resources" ] || { echo "there is no $object.resources: was it compiled by kernels/gpu/keep_report.sh?"; exit 1; }
  tr '\0' '\n' <"$object" | LC_ALL=C grep -a -e '^\.visible \.entry' -e '^\.minnctapersm'
  sed "s|^|$(basename "$(dirname "$object")")/$(basename "$object" .o) |" "$object.resources"
done | $names | awk -v blocks="$blocks" '
  function short(name) {  # without what is returned, namespaces and parameters
    gsub(/\(anonymous namespace\)::|rungs::/, "", name); sub(/^void /, "", name)
    if (name ~ /</) sub(/>\(.*/, ">", name); else sub(/\(.*/, "", name)
    return name
  }
  BEGIN {
    while ((getline line < blocks) > 0) {
      split(line, size, " "); name = line; sub(/^[0-9]+ [0-9]+ /, "", name); name = short(name)
      threads[name] = size[1] + 0; dynamic[name] = size[2] + 0
    }
  }
  function least(a, b) { return a < b ? a : b }
  function blocks_at_once(kernel, target, registers, bytes,  all) {  # a warp gets its registers in eights for each thread
    all = target == "sm_80" ? 164 : target ~ /^sm_(90|100)/ ? 228 : 100  # KiB, of which a block takes one more
    registers = int((registers + 7) / 8) * 8 * threads[kernel]
    return least(least(int(65536 / registers), int(2048 / threads[kernel])), int(all * 1024 / (bytes + dynamic[kernel] + 1024)))
  }
  /^\.visible \.entry / { sub(/^\.visible \.entry /, ""); kernel = short($0); next }
  /^\.minnctapersm / { intended[kernel] = $2 + 0; next }
  /Compiling entry function/ { kernel = $0; sub(/^[^\x27]*\x27/, "", kernel); target = kernel
    sub(/\x27 for \x27.*/, "", kernel); sub(/.*\x27 for \x27/, "", target); sub(/\x27.*/, "", target); kernel = short(kernel) }
  /bytes spill stores/ { match($0, /[0-9]+ bytes spill stores/); stores = substr($0, RSTART) + 0
    match($0, /[0-9]+ bytes spill loads/); loads = substr($0, RSTART) + 0 }
  /Used [0-9]+ registers/ { match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5) + 0; kernels++
    spills = stores + loads > 0 && $1 !~ /\/01_naive/
    bytes = match($0, /[0-9]+ bytes smem/) ? substr($0, RSTART) + 0 : 0
    launched = kernel in threads
    fits = launched ? blocks_at_once(kernel, target, registers, bytes) : 0
    wanted = kernel in intended ? intended[kernel] : 1
    few = launched && fits < wanted
    known = launched || $1 ~ /_gpu_only/  # those run on no CPU
    printf "%-6s %3d registers %4d threads %2d blocks a multiprocessor %5d + %5d bytes spilled  %s %s%s%s%s\n", target, registers,
      threads[kernel], fits, stores, loads, $1, kernel, spills ? "  <-- spills" : "",
      few ? "  <-- " wanted " wanted" : "", known ? "" : "  <-- launched by no test"
    faults += spills || few || !known; spilling += spills; too_few += few; unknown += !known }
  END { printf "%d kernels, %d that spill, %d with too few blocks a multiprocessor, %d launched by no test\n", kernels, spilling, too_few, unknown
    if (!kernels || faults) exit 1 }'
