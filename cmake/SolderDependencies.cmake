# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Finds what Solder needs, or fetches a pinned release of it. These are macros because the variables that find_package
# sets belong to the caller. Each does nothing if a surrounding project already has the target.

set(Solder_FETCH_DEPENDENCIES AUTO CACHE STRING "AUTO: fetch what is not found; ON: as AUTO, but always fetch Kokkos; OFF: fetch nothing")
set_property(CACHE Solder_FETCH_DEPENDENCIES PROPERTY STRINGS AUTO ON OFF)
set(Solder_KOKKOS_DEVICES "" CACHE STRING
    "Kokkos devices that are required, for example SERIAL;CUDA. Empty: those of the Kokkos found, SERIAL;OPENMP when fetched")

set(Solder_KOKKOS_VERSIONS 4.5...<6)

# Makes targets of packages that Solder finds visible to a project that has Solder as a subfolder (CMake >= 3.24).
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

# solder_find_package(NAME arguments...): find_package(NAME ...), required unless it may be fetched.
macro(solder_find_package name)
  if(Solder_FETCH_DEPENDENCIES STREQUAL "OFF")
    find_package(${name} ${ARGN} REQUIRED)
  else()
    find_package(${name} ${ARGN} QUIET)
  endif()
endmacro()

# solder_fetch(NAME URL SHA256)
macro(solder_fetch name url sha256)
  include(FetchContent)
  message(STATUS "Solder: fetching ${name} from ${url}")
  if(POLICY CMP0135)
    cmake_policy(SET CMP0135 NEW) # files get the time stamps of their extraction
  endif()
  set(solder_system)
  if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.25)
    set(solder_system SYSTEM) # no warnings from its headers
  endif()
  # SYSTEM must come first: CMake 3.25 takes it for part of the value of a preceding argument.
  FetchContent_Declare(${name} ${solder_system} URL ${url} URL_HASH SHA256=${sha256})
  FetchContent_MakeAvailable(${name})
endmacro()

macro(solder_find_kokkos)
  if(NOT TARGET Kokkos::kokkos AND NOT Solder_FETCH_DEPENDENCIES STREQUAL "ON")
    solder_find_package(Kokkos ${Solder_KOKKOS_VERSIONS} CONFIG)
    if(Kokkos_FOUND)
      message(STATUS "Solder: Kokkos ${Kokkos_VERSION} (${Kokkos_DEVICES}) in ${Kokkos_DIR}")
      foreach(device IN LISTS Solder_KOKKOS_DEVICES)
        if(NOT device IN_LIST Kokkos_DEVICES)
          message(FATAL_ERROR "Solder: the Kokkos in ${Kokkos_DIR} has the devices ${Kokkos_DEVICES}, not ${device}. "
                              "Name another with Kokkos_ROOT, or let Solder build one: -DSolder_FETCH_DEPENDENCIES=ON")
        endif()
      endforeach()
    endif()
  endif()
  if(NOT TARGET Kokkos::kokkos)
    if(Solder_KOKKOS_DEVICES)
      set(solder_devices ${Solder_KOKKOS_DEVICES})
    else()
      set(solder_devices SERIAL OPENMP)
    endif()
    foreach(device IN LISTS solder_devices)
      set(Kokkos_ENABLE_${device} ON CACHE BOOL "Whether to build the Kokkos device ${device}")
    endforeach()
    solder_fetch(Kokkos https://github.com/kokkos/kokkos/releases/download/5.0.2/kokkos-5.0.2.tar.gz
                 188817bb452ca805ee8701f1c5adbbb4fb83dc8d1c50624566a18a719ba0fa5e)
  endif()
endmacro()

# solder_find_zlib(REQUIRED|QUIET). It is never fetched: every system has zlib, although its headers may be missing.
macro(solder_find_zlib how)
  if(NOT TARGET ZLIB::ZLIB)
    find_package(ZLIB ${how})
  endif()
endmacro()

# The target of yaml-cpp is yaml-cpp before 0.8, and yaml-cpp::yaml-cpp since then. This makes both names work.
macro(solder_find_yaml_cpp)
  if(NOT TARGET yaml-cpp AND NOT TARGET yaml-cpp::yaml-cpp)
    solder_find_package(yaml-cpp CONFIG)
  endif()
  if(NOT TARGET yaml-cpp AND NOT TARGET yaml-cpp::yaml-cpp)
    set(YAML_CPP_INSTALL OFF CACHE BOOL "")
    set(YAML_CPP_BUILD_TOOLS OFF CACHE BOOL "")
    set(CMAKE_POLICY_VERSION_MINIMUM 3.5) # its CMakeLists.txt requires 3.4, which CMake 4 refuses
    solder_fetch(yaml-cpp https://github.com/jbeder/yaml-cpp/archive/refs/tags/0.8.0.tar.gz
                 fbe74bbdcee21d656715688706da3c8becfd946d92cd44705cc6098bb23b3a16)
    unset(CMAKE_POLICY_VERSION_MINIMUM)
    target_compile_options(yaml-cpp PRIVATE -include cstdint) # one file lacks it, an error with g++ 15
  endif()
  if(NOT TARGET yaml-cpp::yaml-cpp)
    add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED GLOBAL)
    target_link_libraries(yaml-cpp::yaml-cpp INTERFACE yaml-cpp)
  elseif(NOT TARGET yaml-cpp)
    add_library(yaml-cpp INTERFACE IMPORTED GLOBAL)
    target_link_libraries(yaml-cpp INTERFACE yaml-cpp::yaml-cpp)
  endif()
endmacro()

macro(solder_find_nlohmann_json)
  if(NOT TARGET nlohmann_json::nlohmann_json)
    solder_find_package(nlohmann_json 3.9 CONFIG)
  endif()
  if(NOT TARGET nlohmann_json::nlohmann_json)
    solder_fetch(nlohmann_json https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
                 d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d)
  endif()
endmacro()

# The component CXX of MPI, which is never fetched: a machine with several nodes has its own.
# Sets solder_has_mpi. FindMPI leaves a target even where it finds nothing.
macro(solder_find_mpi how)
  if(TARGET MPI::MPI_CXX)
    set(solder_has_mpi TRUE)
  else()
    set(MPI_CXX_SKIP_MPICXX TRUE) # its C++ bindings, which are gone from the standard
    find_package(MPI ${how} COMPONENTS CXX)
    set(solder_has_mpi ${MPI_CXX_FOUND})
  endif()
endmacro()

macro(solder_find_gtest)
  if(NOT TARGET GTest::gtest)
    solder_find_package(GTest CONFIG)
  endif()
  if(NOT TARGET GTest::gtest)
    set(INSTALL_GTEST OFF CACHE BOOL "")
    set(BUILD_GMOCK OFF CACHE BOOL "")
    solder_fetch(googletest https://github.com/google/googletest/archive/refs/tags/v1.15.2.tar.gz
                 7b42b4d6ed48810c5362c265a17faebe90dc2373c885e5216439d37927f02926)
  endif()
endmacro()
