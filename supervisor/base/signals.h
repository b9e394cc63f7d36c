/* Signals as something to read: SIGCHLD, SIGTERM and SIGINT come through a descriptor. */
#ifndef ECLAVE_SUPERVISOR_BASE_SIGNALS_H
#define ECLAVE_SUPERVISOR_BASE_SIGNALS_H

#include "common/error.h"
#include <stdbool.h>

/* Blocks those signals, ignores SIGPIPE and SIGXFSZ, and opens a non-blocking descriptor that is
 * readable when one of them has come. -1 with *error. */
int signals_open(struct error *error);

/* The number of the next signal that has come, 0 when there is none. */
int signals_next(int fd);

#endif
