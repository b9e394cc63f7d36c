/* Makes libseccomp take arm64 for the architecture it runs on, for the policy's own code, which is
 * none the wiser. The linker puts these functions in the place of libseccomp's. */
#include <seccomp.h>
#include <stdint.h>
#include <stdlib.h>

/* The linker's names are as they are. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming) */
scmp_filter_ctx __real_seccomp_init(uint32_t otherwise);
int __real_seccomp_rule_add_exact_array(scmp_filter_ctx context, uint32_t action, int number,
                                        unsigned count, const struct scmp_arg_cmp *comparisons);
uint32_t __wrap_seccomp_arch_native(void);
scmp_filter_ctx __wrap_seccomp_init(uint32_t otherwise);
int __wrap_seccomp_rule_add_exact_array(scmp_filter_ctx context, uint32_t action, int number,
                                        unsigned count, const struct scmp_arg_cmp *comparisons);

uint32_t __wrap_seccomp_arch_native(void) {
    return SCMP_ARCH_AARCH64;
}

scmp_filter_ctx __wrap_seccomp_init(uint32_t otherwise) {
    scmp_filter_ctx context = __real_seccomp_init(otherwise);
    if (context && (seccomp_arch_add(context, SCMP_ARCH_AARCH64) ||
                    seccomp_arch_remove(context, SCMP_ARCH_NATIVE))) {
        seccomp_release(context);
        return NULL;
    }
    return context;
}

/* A rule has the number that the call has here, whatever the filter's architecture. */
int __wrap_seccomp_rule_add_exact_array(scmp_filter_ctx context, uint32_t action, int number,
                                        unsigned count, const struct scmp_arg_cmp *comparisons) {
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_AARCH64, number);
    int here = name ? seccomp_syscall_resolve_name(name) : __NR_SCMP_ERROR;
    free(name);
    return __real_seccomp_rule_add_exact_array(context, action, here, count, comparisons);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming) */
