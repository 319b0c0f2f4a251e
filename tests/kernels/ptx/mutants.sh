#!/usr/bin/env bash
# Are faults seen? Each mutant changes the PTX of a kernel (mutant.hpp), and a test case that calls the kernel must fail; where a
# message is given, with this one. Without the change the same cases must pass.
# Usage: mutants.sh PROGRAM [PART-OF-A-NAME]
set -uo pipefail
program=$1
only=${2:-}
cases=()
mutants=0
missed=0
device=a100

# mutant NAME CASE KERNEL WHICH FIND REPLACEMENT [MESSAGE]
mutant() {
  [[ $1 == *"$only"* ]] || return 0
  cases+=("$2")
  mutants=$((mutants + 1))
  local said status=0 why=
  said=$(RUNGS_DEVICE=$device RUNGS_PTX_MUTANT="$3|$4|$5|$6" timeout 120 "$program" -aa=1 -tc="$2" 2>&1) || status=$?
  [[ $said == *"PTX mutant: "* ]] || why="no line of the PTX matches: $5"
  [ $status = 0 ] && why=${why:-"every test passed"}
  [ $status -lt 124 ] || why=${why:-"the program ended with status $status"}
  [[ $said == *"${7:-}"* ]] || why=${why:-"wanted \"$7\", found: $(grep -m3 -E 'ERROR|exception' -A2 <<<"$said")"}
  [ -z "$why" ] || missed=$((missed + 1))
  printf '%-8s %s%s\n' "$([ -z "$why" ] && echo caught || echo MISSED)" "$1" "${why:+: $why}"
}

matmul="matmul: every rung in f32*" mma="matmul_06 and matmul_07*" attention="attention: widths of real models*"
add="add adds*" softmax="softmax equals its formula*"

# Barriers.
mutant "no barrier after a tile is filled" "$matmul" matmul_shared_tile 1 'bar\.sync\s+0;' ''
mutant "no barrier before a tile is filled anew" "$matmul" matmul_shared_tile 2 'bar\.sync\s+0;' ''
mutant "a barrier for some lanes" "$matmul" matmul_shared_tile 1 'bar\.sync\s+0;' '@%tid.x bar.sync 0;' "different barriers"
mutant "threads exit and others wait" "$matmul" matmul_shared_tile 1 'bar\.sync\s+0;' '@%tid.x exit; bar.sync 0;' \
  "have exited without the barrier"
mutant "warps at barriers of two numbers" "$matmul" matmul_shared_tile 1 'bar\.sync\s+0;' 'bar.sync %tid.y;' "deadlock"
mutant "no barrier between the warps' sums and their sum" "rms_norm equals*" rms_norm_block_per_row 1 'bar\.sync\s+0;' ''

# Copies that end later.
mutant "one group of copies may stay too many" "$mma" matmul_mma_sync 0 'cp\.async\.wait_group\s+1;' 'cp.async.wait_group 2;'
mutant "no wait for copies" "$mma" matmul_mma_sync 0 'cp\.async\.wait_group\s+1;' ''
mutant "copies join the next group" "$mma" matmul_mma_sync 1 'cp\.async\.commit_group;' ''
mutant "a copy reads beyond the last row" "$mma" matmul_mma_sync 0 '(cp\.async\.cg.*16,) *%r\d+' '$1 16'

# Tensor cores.
mutant "values are not transposed" "$attention" attention_mma_sync 0 'x4\.trans\.shared' 'x4.shared'
mutant "a tile is transposed" "$mma" matmul_mma_sync 1 'x4\.shared' 'x4.trans.shared'
mutant "the order of a's fragment" "$mma" matmul_mma_sync 1 '(mma.*\}, \{%r\d+), (%r\d+), (%r\d+)' '$1, $3, $2'
mutant "the order of b's fragment" "$mma" matmul_mma_sync 1 '(mma.*\}, )\{(%r\d+), (%r\d+)\}' '$1{$3, $2}'
mutant "upper and lower half of a pair" "$attention" attention_mma_sync 1 '(mov\.b32\s+%r\d+, \{)(%rs\d+), *(%rs\d+)\}' '$1$3, $2}'
mutant "the distance of wmma's lines" "$mma" matmul_wmma 0 '(wmma\.load\.a.*)%r\d+;' '$1 8;'

