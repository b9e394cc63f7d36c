/* An independent check of the server's output: whether a line is one valid JSON-RPC 2.0 message. */
#ifndef ECLAVE_TESTS_SUPPORT_WIRE_H
#define ECLAVE_TESTS_SUPPORT_WIRE_H

#include "tests/support/json.h"

enum wire_kind { WIRE_RESULT, WIRE_ERROR, WIRE_NOTIFICATION, WIRE_REQUEST };

/* The parts of a message, which point into the line. */
struct wire_message {
    enum wire_kind kind;
    struct text id;     /* not of a notification */
    struct text method; /* of a notification or request, a JSON string */
    struct text body;   /* result, error or params; empty when there are no params */
    int code;           /* of an error */
};

/* The maximum length of a line. */
enum { WIRE_DEPTH_MAX = 256 };

/* The fault of LINE (without its newline), or NULL and *message. */
const char *wire_fault(struct text line, struct wire_message *message);

/* The same for a line that may also be a batch: a non-empty array of valid responses. */
const char *wire_batch_fault(struct text line);

#endif
