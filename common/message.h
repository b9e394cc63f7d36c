/* The payloads of frames, encode beside decode. A payload is a run of sections, each a tag, a
 * length and that many bytes of UTF-8. Fixed widths in native byte order: both ends run on one
 * machine. */
#ifndef ECLAVE_COMMON_MESSAGE_H
#define ECLAVE_COMMON_MESSAGE_H

#include "common/buffer.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum section_tag {
    /* evaluate, run */
    SECTION_CODE = 1, /* exactly one */
    SECTION_PACKAGE,  /* evaluate: the `package` argument, at most one. result: the session's
                         package after the call, exactly one */
    /* result */
    SECTION_VALUE,     /* one a value, in order; none for (values) */
    SECTION_CONDITION, /* TYPE; at most one, and then no SECTION_VALUE */
    SECTION_MESSAGE,   /* with SECTION_CONDITION, exactly one, never empty */
    SECTION_FRAME,     /* backtrace, innermost first: "(FN ARGS)" without its number */
    SECTION_WARNING,   /* "TYPE: message" */
    /* run: exactly one of each */
    SECTION_KIND, /* what of the source is called: "tool", "prompt", "resource", "completion"; or
                     "load": it is only looked whether that is there */
    SECTION_NAME, /* its name, not empty */
    SECTION_ARGUMENTS, /* a JSON object */
    /* result of a run that returned, exactly one, and then no SECTION_VALUE */
    SECTION_JSON,
    SECTION_TAG_END
};

enum {
    RESULT_VALUES_MAX = 64,
    RESULT_FRAMES_MAX = 20,
    RESULT_WARNINGS_MAX = 100 /* the worker replaces the rest by one line with their number */
};

/* A run of bytes inside a payload; not owned, not terminated. */
struct span {
    const unsigned char *bytes;
    size_t length;
};

/* Appends one section. False when the buffer is full. */
bool message_put(struct buffer *payload, enum section_tag tag, const void *bytes, size_t length);

/* Takes the section at *offset of PAYLOAD and moves *offset behind it. Returns 1, 0 at the end,
 * -1 when the payload is torn there. Does not look at the bytes. */
int message_get(const unsigned char *payload, size_t length, size_t *offset, uint32_t *tag,
                struct span *bytes);

struct evaluate_message {
    struct span code;
    struct span package; /* bytes NULL when there is no such argument */
};

bool evaluate_message_encode(struct buffer *payload, const struct evaluate_message *message);
/* False when PAYLOAD is not such a message. The spans point into PAYLOAD. */
bool evaluate_message_decode(const unsigned char *payload, size_t length,
                             struct evaluate_message *message);

struct run_message {
    struct span kind, name, code, arguments;
};

bool run_message_encode(struct buffer *payload, const struct run_message *message);
/* False when PAYLOAD is not such a message. The spans point into PAYLOAD. */
bool run_message_decode(const unsigned char *payload, size_t length, struct run_message *message);

struct result_message {
    struct span package;
    struct span json;      /* what a run returned; bytes NULL: it failed, or it was no run */
    struct span condition; /* bytes NULL: the evaluation returned */
    struct span text;      /* the condition's message */
    struct span values[RESULT_VALUES_MAX];
    struct span frames[RESULT_FRAMES_MAX];
    struct span warnings[RESULT_WARNINGS_MAX];
    size_t value_count, frame_count, warning_count;
};

bool result_message_encode(struct buffer *payload, const struct result_message *message);
/* All or nothing: false for a torn payload, an unknown or repeated or misplaced section, too many
 * of one kind, or text that is not UTF-8. The spans point into PAYLOAD. */
bool result_message_decode(const unsigned char *payload, size_t length,
                           struct result_message *message);

#endif
