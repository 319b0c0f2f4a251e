#!/bin/sh
# Builds targets of build/PRESET with as many jobs as there are processors and memory for, or as JOBS says.
# Usage: tools/build.sh PRESET [TARGET...]
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
folder=build/$preset

# A compiler takes up to 580 MB, and 775 under the sanitizers (measured with g++ 12); what all tests need fills 1.3 GB of disk.
memory_of_a_job=900
jobs=${JOBS:-}
free=$(awk '/MemAvailable/ {print int($2 / 1024)}' /proc/meminfo 2>/dev/null || true)
if [ -z "$jobs" ]; then
  jobs=$(nproc 2>/dev/null || echo 2)
  if [ -n "$free" ] && [ "$free" -lt $((jobs * memory_of_a_job)) ]; then
    jobs=$((free / memory_of_a_job > 0 ? free / memory_of_a_job : 1))
    echo "$free MB of memory are free, and a compiler takes up to $memory_of_a_job: building with JOBS=$jobs." >&2
  fi
fi
if [ -n "$free" ] && [ "$free" -lt "$memory_of_a_job" ]; then
  echo "A compiler takes up to $memory_of_a_job MB of memory, and $free are free: close something if the build fails." >&2
fi
# A file of a learner asks for none of this.
if [ $# = 0 ] || [ ! -x "$folder/bin/rungs" ]; then
  wanted=$([ $# -gt 0 ] && echo 300 || echo 2000)
  disk=$(df -Pm "$folder" | awk 'NR == 2 {print $4}')
  if [ "$disk" -lt "$wanted" ] && [ $((disk + $(du -sm "$folder" | cut -f 1))) -lt "$wanted" ]; then
    echo "The build takes $wanted MB of disk, and $disk are free in $(pwd)/build: make room, or make build a link to a folder elsewhere." >&2
    exit 1
  fi
fi

# One build at a time in a folder; rungs takes the same lock.
lock=$(command -v flock || true)
[ $# = 0 ] || set -- --target "$@"
exec ${lock:+"$lock" "$folder/.building"} cmake --build "$folder" -j "$jobs" "$@"
