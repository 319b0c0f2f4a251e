#!/bin/sh
# early_loads.sh OBJECTS...: of each kernel compiled for compute capability 9.0 that waits for the kernels before it
# (griddepcontrol.wait, ACQBULK), what stands before that wait: how many loads of 16 bytes, and whether their registers
# are used there, which would wait for them first. Status 1 where gemv_rows has fewer than the 8 that are on their way
# with one row of x, or the 4 with more; where they go through the L1 (in the PTX); where one is used too early; and where
# a kernel stores to device memory before it waits. It reads the PTX in the objects, and with cuobjdump their machine code,
# in which ptxas may have put a load behind the wait. OBJECTS may also be one list with semicolons.
dump=$("$(dirname "$0")/../../../tools/cuobjdump.sh")
names=$(command -v c++filt || echo cat)
IFS=' ;
'
for object in $*; do
  echo "object $(basename "$(dirname "$object")")/$(basename "$object" .o)"
  tr '\0' '\n' <"$object" | LC_ALL=C grep -a '^[[:space:].@a-z]'  # the lines of its PTX
  [ -z "$dump" ] || "$dump" -sass "$object" 2>/dev/null
done | $names | awk '
  function registers_of(text, into,  name, n) {  # the names of registers in a text
    split("", into); n = 0
    while (match(text, /%[a-z]+[0-9]+|U?R[0-9]+/)) { into[++n] = substr(text, RSTART, RLENGTH); text = substr(text, RSTART + RLENGTH) }
    return n
  }
  function report(  wanted, fault) {
    if (kernel != "" && waits) {
      wanted = kernel !~ /gemv_rows<.*, true>$/ ? 0 : kernel ~ /, 1, true>$/ ? 8 : 4
      fault = (loads < wanted ? "  <-- too few" : "") (form == "PTX" && past < wanted ? "  <-- through the L1" : "") (used ? "  <-- used before the wait" : "") (stores ? "  <-- stores before the wait" : "")
      printf "%-4s %d loads of 16 bytes before the wait  %s %s%s\n", form, loads, object, kernel, fault
      kernels++; products += wanted > 0; faults += fault != ""
    }
    kernel = ""; waits = loads = past = used = stores = 0; split("", loaded)
  }
  /^object / { report(); object = $2 }
  /^\.target / { report(); hopper = /sm_90/; form = "PTX" }
  /arch = / { report(); hopper = /sm_90/; form = "SASS" }
  /\.entry |Function : / { report(); kernel = $0; sub(/.*(\.entry|Function :) /, "", kernel); sub(/^void /, "", kernel)
    gsub(/\(anonymous namespace\)::|rungs::/, "", kernel); sub(/\(.*/, "", kernel); next }
  !hopper || kernel == "" || waits { next }
  /griddepcontrol\.wait|ACQBULK/ { waits = 1; next }
  /[^a-z](st|atom|red)\.global|^(st|atom|red)\.global|STG|ATOMG|RED\.E/ { stores++ }
  /ld\.global\.(nc\.)?(L1::no_allocate\.)?v4|LDG\.E\.(NA\.)?128/ {
    loads++; past += /no_allocate/; text = $0
    if (form == "PTX") { sub(/.*\{/, "", text); sub(/\}.*/, "", text); n = registers_of(text, found) }
    else { sub(/.*LDG\.E\.(NA\.)?128[A-Z.]* /, "", text); match(text, /R[0-9]+/); first = substr(text, RSTART + 1, RLENGTH - 1) + 0
      for (n = 0; n < 4; n++) found[n + 1] = "R" (first + n) }
    for (i = 1; i <= n; i++) loaded[found[i]] = 1
    next
  }
  {
    text = $0; sub(/^[^,]*,/, "", text)  # behind what it writes
    n = registers_of(text, found)
    for (i = 1; i <= n; i++) used += found[i] in loaded
  }
  END { report(); printf "%d kernels, %d of them products, %d outside the limits\n", kernels, products, faults; if (!products || faults) exit 1 }'
