#!/usr/bin/env bash
# tools/fuzz.sh [SECONDS [READER...]]: gives readers of files inputs that libFuzzer makes up, each for so many seconds
# (20), under AddressSanitizer and UBSan. Needs clang with its fuzzer. What a reader fails on lies in build/fuzz/found
# then; mend the reader and keep that input in tests/fuzz/kept/READER. Prints how many inputs each has read.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-20}
[ $# -eq 0 ] || shift
jobs=${JOBS:-$(nproc)}

if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
  clang++ -fsanitize=fuzzer -x c++ - -o /dev/null 2>/dev/null; then
  echo "SKIPPED: there is no clang++ with libFuzzer here (Debian: clang libclang-rt-14-dev)"
  exit 0
fi
tools/quietly.sh build/fuzz.log cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" -DRUNGS_SANITIZE=ON -DRUNGS_FUZZ=ON -DRUNGS_CUDA=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
readers=("$@")
[ ${#readers[@]} -gt 0 ] || readers=($(sed -n 's/^set(fuzzers \(.*\))$/\1/p' tests/fuzz/CMakeLists.txt))
tools/quietly.sh build/fuzz.log cmake --build build/fuzz -j "$jobs" -t $(printf 'fuzz_%s ' "${readers[@]}")

# Runs one; its log is kept.
fuzz() {
  local name=$1 folder=build/fuzz/$1
  mkdir -p "$folder" build/fuzz/found
  tests/fuzz/seeds.sh "$name" "$folder/seeds"
  mkdir -p "$folder/corpus"
  RUNGS_WEIGHTS=$PWD/weights build/fuzz/bin/fuzz_"$name" -max_total_time="$2" -timeout=5 -rss_limit_mb=2048 -max_len=40000 \
    -artifact_prefix="build/fuzz/found/$name-" -print_final_stats=1 "$folder/corpus" "$folder/seeds" >"$folder/log" 2>&1 || {
    echo "$name failed; the input is in build/fuzz/found, the log in $folder/log:"
    grep -E "ERROR|runtime error|SUMMARY|ALARM" "$folder/log" | head -n 5
    return 1
  }
  awk -v name="$name" '/number_of_executed_units/ {printf "%-16s %10d inputs\n", name, $2}' "$folder/log"
}
export -f fuzz
printf '%s\n' "${readers[@]}" | xargs -P "$jobs" -I '{}' bash -c 'fuzz "$@"' _ '{}' "$seconds"
