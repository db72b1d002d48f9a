# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -D HOW=install|subfolder -D SOURCE=... -D BUILD=... -D SCRATCH=... -D KOKKOS_DIR=... [...] -P run.cmake
# Copies the application away from the tree, builds it against Solder and runs it: it exits 0 when it converged. Then
# once more as on a machine without zlib: the solvers are there, Solder::io is not, and who asks for it is told.
set(work "${SCRATCH}/${HOW}")
file(REMOVE_RECURSE "${work}")
file(COPY "${SOURCE}/unit_tests/package/app" DESTINATION "${work}")
file(COPY "${SOURCE}/examples/by_name.cpp" DESTINATION "${work}/app")

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
set(configure "${CMAKE_COMMAND}" -S "${work}/app" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
              "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}" "-DCMAKE_CXX_FLAGS_DEBUG=" ${solder})
set(without_zlib -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON)

# run(FOLDER PROGRAM): there, as it writes a file.
function(run folder program)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" --build "${folder}" --config "${BUILD_TYPE}" --target ${program} COMMAND_ERROR_IS_FATAL ANY
  )
  find_program(${program} ${program} PATHS "${folder}" "${folder}/${BUILD_TYPE}" NO_DEFAULT_PATH REQUIRED)
  execute_process(COMMAND "${${program}}" WORKING_DIRECTORY "${folder}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

execute_process(COMMAND ${configure} -B "${work}/build" "-DSOLDER_COMPONENTS=io;compiled" COMMAND_ERROR_IS_FATAL ANY)
run("${work}/build" app)
if(HOW STREQUAL "install")
  run("${work}/build" by_name)
endif()
run("${work}/build" read)

execute_process(COMMAND ${configure} -B "${work}/no_zlib" ${without_zlib} COMMAND_ERROR_IS_FATAL ANY)
execute_process(
  COMMAND "${CMAKE_COMMAND}" --build "${work}/no_zlib" --target read RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET
)
if(code EQUAL 0)
  message(FATAL_ERROR "Solder::io is there without zlib")
endif()
if(HOW STREQUAL "install")
  execute_process(
    COMMAND ${configure} -B "${work}/no_io" ${without_zlib} -DSOLDER_COMPONENTS=io RESULT_VARIABLE code ERROR_VARIABLE said
  )
  if(code EQUAL 0 OR NOT said MATCHES "ZLIB")
    message(FATAL_ERROR "find_package(Solder COMPONENTS io) without zlib ended with ${code} and said: ${said}")
  endif()
  execute_process(
    COMMAND ${configure} -B "${work}/misspelt" -DSOLDER_COMPONENTS=Compiled RESULT_VARIABLE code ERROR_VARIABLE said
  )
  if(code EQUAL 0 OR NOT said MATCHES "no component.+'Compiled'")
    message(FATAL_ERROR "find_package(Solder COMPONENTS Compiled) ended with ${code} and said: ${said}")
  endif()
endif()
