/* A pid namespace for tests that send signals or fork without bound, and their user. */
#ifndef ECLAVE_TESTS_CONFINED_H
#define ECLAVE_TESTS_CONFINED_H

enum { CONFINED_SKIPPED = 77 }; /* exit status of a test that cannot run here */

/* Continues in a new pid namespace with its own /proc, from which no signal reaches a process
 * outside. The calling process waits, kills everything after SECONDS, and exits as the other did,
 * or with CONFINED_SKIPPED where there is no such namespace. */
void confined_in_own_pid_namespace(unsigned seconds);

/* Gives up root; has no effect for an ordinary user. */
void confined_become_nobody(void);

#endif
