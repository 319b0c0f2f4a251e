# add_lesson(06_causal_mask BUILDS_ON 05_attention) makes of lessons/06_causal_mask:
#   06_causal_mask            its program: main.cpp with the solution, and the solutions of the lessons that it builds on
#   06_causal_mask_solution   the runner process of the solution
#   06_causal_mask_mine       the same with work/06_causal_mask.cpp; built only when asked for
#   06_causal_mask_elsewhere  the same with the file in the folder that RUNGS_WORK names when rungs is run
#   06_causal_mask_mistakes   the same with every known mistake
#   06_causal_mask_starter    the same with the generated starter
#   06_causal_mask_test       its suites, as doctest cases
#   06_causal_mask_piece      the file that takes part in rungs_mine, the capstone: the learner's where it passed
set_property(GLOBAL PROPERTY RUNGS_LESSONS "")

function(add_lesson name)
  cmake_parse_arguments(LESSON "" "" "BUILDS_ON" ${ARGN})
  set(source ${PROJECT_SOURCE_DIR}/lessons/${name})
  set(references ${PROJECT_SOURCE_DIR}/weights/references/${name})
  set(made ${PROJECT_BINARY_DIR}/lessons/${name})

  # What follows from solution.cpp and mistakes.toml.
  file(GLOB cases CONFIGURE_DEPENDS ${references}/*/case.json)
  set(files starter.cpp mistakes.cpp mistakes.json pieces.hpp solution_glue.cpp mine_glue.cpp suites.cpp)
  list(TRANSFORM files PREPEND ${made}/)
  add_custom_command(
    OUTPUT ${made}/stamp BYPRODUCTS ${files}
    COMMAND anatomize ${source} ${references} ${made}
    COMMAND ${CMAKE_COMMAND} -E touch ${made}/stamp
    DEPENDS anatomize ${source}/solution.cpp ${source}/mistakes.toml ${cases}
    COMMENT "Taking ${name} apart")
  add_custom_target(${name}_made DEPENDS ${made}/stamp)

  # The solution; a lesson may call the lessons below it, never one above.
  add_library(${name}_lib STATIC ${source}/solution.cpp)
  target_include_directories(${name}_lib PRIVATE ${source} INTERFACE ${PROJECT_SOURCE_DIR}/lessons)
  target_include_directories(${name}_lib PRIVATE ${PROJECT_SOURCE_DIR}/lessons)
  target_link_libraries(${name}_lib PUBLIC rungs)
  set(below "")
  foreach(lesson IN LISTS LESSON_BUILDS_ON)
    list(APPEND below ${lesson}_lib)
  endforeach()
  target_link_libraries(${name}_lib PUBLIC ${below})

  add_executable(${name} ${source}/main.cpp)
  target_include_directories(${name} PRIVATE ${source})
  target_link_libraries(${name} PRIVATE ${name}_lib)

  # Runner processes. cases.cpp is compiled once for all of them.
  add_library(${name}_cases OBJECT ${source}/cases.cpp)
  add_dependencies(${name}_cases ${name}_made)
  target_include_directories(${name}_cases PRIVATE ${source} ${made} ${PROJECT_SOURCE_DIR}/lessons)
  target_link_libraries(${name}_cases PRIVATE rungs_grade)
  foreach(which solution mine elsewhere starter mistakes)
    if(which STREQUAL solution)
      set(code ${made}/solution_glue.cpp)
    elseif(which STREQUAL mine)
      set(code ${PROJECT_SOURCE_DIR}/work/${name}.cpp ${made}/mine_glue.cpp)
    elseif(which STREQUAL elsewhere)
      set(code ${PROJECT_BINARY_DIR}/elsewhere/${name}.cpp ${made}/mine_glue.cpp)  # rungs writes the first: it includes the file
    elseif(which STREQUAL starter)
      set(code ${made}/starter.cpp ${made}/mine_glue.cpp)
    elseif(which STREQUAL mistakes)
      set(code ${made}/mistakes.cpp)
    endif()
    set_source_files_properties(${code} PROPERTIES GENERATED ON)
    add_executable(${name}_${which} ${code})
    add_dependencies(${name}_${which} ${name}_made)
    target_include_directories(${name}_${which} PRIVATE ${source} ${made} ${PROJECT_SOURCE_DIR}/lessons)
    target_link_libraries(${name}_${which} PRIVATE runner_main ${name}_cases rungs_grade ${below})
    target_compile_options(${name}_${which} PRIVATE -O0 -g)  # from save to verdict, and for a debugger
    target_precompile_headers(${name}_${which} REUSE_FROM runner_main)
  endforeach()
  target_link_libraries(${name}_solution PRIVATE ${name}_lib)
  foreach(which mine elsewhere)  # a half-written file has unused names, and no warning may keep it from its verdict
    set_target_properties(${name}_${which} PROPERTIES EXCLUDE_FROM_ALL ON COMPILE_WARNING_AS_ERROR OFF)
    target_compile_options(${name}_${which} PRIVATE -Wno-unused -Wno-unused-parameter)
  endforeach()
  target_compile_options(${name}_mistakes PRIVATE -w)  # wrong code may well warn
  target_compile_options(${name}_starter PRIVATE -w)
  foreach(target ${name}_lib ${name} ${name}_cases)
    target_precompile_headers(${target} REUSE_FROM rungs)
  endforeach()

  set(piece ${PROJECT_BINARY_DIR}/pieces/${name}.cpp)  # written by `rungs generate --mine`
  set_source_files_properties(${piece} PROPERTIES GENERATED ON)
  add_library(${name}_piece OBJECT EXCLUDE_FROM_ALL ${piece})
  target_include_directories(${name}_piece PRIVATE ${source} ${PROJECT_SOURCE_DIR}/lessons)
  target_link_libraries(${name}_piece PRIVATE rungs)
  target_compile_options(${name}_piece PRIVATE -w)

  add_test(NAME ${name}/expected COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${name}> -DEXPECTED=${source}/expected.txt
    -P ${PROJECT_SOURCE_DIR}/cmake/CompareOutput.cmake)
  set_tests_properties(${name}/expected PROPERTIES TIMEOUT 60)

  add_executable(${name}_test ${made}/suites.cpp)
  set_source_files_properties(${made}/suites.cpp PROPERTIES GENERATED ON)
  add_dependencies(${name}_test ${name}_made ${name}_solution ${name}_mistakes)
  target_link_libraries(${name}_test PRIVATE rungs_doctest_main rungs_grade)
  doctest_discover_tests(${name}_test ADD_LABELS 1 TEST_PREFIX "${name}/" PROPERTIES TIMEOUT 120)

  string(REPLACE ";" " " line "${name};${LESSON_BUILDS_ON}")
  set_property(GLOBAL APPEND_STRING PROPERTY RUNGS_LESSONS "${line}\n")
endfunction()

# lessons.txt in the build folder: a line for each lesson, with the lessons it builds on.
function(write_lesson_list)
  get_property(lessons GLOBAL PROPERTY RUNGS_LESSONS)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/lessons.txt CONTENT "${lessons}" @ONLY)
endfunction()
