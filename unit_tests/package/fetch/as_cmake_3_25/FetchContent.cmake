# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# In place of CMake's own: takes arguments as CMake 3.25 does, which counts SYSTEM to the value before it.
function(FetchContent_Declare name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "URL;URL_HASH")
  if(NOT arg_URL_HASH MATCHES "^SHA256=[0-9a-f]+$")
    message(FATAL_ERROR "URL_HASH is set to ${arg_URL_HASH}")
  endif()
endfunction()
function(FetchContent_MakeAvailable name)
  add_custom_target(fetched)
endfunction()
