# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -D SOURCE=... -D SCRATCH=... -P prepare.cmake
# Where upstream is reached, but what it has cannot be configured, ./solder goes on to its next way. Here that is none:
# this machine has no more than a CMake that finds and fetches nothing, and the tools of a shell.
set(work "${SCRATCH}/prepare")
file(REMOVE_RECURSE "${work}")
file(COPY "${SOURCE}/solder" "${SOURCE}/cmake" DESTINATION "${work}/source")
file(WRITE "${work}/source/a.yaml" "problem: {generate: fem_poisson_2d, size: 3}\n")
file(WRITE "${work}/bin/cmake" "#!/bin/sh\necho \"$*\" >>'${work}/asked'\ncase $* in *UPSTREAM=ON*) ;; *) exit 1 ;; esac\n")
file(CHMOD "${work}/bin/cmake" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
foreach(tool IN ITEMS cat cksum cut dirname env find getconf grep head id mkdir mv nproc printf readlink rm sed sh tail touch uname)
  find_program(${tool} ${tool} REQUIRED)
  file(CREATE_LINK "${${tool}}" "${work}/bin/${tool}" SYMBOLIC)
endforeach()
execute_process(
  COMMAND "${CMAKE_COMMAND}" -E env "PATH=${work}/bin" --unset=SOLDER_KOKKOS "${work}/source/solder" a.yaml
  WORKING_DIRECTORY "${work}/source"
  RESULT_VARIABLE code
  ERROR_VARIABLE said
)
file(READ "${work}/asked" asked)
if(NOT code EQUAL 2 OR NOT said MATCHES "cannot build here: .*cannot be fetched or configured" OR NOT asked MATCHES "build/fetch")
  message(FATAL_ERROR "solder ended with ${code}, not 2, having asked CMake for\n${asked}and said:\n${said}")
endif()
