#!/bin/sh
# Makes build/PRESET ready to build, where it is not: installs what is missing, then runs CMake. A folder that was made
# for another path or another kind of processor is configured afresh, and one that is older than the last installation of
# packages looks for them again. Costs a moment where nothing is to do.
# Usage: tools/configure.sh PRESET [CMAKE_OPTION...]
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
folder=build/$preset
made_for="$(pwd -P) $(uname -m)"

fresh=
if [ -f "$folder/CMakeCache.txt" ]; then
  found="an earlier version"
  [ ! -f "$folder/made_for" ] || read -r found <"$folder/made_for"
  if [ "$found" != "$made_for" ]; then
    echo "$folder was made for $found, and this is $made_for: it is built anew." >&2
    fresh=--fresh
  fi
fi
[ -n "$fresh" ] || [ $# -gt 0 ] || [ ! -f "$folder/build.ninja" ] || [ cmake/dependencies.txt -nt "$folder/build.ninja" ] ||
  [ CMakePresets.json -nt "$folder/build.ninja" ] || [ build/setup.log -nt "$folder/build.ninja" ] || exit 0

tools/setup.sh needed
tools/quietly.sh build/configure.log cmake --preset "$preset" $fresh "$@"
echo "$made_for" >"$folder/made_for"
touch "$folder/build.ninja"
