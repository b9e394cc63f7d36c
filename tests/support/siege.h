/* A server under attack from inside: a victim session, in which hostile.lisp is loaded, and a
 * witness session, which must not notice anything. Ends only when all that the attacks made is
 * gone: processes, zombies, descriptors. */
#ifndef ECLAVE_TESTS_SUPPORT_SIEGE_H
#define ECLAVE_TESTS_SUPPORT_SIEGE_H

#include "tests/support/client.h"

struct siege {
    struct client *client;
    const char *victim, *witness; /* sessions; *KEPT* of a victim is 1 */
    unsigned long calls;          /* given to workers so far: the number of the newest */
    long witnessed;
    int descriptors; /* of the server when it held the witness alone */
};

/* Starts a server. ARGUMENTS (ends with NULL; may be NULL) come behind those of the siege. */
struct siege siege_begin(const char *const *arguments);

/* One more session like the victim. */
const char *siege_victim(struct siege *siege);

/* Evaluates CODE in SESSION; a %lu in CODE becomes the number of the call. TIMEOUT_S of 0: none. */
struct evaluation siege_evaluate(struct siege *siege, const char *session, const char *code,
                                 double timeout_s);
/* The first half of it; ID is JSON text. */
void siege_send(struct siege *siege, const char *id, const char *session, const char *code,
                double timeout_s);
/* What client_sessions.h has, for what counts as a call of the server. */
void siege_settle(struct siege *siege, const char *session);
void siege_reset(struct siege *siege, const char *session);
void siege_close(struct siege *siege, const char *session);
struct evaluation siege_rollback(struct siege *siege, const char *session, long steps);
const char *siege_copy(struct siege *siege, const char *session);

/* Calls (HOSTILE::FUNCTION NUMBER) in SESSION, which forges its answer; wants that to have worked.
 */
void siege_forge(struct siege *siege, const char *session, const char *function);

/* The server answers and the witness has what it had. */
void siege_expect_unharmed(struct siege *siege);

/* Resets the sessions named in VICTIMS (COUNT of them) and the victim, which must then be as new;
 * wants nothing left of them, and ends the server. */
void siege_end(struct siege *siege, const char *const *victims, size_t count);

/* Processes of a session that has made several calls: its head, and the checkpoints that the
 * siege's server keeps. */
enum { SIEGE_SESSION_WORKERS = 3 };

#endif
