/* Progress of runs. A client that asks for it gets what the run tells of itself; until the run
 * does, a heartbeat. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_PROGRESS_H
#define ECLAVE_SUPERVISOR_PROJECT_PROGRESS_H

#include "supervisor/project/invocation.h"

/* From now on progress of RUN goes out under the token of its request, if that is free. */
void progress_begin(struct invocation *invocation);

/* Not to a client that does not read: the queue would grow without end. */
bool progress_may_be_sent(const struct invocation *invocation);

/* Tells what RUN says of its own progress: a RUN_PROGRESS. */
void progress_tell(struct invocation *invocation, const struct run_event *event);

#endif
