# Files that include the same heavy headers (JSON, Eigen, fmt) are compiled as one, which takes less than half of the
# time of one by one. Each file still includes what it needs: RUNGS_TOGETHER=OFF compiles every file alone, which is better
# for working on the library, since a change then costs one file.
option(RUNGS_TOGETHER "Compile the files of a room of the library as one" ON)

# compile_together(target group FILES...)
function(compile_together target group)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${RUNGS_TOGETHER} UNITY_BUILD_MODE GROUP)
  set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP ${group})
endfunction()

# compile_by_room(target): the files of each of its folders together. A file with compile options of its own stays alone.
function(compile_by_room target)
  get_target_property(files ${target} SOURCES)
  foreach(file IN LISTS files)
    get_filename_component(room ${file} DIRECTORY)
    get_filename_component(room ${room} NAME)
    compile_together(${target} ${room} ${file})
  endforeach()
endfunction()
