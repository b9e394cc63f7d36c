/* The user of the programs under test: that of the test, or nobody while the test stays root to
 * inspect them. tests/support/as_nobody runs a test in the second form. */
#ifndef ECLAVE_TESTS_SUPPORT_USER_H
#define ECLAVE_TESTS_SUPPORT_USER_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether a program under test runs as nobody: ASKED by the test, or in the form as nobody. */
bool user_nobody_wanted(bool asked);

/* Changes the user of this process to nobody; needs root. False with errno. */
bool user_become_nobody(void);

/* Fails unless PID, which may be a zombie, runs as nobody, or as the user of the test. */
void user_check(pid_t pid, bool nobody);

/* In the form as nobody: makes nobody the owner of PATH. */
void user_give(const char *path);

#endif