# Addresses and guards.
mutant "a byte offset" "$matmul" matmul_shared_tile 1 '\+128\]' '+132]'
mutant "a guard that is off by one" "$add" add_thread_per_element 1 'setp\.ge\.s64' 'setp.gt.s64'
mutant "no guard" "relu puts*" relu_thread_per_element 1 '@%p\d+ bra' '@!%tid.x bra' "outside of every allocation"
mutant "a load at no multiple of its size" "$add" add_vector 1 '(ld\.global\.v4\.f32.*)\]' '$1+4]' "no multiple"
mutant "a shared address beyond the arrays" "$matmul" matmul_shared_tile 1 '\+3968\]' '+8064]' "of shared memory"
mutant "another parameter" "$softmax" softmax_warp_per_row 1 '(ld\.param\.u32.*_param)_3\]' '$1_2]'
mutant "a store to the next element" "embedding copies*" embedding 1 '(st\.global\.f32\s+\[%rd\d+)\]' '$1+4]'

# What is computed.
mutant "a shuffle down instead of across" "$softmax" softmax_warp_per_row 1 'sync\.bfly' 'sync.down'
mutant "the smallest instead of the largest" "softmax of scores far*" softmax_warp_per_row 0 'max\.f32' 'min.f32'
mutant "a register that nobody wrote" "$matmul" matmul_shared_tile 0 'mov\.f32\s+%f\d+, 0f00000000;' ''
mutant "an atomic sum adds twice" "top_p cuts equal*" probabilities_of_chunk 0 '(atom\.shared\.add\.u32.*), 1;' '$1, 2;'
mutant "a counter that is not set back" "attention_06: the same*" attention_one_launch 0 '(atom\.global)\.inc(\.u32.*), *%r\d+;' '$1.add$2, 1;'
mutant "the newest key's other half" "attention_06: the first*" attention_one_launch 0 'neg\.f32' 'mov.f32'
mutant "an instruction that is not known" "$matmul" matmul_shared_tile 1 'fma\.rn\.f32' 'fma.rz.f32' "unknown instruction: fma.rz.f32"
mutant "a loop without an end" "$matmul" matmul_shared_tile 1 'bar\.sync\s+0;' '$LOOP: bra $LOOP;' "an endless loop"

# What only an H100 has.
device=h100 hopper="matmul_08*"
mutant "nobody says that a stage is empty" "$hopper" matmul_wgmma 0 'mbarrier\.arrive\.shared.*;' '' "deadlock"
mutant "a stage is read before it is full" "$hopper" matmul_wgmma 2 'mbarrier\.try_wait.* (\w+), *(\[.*)' 'setp.eq.u32 $1, 0, 0;'
mutant "a stage is filled before it is empty" "$hopper" matmul_wgmma 1 'mbarrier\.try_wait.* (\w+), *(\[.*)' 'setp.eq.u32 $1, 0, 0;'
mutant "fewer bytes are expected than come" "$hopper" matmul_wgmma 1 '(mbarrier\.arrive\.expect_tx.*), *%r\d+;' '$1, 32768;' "deadlock"
mutant "sums are used before they are there" "$hopper" matmul_wgmma 0 'wgmma\.wait_group.*;' ''
mutant "row and column of a box" "$hopper" matmul_wgmma 1 '(tensor\.2d.*)\{(%r\d+), (%r\d+)\}' '$1{$3, $2}'
mutant "warps of a group multiply by themselves" "$hopper" matmul_wgmma 1 'wgmma\.fence.*;' '@%tid.x wgmma.fence.sync.aligned;' "deadlock"

mutant "a product does not wait for the kernels before it" "gemv_add*" gemv_rows 0 'griddepcontrol\.wait;' '' "before griddepcontrol.wait"
mutant "keys are appended before the kernels before have ended" "keys and values go*" rope_append 1 'griddepcontrol\.wait;' '' "griddepcontrol.wait"

# The same cases pass as nvcc compiled them, so it was the mutant that failed.
while read -r one; do
  [ -z "$one" ] || RUNGS_DEVICE=h100 "$program" -tc="$one" >/dev/null 2>&1 || { echo "without a mutant fails: $one"; missed=$((missed + 1)); }
done < <(printf '%s\n' "${cases[@]}" | sort -u)
echo "$mutants mutants, $missed missed"
[ $missed = 0 ] && [ $mutants -gt 0 ]
