/* As whom the programs under test run: as the test itself, or as nobody while the test remains
 * root, who alone may look into them. tests/support/as_nobody runs a test in that second form. */
#ifndef ECLAVE_TESTS_SUPPORT_USER_H
#define ECLAVE_TESTS_SUPPORT_USER_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether a program under test is to be nobody's: ASKED by the test, or the test is run in the form
 * in which all are. */
bool user_nobody_wanted(bool asked);

/* Makes this process nobody's for good; only root can. False with errno. */
bool user_become_nobody(void);

/* Fails the test unless PID, which may be a zombie, runs as nobody, or as the test itself. */
void user_check(pid_t pid, bool nobody);

/* In the form as nobody: makes PATH nobody's own, as it is the test's own in the other form. */
void user_give(const char *path);

#endif
