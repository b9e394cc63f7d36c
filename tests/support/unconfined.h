/* Controls of attacks: an ECL without confinement. It runs as nobody in namespaces of its own that
 * end with it, from which it reaches no process outside. */
#ifndef ECLAVE_TESTS_SUPPORT_UNCONFINED_H
#define ECLAVE_TESTS_SUPPORT_UNCONFINED_H

#include "common/buffer.h"
#include "tests/support/command.h"
#include <stdbool.h>

enum { UNCONFINED_HUNG = 137 }; /* the status when the watchdog kills the namespace */

/* False where it cannot have the namespaces that protect everything else from it. */
bool unconfined_is_possible(void);
/* The same; where it is not possible, skips the test, or fails it if the namespaces exist. */
void unconfined_or_skip(void);

/* Loads INPUT as Lisp from standard input, for at most SECONDS; the code may read what follows it.
 * ENVIRONMENT as of struct command. */
struct command_result unconfined_load(const struct buffer *input, unsigned seconds,
                                      const char *const *environment);
/* The same with descriptor 3 as standard output, and with little room for memory, output and
 * processes, so that code that takes what it can get does not harm the machine. */
struct command_result unconfined_load_within_limits(const struct buffer *input, unsigned seconds,
                                                    const char *const *environment);

#endif
