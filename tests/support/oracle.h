/* A model of the server, written from doc/contract.md alone. From the lines sent it knows which
 * answers and notifications may come back, and it strikes off each one received. It knows the
 * result of a few forms of Lisp and does not know time. Where the contract leaves a choice the
 * answer is open. It shares no code with the product. */
#ifndef ECLAVE_TESTS_SUPPORT_ORACLE_H
#define ECLAVE_TESTS_SUPPORT_ORACLE_H

#include "tests/support/json.h"
#include <stdbool.h>
#include <stddef.h>

/* The Lisp whose result the model knows. ORACLE_LIST takes an unsigned long. */
#define ORACLE_LIST    "(list %lu)"
#define ORACLE_COUNT   "(setq *n* (if (boundp '*n*) (+ *n* 1) 1))"
#define ORACLE_FAIL    "(car 5)"
#define ORACLE_UNKNOWN "(no-such-function)"
#define ORACLE_ENDLESS "(loop)"

enum answer_kind {
    ANSWER_ERROR,  /* the error `code` */
    ANSWER_RESULT, /* a result of the shape `shape` */
    ANSWER_OPEN    /* at most one response, with the id or with null */
};

enum answer_shape {
    SHAPE_EMPTY,      /* exactly {} */
    SHAPE_INITIALIZE, /* `revision` was negotiated */
    SHAPE_TOOLS,
    SHAPE_LIST, /* of resources, templates or prompts */
    SHAPE_DISCOVERY,
    SHAPE_SUBSCRIPTION,
    SHAPE_CALL,       /* the result of a tool */
    SHAPE_VALUE,      /* the same, a success */
    SHAPE_TOOL_ERROR, /* the same, with isError */
};

/* An answer that has not come yet. Strings are malloc'd and belong to the answer. */
struct answer {
    enum answer_kind kind;
    int code;
    enum answer_shape shape;
    const char *revision;
    char *id;     /* JSON text */
    char *method; /* with -32601: the name that `data` must hold, decoded; NULL: any */
    char *text;   /* of a tool: its text, or of an error the start of it; NULL: any */
    char *token;  /* progress may come under this token, JSON text; NULL: none */
    double progress;
    size_t batch; /* number of the batch it comes in; 0: a line of its own */
    bool modern;
    bool silent;       /* it may stay away */
    bool runs;         /* an evaluation, which occupies a session */
    bool own_session;  /* which is the connection's own, or the one called "main" */
    bool opens;        /* it opens the session that it names */
    bool endless;      /* it runs until something ends it */
    bool may_overflow; /* a limit on calls or sessions may be reached */
    bool may_be_cancelled;
    bool acknowledged; /* of a subscription: its acknowledgement has come */
    bool closing;      /* it was cancelled before that */
    bool ended;        /* its result has come, the notification of its end has not */
};

enum phase { PHASE_FRESH, PHASE_READY, PHASE_SHUTDOWN, PHASE_ENDED };

struct oracle {
    enum phase phase;
    bool batches;          /* arrays are batches */
    bool minimal;          /* the server runs in minimal mode */
    bool reply_error;      /* --cancel-reply error */
    bool no_lisp;          /* evaluations have other results than those of Lisp */
    bool any_notification; /* may come: a level was set, or an answer was open */
    bool confused;         /* the contract does not say in which phase we are: all is open */
    size_t line_max;       /* request.max_bytes */
    size_t depth_max;      /* json.max_depth */
    size_t queue_max;      /* session.queue */
    size_t messages;       /* notifications/message that may still come */
    bool own_session;      /* the connection's own session has been used, or one of its name */
    bool closes;           /* session tools may have changed which sessions there are */
    unsigned long counted; /* evaluations of ORACLE_COUNT in it */
    size_t cancelled[2];   /* calls cancelled since the last two settlements, which may still run */
    size_t batch_count;
    struct answer *answers; /* in the order of the requests */
    size_t count, capacity, added;
    char *fault; /* the first one */
};

/* With the default limits, before the first line. */
struct oracle oracle_make(void);
void oracle_free(struct oracle *oracle);

/* Records that LINE (without its newline) was sent. Returns how many answers it calls for; they
 * are the last of `answers`. */
size_t oracle_sent(struct oracle *oracle, struct text line);
/* Records that the input has ended: subscriptions end. */
void oracle_end(struct oracle *oracle);

/* Records that LINE was received. False when it was not called for; `fault` says why. */
bool oracle_received(struct oracle *oracle, struct text line);

/* The answers that must still come. Endless calls and open answers are not due. */
size_t oracle_due(const struct oracle *oracle);
const struct answer *oracle_first_due(const struct oracle *oracle); /* NULL: none */
/* The id of an endless call that was not cancelled, or NULL. */
const char *oracle_endless(const struct oracle *oracle);
/* True when calls may wait for an endless one: in its session, or since as many run as may. */
bool oracle_is_blocked(const struct oracle *oracle);
/* Records that the server has answered a request sent after all others: silent answers will not
 * come. */
void oracle_settle(struct oracle *oracle);

/* For the model's own files. */
#define ORACLE_PREFIX "io.modelcontextprotocol/"
bool oracle_decodes_to(struct text value, const char *string);
void oracle_strike(struct oracle *oracle, struct answer *answer);

#endif
