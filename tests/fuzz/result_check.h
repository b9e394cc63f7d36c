/* What becomes of the payload of a result, for worker_frame.c: the decoder, its own encoder, and
 * the text for the client, with captured output that may be any bytes. */
#ifndef ECLAVE_TESTS_FUZZ_RESULT_CHECK_H
#define ECLAVE_TESTS_FUZZ_RESULT_CHECK_H

#include "common/buffer.h"
#include "tests/fuzz/fuzz.h"

/* Ends the run when something is wrong. Limits, outcome and captured output are taken from INPUT.
 */
void check_result(const unsigned char *payload, size_t size, struct fuzz_input *input);

/* The same for what a run says before its end. */
void check_event(const unsigned char *payload, size_t size);
void check_ask(const unsigned char *payload, size_t size);

#endif
