#!/bin/sh
# Tells a story twice, with the KV cache and without it, and says how much faster the cache made it.
cd "$(dirname "$0")/.." || exit
seconds=build/demo.seconds

# tell WHAT OPTION...: the story, and its time in the file $seconds
tell() {
  what=$1
  shift
  echo "$what"
  ./rungs generate --prompt "Once upon a time" --echo --max-tokens 160 --temperature 0 --stats "$@" 2>$seconds || {
    cat $seconds >&2
    exit 1
  }
  sed 's/^/  /' $seconds
  echo
}

tell "With the KV cache:"
with=$(awk '/tokens per second/ {print $6 + $12}' $seconds)
tell "Without it, every step computes the whole text again:" --no-cache
without=$(awk '/tokens per second/ {print $6 + $12}' $seconds)
rm -f $seconds
awk "BEGIN {printf \"%.1f times as fast with the cache. Your turn: ./rungs list\n\", $without / $with}"
