#!/bin/sh
# Installs what is missing of the given groups of cmake/dependencies.txt: directly as root, else with sudo, whose command
# is shown first. It knows Debian and Ubuntu; elsewhere CMake says what is missing and how to install it.
# Usage: tools/setup.sh GROUP...
set -eu
cd "$(dirname "$0")/.."
command -v dpkg-query >/dev/null || exit 0

# Prints the packages of the groups that are neither installed nor found as a program on the PATH.
missing() {
  for group in "$@"; do
    grep "^$group " cmake/dependencies.txt
  done | tr -s ' ' | while IFS='|' read -r _ _ _ found_by _ package _; do
    found_by=$(echo $found_by) package=$(echo $package)
    [ "$package" != - ] || continue
    case $found_by in
      "program "*) command -v "${found_by#program }" >/dev/null && continue ;;
    esac
    status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) || status=
    [ "$status" = "install ok installed" ] || printf '%s ' "$package"
  done
}

packages=$(missing "$@")
[ -n "$packages" ] || exit 0

install="apt-get install -y --no-install-recommends $packages"
mkdir -p build
log=build/setup.log
if [ "$(id -u)" = 0 ]; then
  echo "Installing $packages(a minute or two; log: $log)"
  sudo=
else
  echo "These packages are missing. Installing them with:"
  echo "  sudo apt-get update && sudo $install"
  sudo=sudo
fi
export DEBIAN_FRONTEND=noninteractive
if ! command -v ${sudo:-apt-get} >/dev/null; then
  echo "There is no ${sudo:-apt-get} here: run that command as root, then try again." >&2
elif ! { $sudo apt-get update && $sudo $install; } >"$log" 2>&1 </dev/null; then
  if grep -qE "Temporary failure resolving|Could not (resolve|connect)|Network is unreachable" "$log"; then
    echo "The packages could not be downloaded: there is no network, or apt's sources cannot be reached. Install them later with:" >&2
    echo "  sudo $install" >&2
  else
    tail -n 20 "$log" >&2
    echo "The packages could not be installed; the whole log is in $log." >&2
  fi
fi

# What is only optional may stay away; each feature that wants it says so itself.
for group in "$@"; do
  left=$(missing "$group")
  [ -z "$left" ] || [ "$group" = optional ] || exit 1
done
