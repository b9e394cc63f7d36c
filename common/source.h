/* A scan of Lisp source before Lisp reads it: how deeply it nests, what is not closed, and where
 * each form ends. It knows the standard syntax only. In a session with reader macros of its own, an
 * error message may say less or the prompt may ask for more input, but no value is wrong. Allocates
 * nothing. */
#ifndef ECLAVE_COMMON_SOURCE_H
#define ECLAVE_COMMON_SOURCE_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>

/* ECL's reader recurses on the C stack, with about 300 bytes for each level. */
enum { SOURCE_DEPTH_MAX = 10000 };

enum source_open {
    SOURCE_NOTHING,
    SOURCE_LIST,
    SOURCE_STRING,
    SOURCE_SYMBOL,  /* |...| */
    SOURCE_COMMENT, /* #|...|# */
    SOURCE_DATUM    /* a quote or another prefix without a datum */
};

struct source_scan {
    bool too_deep;         /* at offset `at`; the other members are not set */
    enum source_open open; /* the innermost element that is not closed */
    size_t at;             /* byte offset of its start */
    size_t lists;          /* number of lists that are not closed */
    size_t first_list;     /* byte offset of the outermost of them */
};

struct source_place {
    size_t line;   /* from 1 */
    size_t column; /* from 1, in characters */
};

static inline bool source_is_blank(unsigned char byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Scans SOURCE from byte START on. */
struct source_scan source_scan(struct span source, size_t start);

/* The offset of the first form at or after START: skips blanks and comments. */
size_t source_form(struct span source, size_t start);

enum source_rest {
    SOURCE_EMPTY, /* blanks and whole comments only */
    SOURCE_WHOLE, /* begins with a form that is complete, or that the reader refuses */
    SOURCE_CUT    /* begins with a form or a comment that is not complete */
};

/* Looks at SOURCE from byte *at on. If that is SOURCE_WHOLE, *form is the form, and *at is moved
 * behind it. */
enum source_rest source_next(struct span source, size_t *at, struct span *form);

/* The line and column of byte OFFSET, which is at most the length. */
struct source_place source_place(struct span source, size_t offset);

#endif
