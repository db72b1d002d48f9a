# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Release unless the user says otherwise: an unoptimised Kokkos program is useless.
get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT multi_config AND NOT CMAKE_BUILD_TYPE)
  message(STATUS "Solder: no CMAKE_BUILD_TYPE given, building Release")
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()
