# add_lesson(06_causal_mask BUILDS_ON 05_attention) makes of lessons/06_causal_mask:
#   06_causal_mask            its program: main.cpp or main.cu with the solution, and the solutions of the lessons that it builds on
#   06_causal_mask_solution   the runner process of the solution
#   06_causal_mask_mine       the same with the learner's file; built only when asked for
#   06_causal_mask_mistakes   the same with every known mistake
#   06_causal_mask_starter    the same with the generated starter
#   06_causal_mask_versions   the same with versions that were written freely, from tests/learner/naming; for `grade --naming`
#   06_causal_mask_yours      its program with the learner's file in place of the solution, for `rungs run --mine`
#   06_causal_mask_test       its suites, as doctest cases
#   06_causal_mask_experiments   writes how its program's output changes with each change of experiments.toml
#   06_causal_mask_piece      the file that takes part in rungs_mine, the capstone: the learner's where it passed
# A lesson whose solution is solution.cu is about CUDA. Its program runs the kernels on the host's engine, its runner
# processes run them under the checker, and it takes part in rungs_mine_emulator. With KERNELS it calls those of kernels/. From broken.cu it has one program more,
#   16_cuda_first_broken      kernels that are wrong on purpose, under the checker: for the page's sessions
# add_lesson(07s_min_p STRETCH BUILDS_ON 07_generate), a stretch of lesson 07 that a learner may write and nobody grades, has
# no program, no experiments and no page of its own: its section stands on the page of its lesson.
# In a course's handout, which `rungs handout` writes, a lesson has starter.cpp or starter.cu in place of its solution, and
# none of its known mistakes' code. Then there are its runners mine and starter, its program and piece on the learner's file, and
#   06_causal_mask_lib        the learner's own file, for the lessons that build on it; `rungs` says which file that is
# The functions above add_lesson are its parts, and read its variables: source, made, solution, ending, kernels, ...
set_property(GLOBAL PROPERTY RUNGS_LESSONS "")
set_property(GLOBAL PROPERTY RUNGS_STRETCHES "")

# The one place that knows how a lesson's files end: as its program does.
function(lesson_solution name out)
  set(folder ${PROJECT_SOURCE_DIR}/lessons/${name})
  if(EXISTS ${folder}/main.cu)
    set(${out} ${folder}/solution.cu PARENT_SCOPE)
  else()
    set(${out} ${folder}/solution.cpp PARENT_SCOPE)
  endif()
endfunction()

# A library of a lesson's solution, which may call the lessons below it, never one above.
function(add_solution library source solution)
  add_library(${library} STATIC ${solution})
  target_include_directories(${library} PRIVATE ${source} INTERFACE ${PROJECT_SOURCE_DIR}/lessons)
  target_include_directories(${library} PRIVATE ${PROJECT_SOURCE_DIR}/lessons)
  target_link_libraries(${library} PUBLIC rungs ${ARGN})
endfunction()

