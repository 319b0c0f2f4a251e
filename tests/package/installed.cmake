# Installs the library of BUILD into a folder of its own, builds the program beside this file with what stands there
# alone, and compares its text with that of `rungs generate`.
#   cmake -DBUILD=... -DRUNGS=PROGRAM -DMODEL=... -P installed.cmake
set(folder ${BUILD}/package)
file(REMOVE_RECURSE ${folder})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(status)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${said}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${folder}/prefix)
file(COPY ${CMAKE_CURRENT_LIST_DIR}/CMakeLists.txt ${CMAKE_CURRENT_LIST_DIR}/story.cpp DESTINATION ${folder}/source)
run(${CMAKE_COMMAND} -S ${folder}/source -B ${folder}/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_PREFIX_PATH=${folder}/prefix)
run(${CMAKE_COMMAND} --build ${folder}/build)

set(text "Once upon a time")
execute_process(COMMAND ${folder}/build/story ${MODEL} ${text} OUTPUT_VARIABLE story COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${RUNGS} generate --model ${MODEL} --temperature 0 --max-tokens 100 --echo --prompt ${text} OUTPUT_VARIABLE expected
  COMMAND_ERROR_IS_FATAL ANY)
if(NOT "${text}${story}" STREQUAL expected)
  message(FATAL_ERROR "the program outside wrote\n${text}${story}\nand rungs generate\n${expected}")
endif()
message("${text}${story}")
