# Cross-compiling for a 64-bit ARM processor, as tools/every_processor.sh does. The packages' headers are those of every
# processor, and of /usr/include the compiler may see no others: the script links them into a folder.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CXX_FLAGS_INIT "-isystem ${CMAKE_CURRENT_LIST_DIR}/../build/every_processor/headers")
foreach(package fmt hwy tomlplusplus)
  set(${package}_DIR /usr/lib/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu/cmake/${package})
endforeach()
