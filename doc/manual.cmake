# cmake -D ECLAVE=… -D VERSION=… -D IN=… -D OUT=… -P manual.cmake
execute_process(COMMAND ${ECLAVE} --manual-options OUTPUT_VARIABLE OPTIONS
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${ECLAVE} --manual-batch-options OUTPUT_VARIABLE BATCH_OPTIONS
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
configure_file(${IN} ${OUT} @ONLY)
