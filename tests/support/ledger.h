/* Keeps account of mixed traffic: from the lines that were sent it knows what may come back, and it
 * strikes off what does. It is written from the contract alone, for the little Lisp that the tests
 * of mixed traffic send; it must never look at the product, nor ask how long anything took. */
#ifndef ECLAVE_TESTS_SUPPORT_LEDGER_H
#define ECLAVE_TESTS_SUPPORT_LEDGER_H

#include "tests/support/json.h"
#include <stdbool.h>
#include <stddef.h>

/* The Lisp that the ledger knows the value of. LEDGER_LIST takes a number. */
#define LEDGER_LIST    "(list %lu)"
#define LEDGER_COUNT   "(setq *n* (if (boundp '*n*) (+ *n* 1) 1))"
#define LEDGER_FAIL    "(car 5)"
#define LEDGER_UNKNOWN "(no-such-function)"
#define LEDGER_ENDLESS "(loop)"

/* The shape of a result. */
enum ledger_shape {
    LEDGER_EMPTY,
    LEDGER_HANDSHAKE,
    LEDGER_TOOLS,
    LEDGER_DISCOVERY,
    LEDGER_CALL,
    LEDGER_SUBSCRIPTION
};

/* A request that may still be answered. */
struct due {
    char *id; /* JSON text */
    enum ledger_shape shape;
    bool modern;
    bool result;  /* a result may come */
    int codes[3]; /* errors that may come; 0: no more */
    bool silence; /* or nothing */
    bool endless; /* runs until something ends it */
    bool runs;    /* an evaluation, which occupies a session */
    bool names;   /* the text ends with the name of a session made for the call */
    bool fails;   /* isError */
    char *text;   /* how the text begins; NULL: any */
    char *token;  /* progress may come under it, JSON text; NULL: none */
    double progress;
    bool acknowledged; /* a subscription's acknowledgement has come */
    bool closing;      /* the subscription is cancelled, its acknowledgement still on its way */
    size_t batch;      /* comes in the answer to that batch; 0: alone */
};

struct ledger {
    const char *revision; /* NULL before the handshake */
    bool ended;           /* the input has ended: subscriptions end */
    bool own_session;     /* the legacy session has been used */
    unsigned long count;  /* how often LEDGER_COUNT was called in it */
    struct due *dues;
    size_t due_count, due_capacity;
    size_t batches;
    size_t cancelled[2];     /* calls cancelled since the last settlement and the one before: they
                                may still occupy a session */
    size_t messages_allowed; /* notifications/message that may still come */
    char **ends;             /* subscriptions whose end must still be told, JSON ids */
    size_t end_count;
    size_t answers, notifications; /* what has come so far */
    char *fault;                   /* the first thing that was wrong */
};

void ledger_free(struct ledger *ledger);

/* LINE (without its newline) was sent. */
void ledger_sent(struct ledger *ledger, struct text line);
/* The input has ended. */
void ledger_end(struct ledger *ledger);
/* LINE was received. False when it was not called for; `fault` then says why. */
bool ledger_received(struct ledger *ledger, struct text line);

/* Requests that must still be answered, endless ones apart. */
size_t ledger_due(const struct ledger *ledger);
/* The id of an endless call that nobody has cancelled yet, or NULL. */
const char *ledger_endless(const struct ledger *ledger);
/* Calls wait behind an endless one in the legacy session. */
bool ledger_is_blocked(const struct ledger *ledger);
/* Everything has come that had to: calls that were cancelled are over as well. */
void ledger_settle(struct ledger *ledger);

/* For ledger_check.c. */
void ledger_strike(struct ledger *ledger, struct due *due);

#endif
