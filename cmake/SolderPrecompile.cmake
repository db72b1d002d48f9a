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

# solder_compile_as_one(TARGET): hosts compile its files as one, so that the templates which they share are compiled once.
# For a GPU, where each takes minutes, they are compiled beside one another.
function(solder_compile_as_one target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${solder_precompiles} UNITY_BUILD_BATCH_SIZE 0)
  if(solder_precompiles AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # it collects garbage less often: 6% of the time for 300 MB
    target_compile_options(${target} PRIVATE --param=ggc-min-expand=300 --param=ggc-min-heapsize=400000)
  endif()
endfunction()

# solder_compile_quickly(TARGET [OPTION]): for what decides, calls, reads and writes, but computes little: there -O1, the
# default of OPTION, takes half to two thirds of the time of -O3, and -Og takes two thirds of that of -O1. A precompiled
# header that it reuses must be compiled so, too.
function(solder_compile_quickly target)
  set(option ${ARGN} -O1)
  list(GET option 0 option)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<BOOL:${solder_precompiles}>>:${option}>)
endfunction()
