# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -D SOURCE=... -D SCRATCH=... -D GENERATOR=... -P fetch.cmake
# What Solder fetches comes, from an archive made here; with the arguments as CMake 3.25 understands them, too.
set(work "${SCRATCH}/fetch")
file(REMOVE_RECURSE "${work}")
file(WRITE "${work}/content/CMakeLists.txt" "add_custom_target(fetched)\n")
execute_process(
  COMMAND "${CMAKE_COMMAND}" -E tar czf "${work}/content.tar.gz" content WORKING_DIRECTORY "${work}" COMMAND_ERROR_IS_FATAL ANY
)
foreach(modules IN ITEMS "" "${CMAKE_CURRENT_LIST_DIR}/fetch/as_cmake_3_25")
  execute_process(
    COMMAND
      "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/fetch" -B "${work}/build" -G "${GENERATOR}" "-DSOURCE=${SOURCE}"
      "-DARCHIVE=${work}/content.tar.gz" "-DCMAKE_MODULE_PATH=${modules}" COMMAND_ERROR_IS_FATAL ANY
  )
endforeach()
