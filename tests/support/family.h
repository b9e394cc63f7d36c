/* The descendants of a server, by what the kernel reports: the zygote has no seccomp filter, a
 * worker has one. Waits poll /proc. */
#ifndef ECLAVE_TESTS_SUPPORT_FAMILY_H
#define ECLAVE_TESTS_SUPPORT_FAMILY_H

#include "tests/support/client.h"

/* Waits until the zygote runs and there are WORKERS confined processes, that is, the heads and
 * checkpoints of the sessions and the spare. Returns the zygote. */
pid_t family_zygote(struct client *client, size_t workers);

/* The zygote, which may still be booting, or 0. */
pid_t family_zygote_now(struct client *client);

/* Waits as family_zygote and stores the confined processes, at most MAXIMUM. Returns their
 * number. */
size_t family_workers(struct client *client, size_t workers, pid_t *pids, size_t maximum);

/* The worker that is the head of SESSION (NULL: the connection's own). Makes a call. */
pid_t family_head(struct client *client, const char *session);

/* Waits until the server has no process but its launcher and the weigher. */
void family_await_launcher_alone(struct client *client);

/* Waits until WANTED of the confined processes are stopped. */
void family_await_stopped(struct client *client, size_t wanted);

/* Waits until PID has been reaped. */
void family_await_gone(struct client *client, pid_t pid);

/* Kills the COUNT processes PIDS with SIGKILL, so that the server learns of all at once, and waits
 * until they have been reaped. */
void family_kill_together(struct client *client, const pid_t *pids, size_t count);

/* The number of zombies among the server's children. */
size_t family_zombies(struct client *client);
/* Waits until there are none. */
void family_await_no_zombies(struct client *client);

/* Waits until every process that the ended server had started is gone. */
void family_await_nobody(struct client *client);

/* Waits for the server to end by itself with STATUS, with no process left, and frees the client. */
void family_expect_end(struct client *client, int status);

/* Fails when the server uses processor time during ROUNDS of waiting. */
void family_expect_idle(struct client *client);

#endif
