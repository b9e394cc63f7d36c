/* One look at a project, outside a server. */
#ifndef ECLAVE_SUPERVISOR_COMMAND_LOOK_H
#define ECLAVE_SUPERVISOR_COMMAND_LOOK_H

#include "common/error.h"
#include "supervisor/registry/snapshot.h"
#include "supervisor/settings/settings.h"

/* What the project of SETTINGS holds now, as a server would find it; the caller's
 * (snapshot_unref). Nothing is logged: refusals are in it. NULL with *error. */
const struct snapshot *project_look(const struct settings *settings, struct error *error);

#endif
