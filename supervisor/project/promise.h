/* What a tool promises by its output schema. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_PROMISE_H
#define ECLAVE_SUPERVISOR_PROJECT_PROMISE_H

#include "common/error.h"
#include "supervisor/registry/entry.h"
#include "supervisor/session/run.h"
#include <stdbool.h>

/* Is RESULT what the output schema of ENTRY, if it has one, demands? False with *error. */
bool promise_is_kept(const struct registry_entry *entry, const struct run_result *result,
                     struct error *error);

#endif
