# CUDA files for the host: g++ compiles them as C++, and kernels/emulator runs them.

# kernel_sources(FILES...): these .cu files are C++ in the folder that calls this.
function(kernel_sources)
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
endfunction()

# kernel_target_options(TARGET PLAIN|CHECKED): how a target that holds .cu files is compiled, and the engine that runs
# them. CHECKED: the compiler calls a hook at every access; the checker supplies the hooks, so no sanitizer is linked.
# What RUNGS_SANITIZE adds goes away there: the compiler cannot have both.
# -gno-as-loc-support: a line of a report is one of the file that is included, not of the one that includes it.
# -Wno-pass-failed: clang says which loops it does not unroll; they are to be unrolled on a GPU.
# -fstack-clash-protection: a local array that is larger than a thread's stack meets the guard page below, not another stack.
function(kernel_target_options target mode)
  target_compile_options(${target} PRIVATE -fstack-clash-protection -fno-strict-aliasing -Wno-unknown-pragmas -Wno-attributes
    $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)
  if(mode STREQUAL "CHECKED")
    target_compile_options(${target} PRIVATE -O1 -g $<$<CXX_COMPILER_ID:GNU>:-fno-tree-sra;-gno-as-loc-support;-Wno-tsan>
      -fno-sanitize=all -fsanitize=thread,alignment,bounds -fsanitize-recover=all)
    target_link_libraries(${target} PUBLIC cuda_on_cpu_checked)
  else()
    target_link_libraries(${target} PUBLIC cuda_on_cpu)
  endif()
endfunction()