# What the lesson generator makes of the solution and mistakes.toml.
function(add_generated name)
  files_of(cases ${references}/*/case.json)
  set(files starter${ending} mistakes.json pieces.hpp solution_glue.cpp mine_glue.cpp)
  if(NOT handed_out)
    list(APPEND files mistakes${ending} suites.cpp)
  endif()
  list(TRANSFORM files PREPEND ${made}/)
  add_custom_command(
    OUTPUT ${made}/stamp BYPRODUCTS ${files}
    COMMAND lesson_generator ${source} ${references} ${made}
    COMMAND ${CMAKE_COMMAND} -E touch ${made}/stamp
    DEPENDS lesson_generator ${solution} ${source}/mistakes.toml ${cases}
    COMMENT "Taking ${name} apart")
  add_custom_target(${name}_made DEPENDS ${made}/stamp)
  if(EXISTS ${versions})
    add_custom_command(
      OUTPUT ${made}/versions${ending} ${made}/versions.json
      COMMAND lesson_generator --versions ${versions} ${source} ${made}
      COMMAND ${CMAKE_COMMAND} -E touch ${made}/versions${ending} ${made}/versions.json
      DEPENDS lesson_generator ${solution} ${source}/mistakes.toml ${versions}
      COMMENT "Writing versions of ${name}")
  endif()
endfunction()

# The lesson's program without the lesson's functions, which are the solution's, the learner's or an experiment's.
function(add_main name)
  add_library(${name}_main OBJECT ${source}/main${ending})
  target_include_directories(${name}_main PRIVATE ${source} ${PROJECT_SOURCE_DIR}/lessons)
  target_link_libraries(${name}_main PRIVATE rungs ${below})
  if(kernels)
    kernel_sources(${source}/main.cu)
    kernel_target_options(${name}_main PLAIN)
  else()
    target_precompile_headers(${name}_main REUSE_FROM common_headers)
  endif()
endfunction()

# The solution, and for the runner processes of a lesson about CUDA the same under the checker; and the program.
function(add_program name)
  add_solution(${name}_lib ${source} ${solution} ${below})
  if(LESSON_STRETCH)
    target_precompile_headers(${name}_lib REUSE_FROM common_headers)
    return()
  endif()
  if(kernels)
    set(files ${solution} ${made}/starter.cu ${made}/mistakes.cu ${made}/versions.cu)
    kernel_sources(${files})
    kernel_target_options(${name}_lib PLAIN)
    add_solution(${name}_lib_checked ${source} ${solution} ${below_in_runners})
    kernel_target_options(${name}_lib_checked CHECKED)
  endif()

  add_executable(${name} $<TARGET_OBJECTS:${name}_main> $<TARGET_OBJECTS:last_words>)
  target_link_libraries(${name} PRIVATE ${name}_lib)
  if(kernels)
    add_broken_kernels(${name})
  else()
    target_precompile_headers(${name}_lib REUSE_FROM common_headers)
  endif()
endfunction()

# In a handout, what the lessons above stand on: the learner's own file.
function(add_below name)
  set(file ${PROJECT_BINARY_DIR}/mine/${name}_below.cpp)
  set_source_files_properties(${file} PROPERTIES GENERATED ON)
  set(libraries ${name}_lib)
  add_solution(${name}_lib ${source} ${file} ${below})
  if(kernels)
    kernel_sources(${made}/starter.cu)
    kernel_target_options(${name}_lib PLAIN)
    list(APPEND libraries ${name}_lib_checked)
    add_solution(${name}_lib_checked ${source} ${file} ${below_in_runners})
    kernel_target_options(${name}_lib_checked CHECKED)
  else()
    target_precompile_headers(${name}_lib REUSE_FROM common_headers)
  endif()
  foreach(library IN LISTS libraries)
    set_target_properties(${library} PROPERTIES EXCLUDE_FROM_ALL ON)
    target_compile_options(${library} PRIVATE -w)
  endforeach()
endfunction()

# What the runner processes share: the cases, and what hands an implementation's functions to them, which holds no kernel
# and so needs no checker.
function(add_cases name)
  add_library(${name}_cases OBJECT ${source}/cases.cpp)
  add_dependencies(${name}_cases ${name}_made)
  target_include_directories(${name}_cases PRIVATE ${source} ${made} ${PROJECT_SOURCE_DIR}/lessons)
  target_link_libraries(${name}_cases PRIVATE rungs_grader)
  if(kernels)
    target_link_libraries(${name}_cases PRIVATE cuda_on_cpu_checked)
  endif()
  if(NOT kernels)
    target_precompile_headers(${name}_cases REUSE_FROM common_headers)
  endif()
  set(glues mine)
  if(NOT handed_out)
    list(APPEND glues solution)
  endif()
  foreach(which IN LISTS glues)
    set_source_files_properties(${made}/${which}_glue.cpp PROPERTIES GENERATED ON)
    add_library(${name}_${which}_glue OBJECT ${made}/${which}_glue.cpp)
    add_dependencies(${name}_${which}_glue ${name}_made)
    target_include_directories(${name}_${which}_glue PRIVATE ${source} ${made} ${PROJECT_SOURCE_DIR}/lessons)
    target_link_libraries(${name}_${which}_glue PRIVATE rungs_grader runner_flags)
    if(kernels)
      target_link_libraries(${name}_${which}_glue PRIVATE cuda_on_cpu_checked)
    endif()
    target_compile_options(${name}_${which}_glue PRIVATE -O0 -g)
    target_precompile_headers(${name}_${which}_glue REUSE_FROM runner_main)
  endforeach()
endfunction()

# Runner processes.
function(add_runners name)
  set(runners mine starter)
  if(NOT handed_out)
    list(APPEND runners solution mistakes)
  endif()
  if(EXISTS ${versions})
    list(APPEND runners versions)
  endif()
  foreach(which IN LISTS runners)
    if(which STREQUAL "solution")
      set(code $<TARGET_OBJECTS:${name}_solution_glue>)
    elseif(which STREQUAL "mine")  # rungs writes the first: it includes the learner's file, wherever that stands
      set(code ${PROJECT_BINARY_DIR}/mine/${name}.cpp $<TARGET_OBJECTS:${name}_mine_glue>)
    elseif(which STREQUAL "starter")
      set(code ${made}/starter${ending} $<TARGET_OBJECTS:${name}_mine_glue>)
    else()
      set(code ${made}/${which}${ending})
    endif()
    list(GET code 0 first)
    set_source_files_properties(${first} PROPERTIES GENERATED ON)
    add_executable(${name}_${which} ${code})
    add_dependencies(${name}_${which} ${name}_made)
    target_include_directories(${name}_${which} PRIVATE ${source} ${made} ${PROJECT_SOURCE_DIR}/lessons)
    target_link_libraries(${name}_${which} PRIVATE runner_main ${name}_cases rungs_grader ${below_in_runners})
    if(kernels)
      kernel_target_options(${name}_${which} CHECKED)
      target_link_libraries(${name}_${which} PRIVATE kernel_case)
      target_precompile_headers(${name}_${which} REUSE_FROM checked_headers)
    else()
      target_compile_options(${name}_${which} PRIVATE -O0 -g)  # from save to verdict, and for a debugger
      target_precompile_headers(${name}_${which} REUSE_FROM runner_main)
    endif()
  endforeach()
  # A half-written file has unused names, and no warning may keep it from its verdict.
  set_target_properties(${name}_mine PROPERTIES EXCLUDE_FROM_ALL ON COMPILE_WARNING_AS_ERROR OFF)
  # What is never right is an error all the same. clang has another name for the second, and has to be asked for comparisons
  # that are always true.
  target_compile_options(${name}_mine PRIVATE -Wno-unused -Wno-unused-parameter -Werror=return-type
    "$<IF:$<CXX_COMPILER_ID:Clang>,-Werror=return-stack-address;-Wtype-limits,-Werror=return-local-addr>")
  target_compile_options(${name}_starter PRIVATE -w)
  if(handed_out)
    set_target_properties(${name}_starter PROPERTIES EXCLUDE_FROM_ALL ON)  # it stands on what the learner has yet to write
    return()
  endif()
  target_link_libraries(${name}_solution PRIVATE ${name}_lib${checked})
  target_compile_options(${name}_mistakes PRIVATE -w)  # wrong code may well warn
  if(EXISTS ${versions})
    set_target_properties(${name}_versions PROPERTIES EXCLUDE_FROM_ALL ON)
    target_compile_options(${name}_versions PRIVATE -w)
  endif()
endfunction()

# The lesson's program, main.cpp, on the learner's file: built when `rungs run` asks for it.
function(add_yours name)
  add_executable(${name}_yours EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${name}_main> ${PROJECT_BINARY_DIR}/mine/${name}.cpp
    $<TARGET_OBJECTS:last_words>)
  set_source_files_properties(${PROJECT_BINARY_DIR}/mine/${name}.cpp PROPERTIES GENERATED ON)
  target_include_directories(${name}_yours PRIVATE ${source} ${PROJECT_SOURCE_DIR}/lessons)
  target_link_libraries(${name}_yours PRIVATE rungs ${below})
  target_compile_options(${name}_yours PRIVATE -w)
  if(kernels)
    kernel_target_options(${name}_yours PLAIN)
  else()
    target_precompile_headers(${name}_yours REUSE_FROM common_headers)
  endif()
endfunction()

# The file that takes part in rungs_mine or rungs_mine_emulator, optimized, and written by `rungs generate --mine` like that of the runner.
function(add_piece name)
  set(piece ${PROJECT_BINARY_DIR}/mine/${name}_piece.cpp)
  set_source_files_properties(${piece} PROPERTIES GENERATED ON)
  add_library(${name}_piece OBJECT EXCLUDE_FROM_ALL ${piece})
  target_include_directories(${name}_piece PRIVATE ${source} ${PROJECT_SOURCE_DIR}/lessons)
  target_link_libraries(${name}_piece PRIVATE rungs)
  target_compile_options(${name}_piece PRIVATE -w)
  if(kernels)
    kernel_target_options(${name}_piece PLAIN)
  else()
    target_precompile_headers(${name}_piece REUSE_FROM common_headers)
  endif()
endfunction()

# What happens with each change of experiments.toml to the solution, for the page: experiments/NAME.txt keeps how the output
# differs, and a test compares. NN_name_experiments writes these files anew. A lesson's program is built with each change; of
# a lesson about CUDA it is what a learner sees who types `rungs TYPES NN` with the changed file.
function(add_experiments name)
  if(NOT EXISTS ${source}/experiments.toml)
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source}/experiments.toml)
  file(STRINGS ${source}/experiments.toml names REGEX "^name = ")
  list(TRANSFORM names REPLACE "^name = \"(.*)\"$" "\\1")
  file(STRINGS ${source}/experiments.toml types REGEX "^types = ")
  list(TRANSFORM types REPLACE "^types = \"(.*)\"$" "\\1")
  set(files "")
  foreach(experiment IN LISTS names)
    list(APPEND files ${made}/experiment_${experiment}${ending})
  endforeach()
  add_custom_command(OUTPUT ${files}
    COMMAND lesson_generator --experiments ${source}/experiments.toml ${source} ${made}
    DEPENDS lesson_generator ${solution} ${source}/experiments.toml COMMENT "Changing ${name}" VERBATIM)
  add_custom_target(${name}_experiments)
  if(kernels)
    add_custom_target(${name}_changed ALL DEPENDS ${files})
    add_dependencies(${name}_experiments ${name}_changed rungs_command)
  endif()
  foreach(experiment typed IN ZIP_LISTS names types)
    set(compare ${CMAKE_COMMAND} -DKEPT=${source}/experiments/${experiment}.txt -DCOMPILER=${CMAKE_CXX_COMPILER_ID})
    if(kernels)
      list(APPEND compare -DLESSON=${name} -DSOLUTION=${solution} -DCHANGED=${made}/experiment_${experiment}${ending}
        -DRUNGS=$<TARGET_FILE:rungs_command> "-DTYPES=${typed}")
    else()
      set(program ${name}_experiment_${experiment})
      add_executable(${program} ${made}/experiment_${experiment}.cpp $<TARGET_OBJECTS:${name}_main> $<TARGET_OBJECTS:last_words>)
      target_include_directories(${program} PRIVATE ${source} ${PROJECT_SOURCE_DIR}/lessons)
      target_compile_options(${program} PRIVATE -w)
      target_link_libraries(${program} PRIVATE ${below} rungs)
      target_precompile_headers(${program} REUSE_FROM common_headers)
      add_dependencies(${name}_experiments ${program})
      list(APPEND compare -DPROGRAM=$<TARGET_FILE:${program}> -DEXPECTED=${source}/expected.txt)
    endif()
    set(script -P ${PROJECT_SOURCE_DIR}/cmake/CompareExperiment.cmake)
    set(test ${name}/experiments/${experiment})
    add_test(NAME ${test} COMMAND ${compare} ${script})
    if(kernels)  # it builds
      set_tests_properties(${test} PROPERTIES TIMEOUT 300 RESOURCE_LOCK build SKIP_REGULAR_EXPRESSION "SKIPPED")
    else()
      set_tests_properties(${test} PROPERTIES TIMEOUT 60 SKIP_REGULAR_EXPRESSION "SKIPPED")
    endif()
    add_custom_command(TARGET ${name}_experiments POST_BUILD COMMAND ${compare} -DWRITE=ON ${script} VERBATIM)
  endforeach()
endfunction()

function(add_lesson_tests name)
  if(NOT LESSON_STRETCH)
    add_test(NAME ${name}/expected COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${name}> -DEXPECTED=${source}/expected.txt
      -P ${PROJECT_SOURCE_DIR}/cmake/CompareOutput.cmake)
    set_tests_properties(${name}/expected PROPERTIES TIMEOUT 60)
  endif()

  add_executable(${name}_test ${made}/suites.cpp)
  set_source_files_properties(${made}/suites.cpp PROPERTIES GENERATED ON)
  add_dependencies(${name}_test ${name}_made ${name}_solution ${name}_mistakes)
  target_link_libraries(${name}_test PRIVATE rungs_doctest_main rungs_grader)
  if(RUNGS_SANITIZE)  # there a case takes less time than the start of its program
    add_test(NAME ${name}/cases COMMAND ${name}_test)
    set(label evaluate)
    if(LESSON_STRETCH)
      set(label stretch)
    elseif(TARGET ${name}_lib_checked)
      set(label checked)
    endif()
    set_tests_properties(${name}/cases PROPERTIES TIMEOUT 600 LABELS ${label})
  else()
    doctest_discover_tests(${name}_test ADD_LABELS 1 TEST_PREFIX "${name}/" PROPERTIES TIMEOUT 120)
  endif()
endfunction()

function(add_lesson name)
  cmake_parse_arguments(LESSON "KERNELS;STRETCH" "" "BUILDS_ON" ${ARGN})
  set(source ${PROJECT_SOURCE_DIR}/lessons/${name})
  set(references ${PROJECT_SOURCE_DIR}/weights/references/${name})
  set(made ${PROJECT_BINARY_DIR}/lessons/${name})
  set(versions ${PROJECT_SOURCE_DIR}/tests/learner/naming/${name}.toml)
  lesson_solution(${name} solution)
  set(handed_out FALSE)
  if(NOT EXISTS ${solution})
    set(handed_out TRUE)
    string(REGEX REPLACE "solution(\\.[a-z]+)$" "starter\\1" solution ${solution})
  endif()
  get_filename_component(ending ${solution} EXT)
  if(ending STREQUAL ".cu")
    set(kernels TRUE)
    set(checked _checked)
  else()
    set(kernels FALSE)
    set(checked "")
  endif()

  set(below "")
  set(below_in_runners "")
  foreach(lesson IN LISTS LESSON_BUILDS_ON)
    list(APPEND below ${lesson}_lib)
    if(TARGET ${lesson}_lib${checked})
      list(APPEND below_in_runners ${lesson}_lib${checked})
    else()
      list(APPEND below_in_runners ${lesson}_lib)
    endif()
  endforeach()
  if(LESSON_KERNELS)
    list(APPEND below kernels_host)
    list(APPEND below_in_runners kernels_host_checked)
  endif()

  add_generated(${name})
  if(NOT LESSON_STRETCH)
    add_main(${name})
  endif()
  if(handed_out)
    add_below(${name})
  else()
    add_program(${name})
  endif()
  add_cases(${name})
  add_runners(${name})
  if(NOT handed_out)
    add_lesson_tests(${name})
  endif()

  string(REPLACE ";" " " line "${name};${LESSON_BUILDS_ON}")
  if(LESSON_STRETCH)
    set_property(GLOBAL APPEND_STRING PROPERTY RUNGS_STRETCHES "${line}\n")
    return()
  endif()
  add_yours(${name})
  add_piece(${name})
  if(NOT handed_out)
    add_experiments(${name})
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY RUNGS_LESSONS "${line}\n")
endfunction()

# broken.cu of a lesson, where it has one: a kernel whose fault the checker names, and one that a debugger is needed for.
# checker.txt and gdb.txt beside it show the two sessions; NN_name_sessions writes them anew, and a test compares each.
function(add_broken_kernels name)
  set(source ${PROJECT_SOURCE_DIR}/lessons/${name})
  if(NOT EXISTS ${source}/broken.cu)
    return()
  endif()
  kernel_sources(${source}/broken.cu)
  add_executable(${name}_broken ${source}/broken.cu)
  kernel_target_options(${name}_broken CHECKED)
  target_compile_options(${name}_broken PRIVATE -O0)  # for the debugger, every variable is there
  set(session ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${name}_broken> -DSOURCE=${source} -DCOMPILER=${CMAKE_CXX_COMPILER_ID})
  set(script -P ${PROJECT_SOURCE_DIR}/cmake/BrokenKernels.cmake)
  foreach(which checker gdb)
    add_test(NAME ${name}/${which} COMMAND ${session} -DSESSION=${which} ${script})
    set_tests_properties(${name}/${which} PROPERTIES TIMEOUT 60 SKIP_REGULAR_EXPRESSION "SKIPPED")
  endforeach()
  add_custom_target(${name}_sessions COMMAND ${session} -DSESSION=checker -DWRITE=ON ${script}
    COMMAND ${session} -DSESSION=gdb -DWRITE=ON ${script} VERBATIM)
  add_dependencies(${name}_sessions ${name}_broken)
endfunction()

# lessons.txt in the build folder: a line for each lesson, with the lessons it builds on; stretches.txt the same.
function(write_lesson_list)
  foreach(list LESSONS STRETCHES)
    get_property(lines GLOBAL PROPERTY RUNGS_${list})
    string(TOLOWER ${list}.txt file)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${file} CONTENT "${lines}" @ONLY)
  endforeach()
endfunction()
