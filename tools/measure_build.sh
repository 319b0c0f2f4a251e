#!/usr/bin/env bash
# Measures, in a copy of the working tree: what `make demo` builds, what `make test` builds after it, the tests, and the
# way from saving a learner's file to its verdict. Installing packages is not in it; tools/fresh.sh measures that.
# Usage: tools/measure_build.sh [JOBS]
set -euo pipefail
export JOBS=${1:-$(nproc)}
cd "$(dirname "$0")/.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy" 2>/dev/null || true
cd "$copy"

# measure WHAT COMMAND...: its wall time and that of the processors
measure() {
  local what=$1 TIMEFORMAT='%R %U %S'
  shift
  { time "$@" >"$copy.log" 2>&1 || { tail -n 20 "$copy.log" >&2; exit 1; }; } 2>"$copy.time"
  awk -v what="$what" '{printf "%-58s %8.1f s %8.1f s\n", what, $1, $2 + $3}' "$copy.time"
}

echo "$(awk -F ': ' '/model name/ {print $2; exit}' /proc/cpuinfo), $JOBS jobs (load before it: $(cut -d ' ' -f 1 /proc/loadavg))"
printf '%-58s %10s %10s\n' "" wall processors
measure "configure" tools/configure.sh release
measure "build what make demo needs" tools/build.sh release rungs_command
measure "make demo, with all of that there" make demo
measure "build what make test needs then" tools/build.sh release
measure "run the tests" ctest --preset release -j "$JOBS"
rm -f "$copy.log" "$copy.time"
echo "The slowest, in seconds"
tools/slowest.sh build/release

now() { date +%s%N; }
seconds() { awk -v ns=$(($2 - $1)) 'BEGIN {printf "%.2f", ns / 1e9}'; }
# The time that ninja spent on the outputs that match a pattern, since the line `from` of its log.
spent() { tail -n "+$1" build/release/.ninja_log | awk -v p="$2" '$4 ~ p {s += $2 - $1} END {printf "%.2f", s / 1e3}'; }

echo "From saving a learner's file to its verdict, in seconds (the median of three)"
printf '  %-18s %8s %8s %8s %8s\n' lesson compile link "rest" total
for solution in lessons/[0-9]*/solution.c*; do
  lesson=$(basename "$(dirname "$solution")")
  ./rungs start "$lesson" >/dev/null
  ./rungs check "$lesson" >/dev/null 2>&1 || true # once, so that what never changes is built
  for _ in 1 2 3; do
    echo "// saved" >>"work/$lesson.${solution##*.}"
    from=$(($(wc -l <build/release/.ninja_log) + 1))
    start=$(now)
    ./rungs check "$lesson" >/dev/null 2>&1 || true
    end=$(now)
    compile=$(spent "$from" '[.]o$') link=$(spent "$from" '^bin/')
    total=$(seconds "$start" "$end")
    echo "$lesson $compile $link $(awk -v t="$total" -v c="$compile" -v l="$link" 'BEGIN {printf "%.2f", t - c - l}') $total"
  done | sort -n -k 5 | sed -n 2p | awk '{printf "  %-18s %8s %8s %8s %8s\n", $1, $2, $3, $4, $5}'
done
