#!/bin/sh
# The ten slowest tests of the last `ctest --preset` and the ten slowest steps of the builds in the given folders, in
# seconds. Usage: tools/slowest.sh FOLDER...
# Not from ctest's own record, CTestCostData.txt: its second run ends every name there at the first space.
for folder in "$@"; do
  [ ! -f "$folder/tests.xml" ] || awk -v in_folder="${folder#build/}" -F '"' '$1 ~ /<testcase name=$/ {
    for (i = 3; i < NF; i += 2) if ($i == " time=") seconds = $(i + 1)
    gsub(/&quot;/, "\"", $2); gsub(/&apos;/, "\047", $2); gsub(/&lt;/, "<", $2); gsub(/&gt;/, ">", $2); gsub(/&amp;/, "\\&", $2)
    printf "%7.1f  test  %-9s %s\n", seconds, in_folder, $2}' "$folder/tests.xml"
done | sort -rn | head -n 10
for folder in "$@"; do
  [ ! -f "$folder/.ninja_log" ] || awk -v in_folder="${folder#build/}" 'NR > 1 {took[$4] = ($2 - $1) / 1e3}
    END {for (step in took) {name = step; sub(/CMakeFiles\/[^\/]*\//, "", name); printf "%7.1f  step  %-9s %s\n", took[step], in_folder, name}}' "$folder/.ninja_log"
done | sort -rn | head -n 10
