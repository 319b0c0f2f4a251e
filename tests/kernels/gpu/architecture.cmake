# cmake -DPROJECT=... -P architecture.cmake: what nvcc is asked for, by the GPU that is here and by what nvcc knows.
cmake_minimum_required(VERSION 3.25)
include(${PROJECT}/cmake/CudaArchitecture.cmake)

function(expect native known wanted)
  rungs_architecture_for(found "${native}" "${known}")
  if(NOT "${found}" STREQUAL "${wanted}")
    message(SEND_ERROR "a GPU of ${native}, an nvcc that knows ${known}: wanted ${wanted}, found ${found}")
  endif()
endfunction()

expect(80-real "compute_75\ncompute_80\ncompute_90\n" 80-real)
expect(90-real "compute_75\ncompute_80\ncompute_90\ncompute_100\n" 90-real)
expect(120-real "compute_75\ncompute_80\ncompute_90\n" 90-virtual)
expect(103-real "compute_90\ncompute_120\ncompute_100\n" 100-virtual)
expect(60-real "compute_75\ncompute_80\n" 60-real)  # too old for this nvcc, which says so
expect("" "compute_80\n" "")
expect(90-real "" 90-real)
