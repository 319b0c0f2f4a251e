#!/usr/bin/env bash
# One command for a machine with a GPU, under 8 minutes: builds, runs the kernels' and models' tests on the device, then
# measures every rung and whole models. Prints a table last and writes bench/results/gpu_NAME_DATE.json.
#   bench/gpu.sh                  here
#   bench/gpu.sh --pack DIR       puts programs and the libraries that they need into DIR, for a machine without the
#                                 packages of cmake/dependencies.txt (needs nvcc, no GPU); with --built BUILD those that
#                                 were built already in that folder
#   bench/gpu.sh --programs DIR   runs what --pack made, and builds nothing
# OUT=DIR: where the JSON goes. Status 0: all is right; 1: something failed; 2: it cannot run here.
set -euo pipefail
from=$PWD
cd "$(dirname "$0")/.."
export RUNGS_WEIGHTS=$PWD/weights  # programs from elsewhere look where they were built
limit=480
programs=(gpu_bench kernel_tests_gpu rungs_gpu rungs)

fail() { echo "$2" >&2; exit "$1"; }
left() { echo $((limit - SECONDS > $1 ? $1 : limit - SECONDS > 5 ? limit - SECONDS : 5)); }
build() {  # FOLDER OPTIONS...
  command -v cmake >/dev/null || fail 2 "bench/gpu.sh builds with cmake, and there is none; see --pack"
  cmake -S . -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=Release "${@:2}" >/dev/null
  cmake --build "$1" -j "$(nproc)" --target "${programs[@]}" >build/gpu_build.log 2>&1 ||
    { tail -30 build/gpu_build.log >&2; fail 1 "It does not build; the whole log is build/gpu_build.log"; }
}

given= pack= built=
absolute() { case $1 in /*) echo "$1" ;; *) echo "$from/$1" ;; esac; }
while [ $# -gt 0 ]; do
  case $1 in
    --programs) given=$(absolute "${2:?a folder}") ; shift 2 ;;
    --pack) pack=$(absolute "${2:?a folder}") ; shift 2 ;;
    --built) built=$(absolute "${2:?a folder}") ; shift 2 ;;
    *) fail 2 "usage: bench/gpu.sh [--programs DIR | --pack DIR [--built BUILD]]" ;;
  esac
done
mkdir -p build

if [ -n "$pack" ]; then
  [ -n "$built" ] || build build/gpu -DRUNGS_CUDA_ARCHITECTURES=all -DRUNGS_NCCL=OFF  # 200 MB, for several GPUs
  built=${built:-build/gpu}
  mkdir -p "$pack/lib"
  for program in "${programs[@]}"; do
    cp "$built/bin/$program" "$pack/"
    # What a bare machine has, the C library and its relatives, stays out.
    ldd "$built/bin/$program" | awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libdl|librt|libpthread)\.so/ { print $3 }'
  done | sort -u | xargs -I{} cp -L {} "$pack/lib/"
  strip "$pack"/gpu_bench "$pack"/kernel_tests_gpu "$pack"/rungs_gpu "$pack"/rungs
  du -sh "$pack"
  exit 0
fi

command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1 ||
  fail 2 "bench/gpu.sh needs a machine with an NVIDIA GPU and its driver: nvidia-smi finds none here."
name=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1)
echo "== $name"

if [ -n "$given" ]; then
  bin=$given
else
  echo "== Building (${SECONDS} s)"
  # For this GPU alone. A build folder that was made without one looks again.
  grep -ls 'CUDA_ARCHITECTURES_NATIVE ""' build/release/CMakeFiles/*/CMakeCUDACompiler.cmake | xargs -r rm -- || true
  timeout "$(left 240)" bash -c "$(declare -f build fail); $(declare -p programs); build build/release -DRUNGS_CUDA_ARCHITECTURES=one" || fail 1 "The build did not end well in time"
  bin=build/release/bin
fi
for program in gpu_bench kernel_tests_gpu; do
  [ -x "$bin/$program" ] || fail 2 "There is no $bin/$program: was nvcc 12 or newer found?"
done
status=0

# ours SECONDS PROGRAM ARGUMENTS...: the packed libraries are for the packed programs alone; python3 has its own.
ours() {
  local path=${given:+$given/lib}${LD_LIBRARY_PATH:+${given:+:}$LD_LIBRARY_PATH}
  env ${path:+LD_LIBRARY_PATH="$path"} timeout "$(left "$1")" "$bin/$2" "${@:3}"
}

echo "== Tests of the kernels and models on the device (${SECONDS} s)"
tested=0
ours 120 kernel_tests_gpu || tested=$?
[ $tested != 77 ] || fail 2 "SKIPPED: nvidia-smi finds a GPU, and these programs cannot use it, as kernel_tests_gpu says above"
[ $tested = 0 ] || { echo "FAILED: kernel_tests_gpu"; status=1; }
if [ -x "$bin/rungs_gpu" ] && [ -d weights/stories ]; then
  story=(generate --model weights/stories --prompt "Once upon a time" --max-tokens 64)
  ours 30 rungs "${story[@]}" >build/cpu.txt || status=1
  ours 30 rungs_gpu "${story[@]}" --backend cuda >build/gpu.txt || status=1
  cmp build/cpu.txt build/gpu.txt && echo "The story of the GPU is that of the CPU." || { echo "FAILED: another story"; status=1; }
fi

# PyTorch and cuBLAS are yardsticks: where they are missing their cells stay empty.
torch=()
if python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  echo "== PyTorch (${SECONDS} s)"
  torch=($(timeout "$(left 60)" python3 bench/torch_prefill.py 8b 1b 2>build/torch.log | sed 's/^/--torch /')) ||
    { echo "PyTorch's prefill is left empty; build/torch.log says why:"; tail -3 build/torch.log; }
  cublas=$(python3 -c 'import glob, os, torch
print((glob.glob(os.path.dirname(torch.__file__) + "/../nvidia/*/lib/libcublas.so.1?") + [""])[0])' 2>/dev/null) || cublas=
  [ -n "$cublas" ] && export RUNGS_CUBLAS=${RUNGS_CUBLAS:-$cublas}
fi

echo "== Measuring (${SECONDS} s)"
out=$(absolute "${OUT:-$PWD/bench/results}")
mkdir -p "$out"
json=$out/gpu_$(echo "$name" | tr -cs '[:alnum:]\n' _ | tr '[:upper:]' '[:lower:]')_$(date +%F).json
ours 240 gpu_bench --out "$json" "${torch[@]}" 2>build/gpu_bench.log ||
  { status=1; tail -5 build/gpu_bench.log; echo "FAILED: gpu_bench; its log is build/gpu_bench.log"; }
[ -z "${OUT:-}" ] || cp build/gpu_bench.log "$out/"
echo "== ${SECONDS} s, status $status"
exit $status
