#!/usr/bin/env bash
# The README's commands on an empty system: makes a Debian with nothing but git and make by debootstrap, clones this
# repository into it, and runs each command there alone and first. Prints what each took.
# Usage: tools/fresh.sh bookworm|trixie [--compiler clang] [COMMAND...]
#   COMMAND: "make demo", "make test", ...; without one, these two
#   --compiler clang: installs clang, and builds with it
# Wants root and debootstrap. Mounts are private to it and gone when it ends. The empty system stays in
# build/fresh/SUITE.base for the next time; MIRROR=URL is where it comes from, KEEP=1 leaves what was built.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$PWD

suite=${1:?"usage: tools/fresh.sh bookworm|trixie [--compiler clang] [COMMAND...]"}
shift
compiler=
commands=()
while [ $# -gt 0 ]; do
  case $1 in
    --compiler) compiler=${2:?a compiler}; shift 2 ;;
    *) commands+=("$1"); shift ;;
  esac
done
[ ${#commands[@]} -gt 0 ] || commands=("make demo" "make test")
[ "$(id -u)" = 0 ] || { echo "tools/fresh.sh changes its root directory: run it as root." >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "tools/fresh.sh needs debootstrap: apt-get install debootstrap" >&2; exit 2; }

base=$top/build/fresh/$suite.base
mkdir -p build/fresh
if [ ! -e "$base/made" ]; then
  rm -rf "$base"
  echo "== An empty $suite (log: build/fresh/$suite.log)"
  debootstrap --variant=minbase --include=git,make "$suite" "$base" ${MIRROR:-} >"build/fresh/$suite.log" 2>&1 ||
    { tail -n 5 "build/fresh/$suite.log" >&2; exit 1; }
  touch "$base/made"
fi

# Runs in the empty system, as a child that has its own mounts and processes.
inside() {  # ROOT SCRIPT
  unshare --mount --pid --fork --propagation private bash -c '
    set -e
    mount -t proc proc "$0/proc"
    mount -t sysfs -o ro sysfs "$0/sys"
    mount -t tmpfs tmpfs "$0/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts"
    exec chroot "$0" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 bash -c "$1"' "$1" "$2" </dev/null
}

status=0
for command in "${commands[@]}"; do
  root=$top/build/fresh/$suite.root
  rm -rf --one-file-system "$root"
  cp -a --reflink=auto "$base" "$root"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  echo "127.0.0.1 localhost $(hostname)" >"$root/etc/hosts"  # as an installed system has it; MPI waits seconds for this name
  git clone --quiet --no-hardlinks "$top" "$root/rungs"
  echo "== $command on an empty $suite${compiler:+ with $compiler}"
  prepare=true
  [ -z "$compiler" ] || prepare="apt-get update -qq && apt-get install -y -qq --no-install-recommends $compiler libomp-dev >/dev/null 2>&1 &&
    export CXX=$compiler++"
  inside "$root" "$prepare; cd /rungs; time $command" || { status=1; echo "== $command failed"; }
  # What was fetched, and how long that took: it measures the net.
  grep -h "^Fetched" "$root"/rungs/build/setup*.log 2>/dev/null || true
  [ -n "${KEEP:-}" ] || rm -rf --one-file-system "$root"
done
exit $status
