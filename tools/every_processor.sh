#!/usr/bin/env bash
# Compiles the library, and only the library, for every kind of processor, a warning being an error. Nothing is run: some
# of them are not here. Everything is compiled for aarch64. What make test has compiled for x86-64-v3 is compiled again
# where the baseline changes its text: the files that include Eigen or the compiler's vector instructions (build/release
# knows which), without those that Highway compiles for each kind of processor, whose commands all end with -march=x86-64.
# Usage: tools/every_processor.sh [BASELINE...]
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- aarch64 x86-64 x86-64-v2 x86-64-v4 sapphirerapids native
mkdir -p build/every_processor
jobs=${JOBS:-$(nproc)}
if [ $# -gt 1 ]; then  # two at a time, since most have few files
  printf '%s\n' "$@" | xargs -P $((jobs > 1 ? 2 : 1)) -n 1 tools/every_processor.sh
  exit
fi
machine=$(uname -m) baseline=$1
options=()
if [ "$baseline" = aarch64 ] && [ "$machine" != aarch64 ]; then
  if ! command -v aarch64-linux-gnu-g++ >/dev/null; then
    echo "SKIPPED aarch64: there is no aarch64-linux-gnu-g++ here"
    exit
  fi
  # The packages' headers are those of every processor; of /usr/include the compiler may see these alone.
  headers=$PWD/build/every_processor/headers
  mkdir -p "$headers"
  for name in fmt nlohmann hwy toml++ CLI doctest pcre2.h utf8proc.h eigen3; do ln -sfn "/usr/include/$name" "$headers/$name"; done
  options=(-DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake")
elif [ "$machine" != x86_64 ]; then
  echo "SKIPPED $baseline: this machine is $machine"
  exit
else
  options=(-DRUNGS_BASELINE="$baseline")
fi
folder=build/every_processor/$baseline
started=$SECONDS
cmake -S . -B "$folder" -G Ninja -DRUNGS_CUDA=OFF -DRUNGS_ONLY_LIBRARY=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DCMAKE_COMPILE_WARNING_AS_ERROR=ON \
  "${options[@]}" >"$folder.log" 2>&1 || { cat "$folder.log" >&2; exit 1; }
objects=() which=everything
if [ "$baseline" != aarch64 ]; then
  objects=($(grep '"command"' "$folder/compile_commands.json" | grep -v -- "-march=.*-march=x86-64 " | grep -o -- ' -o [^ ]*' | cut -c 5-))
  which="what Highway does not compile"
fi
if [ ${#objects[@]} -gt 0 ] && [ -f build/release/.ninja_deps ]; then
  objects=($(ninja -C build/release -t deps | awk '/: #deps / {object = substr($1, 1, length($1) - 1)} /\/eigen3\/|\/immintrin\.h$/ {print object}' |
    sort -u | grep -Fx "$(printf '%s\n' "${objects[@]}")"))
  which="what includes Eigen or vector instructions"
fi
cmake --build "$folder" -j "$jobs" ${objects[0]+-t "${objects[@]}"} >"$folder.log" 2>&1 || { cat "$folder.log" >&2; exit 1; }
echo "$baseline: $which, compiled in $((SECONDS - started)) s, no warning"
