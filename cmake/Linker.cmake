# A hundred programs are linked, one of them between saving a learner's file and its verdict: with the fastest linker here.
include(CheckLinkerFlag)
foreach(linker mold lld gold)
  check_linker_flag(CXX -fuse-ld=${linker} RUNGS_LINKS_WITH_${linker})
  if(RUNGS_LINKS_WITH_${linker})
    add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=${linker}>)
    break()
  endif()
endforeach()

# GCC moves what hardly ever runs away from its function, and what it moves may have no length. lld 14 then takes the
# unwind information of that for the function that lies behind it, and an exception from there ends the program.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-reorder-blocks-and-partition>)
