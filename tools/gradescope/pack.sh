#!/bin/sh
# Makes the zip that Gradescope takes as an autograder: this tree, with its solutions, and which lessons are graded.
# Usage: tools/gradescope/pack.sh "07 08" autograder.zip [HIDDEN], a folder that `rungs cases new` has written
set -eu
[ $# -ge 2 ] || { echo "usage: tools/gradescope/pack.sh \"07 08\" autograder.zip [HIDDEN]" >&2; exit 2; }
lessons=$1
zip=$(realpath -m "$2")
hidden=${3:-}
[ -z "$hidden" ] || hidden=$(realpath "$hidden")
if [ -n "$hidden" ] && [ ! -d "$hidden/references" ]; then
  echo "$hidden is no folder that \`rungs cases new\` has written." >&2
  exit 2
fi
cd "$(dirname "$0")/../.."
for lesson in $lessons; do
  [ -n "$(find lessons -maxdepth 1 -name "${lesson}_*")" ] ||
    { echo "There is no lesson $lesson: wanted two digits, as in \"07 08\"." >&2; exit 2; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp tools/gradescope/setup.sh tools/gradescope/run_autograder tools/gradescope/results.jq "$folder"
echo "$lessons" >"$folder/lessons.txt"
mkdir "$folder/rungs"
tar -c --exclude-vcs --exclude=./build --exclude=./work --exclude=__pycache__ . | tar -x -C "$folder/rungs"
if [ -n "$hidden" ]; then
  cp -R "$hidden" "$folder/hidden"
  echo "visibility=after_published" >"$folder/settings" # what a case is called says what it tests
fi
cd "$folder"
cmake -E tar cf "$zip.part" --format=zip -- *
mv "$zip.part" "$zip"
echo "$2: $(du -h "$zip" | cut -f 1), for lessons $lessons"
