/* The independent check of what the server writes: is this line one valid JSON-RPC 2.0 message as
 * spec/004 wants it? Written for the tests; it must never share code with the product. */
#ifndef ECLAVE_TESTS_SUPPORT_WIRE_H
#define ECLAVE_TESTS_SUPPORT_WIRE_H

#include "tests/support/json.h"

enum wire_kind { WIRE_RESULT, WIRE_ERROR, WIRE_NOTIFICATION, WIRE_REQUEST };

/* A message taken apart; the texts point into the line. */
struct wire_message {
    enum wire_kind kind;
    struct text id;     /* not of a notification */
    struct text method; /* of a notification or request, a JSON string */
    struct text body;   /* result, error or params; empty when there are no params */
    int code;           /* of an error */
};

/* What a line holds at most. */
enum { WIRE_DEPTH_MAX = 256 };

/* Why LINE (without its newline) is not one message, or NULL and *message. */
const char *wire_fault(struct text line, struct wire_message *message);

/* The same for a line that may be a batch of responses: NULL when it is a non-empty array of valid
 * responses or one valid message. */
const char *wire_batch_fault(struct text line);

#endif
