/* Loads what is written in Lisp, to see whether it can be: nothing of it is called. */
#ifndef ECLAVE_SUPERVISOR_COMMAND_SOURCES_H
#define ECLAVE_SUPERVISOR_COMMAND_SOURCES_H

#include "supervisor/registry/snapshot.h"
#include "supervisor/session/one_shot.h"
#include <stddef.h>

struct sources_tally {
    size_t loaded, failed;
    bool interrupted; /* and not all are counted */
};

/* Is there anything in Lisp? */
bool sources_are_there(const struct snapshot *snapshot);

/* Loads each once, in a world of its own, and sees whether it defines what it should. Prints a line
 * for each failure and for each warning, which is no failure, and nothing for the others. */
struct sources_tally sources_load(struct one_shot *one_shot, const struct settings *settings,
                                  const struct snapshot *snapshot);

#endif
