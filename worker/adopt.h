/* How a worker becomes a session that an earlier server saved as an image
 * (common/session_image.h). It is confined when it reads the first byte of it. */
#ifndef ECLAVE_WORKER_ADOPT_H
#define ECLAVE_WORKER_ADOPT_H

#include "common/session_image.h"

#include <stdbool.h>
#include <stdint.h>

/* Before the collector learns which static data it has to scan: has it leave out what this file
 * keeps, where registers and addresses of mappings look like references to the heap. */
void adopt_hide_from_collector(void);

/* For the zygote: opens the list of its mappings while it can, and learns it once it has made what
 * it makes before it forks. FD, which may be -1, is closed. Without that no worker can adopt. */
int adopt_open_list(void);
void adopt_learn(int fd);

/* Makes this process the session whose image FD has, from its beginning on, and continues there:
 * `parked` (worker/park.h). Returns only if it has changed nothing, with what is
 * wrong, as of session_image_judge. CALL is kept for adopt_finish. */
const char *adopt_session(int fd, uint32_t call, const struct adopt_message *message);

/* The first thing that the adopted process does. Returns CALL. */
uint32_t adopt_finish(void);

#endif
