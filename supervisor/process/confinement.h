/* The policy that follows from the settings. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_CONFINEMENT_H
#define ECLAVE_SUPERVISOR_PROCESS_CONFINEMENT_H

#include "policy/policy.h"
#include "supervisor/settings/settings.h"

/* The policy for the workers of a supervisor with these settings. Points into SETTINGS. */
struct policy confinement_policy(const struct settings *settings);

/* The confinement of the supervisor itself. Points into SETTINGS. */
struct policy_supervisor confinement_supervisor(const struct settings *settings);

/* The resident memory in bytes at which a worker is killed. */
size_t confinement_worker_bytes(const struct settings *settings);
/* The memory in bytes that all processes of a session may use together. By default two workers of
 * the largest size fit, so that the state before a call can be kept whatever the call does. */
size_t confinement_session_bytes(const struct settings *settings);

/* The most sessions that have processes at a time: kept ones, that of the connection, and unnamed
 * ones, idle or running. */
uint64_t confinement_sessions(const struct settings *settings);

/* Whether workers can be confined here: tries the required layers on a child. False with *error. */
bool confinement_is_possible(const struct settings *settings, struct error *error);
/* The same without the files that SETTINGS grants. If only this is possible, the server does not
 * start, because the grants would let code reach more than the granted files. */
bool confinement_without_grants_is_possible(const struct settings *settings);

#endif
