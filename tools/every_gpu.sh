#!/usr/bin/env bash
# Compiles the kernels, and the programs and solutions of part III, for the kinds of GPUs that make test does not compile
# for, a warning being an error: with the commands of build/release, and other architectures. Which kernels spill registers
# there is said, and is no error: none of these GPUs was tuned for.
# Usage: tools/every_gpu.sh [COMPUTE_CAPABILITY...]
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- 86 89 100 120
nvcc=$(sed -n 's/^RUNGS_NVCC:FILEPATH=\(.*nvcc\)$/\1/p' build/release/CMakeCache.txt)
[ -n "$nvcc" ] || { echo "SKIPPED: there is no nvcc here"; exit 0; }
known=$("$nvcc" --list-gpu-arch)
architectures=
for number in "$@"; do
  if grep -qx "compute_$number" <<<"$known"; then
    architectures+=" --generate-code=arch=compute_$number,code=sm_$number"
  else
    echo "SKIPPED $number: this nvcc does not know it"
  fi
done
[ -n "$architectures" ] || exit 0

started=$SECONDS
folder=$PWD/build/every_gpu
mkdir -p "$folder"
grep '"command"' build/release/compile_commands.json | grep -F "$nvcc" | grep -v _gpu_only |
  grep -E '/(kernels_gpu_(overlap_)?objects|[0-9a-z_]+_(main|lib)_gpu)\.dir/' | sed 's/^ *"command": "//; s/",$//; s/\\"/"/g; s/-Xptxas=-v,-warn-spills/-Xptxas=-v/' |
  sed -E "s| --generate-code=[^ ]*||g; s| -c |$architectures&|; s| -o .*/([a-z0-9_]+)\.dir/(.*/)?([^/]*)$| -o $folder/\1_\3|" >"$folder/commands"
[ -s "$folder/commands" ] || { echo "build/release has no commands of nvcc; make build first" >&2; exit 1; }
compile() {  # shows what nvcc says, but for what ptxas was asked to report
  if ! bash -c "$1" >"$2" 2>&1 || grep -q "warning" "$2"; then
    grep -v -e "^ptxas info" -e "bytes stack frame" "$2" >&2
    return 1
  fi
}
export -f compile
awk '{print; print "'"$folder"'/log_" NR}' "$folder/commands" | xargs -d '\n' -n 2 -P "${JOBS:-$(nproc)}" bash -c 'compile "$@"' _
cat "$folder"/log_* | $(command -v c++filt || echo cat) | awk '
  /Compiling entry function/ {target = $NF; gsub(/\x27/, "", target)}
  /Function properties/ {kernel = $0; sub(/.* for /, "", kernel); sub(/\(.*/, "", kernel)}
  /[1-9][0-9]* bytes spill/ {sub(/.*stack frame, */, ""); printf "  %s: %s: %s\n", target, kernel, $0}'
echo "$*: $(wc -l <"$folder/commands") files compiled in $((SECONDS - started)) s, no warning"
