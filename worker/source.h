/* The source text of a call, looked at before Lisp reads it: how deep it nests, and where what was
 * opened last was not closed. Knows the standard syntax only; a session with its own reader macros
 * may get a poorer hint, never a wrong value. Never allocates Lisp objects but in source_string. */
#ifndef ECLAVE_WORKER_SOURCE_H
#define ECLAVE_WORKER_SOURCE_H

#include "common/message.h"

#include <ecl/ecl.h>
#include <stdbool.h>
#include <stddef.h>

/* ECL's reader recurses on the C stack: about 300 bytes for each level. */
enum { SOURCE_DEPTH_MAX = 10000 };

enum source_open {
    SOURCE_NOTHING, /* everything is closed */
    SOURCE_LIST,
    SOURCE_STRING,
    SOURCE_SYMBOL,  /* |...| */
    SOURCE_COMMENT, /* #|...|# */
    SOURCE_DATUM    /* a quote or the like with nothing behind it */
};

struct source_scan {
    bool too_deep;         /* then `at` is where, and the rest is not known */
    enum source_open open; /* what the end of the text cut off */
    size_t at;             /* byte offset at which that begins */
    size_t lists;          /* lists left open */
    size_t first_list;     /* byte offset of the outermost of them */
};

struct source_place {
    size_t line;   /* from 1 */
    size_t column; /* from 1, in characters */
};

/* Looks at SOURCE from byte START on. */
struct source_scan source_scan(struct span source, size_t start);

/* The byte from START on at which a form begins: behind blanks and comments. */
size_t source_form(struct span source, size_t start);

/* The place of byte OFFSET (at most the length). */
struct source_place source_place(struct span source, size_t offset);

/* SOURCE, well-formed UTF-8, as a Lisp string: a base string when it is ASCII. May signal
 * STORAGE-EXHAUSTED. */
cl_object source_string(struct span source);

#endif
