#!/usr/bin/env bash
# bench/gpu.sh where there is no GPU, with programs that stand in: it says what is missing; and run from elsewhere, with
# a relative folder, it finds weights, the programs' libraries and a python3 of its own. What it packs runs elsewhere.
# Usage: gpu_script.sh SOURCE BUILD
set -euo pipefail
source=$(realpath "$1") build=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
expect() { grep -q -- "$2" "$1" || { echo "wanted \"$2\", found:"; cat "$1"; exit 1; }; }
stand_in() { printf '#!/bin/sh\n%s\n' "$2" >"$1"; chmod +x "$1"; }

mkdir -p copy/bench tools "a pack/lib"
cp "$source/bench/gpu.sh" copy/bench/
ln -s "$source/weights" copy/weights
export PATH=$folder/tools:$PATH
unset LD_LIBRARY_PATH OUT RUNGS_WEIGHTS

stand_in tools/nvidia-smi 'exit 9'
status=0
copy/bench/gpu.sh --programs "a pack" >said 2>&1 || status=$?
[ $status = 2 ]
expect said "needs a machine with an NVIDIA GPU and its driver"

stand_in tools/nvidia-smi 'case $1 in -L) echo "GPU 0" ;; *) echo "Some GPU" ;; esac'
status=0
copy/bench/gpu.sh --programs "a pack" >said 2>&1 || status=$?
[ $status = 2 ]
expect said "There is no $folder/a pack/gpu_bench"

sees='[ "$LD_LIBRARY_PATH" = "'$folder'/a pack/lib" ] && [ -f "$RUNGS_WEIGHTS/stories/config.json" ] || exit 1'
stand_in "a pack/kernel_tests_gpu" "$sees"
stand_in "a pack/rungs" "$sees; echo a story"
stand_in "a pack/rungs_gpu" "$sees; echo a story"
stand_in "a pack/gpu_bench" "$sees"'; shift; echo "$@" >"$1"'
stand_in tools/python3 '[ -z "${LD_LIBRARY_PATH:-}" ] || exit 1
case $1 in *torch_prefill.py) echo 8b=100; echo no yardstick >&2; exit 1 ;; esac'
OUT=results copy/bench/gpu.sh --programs "a pack" >said 2>&1 || { cat said; exit 1; }
expect said "The story of the GPU is that of the CPU."
expect said "PyTorch's prefill is left empty"
expect said "no yardstick"
[ "$(ls results/*.json)" = "results/gpu_some_gpu_$(date +%F).json" ]

stand_in "a pack/rungs_gpu" "echo another story"
status=0
OUT=results copy/bench/gpu.sh --programs "a pack" >said 2>&1 || status=$?
[ $status = 1 ]
expect said "FAILED: another story"

# It builds for the GPU that is here, and looks for it again where a build folder was made without one.
mkdir -p copy/build/release/CMakeFiles/3.25
echo 'set(CMAKE_CUDA_ARCHITECTURES_NATIVE "")' >copy/build/release/CMakeFiles/3.25/CMakeCUDACompiler.cmake
stand_in tools/cmake 'echo "$@" >>"'$folder'/built"'
status=0
copy/bench/gpu.sh >said 2>&1 || status=$?
[ $status = 2 ]
expect said "There is no build/release/bin/gpu_bench"
expect built "-B build/release .*-DRUNGS_CUDA_ARCHITECTURES=one"
[ ! -e copy/build/release/CMakeFiles/3.25/CMakeCUDACompiler.cmake ]

for program in kernel_tests_gpu rungs_gpu rungs; do
  [ -x "$build/bin/$program" ] || { echo "SKIPPED: --pack, since there is no $build/bin/$program"; exit 77; }
done
mkdir -p made/bin
ln -s "$build"/bin/{kernel_tests_gpu,rungs_gpu,rungs} made/bin/
[ -x "$build/bin/gpu_bench" ] && bench=gpu_bench || bench=kernel_tests_gpu  # make bench builds it; it is not run here
ln -s "$build/bin/$bench" made/bin/gpu_bench
copy/bench/gpu.sh --pack packed --built made >said 2>&1 || { cat said; exit 1; }
mkdir "moved to"
mv packed "moved to/pack"
rm -r made
mkdir elsewhere
cd elsewhere
for program in gpu_bench kernel_tests_gpu rungs_gpu rungs; do
  LD_LIBRARY_PATH="../moved to/pack/lib" ldd "../moved to/pack/$program" >needs
  if grep -E "not found|=> /" needs | grep -Ev "lib(c|m|dl|rt|pthread)\.so"; then exit 1; fi  # all others are packed
done

# Where no program can use a GPU nothing has failed, and it says why nothing runs.
status=0
CUDA_VISIBLE_DEVICES= bash ../copy/bench/gpu.sh --programs "../moved to/pack" >said 2>&1 || status=$?
[ $status = 2 ]
expect said "SKIPPED: n"  # kernel_tests_gpu: no driver, or no GPU
expect said "SKIPPED: nvidia-smi finds a GPU, and these programs cannot use it"
if grep FAILED said; then exit 1; fi

# The packed rungs finds its libraries and the weights.
stand_in "../moved to/pack/kernel_tests_gpu" ""
stand_in "../moved to/pack/gpu_bench" 'shift; echo "$@" >"$1"'
stand_in "../moved to/pack/rungs_gpu" 'cmd=$(dirname "$0")/rungs; exec "$cmd" generate --model weights/stories --prompt "Once upon a time" --max-tokens 64'
OUT=results bash ../copy/bench/gpu.sh --programs "../moved to/pack" >said 2>&1 || { cat said; exit 1; }
expect said "The story of the GPU is that of the CPU."
[ -s ../copy/build/cpu.txt ]
ls results/gpu_some_gpu_*.json >/dev/null
