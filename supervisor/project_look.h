/* One look at a project, for commands that have no server. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_LOOK_H
#define ECLAVE_SUPERVISOR_PROJECT_LOOK_H

#include "supervisor/registry/registry.h"

/* Opens the project of SETTINGS and runs LOOP until the first look has ended. NULL with *error. The
 * caller closes it; LOOP, LOG and SETTINGS must outlive it. */
struct registry *project_look(struct loop *loop, struct log *log, const struct settings *settings,
                              struct error *error);

#endif
