# Which processors a build is for. By default nothing depends on the machine that compiles it.
#   RUNGS_BASELINE   what every file may use (-march): programs look for it as they start (lib/rungs/ops/processor.cpp)
#   RUNGS_NATIVE     this machine's processor instead, for a build that stays here
# What is hot is compiled once for each kind of processor by Highway, which chooses when the program runs: those files
# (highway_sources) begin at the oldest of the architecture.
set(RUNGS_OLDEST "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(RUNGS_OLDEST x86-64)
  set(baseline x86-64-v3)  # AVX2 and FMA: Intel since 2013, AMD since 2015
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(RUNGS_OLDEST armv8-a)
  set(baseline armv8-a)  # NEON belongs to it
endif()
set(RUNGS_BASELINE "${baseline}" CACHE STRING "The -march of the build; empty: the compiler's own")
option(RUNGS_NATIVE "Compile for this machine's processor, in place of RUNGS_BASELINE" OFF)
if(RUNGS_NATIVE AND NOT CMAKE_CROSSCOMPILING)
  set(RUNGS_BASELINE native)
endif()
if(RUNGS_BASELINE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-march=${RUNGS_BASELINE}>)
endif()

# highway_sources(FILES...): these files of the calling folder are compiled by Highway for each kind of processor.
# Vectors without a fixed size (SVE, RVV) fit in no struct. Precompiled headers would be of other flags. What sanitizers
# add takes minutes to compile there, so they watch the oldest kind, AVX2 and the newest; and no reader of a file, which is
# what a fuzzer runs, multiplies anything.
function(highway_sources)
  set(left_out HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128|HWY_RVV)
  if(RUNGS_SANITIZE)
    string(APPEND left_out |HWY_SSSE3|HWY_SSE4|HWY_AVX3)
  endif()
  if(RUNGS_FUZZ)
    string(APPEND left_out |HWY_AVX2|HWY_AVX3_DL)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all)
  endif()
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_DEFINITIONS HWY_WANT_AVX3_DL "HWY_DISABLED_TARGETS=(${left_out})"
    "$<TARGET_PROPERTY:hwy::hwy,INTERFACE_COMPILE_DEFINITIONS>")
  if(RUNGS_OLDEST)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -march=${RUNGS_OLDEST})
  endif()
  set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()
