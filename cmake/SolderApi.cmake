# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The target api, where Doxygen is found: the pages of the public headers, in the folder api of the build. The target docs:
# all pages, in its folder site, with Sphinx.
find_program(Solder_DOXYGEN doxygen DOC "Doxygen, for the target api and the test docs_api")
mark_as_advanced(Solder_DOXYGEN)

set(solder_api_script "${PROJECT_SOURCE_DIR}/docs/api/api.cmake")
if(Solder_DOXYGEN)
  add_custom_target(
    api COMMAND "${CMAKE_COMMAND}" -D "DOXYGEN=${Solder_DOXYGEN}" -D "SOURCE=${PROJECT_SOURCE_DIR}" -D
                "OUTPUT=${PROJECT_BINARY_DIR}/api" -P "${solder_api_script}" VERBATIM
  )
endif()

find_program(Solder_PYTHON python3 DOC "Python, for the tests docs_tables and docs_prose")
mark_as_advanced(Solder_PYTHON)
add_custom_target(docs COMMAND "${PROJECT_SOURCE_DIR}/docs/build" "${PROJECT_BINARY_DIR}/site" VERBATIM)
