#!/bin/sh
# gradescope.sh RUNGS SOURCE: run_autograder in a stand-in of Gradescope's folder: right, wrong, half, hostile and missing
# files, and a container whose time is over. 77: there is no jq.
set -eu
rungs=$1 source=$2
command -v jq >/dev/null || { echo "SKIPPED: no jq"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "FAILED: $*"
  cat "$RUNGS_AUTOGRADER/results/results.json" "$folder/log"
  exit 1
}
export RUNGS="$rungs" RUNGS_AUTOGRADER="$folder/autograder"
mkdir -p "$RUNGS_AUTOGRADER/source" "$RUNGS_AUTOGRADER/results"
cp "$source/tools/gradescope/results.jq" "$RUNGS_AUTOGRADER/source"

# grade LESSONS: the files in submission/, as Gradescope calls it
grade() {
  echo "$1" >"$RUNGS_AUTOGRADER/source/lessons.txt"
  (cd "$RUNGS_AUTOGRADER" && "$source/tools/gradescope/run_autograder") >"$folder/log" 2>&1 || fail "run_autograder ended with $?"
}
submit() {
  rm -rf "$RUNGS_AUTOGRADER/submission"
  mkdir "$RUNGS_AUTOGRADER/submission"
}
# holds FILTER: what must be true of results.json
holds() {
  jq -e "$1" "$RUNGS_AUTOGRADER/results/results.json" >/dev/null || fail "$1"
}
valid='(.score | type == "number") and (.tests | length > 0) and (.execution_time >= 0)
  and all(.tests[]; .score <= .max_score and .score >= 0 and (.name | type == "string") and (.output | type == "string")
    and (.status | IN("passed", "failed")) and (.visibility | IN("visible", "hidden", "after_due_date", "after_published")))'
solution=$source/lessons/01_tensor/solution.cpp

submit && cp "$solution" "$RUNGS_AUTOGRADER/submission/01_tensor.cpp"
grade 01
holds "$valid" && holds '.score == 100 and (.tests | length == 9) and all(.tests[]; .status == "passed")'

sed 's/row \* columns + column/column * rows + row/' "$solution" >"$RUNGS_AUTOGRADER/submission/01_tensor.cpp"
grade "01 02"
holds "$valid" && holds '.score > 0 and .score < 20 and (.output | contains("Known mistake"))'
holds '[.tests[] | select(.name | startswith("02_embedding"))] | length == 1 and (.[0].output | length > 0)'
holds '[.tests[].max_score] | add | . > 99 and . < 101'

submit && echo "int x = ;" >"$RUNGS_AUTOGRADER/submission/01_tensor.cpp"
grade 01
holds "$valid" && holds '.score == 0 and (.tests | length == 1) and (.tests[0].output | length > 0)'

submit && ln -s /etc/passwd "$RUNGS_AUTOGRADER/submission/01_tensor.cpp"
grade 01
holds "$valid" && holds '.score == 0'

submit
grade 01
holds "$valid" && holds '.score == 0'

# The time is over in lesson 02: what was graded before counts.
cp "$solution" "$RUNGS_AUTOGRADER/submission/01_tensor.cpp"
cat >"$folder/slow" <<SLOW
#!/bin/sh
[ "\$2" = 01 ] || kill -9 \$PPID
exec "$rungs" "\$@"
SLOW
chmod +x "$folder/slow"
echo "01 02" >"$RUNGS_AUTOGRADER/source/lessons.txt"
RUNGS=$folder/slow "$source/tools/gradescope/run_autograder" >"$folder/log" 2>&1 || true
holds "$valid" && holds '.score == 50 and (.tests[-1].output | contains("the time was over"))'
echo passed
