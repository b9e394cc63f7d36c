/* The processes under a server, told apart by what the kernel says of them: the zygote has no
 * seccomp filter, a worker has one. Never names a process that is not a descendant of the server
 * just now; waits poll /proc, which has no events to wait for. */
#ifndef ECLAVE_TESTS_SUPPORT_FAMILY_H
#define ECLAVE_TESTS_SUPPORT_FAMILY_H

#include "tests/support/client.h"

/* The zygote, when it is up and there are WORKERS confined processes: the heads and checkpoints of
 * the sessions, and the spare. Waits for that state. */
pid_t family_zygote(struct client *client, size_t workers);

/* An unconfined process under the server just now: the zygote, booting or up. 0 when there is none.
 */
pid_t family_zygote_now(struct client *client);

/* The state of family_zygote; the confined processes into PIDS, at most MAXIMUM. Returns how many.
 */
size_t family_workers(struct client *client, size_t workers, pid_t *pids, size_t maximum);

/* The worker that is the head of SESSION (NULL: the connection's own), as this process knows it.
 * It takes a call. */
pid_t family_head(struct client *client, const char *session);

/* Waits until PID, a descendant just named, is gone from below the server, zombie and all. */
void family_await_gone(struct client *client, pid_t pid);

/* Children of the server that have died and were not waited for, now. */
size_t family_zombies(struct client *client);
/* Waits until there are none. */
void family_await_no_zombies(struct client *client);

/* Waits until nothing is left that the ended server had started. */
void family_await_nobody(struct client *client);

/* The end of a server by itself: reads what it still writes, wants exit STATUS and nothing left
 * running, and frees the client. */
void family_expect_end(struct client *client, int status);

/* Asserts that the server used no processor time to speak of while ROUNDS of waiting passed. */
void family_expect_idle(struct client *client);

#endif
