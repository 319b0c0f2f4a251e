#!/usr/bin/env bash
# tests/fuzz/replay.sh PROGRAM READER: gives the seeds of a fuzzer to its program, and those cut in two.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$(dirname "$0")/seeds.sh" "$2" "$folder"
for seed in "$folder"/*; do head -c $(($(stat -c %s "$seed") / 2)) "$seed" >"$seed.half"; done
RUNGS_WEIGHTS="$(dirname "$0")/../../weights" "$1" "$folder"
