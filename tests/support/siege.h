/* A server under attack from inside: a victim session with hostile.lisp, and a witness session,
 * which must not be affected. At the end no process, zombie or descriptor of an attack may be left.
 */
#ifndef ECLAVE_TESTS_SUPPORT_SIEGE_H
#define ECLAVE_TESTS_SUPPORT_SIEGE_H

#include "tests/support/client.h"

struct siege {
    struct client *client;
    const char *victim, *witness; /* sessions; *KEPT* of a victim is 1 */
    unsigned long calls;          /* sent to workers so far: the number of the newest */
    long witnessed;
    int descriptors; /* of the server when it held the witness alone, */
    size_t workers;  /* and its confined processes */
};

/* Starts a server. ARGUMENTS (ends with NULL; may be NULL) come after those of the siege. */
struct siege siege_begin(const char *const *arguments);

/* The same where states are kept as pages (skip_without_pages). */
struct siege siege_begin_tracked(void);

/* One more session like the victim. */
const char *siege_victim(struct siege *siege);

/* Evaluates CODE in SESSION; a %lu in CODE becomes the number of the call. TIMEOUT_S of 0: none. */
struct evaluation siege_evaluate(struct siege *siege, const char *session, const char *code,
                                 double timeout_s);
/* The same without waiting; ID is JSON text. */
void siege_send(struct siege *siege, const char *id, const char *session, const char *code,
                double timeout_s);
/* As in client_sessions.h; each counts as a call. */
void siege_settle(struct siege *siege, const char *session);
void siege_reset(struct siege *siege, const char *session);
void siege_close(struct siege *siege, const char *session);
struct evaluation siege_rollback(struct siege *siege, const char *session, long steps);
const char *siege_copy(struct siege *siege, const char *session);

/* Calls (HOSTILE::FUNCTION NUMBER) in SESSION, which must forge its answer. */
void siege_forge(struct siege *siege, const char *session, const char *function);

/* The server must answer, and the witness must be as it was. */
void siege_expect_unharmed(struct siege *siege);

/* Resets the sessions named in VICTIMS (COUNT of them) and the victim, which must then be as new,
 * closes them, and ends the server, with nothing left behind. */
void siege_end(struct siege *siege, const char *const *victims, size_t count);

/* Processes of a session that has made several calls: its head, and the checkpoints that the
 * siege's server keeps. */
enum { SIEGE_SESSION_WORKERS = 3 };
/* The same of siege_begin_tracked: its head, and the process that its states begin with. */
enum { SIEGE_TRACKED_WORKERS = 2 };

#endif
