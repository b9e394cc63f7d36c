/* A small model of the server, written from the contract alone: given the lines that were sent, it
 * says what must come back. It evaluates no Lisp and knows no time; where the contract leaves a
 * choice it says so (ANSWER_OPEN) instead of guessing. It must never look at the product. */
#ifndef ECLAVE_TESTS_SUPPORT_ORACLE_H
#define ECLAVE_TESTS_SUPPORT_ORACLE_H

#include "tests/support/json.h"
#include <stdbool.h>
#include <stddef.h>

enum answer_kind {
    ANSWER_ERROR,  /* the error `code` with `id` */
    ANSWER_RESULT, /* a result of the shape `shape` with `id` */
    ANSWER_OPEN    /* at most one response, with `id` or null */
};

enum answer_shape {
    SHAPE_EMPTY,      /* exactly {} */
    SHAPE_INITIALIZE, /* `revision` is what was negotiated */
    SHAPE_TOOLS,      /* the list of tools */
    SHAPE_CALL,       /* the result of a tool */
    SHAPE_TOOL_ERROR  /* the same, with isError */
};

struct answer {
    enum answer_kind kind;
    int code;
    enum answer_shape shape;
    const char *revision;
    char *id;              /* JSON text; malloc'd, the list's */
    char *method;          /* with -32601: what `data` must name, decoded; NULL when it need not */
    bool may_overflow;     /* so many calls may be waiting that session.queue is full */
    bool may_be_cancelled; /* the session ended while the call may have been running */
    size_t batch;          /* number of the batch it comes in; 0: a line of its own */
    bool given;            /* the referee has seen it */
};

/* Where the conversation stands. */
enum phase { PHASE_FRESH, PHASE_READY, PHASE_SHUTDOWN, PHASE_ENDED };

struct oracle {
    enum phase phase;
    bool batches;    /* arrays are batches */
    bool minimal;    /* the server runs in minimal mode */
    bool confused;   /* the contract does not say in which phase we are; all is open from here on */
    size_t line_max; /* request.max_bytes */
    size_t depth_max; /* json.max_depth */
    size_t queue_max; /* session.queue */
    size_t batch_count;
    struct answer *answers;
    size_t count, capacity;
    size_t first_due; /* all answers before this one were given */
    char *fault;      /* the first thing that was wrong */
};

/* With the contract's default limits, before the first line. */
struct oracle oracle_make(void);
void oracle_free(struct oracle *oracle);

/* Tells the oracle that LINE (without its newline) was sent; the answers it calls for are added to
 * `answers`. Returns how many were added. */
size_t oracle_sent(struct oracle *oracle, struct text line);

/* Tells the oracle that LINE was received. False when it was not called for or is not what was
 * called for; `fault` then says why. Notifications are let through. */
bool oracle_received(struct oracle *oracle, struct text line);

/* How many answers are still due; open ones are never due. */
size_t oracle_due(const struct oracle *oracle);
/* The first that is due, for a message; NULL when none is. */
const struct answer *oracle_first_due(const struct oracle *oracle);

/* True when an answer added so far is open, that is, when not everything is checked exactly. */
size_t oracle_open(const struct oracle *oracle);

#endif
