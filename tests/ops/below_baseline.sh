#!/bin/sh
# Runs a program on a processor of 2008, emulated: it must end with a sentence. On one of 2013 it must run.
# Usage: below_baseline.sh RUNGS
command -v qemu-x86_64 >/dev/null || {
  echo "SKIPPED: there is no qemu-x86_64 here (package qemu-user)"
  exit 77
}
said=$(qemu-x86_64 -cpu Nehalem "$1" --version 2>&1)
status=$?
echo "$said"
[ $status = 1 ] || exit 1
echo "$said" | grep -q "^This processor has no AVX2, which this build (x86-64-v3) needs\." || exit 1
qemu-x86_64 -cpu Haswell "$1" --version 2>/dev/null | grep "^rungs "
