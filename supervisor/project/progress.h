/* Progress notifications. A client that asked for them receives what the definition reports; until
 * it reports something, a heartbeat. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_PROGRESS_H
#define ECLAVE_SUPERVISOR_PROJECT_PROGRESS_H

#include <stdbool.h>

struct invocation;
struct run_event;

/* From now on, progress of INVOCATION is sent under the token of its request, if no other request
 * has that token. */
void progress_begin(struct invocation *invocation);

/* Not while the client is behind with reading: the queue would grow without limit. */
bool progress_may_be_sent(const struct invocation *invocation);

/* Sends a RUN_PROGRESS. */
void progress_send(struct invocation *invocation, const struct run_event *event);

#endif
