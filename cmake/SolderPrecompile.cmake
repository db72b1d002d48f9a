# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What every file of a room includes is read once for all of them: solder_precompile(TARGET HEADER...) reads it with
# a target, solder_reuse(TARGET OF) takes it from there. Not for the compilers of GPUs, whose wrappers know no such thing.
set(solder_precompiles FALSE)
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" AND NOT CMAKE_CXX_COMPILER MATCHES "nvcc|hipcc" AND NOT Kokkos_ENABLE_CUDA
   AND NOT Kokkos_ENABLE_HIP
)
  set(solder_precompiles TRUE)
endif()

function(solder_precompile target)
  if(solder_precompiles)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

function(solder_reuse target of)
  if(solder_precompiles)
    target_precompile_headers(${target} REUSE_FROM ${of})
  endif()
endfunction()
