/* The payloads of frames. A payload is a sequence of sections; a section is a tag, a length (32
 * bits each, native byte order) and that many bytes of UTF-8. */
#ifndef ECLAVE_COMMON_MESSAGE_H
#define ECLAVE_COMMON_MESSAGE_H

#include "common/buffer.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum section_tag {
    /* evaluate, run */
    SECTION_CODE = 1, /* exactly one */
    SECTION_PACKAGE,  /* evaluate: the `package` argument, at most one; result: the current package
                         after the call, exactly one */
    /* result */
    SECTION_VALUE,     /* one for each value, in order */
    SECTION_CONDITION, /* its type; at most one, and then no SECTION_VALUE or SECTION_JSON */
    SECTION_MESSAGE,   /* of the condition: exactly one, not empty */
    SECTION_FRAME,     /* of the backtrace, innermost first: "(FUNCTION ARGUMENTS)" */
    SECTION_WARNING,   /* "TYPE: message" */
    /* run: exactly one of each */
    SECTION_KIND, /* of the definition to call: "tool", "prompt", "resource" or "completion"; or
                     "load", which only checks that the definition exists */
    SECTION_NAME, /* of the definition, not empty */
    SECTION_ARGUMENTS, /* a JSON object; evaluate: of inspect-lisp, at most one */
    /* result of a run that returned: exactly one, and no SECTION_VALUE; of an evaluation: the
       content among its values, at most one */
    SECTION_JSON,
    SECTION_INPUT,   /* evaluate: what standard input has, at most one */
    SECTION_FILES,   /* evaluate: the files of the code, at most one */
    SECTION_SETTLES, /* result: empty; the next fork returns memory to the kernel; at most one */
    SECTION_REFINES, /* result: empty; there is something to compile before the next call */
    SECTION_TAG_END
};

enum {
    RESULT_VALUES_MAX = 64,
    RESULT_FRAMES_MAX = 20,
    RESULT_WARNINGS_MAX = 100 /* the last one gives the number of any others */
};

/* Appends one section. False if PAYLOAD is full. */
bool message_put(struct buffer *payload, enum section_tag tag, const void *bytes, size_t length);

/* Reads the section at *offset of PAYLOAD and advances *offset past it. Returns 1, 0 at the end, or
 * -1 if the section is truncated. Does not check the tag or the bytes. */
int message_get(const unsigned char *payload, size_t length, size_t *offset, uint32_t *tag,
                struct span *bytes);

struct evaluate_message {
    struct span code;
    struct span package;    /* bytes NULL: no such argument */
    struct span inspection; /* the arguments of inspect-lisp, whose answer is the only value, and
                               then the code is not evaluated; bytes NULL: an evaluation */
    struct span input;      /* standard input; bytes NULL: it is empty */
    struct span files;      /* the files that the code was joined from, as in worker/files.h; then
                               functions have lines in backtraces. bytes NULL: no lines */
};

bool evaluate_message_encode(struct buffer *payload, const struct evaluate_message *message);
/* False if PAYLOAD is not such a message. The spans point into PAYLOAD. */
bool evaluate_message_decode(const unsigned char *payload, size_t length,
                             struct evaluate_message *message);

struct run_message {
    struct span kind, name, code, arguments;
};

bool run_message_encode(struct buffer *payload, const struct run_message *message);
/* False if PAYLOAD is not such a message. The spans point into PAYLOAD. */
bool run_message_decode(const unsigned char *payload, size_t length, struct run_message *message);

struct result_message {
    struct span package;
    struct span json;      /* the result of a run, or content among the values; bytes NULL: none */
    struct span condition; /* the condition's type; bytes NULL: the code returned */
    struct span text;      /* the condition's message */
    struct span values[RESULT_VALUES_MAX];
    struct span frames[RESULT_FRAMES_MAX];
    struct span warnings[RESULT_WARNINGS_MAX];
    size_t value_count, frame_count, warning_count;
    bool settles; /* the worker would like to be forked, to return memory before */
    bool refines; /* it has functions for FRAME_REFINE */
};

bool result_message_encode(struct buffer *payload, const struct result_message *message);
/* False for a truncated payload, an unknown, repeated or misplaced section, too many of one kind,
 * or bytes that are not UTF-8. The spans point into PAYLOAD. */
bool result_message_decode(const unsigned char *payload, size_t length,
                           struct result_message *message);

#endif
