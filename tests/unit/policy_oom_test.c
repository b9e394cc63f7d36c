/* policy/oom.c: who is killed first when memory runs out, and how many were. */
#include "policy/policy.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t kills_in(const char *text) {
    char path[] = "/tmp/eclave-oom-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    unlink(path);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    uint64_t kills = policy_oom_kills(fd);
    cr_assert_eq(policy_oom_kills(fd), kills, "it is read from the start each time");
    close(fd);
    return kills;
}

Test(oom, kills_are_counted_in_each_of_the_kernels_files) {
    cr_expect_eq(kills_in("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), 3);
    cr_expect_eq(kills_in("low 0\nhigh 0\nmax 7\noom 5\noom_kill 2\noom_group_kill 1\n"), 2);
    cr_expect_eq(kills_in("nr_free_pages 4711\noom_kill 12\nnuma_hit 9\n"), 12);
    cr_expect_eq(kills_in("oom_kill 1"), 1);
    cr_expect_eq(kills_in("pgoom_kill 5\n"), 0);
    cr_expect_eq(kills_in(""), 0);
}

/* Without a control group the counter of the machine is there. */
Test(oom, the_counter_is_there_without_a_control_group) {
    int fd = policy_oom_open();
    cr_assert_geq(fd, 0);
    char text[16384] = "";
    cr_assert_gt(pread(fd, text, sizeof text - 1, 0), 0);
    cr_assert_not_null(strstr(text, "\noom_kill "));
    close(fd);
}

static int score(void) {
    char text[16] = "";
    int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    return got > 0 ? (int)strtol(text, NULL, 10) : -1;
}

/* In a child, since an ordinary user cannot go back. */
Test(oom, a_process_can_be_put_before_others) {
    pid_t pid = fork();
    if (pid == 0) {
        int before = score();
        if (!policy_oom_prefer(0, POLICY_OOM_WORKER))
            _exit(1);
        int worker = score();
        if (worker < before || !policy_oom_prefer(getpid(), POLICY_OOM_PARKED))
            _exit(2);
        _exit(score() > worker ? 0 : 3);
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert_eq(status, 0, "status %#x", (unsigned)status);
}
