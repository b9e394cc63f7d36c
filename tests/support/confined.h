/* Where a test runs that signals or forks without bound, and as whom. Never signals a process that
 * it did not start itself. What runs there is confined by policy_try. */
#ifndef ECLAVE_TESTS_CONFINED_H
#define ECLAVE_TESTS_CONFINED_H

enum { CONFINED_SKIPPED = 77 }; /* exit status of a test that cannot run on this machine */

/* Goes on in a new pid namespace with a /proc of its own, from which no signal reaches anybody
 * outside. The calling process waits there, ends everything after SECONDS, and exits as the one
 * that went on did, or with CONFINED_SKIPPED when such a namespace is not to be had. */
void confined_in_own_pid_namespace(unsigned seconds);

/* Gives up root for good; an ordinary user stays what it is. */
void confined_become_nobody(void);

#endif
