/* Results of a project's tools. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_PROJECT_TOOL_H
#define ECLAVE_SUPERVISOR_PROJECT_PROJECT_TOOL_H

#include "common/error.h"
#include "supervisor/registry/entry.h"
#include "supervisor/session/run.h"
#include <stdbool.h>

/* Does RESULT match the output schema of ENTRY, if it has one? A result that is an error always
 * does. */
bool project_tool_check_result(const struct registry_entry *entry, const struct run_result *result,
                               struct error *error);

#endif
