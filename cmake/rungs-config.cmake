# What a project gets from find_package(rungs): the target rungs::rungs, and the packages that it links.
include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(nlohmann_json)
find_dependency(Eigen3)
find_dependency(hwy)
find_dependency(OpenMP COMPONENTS CXX)
include(${CMAKE_CURRENT_LIST_DIR}/rungs-targets.cmake)
