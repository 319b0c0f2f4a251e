#!/usr/bin/env bash
# Times a clean full build, and the way from saving a learner's file to its verdict, in a copy of the working tree.
# Usage: tools/measure_build.sh [JOBS]
set -euo pipefail
jobs=${1:-$(nproc)}
cd "$(dirname "$0")/.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy" 2>/dev/null || true
cd "$copy"

now() { date +%s%N; }
seconds() { awk -v ns=$(($2 - $1)) 'BEGIN {printf "%.2f", ns / 1e9}'; }
# The time that ninja spent on the outputs that match a pattern, since the line `from` of its log.
spent() { tail -n "+$1" build/release/.ninja_log | awk -v p="$2" '$4 ~ p {s += $2 - $1} END {printf "%.2f", s / 1e3}'; }

echo "Clean full build with $jobs jobs (load before it: $(cut -d ' ' -f 1 /proc/loadavg))"
start=$(now)
cmake --preset release >/dev/null
configured=$(now)
cmake --build --preset release -j "$jobs" >/dev/null
built=$(now)
printf '  configure %s s, build %s s, together %s s\n' \
  "$(seconds "$start" "$configured")" "$(seconds "$configured" "$built")" "$(seconds "$start" "$built")"
echo "  most expensive, in seconds on one of the jobs:"
awk 'NR > 1 {printf "    %6.1f  %s\n", ($2 - $1) / 1e3, $4}' build/release/.ninja_log | sort -rn | head -n 8 |
  sed 's|CMakeFiles/[^/]*/||'

echo "From saving a learner's file to its verdict, in seconds"
printf '  %-18s %8s %8s %8s %8s\n' lesson compile link "rest" total
for solution in lessons/[0-9]*/solution.c*; do
  lesson=$(basename "$(dirname "$solution")")
  ./rungs start "$lesson" >/dev/null
  ./rungs check "$lesson" >/dev/null 2>&1 || true # once, so that what never changes is built
  echo "// saved" >>"work/$lesson.${solution##*.}"
  from=$(($(wc -l <build/release/.ninja_log) + 1))
  start=$(now)
  ./rungs check "$lesson" >/dev/null 2>&1 || true
  end=$(now)
  compile=$(spent "$from" '[.]o$') link=$(spent "$from" '^bin/')
  printf '  %-18s %8s %8s %8s %8s\n' "$lesson" "$compile" "$link" \
    "$(awk -v t="$(seconds "$start" "$end")" -v c="$compile" -v l="$link" 'BEGIN {printf "%.2f", t - c - l}')" \
    "$(seconds "$start" "$end")"
done
