/* See user.h. */
#include "tests/support/user.h"
#include "tests/support/process.h"
#include <criterion/criterion.h>
#include <grp.h>
#include <stdlib.h>
#include <unistd.h>

enum { NOBODY = 65534 };

bool user_nobody_wanted(bool asked) {
    return asked || getenv("TEST_UNPRIVILEGED") != NULL;
}

bool user_become_nobody(void) {
    return setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0;
}

void user_check(pid_t pid, bool nobody) {
    long wanted = nobody ? NOBODY : (long)getuid(), user = process_status(pid, "Uid");
    cr_assert_eq(user, wanted, "process %d runs as user %ld, not %ld", (int)pid, user, wanted);
}

void user_give(const char *path) {
    if (user_nobody_wanted(false))
        cr_assert_eq(chown(path, NOBODY, NOBODY), 0, "%s", path);
}
