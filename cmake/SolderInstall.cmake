# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs the headers, Solder::compiled and the driver if they are built, and the package files for find_package(Solder).
include(CMakePackageConfigHelpers)

set(solder_package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/Solder")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/solder" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(TARGETS solder EXPORT SolderTargets)
install(EXPORT SolderTargets NAMESPACE Solder:: DESTINATION "${solder_package_folder}")
install(TARGETS solder_io EXPORT SolderIoTargets)
install(EXPORT SolderIoTargets NAMESPACE Solder:: DESTINATION "${solder_package_folder}")
install(TARGETS solder_mpi EXPORT SolderMpiTargets)
install(EXPORT SolderMpiTargets NAMESPACE Solder:: DESTINATION "${solder_package_folder}")
install(TARGETS solder_trilinos EXPORT SolderTrilinosTargets)
install(EXPORT SolderTrilinosTargets NAMESPACE Solder:: DESTINATION "${solder_package_folder}")
set(Solder_VERSION_IS_FOR ARCH_INDEPENDENT)
if(TARGET solder_compiled)
  install(TARGETS solder_compiled EXPORT SolderCompiledTargets)
  install(EXPORT SolderCompiledTargets NAMESPACE Solder:: DESTINATION "${solder_package_folder}")
  set(Solder_VERSION_IS_FOR "")
endif()
if(TARGET solder_driver)
  install(TARGETS solder_driver RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/SolderConfig.cmake.in" "${PROJECT_BINARY_DIR}/SolderConfig.cmake"
  INSTALL_DESTINATION "${solder_package_folder}"
)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/SolderConfigVersion.cmake" COMPATIBILITY SameMinorVersion ${Solder_VERSION_IS_FOR}
)
install(FILES "${PROJECT_BINARY_DIR}/SolderConfig.cmake" "${PROJECT_BINARY_DIR}/SolderConfigVersion.cmake"
        DESTINATION "${solder_package_folder}")
