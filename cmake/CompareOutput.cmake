# Runs a lesson's program and compares what it prints with expected.txt. Lines that begin with "time" measure this machine
# and are compared up to their colon.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with status ${status}")
endif()
file(READ ${EXPECTED} expected)
foreach(text printed expected)
  string(REGEX REPLACE "(^|\n)(time[^:\n]*:)[^\n]*" "\\1\\2" ${text} "${${text}}")
endforeach()
if(NOT printed STREQUAL expected)
  message(FATAL_ERROR "${EXPECTED} is not what the program prints:\n${printed}")
endif()
