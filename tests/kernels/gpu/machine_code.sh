#!/bin/sh
# machine_code.sh OBJECTS...: of each kernel that multiplies on tensor cores (HMMA, HGMMA), what stands in the loop that
# does: its instructions, the share of those that multiply, and how many instructions stand between the barrier and the
# first ldmatrix (LDSM), while the tensor cores wait. Status 1 where matmul_07 has less than 0.3 of the one or more than
# 32 of the other, and where attention_05 has less than 0.5 for the head widths of large models. A wgmma (HGMMA) is as much
# work as 64 to 128 mma, so few of them stand in its loop. OBJECTS may also be one list with semicolons.
dump=$("$(dirname "$0")/../../../tools/cuobjdump.sh") ||
  { echo "SKIPPED: there is no cuobjdump; tools/cuobjdump.sh --install gets it"; exit 77; }
names=$(command -v c++filt || echo cat)
IFS=' ;
'
for object in $*; do
  echo "object $(basename "$(dirname "$object")")/$(basename "$object" .o)"
  "$dump" -sass "$object"
done | $names | awk '
  function hex(digits,  i, n) { for (i = 1; i <= length(digits); i++) n = n * 16 + index("123456789abcdef", substr(digits, i, 1)); return n }
  function comes_to(first, last,  k, furthest) {  # or does a jump between leave for good, as out of a part that stands apart?
    for (k = first; k < last; k++) {
      if (!(k in target)) continue
      if (target[k] <= at[last] && target[k] > furthest) furthest = target[k]
      if (always[k] && target[k] > at[last] && furthest <= at[k]) return 0
    }
    return 1
  }
  function report(  i, j, k, first, last, multiplies, barrier, wait, fault) {
    for (i = 1; i <= count; i++) {  # a branch back closes a loop, where its beginning comes to it
      if (!(i in target) || target[i] > at[i]) continue
      for (j = i; j > 1 && at[j] > target[i]; ) j--
      if (!comes_to(j, i)) continue
      multiplies = 0
      for (k = j; k <= i; k++) multiplies += code[k] ~ /^HG?MMA/
      if (multiplies && (!last || i - j < last - first)) { first = j; last = i; best = multiplies }  # the innermost
    }
    if (!last) return
    wait = -1
    for (k = first; k <= last; k++) {
      if (code[k] ~ /^BAR/) barrier = k
      if (barrier && wait < 0 && code[k] ~ /^LDSM/) wait = k - barrier - 1
    }
    fault = kernel ~ /matmul_mma_sync</ && (best < 0.3 * (last - first + 1) || wait < 0 || wait > 32) ||
      kernel ~ /attention_mma_sync<3, (64|128)/ && best < 0.5 * (last - first + 1)
    printf "%-8s %5d instructions in the loop, %4d multiply (%.2f), %s to the first ldmatrix  %s %s%s\n", target_name, last - first + 1, best,
      best / (last - first + 1), wait < 0 ? "none" : wait " after the barrier", object, kernel, fault ? "  <--" : ""
    kernels++; faults += fault
  }
  function clear() { split("", at); split("", code); split("", target); split("", always); count = 0 }
  /^object / { report(); clear(); object = $2 }
  /arch = / { report(); clear(); target_name = $3 }
  /Function : / { report(); clear(); kernel = $0; sub(/.*Function : /, "", kernel); sub(/\(.*/, "", kernel) }
  /^ +\/\*[0-9a-f]+\*\/ / {
    address = $1; gsub(/[\/*]/, "", address); at[++count] = hex(address)
    i = $2 ~ /^@/ ? 3 : 2; code[count] = $i
    if ($i ~ /^BRA/ && match($0, /0x[0-9a-f]+ ;/)) target[count] = hex(substr($0, RSTART + 2, RLENGTH - 4))
    always[count] = i == 2
  }
  END { report(); printf "%d kernels on tensor cores, %d outside the limits\n", kernels, faults; if (!kernels || faults) exit 1 }'
