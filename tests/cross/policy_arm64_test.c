/* What differs in arm64's table: it has not the old calls that newer ones stand for, and what an
 * evaluation may do by an old one it may do by the new one. */
#include "policy/syscalls.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

/* Which call arm64's C library makes where amd64's makes the old one. */
static const struct {
    const char *old;
    const char *made;
} successors[] = {{"access", "faccessat"},    {"chmod", "fchmodat"},      {"chown", "fchownat"},
                  {"creat", "openat"},        {"dup2", "dup3"},           {"fork", "clone"},
                  {"futimesat", "utimensat"}, {"getdents", "getdents64"}, {"getpgrp", "getpgid"},
                  {"lchown", "fchownat"},     {"link", "linkat"},         {"lstat", "newfstatat"},
                  {"mkdir", "mkdirat"},       {"open", "openat"},         {"pipe", "pipe2"},
                  {"poll", "ppoll"},          {"readlink", "readlinkat"}, {"rename", "renameat"},
                  {"rmdir", "unlinkat"},      {"select", "pselect6"},     {"stat", "newfstatat"},
                  {"symlink", "symlinkat"},   {"time", "clock_gettime"},  {"unlink", "unlinkat"},
                  {"utime", "utimensat"},     {"utimes", "utimensat"},    {"vfork", "clone"}};

/* The first row of call NAME for just these GRANTS. */
static const struct policy_row *first_row(const char *name, uint32_t grants) {
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0 && rows[i].grants == grants)
            return &rows[i];
    return NULL;
}

static const char *successor(const char *old) {
    for (size_t i = 0; i < sizeof successors / sizeof *successors; i++)
        if (strcmp(successors[i].old, old) == 0)
            return successors[i].made;
    return NULL;
}

Test(arm64, has_the_numbers_of_arm64_in_its_table) {
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    cr_assert_eq(first_row("read", 0)->number, 63);
    for (size_t i = 0; i < count; i++) {
        int number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_AARCH64, rows[i].name);
        /* Calls newer than the library have their number in the table. */
        if (number != __NR_SCMP_ERROR)
            cr_assert(number == rows[i].number || (number < 0 && rows[i].number < 0), "%s: %d, %d",
                      rows[i].name, number, rows[i].number);
    }
}

Test(arm64, has_a_row_for_every_call_that_the_filter_library_knows) {
    for (int number = 0; number < 1024; number++) {
        char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_AARCH64, number);
        if (name)
            cr_expect_not_null(first_row(name, 0), "%s", name);
        free(name);
    }
}

Test(arm64, treats_the_calls_in_place_of_old_ones_like_those) {
    size_t count, old = 0;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].number >= 0 || rows[i].verdict == POLICY_KILL)
            continue;
        const char *made = successor(rows[i].name);
        cr_assert_not_null(made, "nothing does on arm64 what %s does", rows[i].name);
        const struct policy_row *row = first_row(made, rows[i].grants);
        cr_assert(row && row->number >= 0, "%s", made);
        cr_expect_eq(row->verdict, rows[i].verdict, "%s and %s", rows[i].name, made);
        cr_expect_eq(row->error, rows[i].error, "%s and %s", rows[i].name, made);
        old++;
    }
    cr_assert_geq(old, sizeof successors / sizeof *successors);
}

/* The C library's dup2 is dup3 with a third argument of zero. */
Test(arm64, lets_a_fork_take_its_own_descriptors) {
    static const struct {
        uint64_t to;
        uint64_t flags;
        enum policy_verdict verdict;
    } tries[] = {{1, 0, POLICY_ALLOW},        {2, 0, POLICY_ALLOW},
                 {3, 0, POLICY_ALLOW},        {0, 0, POLICY_KILL},
                 {4, 0, POLICY_KILL},         {1, O_CLOEXEC, POLICY_KILL},
                 {2, O_CLOEXEC, POLICY_KILL}, {3, O_CLOEXEC, POLICY_KILL}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        const struct seccomp_data call = {.nr = first_row("dup3", 0)->number,
                                          .arch = SCMP_ARCH_AARCH64,
                                          .args = {9, tries[i].to, tries[i].flags}};
        cr_expect_eq(policy_judge(0, &call, 0).verdict, tries[i].verdict, "to %d",
                     (int)tries[i].to);
    }
}
