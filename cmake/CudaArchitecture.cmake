# What nvcc is to compile for the GPU of this machine.

# Sets `result` to `native` ("120-real", as CMake says of this machine's GPU) where it is among the architectures that
# `nvcc --list-gpu-arch` printed as `known`; for a newer GPU to the last of those before it, as PTX, which the driver
# translates.
function(rungs_architecture_for result native known)
  set(${result} ${native} PARENT_SCOPE)
  string(REGEX MATCHALL "compute_[0-9]+" known "${known}")
  list(TRANSFORM known REPLACE "compute_" "")
  string(REGEX MATCH "^[0-9]+" number "${native}")
  set(last 0)
  foreach(architecture IN LISTS known)
    if(architecture GREATER last AND NOT architecture GREATER "${number}")
      set(last ${architecture})
    endif()
  endforeach()
  if(number AND last GREATER 0 AND NOT last EQUAL number)
    message(STATUS "This nvcc does not know the GPU's architecture, ${number}: it makes PTX for ${last}, which the driver "
      "translates. A newer CUDA Toolkit would compile for it")
    set(${result} ${last}-virtual PARENT_SCOPE)
  endif()
endfunction()
