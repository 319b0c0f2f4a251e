#!/usr/bin/env bash
# bench/gpu.sh where there is no GPU, with programs that stand in: it says what is missing; and run from elsewhere, with
# a relative folder, it finds weights, the programs' libraries and a python3 of its own.
# Usage: gpu_script.sh SOURCE
set -euo pipefail
source=$(realpath "$1")
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
