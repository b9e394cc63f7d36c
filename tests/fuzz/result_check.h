/* Checks of a result's payload for worker_frame.c: the decoder, the encoder, and the text for the
 * client with arbitrary captured output. */
#ifndef ECLAVE_TESTS_FUZZ_RESULT_CHECK_H
#define ECLAVE_TESTS_FUZZ_RESULT_CHECK_H

#include "common/buffer.h"
#include "tests/fuzz/fuzz.h"

/* Limits, outcome and captured output are read from INPUT. */
void check_result(const unsigned char *payload, size_t size, struct fuzz_input *input);

/* The same for events and questions of a run. */
void check_event(const unsigned char *payload, size_t size);
void check_ask(const unsigned char *payload, size_t size);

#endif
