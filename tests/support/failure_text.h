/* The text of a failed evaluation (CONTRACT.md section 5) taken apart, so that tests can ask for
 * its parts. It must never accept a text whose parts are missing or out of order. */
#ifndef ECLAVE_TESTS_SUPPORT_FAILURE_TEXT_H
#define ECLAVE_TESTS_SUPPORT_FAILURE_TEXT_H

#include <stddef.h>

struct failure_text {
    char type[256];
    char message[4096];
    size_t frames;   /* 0: "(no frames)" */
    char rest[8192]; /* what follows the backtrace: [stdout], [stderr], [warnings] */
};

/* Why TEXT is not such a text, or NULL and *parts (longer parts are cut). */
const char *failure_text_fault(const char *text, struct failure_text *parts);

#endif
