/* The parts of the text of a failed evaluation (doc/contract.md), which must be complete and in
 * order. */
#ifndef ECLAVE_TESTS_SUPPORT_FAILURE_TEXT_H
#define ECLAVE_TESTS_SUPPORT_FAILURE_TEXT_H

#include <stddef.h>

struct failure_text {
    char type[256];
    char message[4096];
    size_t frames;   /* 0: "(no frames)" */
    char rest[8192]; /* the part after the backtrace: [stdout], [stderr], [warnings] */
};

/* The fault of TEXT, or NULL and *parts, of which long ones are cut. */
const char *failure_text_fault(const char *text, struct failure_text *parts);

#endif
