/* Runs one piece of C in a process that is confined exactly as a worker is, with a supervisor that
 * does nothing but answer its notifications from the table. Never signals a process that it did not
 * start itself. */
#ifndef ECLAVE_TESTS_CONFINED_H
#define ECLAVE_TESTS_CONFINED_H

#include "policy/policy.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    CONFINED_CHANNEL = 3, /* where the process has its end of a socket pair */
    CONFINED_SKIPPED = 77 /* exit status of a test that cannot run on this machine */
};

/* What the process runs. Its return value, 0 to 255, becomes the exit status. */
typedef int confined_body(void *context);

/* Looks at the process from outside when it is confined and has not begun its body. */
typedef void confined_observer(pid_t process);

struct confinement {
    bool degraded;
    struct policy_limits limits;
    confined_observer *observe; /* NULL: nobody looks */
};

struct confined_end {
    bool ran;                    /* the body was reached */
    struct error error;          /* why not, when the child could tell */
    int status;                  /* as waitpid has it */
    bool overdue;                /* ended here, because it took too long */
    bool killed;                 /* ended here, because of a call that kills */
    struct policy_answer killer; /* that call */
    size_t refused;              /* notifications that were answered with an errno */
};

/* Forks, confines the child and runs BODY there; returns when it has ended. CONFINEMENT is NULL for
 * the same process without any. */
struct confined_end confined_run(const struct confinement *confinement, confined_body *body,
                                 void *context);

/* Goes on as the first process of a new pid namespace with a /proc of its own, from which no signal
 * reaches anybody outside. The calling process waits there, ends everything after SECONDS, and
 * exits as that first process did, or with CONFINED_SKIPPED when such a namespace is not to be had.
 */
void confined_in_own_pid_namespace(unsigned seconds);

/* Goes on as a child of the calling process, which from then on only reaps its children, and exits
 * as that one did. For who cannot have orphans of others among its own. */
void confined_leave_orphans_behind(void);

/* Gives up root for good; an ordinary user stays what it is. */
void confined_become_nobody(void);

#endif
