#!/bin/sh
# Runs a compile command, keeps what ptxas reports of each kernel in OBJECT.resources, and shows the rest.
for word in "$@"; do
  [ "$before" = -o ] && object=$word
  before=$word
done
"$@" 2>"$object.resources"
status=$?
[ $status = 0 ] && grep -v -e '^ptxas info' -e 'bytes stack frame' "$object.resources" >&2 || [ $status = 0 ] || cat "$object.resources" >&2
exit $status
