# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -D HOW=install|subfolder -D SOURCE=... -D BUILD=... -D SCRATCH=... -D KOKKOS_DIR=... [...] -P run.cmake
# Copies the application away from the tree, builds it against Solder and runs it: it exits 0 when it converged.
set(work "${SCRATCH}/${HOW}")
file(REMOVE_RECURSE "${work}")
file(COPY "${SOURCE}/unit_tests/package/app" DESTINATION "${work}")

if(HOW STREQUAL "install")
  execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${work}/prefix" COMMAND_ERROR_IS_FATAL ANY)
  set(solder "-DCMAKE_PREFIX_PATH=${work}/prefix")
else()
  set(solder "-DSOLDER_FOLDER=${SOURCE}")
endif()
if(KOKKOS_DIR)
  list(APPEND solder "-DKokkos_DIR=${KOKKOS_DIR}")
elseif(KOKKOS_SOURCE)
  list(APPEND solder "-DFETCHCONTENT_SOURCE_DIR_KOKKOS=${KOKKOS_SOURCE}" -DKokkos_ENABLE_SERIAL=ON)
endif()

execute_process(
  COMMAND "${CMAKE_COMMAND}" -S "${work}/app" -B "${work}/build" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
          "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}" ${solder} COMMAND_ERROR_IS_FATAL ANY
)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${work}/build" --config "${BUILD_TYPE}" COMMAND_ERROR_IS_FATAL ANY)
find_program(app app PATHS "${work}/build" "${work}/build/${BUILD_TYPE}" NO_DEFAULT_PATH REQUIRED)
execute_process(COMMAND "${app}" COMMAND_ERROR_IS_FATAL ANY)
