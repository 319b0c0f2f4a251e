#!/usr/bin/env bash
# Compiles the library, and only the library, for every kind of processor, a warning being an error. Nothing is run: some
# of them are not here. What make test compiles for, x86-64-v3, is not compiled again; nor are the files that Highway
# compiles for each kind of processor, whose commands all end with -march=x86-64, compiled for a baseline above that.
# Usage: tools/every_processor.sh [BASELINE...]
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- x86-64 x86-64-v2 x86-64-v4 sapphirerapids native aarch64
machine=$(uname -m)
mkdir -p build/every_processor
for baseline in "$@"; do
  options=()
  if [ "$baseline" = aarch64 ] && [ "$machine" != aarch64 ]; then
    if ! command -v aarch64-linux-gnu-g++ >/dev/null; then
      echo "SKIPPED aarch64: there is no aarch64-linux-gnu-g++ here"
      continue
    fi
    # The packages' headers are those of every processor; of /usr/include the compiler may see these alone.
    headers=$PWD/build/every_processor/headers
    mkdir -p "$headers"
    for name in fmt nlohmann hwy toml++ CLI doctest pcre2.h utf8proc.h eigen3; do ln -sfn "/usr/include/$name" "$headers/$name"; done
    options=(-DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake")
  elif [ "$machine" != x86_64 ]; then
    echo "SKIPPED $baseline: this machine is $machine"
    continue
  else
    options=(-DRUNGS_BASELINE="$baseline")
  fi
  folder=build/every_processor/$baseline
  started=$SECONDS
  cmake -S . -B "$folder" -G Ninja -DRUNGS_CUDA=OFF -DRUNGS_ONLY_LIBRARY=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DCMAKE_COMPILE_WARNING_AS_ERROR=ON \
    "${options[@]}" >"$folder.log" 2>&1 || { cat "$folder.log" >&2; exit 1; }
  objects=()
  case $baseline in
    x86-64 | aarch64) ;;
    *) objects=(-t $(grep '"command"' "$folder/compile_commands.json" | grep -v -- "-march=x86-64 " | grep -o -- ' -o [^ ]*' | cut -c 5-)) ;;
  esac
  cmake --build "$folder" -j "${JOBS:-$(nproc)}" "${objects[@]}" >"$folder.log" 2>&1 || { cat "$folder.log" >&2; exit 1; }
  echo "$baseline: compiled in $((SECONDS - started)) s, no warning"
done
