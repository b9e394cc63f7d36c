/* A server under attack from its workers: a victim session with hostile.lisp, and a witness session
 * that must be unaffected. It ends when all processes, zombies and descriptors of the attacks are
 * gone. */
#ifndef ECLAVE_TESTS_SUPPORT_SIEGE_H
#define ECLAVE_TESTS_SUPPORT_SIEGE_H

#include "tests/support/client.h"

struct siege {
    struct client *client;
    const char *victim, *witness; /* sessions; *KEPT* of a victim is 1 */
    unsigned long calls;          /* sent to workers so far, which is the number of the last one */
    long witnessed;
    int descriptors; /* of the server with the witness only */
};

/* Starts a server. ARGUMENTS, which may be NULL, follow those of the siege. */
struct siege siege_begin(const char *const *arguments);

/* One more session like the victim. */
const char *siege_victim(struct siege *siege);

/* Evaluates CODE in SESSION; a %lu in CODE becomes the number of the call. TIMEOUT_S of 0: none. */
struct evaluation siege_evaluate(struct siege *siege, const char *session, const char *code,
                                 double timeout_s);
/* Sends the call only; ID is JSON. */
void siege_send(struct siege *siege, const char *id, const char *session, const char *code,
                double timeout_s);
/* As in client_sessions.h, and counts calls. */
void siege_settle(struct siege *siege, const char *session);
void siege_reset(struct siege *siege, const char *session);
void siege_close(struct siege *siege, const char *session);
struct evaluation siege_rollback(struct siege *siege, const char *session, long steps);
const char *siege_copy(struct siege *siege, const char *session);

/* Calls (HOSTILE::FUNCTION NUMBER) in SESSION, which forges its answer; the forgery must
 * succeed. */
void siege_forge(struct siege *siege, const char *session, const char *function);

/* The server answers, and the witness is unchanged. */
void siege_expect_unharmed(struct siege *siege);

/* Resets the victim and the COUNT sessions in VICTIMS, which must leave nothing behind, and ends
 * the server. */
void siege_end(struct siege *siege, const char *const *victims, size_t count);

/* Processes of a session after several calls: its head and its checkpoints. */
enum { SIEGE_SESSION_WORKERS = 3 };

#endif
