# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Headers that many files include are compiled once for all of them: solder_precompile(TARGET HEADER...) compiles them
# for a target, and solder_reuse(TARGET OF) reuses them. Not for GPU compilers, whose wrappers do not support this.
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
