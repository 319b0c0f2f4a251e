# What doctest_discover_tests() runs whenever a test program was linked, in place of doctest's own doctestAddTests.cmake.
# That starts the program once more for each test to ask for its suite, which took 20 s of a sanitized program of 300
# tests. One listing says both. Its variables are those of doctest.cmake, as far as this project uses them.
execute_process(COMMAND ${TEST_EXECUTOR} ${TEST_EXECUTABLE} --list-test-cases --reporters=xml OUTPUT_VARIABLE listing
  WORKING_DIRECTORY ${TEST_WORKING_DIR} COMMAND_ERROR_IS_FATAL ANY)

set(properties "")
foreach(property IN LISTS TEST_PROPERTIES)
  string(APPEND properties " [==[${property}]==]")
endforeach()
set(script "")
while(listing MATCHES "<TestCase name=\"([^\"]*)\"( testsuite=\"([^\"]*)\")?")
  set(name "${CMAKE_MATCH_1}")
  set(suite "${CMAKE_MATCH_3}")
  string(FIND "${listing}" "${CMAKE_MATCH_0}" at)
  string(LENGTH "${CMAKE_MATCH_0}" length)
  math(EXPR at "${at} + ${length}")
  string(SUBSTRING "${listing}" ${at} -1 listing)
  string(REPLACE "&quot;" "\"" name "${name}")
  string(REPLACE "&lt;" "<" name "${name}")
  string(REPLACE "&gt;" ">" name "${name}")
  string(REPLACE "&amp;" "&" name "${name}")
  string(REPLACE "," "\\," only "${name}")  # a comma would separate two filters
  set(test "[==[${TEST_PREFIX}${name}]==]")
  string(APPEND script "add_test(${test} [==[${TEST_EXECUTABLE}]==] [==[--test-case=${only}]==])\n"
    "set_tests_properties(${test} PROPERTIES WORKING_DIRECTORY [==[${TEST_WORKING_DIR}]==]${properties} LABELS \"${suite}\")\n")
endwhile()
if(NOT script)
  message(FATAL_ERROR "${TEST_EXECUTABLE} --list-test-cases --reporters=xml: no test was found in what it printed")
endif()
file(WRITE "${CTEST_FILE}" "${script}")
