/* What the settings ask of the policy. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_CONFINEMENT_H
#define ECLAVE_SUPERVISOR_PROCESS_CONFINEMENT_H

#include "policy/policy.h"
#include "supervisor/settings/settings.h"

/* The policy for the workers of a supervisor with these settings. Points into SETTINGS. */
struct policy confinement_policy(const struct settings *settings);

/* May code be evaluated here? Tries what is not to be done without, on a child. False with the
 * reason. */
bool confinement_is_possible(const struct settings *settings, struct error *error);
/* The same without the files that they grant: when only that is possible, granting them would widen
 * what code may do beyond them. */
bool confinement_without_grants_is_possible(const struct settings *settings);

#endif
