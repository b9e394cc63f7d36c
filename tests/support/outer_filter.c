/* See outer_filter.h. */
#include "tests/support/outer_filter.h"

#include <criterion/criterion.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int outer_filter_install(struct sock_filter *steps, size_t count, unsigned long flags) {
    const struct sock_fprog program = {.len = (unsigned short)count, .filter = steps};
    cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

int outer_filter(unsigned number, uint32_t action, unsigned long flags) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    return outer_filter_install(steps, sizeof steps / sizeof *steps, flags);
}

void outer_filter_forbid(unsigned number, unsigned code) {
    cr_assert_eq(outer_filter(number, SECCOMP_RET_ERRNO | code, 0), 0);
}

void outer_filter_forbid_bits(unsigned number, unsigned argument, uint32_t bits, unsigned code) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 (uint32_t)(offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t))),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    cr_assert_eq(outer_filter_install(steps, sizeof steps / sizeof *steps, 0), 0);
}
