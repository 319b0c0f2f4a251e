#!/bin/sh
# configure_again.sh SOURCE: tools/configure.sh in a folder of its own, with a cmake that only counts its calls. A build
# folder is configured again when packages were installed after it, and not when nothing is new.
set -eu
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/tools" "$tree/cmake" "$tree/bin" "$tree/build/release"
cp "$1/tools/configure.sh" "$1/tools/quietly.sh" "$tree/tools/"
printf '#!/bin/sh\n' >"$tree/tools/setup.sh"
printf '#!/bin/sh\necho called >>"%s/calls"\n: >"%s/build/release/build.ninja"\n: >"%s/build/release/CMakeCache.txt"\n' \
  "$tree" "$tree" "$tree" >"$tree/bin/cmake"
chmod +x "$tree/tools/setup.sh" "$tree/bin/cmake"
touch -d "1 hour ago" "$tree/cmake/dependencies.txt" "$tree/CMakePresets.json"
PATH=$tree/bin:$PATH

calls_are() {
  "$tree/tools/configure.sh" release
  found=$(wc -l <"$tree/calls")
  [ "$found" = "$1" ] || { echo "$2: cmake was called $found times, wanted $1" >&2; exit 1; }
}
calls_are 1 "a new folder"
calls_are 1 "nothing is new"
touch -d "1 minute ago" "$tree/build/release/build.ninja"
: >"$tree/build/setup.log"
calls_are 2 "packages were installed after it"
calls_are 2 "nothing is new since"
