#!/bin/sh
# Gradescope runs this once, when it makes the container's image: it installs what is needed and builds all that does not
# depend on a submission. Its folder has what tools/gradescope/pack.sh put into the zip.
# RUNGS_AUTOGRADER: another folder than /autograder, for tests.
set -eu
source=${RUNGS_AUTOGRADER:-/autograder}/source
cd "$source/rungs"
export DEBIAN_FRONTEND=noninteractive
tools/setup.sh needed optional
tools/configure.sh release -DRUNGS_CUDA=OFF
tools/build.sh release rungs_command
# A first submission, which holds nothing, so that runners, mistakes and precompiled headers are there for all others.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
read -r lessons <"$source/lessons.txt"
for lesson in $lessons; do
  mkdir -p "$folder/handed_in/nobody"
  build/release/bin/rungs grade "$lesson" --submissions "$folder/handed_in" --out "$folder/report" --without-walls --jobs 1
  rm -rf "$folder/report"
done
