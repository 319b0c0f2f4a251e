# Results of a class (`rungs grade --submissions`, results/NAME.json), each of one lesson, as Gradescope's results.json.
# $lessons "01 07", $points for all of them, $visibility of the cases, $seconds since the beginning, $results so far.

def rounded: . * 100 | round / 100;

($lessons | split(" ") | map(select(. != ""))) as $numbers
| ($points / ($numbers | length)) as $share
| [$numbers[] as $number
   | (first($results[] | select(.lessons[0].lesson | startswith($number + "_"))) // null) as $result
   | if $result == null then
       {score: 0, tests: [{name: "lesson \($number)", score: 0, max_score: ($share | rounded), status: "failed",
                           output: "It was not graded: the time was over before.", visibility: "visible"}], output: ""}
     else
       $result.lessons[0] as $l
       | ([$result.problem, $l.problem] | map(select(. != "")) | first // "") as $problem
       | if $problem != "" or $l.total == 0 then
           {score: 0, tests: [{name: $l.lesson, score: 0, max_score: ($share | rounded), status: "failed",
                               output: $problem, visibility: "visible"}], output: ""}
         else
           {score: ($share * $l.passed / $l.total), output: $l.story,
            tests: [$l.cases[] | {name: "\($l.lesson) \(.suite) \(.case)", max_score: ($share / $l.total | rounded),
                                  score: (if .passed then $share / $l.total | rounded else 0 end),
                                  status: (if .passed then "passed" else "failed" end),
                                  output: .sentence, visibility: $visibility}]}
         end
     end] as $graded
| {score: ([$graded[].score] | add | rounded),
   execution_time: $seconds,
   output: (if $visibility == "visible" then [$graded[].output | select(. != "")] | join("\n") else "" end),
   visibility: "visible",
   stdout_visibility: "hidden",
   tests: [$graded[].tests[]]}
