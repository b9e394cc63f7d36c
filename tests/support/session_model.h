/* A model of the sessions of a server: a few integers under a few names for each state that is kept,
 * and which session is closed for room. The order of use is that of the calls of model_use, so calls
 * that overlap must be settled before a session may be closed. */
#ifndef ECLAVE_TESTS_SUPPORT_SESSION_MODEL_H
#define ECLAVE_TESTS_SUPPORT_SESSION_MODEL_H

#include <stdbool.h>
#include <stddef.h>

enum {
    MODEL_KINDS = 4, /* ways to hold an integer in Lisp */
    MODEL_KEYS = 3,  /* names of each */
    MODEL_UNSET = -1,
    MODEL_HISTORY_MAX = 8,
    MODEL_NAME_MAX = 64
};

struct model_world {
    long values[MODEL_KINDS][MODEL_KEYS];
};

struct model_session {
    struct model_session *next;
    char name[MODEL_NAME_MAX];
    bool own;             /* the connection's own, which is never closed for room */
    bool fresh;           /* state 0 is a fresh session */
    bool copied;          /* it is busy */
    unsigned long number; /* of the current state */
    unsigned long used;
    /* The states that processes keep: KEPT of them up to the current one, which is the last. */
    struct model_world states[MODEL_HISTORY_MAX + 1];
    size_t kept;
};

struct model {
    struct model_session *first;
    size_t count, maximum, history;
    unsigned long clock;
};

void model_free(struct model *model);

/* NULL: no session of that name. */
struct model_session *model_find(const struct model *model, const char *name);
/* The connection's own, called "main", or NULL before model_make_own. */
struct model_session *model_own(const struct model *model);
struct model_session *model_make_own(struct model *model);

/* Opens a session, which the caller names; NULL: no room. */
struct model_session *model_open(struct model *model);
/* Whether that state of SESSION can be copied. */
bool model_holds(const struct model_session *session, unsigned long number);
/* Opens the copy; NULL: no room. */
struct model_session *model_copy(struct model *model, struct model_session *session,
                                 unsigned long number);
void model_close(struct model *model, struct model_session *session);

void model_use(struct model *model, struct model_session *session);

struct model_world model_present(const struct model_session *session);
/* A call ended in the state WORLD. */
void model_advance(const struct model *model, struct model_session *session,
                   const struct model_world *world);
/* The number of calls that can be rolled back. */
size_t model_history(const struct model *model, const struct model_session *session);
/* STEPS is at most that number. */
void model_roll_back(struct model_session *session, size_t steps);
void model_reset(struct model_session *session);

/* The number of processes of the idle session. */
size_t model_workers(const struct model_session *session);

#endif
