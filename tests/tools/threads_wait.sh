#!/bin/sh
# threads_wait.sh SOURCE: how long a thread of ./rungs holds its processor while it waits, in a folder of its own with
# programs that stand in. What a user has set stays.
set -eu
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/tools" "$tree/bin" "$tree/build/release/bin"
cp "$1/rungs" "$tree/"
printf '#!/bin/sh\n' >"$tree/tools/configure.sh"
printf '#!/bin/sh\necho "ninja: no work to do."\n' >"$tree/bin/ninja"
printf '#!/bin/sh\necho "${GOMP_SPINCOUNT:-unset}"\n' >"$tree/build/release/bin/rungs"
chmod +x "$tree/tools/configure.sh" "$tree/bin/ninja" "$tree/build/release/bin/rungs"

holds() {  # WANTED SETTING...
  wanted=$1
  shift
  found=$(env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY PATH="$tree/bin:$PATH" "$@" "$tree/rungs")
  [ "$found" = "$wanted" ] || { echo "with '$*': wanted GOMP_SPINCOUNT $wanted, found $found" >&2; exit 1; }
}
holds 4000
holds 7 GOMP_SPINCOUNT=7
holds unset OMP_WAIT_POLICY=active
