# From lessons.txt: the page "Walkthrough" with every lesson in order, and the map of which builds on which.
# Included by make_site.cmake, which sets SOURCE, BUILD and made.
file(STRINGS ${BUILD}/lessons.txt lines)
set(LESSON_LIST "")
set(nodes "")
set(arrows "")
set(alone "")
foreach(line IN LISTS lines)
  separate_arguments(builds_on UNIX_COMMAND "${line}")
  list(POP_FRONT builds_on lesson)
  set(page ${SOURCE}/lessons/${lesson}/walkthrough.md)
  if(NOT EXISTS ${page})
    message(FATAL_ERROR "${page} is missing: every lesson has its page.")
  endif()

  # The list shows each title with the goal that its page begins with, up to the first empty line.
  file(READ ${page} text)
  if(NOT text MATCHES "^# Lesson ([0-9]+b?): ([^\n{]+) {#lesson_${lesson}}\n\n\\*\\*Goal\\.\\*\\*[ \n]+")
    message(FATAL_ERROR "${page} must begin with:\n# Lesson N: its title {#lesson_${lesson}}\n\n**Goal.** two sentences")
  endif()
  set(title ${CMAKE_MATCH_2})
  string(LENGTH "${CMAKE_MATCH_0}" start)
  string(SUBSTRING "${text}" ${start} -1 goal)
  string(FIND "${goal}" "\n\n" end)
  string(SUBSTRING "${goal}" 0 ${end} goal)
  string(REPLACE "\n" " " goal "${goal}")
  string(APPEND LESSON_LIST "- \\subpage lesson_${lesson} <br>\n  ${goal}\n\n")

  # "05_attention" is drawn as "5 attention"; the title shows when the mouse rests on it.
  string(REGEX REPLACE "^0*([0-9]+b?)_" "\\1  " label "${lesson}")
  string(REPLACE "_" " " label "${label}")
  string(APPEND nodes "  \"${lesson}\" [label=\"${label}\", tooltip=\"${title}\", URL=\"\\ref lesson_${lesson}\"]\n")
  if(NOT builds_on)  # those that call no other stand below each other
    if(alone)
      string(APPEND arrows "  \"${alone}\" -> \"${lesson}\" [style=invis]\n")
    endif()
    set(alone ${lesson})
  endif()
  foreach(below IN LISTS builds_on)
    string(APPEND arrows "  \"${below}\" -> \"${lesson}\"\n")
  endforeach()
endforeach()

configure_file(${SOURCE}/docs/walkthrough.md.in ${made}/walkthrough.md @ONLY)
file(WRITE ${made}/lessons.dot "digraph lessons {
  bgcolor=\"transparent\"; nodesep=0.2; ranksep=0.3
  node [shape=box, style=\"rounded,filled\", color=\"#888888\", fillcolor=\"#cfe2ff\", fontcolor=\"#222222\", fontname=\"Helvetica\", fontsize=12, margin=\"0.1,0.07\"]
  edge [color=\"#888888\", arrowsize=0.7]
${nodes}${arrows}}
")
