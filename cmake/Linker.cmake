# A hundred programs are linked, one of them between saving a learner's file and its verdict: with the fastest linker here.
include(CheckLinkerFlag)
foreach(linker mold lld gold)
  check_linker_flag(CXX -fuse-ld=${linker} RUNGS_LINKS_WITH_${linker})
  if(RUNGS_LINKS_WITH_${linker})
    add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=${linker}>)
    break()
  endif()
endforeach()
