/* The session tools, for tests with several sessions. SESSION NULL: the connection's own. */
#ifndef ECLAVE_TESTS_SUPPORT_CLIENT_SESSIONS_H
#define ECLAVE_TESTS_SUPPORT_CLIENT_SESSIONS_H

#include "tests/support/client.h"

/* Sends a call that evaluates CODE. TIMEOUT_S of 0: without the argument. */
void client_session_send(struct client *client, const char *id, const char *session,
                         const char *code, double timeout_s);
/* Evaluates CODE. */
struct evaluation client_session_evaluate(struct client *client, const char *session,
                                          const char *code);
struct evaluation client_session_evaluate_within(struct client *client, const char *session,
                                                 const char *code, double timeout_s);
/* The same, and the text of the answer must be VALUE. */
void client_session_expect(struct client *client, const char *session, const char *code,
                           const char *value);
/* Evaluates CODE, which must succeed with an integer as its value. */
long client_session_integer(struct client *client, const char *session, const char *code);

/* Opens a new session; a copy of SESSION as it is, or in its state number AT (>= 0). The name
 * belongs to the client. */
const char *client_session_open(struct client *client);
const char *client_session_copy(struct client *client, const char *session, long at);

struct evaluation client_session_rollback(struct client *client, const char *session, long steps);
void client_session_reset(struct client *client, const char *session);
void client_session_close(struct client *client, const char *session);

/* One session as list-sessions shows it. */
struct session_row {
    unsigned long number, history;
    bool busy;
    double memory_mib;
    bool proportional;     /* of pages that processes share, each process has its part */
    unsigned long dropped; /* states, for memory */
};
/* False when it is not listed. */
bool client_session_row(struct client *client, const char *session, struct session_row *row);
size_t client_session_count(struct client *client);

/* Returns when all calls on the session have been answered and its state is in a checkpoint. */
void client_session_settle(struct client *client, const char *session);

#endif
