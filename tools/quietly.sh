#!/bin/sh
# Runs a command with its output in a log, which is shown only when the command fails.
# Usage: tools/quietly.sh LOG COMMAND...
log=$1
shift
mkdir -p "$(dirname "$log")"
"$@" >"$log" 2>&1 && exit 0
status=$?
cat "$log" >&2
exit $status
