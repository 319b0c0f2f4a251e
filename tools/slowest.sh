#!/bin/sh
# The ten slowest tests and the ten slowest steps of the builds in the given folders, in seconds.
# Usage: tools/slowest.sh FOLDER...
for folder in "$@"; do
  costs=$folder/Testing/Temporary/CTestCostData.txt
  [ ! -f "$costs" ] || awk -v in_folder="${folder#build/}" '/^---/ {exit} {seconds = $NF; sub(/ [0-9]+ [0-9.e-]+$/, ""); printf "%7.1f  test  %-9s %s\n", seconds, in_folder, $0}' "$costs"
done | sort -rn | head -n 10
for folder in "$@"; do
  [ ! -f "$folder/.ninja_log" ] || awk -v in_folder="${folder#build/}" 'NR > 1 {took[$4] = ($2 - $1) / 1e3}
    END {for (step in took) {name = step; sub(/CMakeFiles\/[^\/]*\//, "", name); printf "%7.1f  step  %-9s %s\n", took[step], in_folder, name}}' "$folder/.ninja_log"
done | sort -rn | head -n 10
