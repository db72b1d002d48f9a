# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -D SOURCE=... -D SCRATCH=... -D GENERATOR=... -P scalars.cmake
# Tests without their scalars are refused before anything is looked for or compiled.
foreach(tests IN ITEMS Solder_ENABLE_TESTS Solder_ENABLE_PERF_TESTS)
  set(work "${SCRATCH}/scalars/${tests}")
  file(REMOVE_RECURSE "${work}")
  execute_process(
    COMMAND
      "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${work}" -G "${GENERATOR}" -DSolder_SCALARS=float -DSolder_ENABLE_TESTS=OFF
      -D${tests}=ON
    RESULT_VARIABLE code
    OUTPUT_QUIET
    ERROR_VARIABLE said
  )
  string(REGEX REPLACE "[ \n]+" " " said "${said}") # as it was before its lines were broken
  if(code EQUAL 0 OR NOT said MATCHES "need double in Solder_SCALARS, or ${tests}=OFF")
    message(FATAL_ERROR "${tests}=ON with Solder_SCALARS=float ended with ${code} and said: ${said}")
  endif()
endforeach()
