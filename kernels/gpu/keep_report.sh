#!/bin/sh
# Runs a compile command, keeps what ptxas reports of each kernel in OBJECT.resources, and shows the rest.
for word in "$@"; do
  [ "$before" = -o ] && object=$word
  before=$word
done
"$@" 2>"$object.resources"
status=$?
if [ $status = 0 ]; then
  grep -v -e '^ptxas info' -e 'bytes stack frame' "$object.resources" >&2
else
  cat "$object.resources" >&2
fi
exit $status
