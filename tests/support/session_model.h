/* A model of a server's sessions in plain tables: a few integers under a few names for each state
 * that is kept; which sessions there may be, and what has become of the others. */
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
    bool own;             /* the connection's: does not count */
    bool unnamed;         /* dropped when there are too many: the oldest first */
    bool fresh;           /* state 0 is a fresh Lisp */
    unsigned long number; /* of the present state */
    unsigned long made;   /* with unnamed */
    /* The states held by a process: KEPT of them, the last is the present one. */
    struct model_world states[MODEL_HISTORY_MAX + 1];
    size_t kept;
};

enum model_end { MODEL_NEVER, MODEL_CLOSED, MODEL_DROPPED };

struct model_gone {
    char name[MODEL_NAME_MAX]; /* empty: it has a session again */
    enum model_end end;
};

struct model {
    struct model_session *first;
    size_t maximum, unnamed_max, history;
    unsigned long clock;
    struct model_gone *gone;
    size_t gone_count;
};

void model_free(struct model *model);

/* NULL when there is none of that name. */
struct model_session *model_find(const struct model *model, const char *name);
/* The connection's own, called "main", or NULL before model_make_own. */
struct model_session *model_own(const struct model *model);
struct model_session *model_make_own(struct model *model);

/* May another session be opened or kept? */
bool model_has_room(const struct model *model);
/* A fresh session; NULL when there is no room. */
struct model_session *model_open(struct model *model, const char *name);
/* A fresh session for one call, in place of the oldest of its kind if there are too many. */
struct model_session *model_make_unnamed(struct model *model, const char *name);
/* A call names SESSION, which is not dropped from now on. False when there is no room for it. */
bool model_keep(const struct model *model, struct model_session *session);
/* What became of the last session of that name, which has none now. */
enum model_end model_end_of(const struct model *model, const char *name);
size_t model_count(const struct model *model);
/* True when that state of SESSION can be copied. */
bool model_holds(const struct model_session *session, unsigned long number);
/* The copy; NULL when there is no room. */
struct model_session *model_copy(struct model *model, const struct model_session *session,
                                 unsigned long number, const char *name);
void model_close(struct model *model, struct model_session *session);

struct model_world model_present(const struct model_session *session);
/* That state, which model_holds. */
struct model_world model_state(const struct model_session *session, unsigned long number);
/* A call has ended in the state WORLD. */
void model_advance(const struct model *model, struct model_session *session,
                   const struct model_world *world);
/* How many calls can be rolled back. */
size_t model_history(const struct model *model, const struct model_session *session);
/* By at most that many. */
void model_roll_back(struct model_session *session, size_t steps);
void model_reset(struct model_session *session);

/* Processes of the session when it is at rest. */
size_t model_workers(const struct model_session *session);

#endif
