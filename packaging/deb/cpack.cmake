# The package of the directory $STAGE, with the revision $RELEASE; for build.
file(READ ${CMAKE_CURRENT_LIST_DIR}/../about.json about)
foreach(field IN ITEMS name version description homepage contact)
  string(JSON ${field} GET "${about}" ${field})
endforeach()
set(CPACK_GENERATOR DEB)
set(CPACK_INSTALLED_DIRECTORIES "$ENV{STAGE}/usr" /usr)
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_PACKAGE_NAME ${name})
set(CPACK_PACKAGE_VENDOR ${name})
set(CPACK_PACKAGE_VERSION ${version})
set(CPACK_PACKAGE_HOMEPAGE_URL "${homepage}")
set(CPACK_DEBIAN_PACKAGE_NAME ${name})
set(CPACK_DEBIAN_PACKAGE_VERSION ${version})
set(CPACK_DEBIAN_PACKAGE_RELEASE $ENV{RELEASE})
set(CPACK_PACKAGE_FILE_NAME ${name}-${version})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${contact}")
set(CPACK_DEBIAN_PACKAGE_SECTION lisp)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${description}")
set(CPACK_PACKAGE_DESCRIPTION "eclave evaluates Common Lisp (ECL) that nobody has read: each session is a
process that reaches no files, no network and no other programs, with limits
of time, memory and output, and every call can be taken back. It is an MCP
server on standard input and output for language models, grades submissions
(eclave grade), runs files of tests (eclave batch), and has a shell (eclave
repl).")
