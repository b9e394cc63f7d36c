/* A layer that this machine does not give: made so by an outer filter, as containers and old
 * kernels have it. Reported with its reason, done without where that is allowed, else refused; and
 * no file is granted that it should have guarded. */
#include "policy/policy.h"
#include "tests/support/outer_filter.h"
#include "tests/support/skip.h"

#include <criterion/criterion.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CGROUP     POLICY_LAYER_BIT(POLICY_LAYER_CGROUP)
#define NAMESPACES POLICY_LAYER_BIT(POLICY_LAYER_NAMESPACES)
#define LANDLOCK   POLICY_LAYER_BIT(POLICY_LAYER_LANDLOCK)

static struct policy whole(void) {
    return (struct policy){.layers = POLICY_LAYERS_ALL & ~CGROUP};
}

/* Forbids call NUMBER. LAYER is missing from then on: reported with WORD when it may be, refused
 * when it must not; the other layers are as they were. */
static void expect_missing(unsigned number, unsigned code, enum policy_layer layer,
                           const char *word) {
    struct policy policy = whole();
    struct policy_report before = {0}, report = {0};
    struct error error = {0};
    policy.layers |= POLICY_LAYER_BIT(layer);
    cr_assert(policy_probe(&policy, &before, &error), "%s", error.text);
    outer_filter_forbid(number, code);
    cr_assert(policy_probe(&policy, &report, &error), "%s", error.text);
    cr_expect_eq(report.layers[layer].state, POLICY_UNAVAILABLE);
    cr_expect(strstr(report.layers[layer].why, word), "%s: %s", policy_layer_name(layer),
              report.layers[layer].why);
    for (unsigned other = 0; other < POLICY_LAYER_COUNT; other++)
        if (other != layer)
            cr_expect_eq(report.layers[other].state, before.layers[other].state, "%s",
                         policy_layer_name(other));
    policy.required = POLICY_LAYER_BIT(layer);
    cr_expect_not(policy_probe(&policy, &report, &error));
    cr_expect(strstr(error.text, policy_layer_name(layer)), "%s", error.text);
    cr_expect(strstr(error.text, word), "%s", error.text);
}

static void expect_no_grant(const struct policy *policy, const char *word) {
    struct error error = {0};
    cr_expect_not(policy_probe(policy, NULL, &error));
    cr_expect(strstr(error.text, word), "%s", error.text);
}

Test(layers, landlock_may_be_missing) {
    expect_missing(SYS_landlock_create_ruleset, ENOSYS, POLICY_LAYER_LANDLOCK, "Landlock");
}

/* From then on landlock_restrict_self fails unless all of FLAGS are given. */
static void require_flags(uint32_t flags) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_restrict_self, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, flags),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, flags, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    cr_assert_eq(outer_filter_install(steps, sizeof steps / sizeof *steps, 0), 0);
}

Test(layers, landlock_writes_no_audit_records) {
    enum { LOG_SAME_EXEC_OFF = 1, LOG_SUBDOMAINS_OFF = 4 };
    struct policy policy = {.layers = POLICY_LAYERS_ALL & ~CGROUP & ~NAMESPACES,
                            .required = LANDLOCK};
    struct error error = {0};
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 7)
        cr_skip_test("Landlock has no flags for its log before version 7");
    require_flags(LOG_SAME_EXEC_OFF | LOG_SUBDOMAINS_OFF);
    cr_expect(policy_probe(&policy, NULL, &error), "%s", error.text);
    /* The control: a flag that is not given. */
    require_flags(2);
    cr_expect_not(policy_probe(&policy, NULL, &error));
    cr_expect(strstr(error.text, "landlock"), "%s", error.text);
}

Test(layers, namespaces_may_be_missing) {
    expect_missing(SYS_unshare, EPERM, POLICY_LAYER_NAMESPACES, "namespace");
}

Test(layers, namespaces_may_be_missing_after_they_were_made) {
    skip_without_layers(NAMESPACES, false);
    expect_missing(SYS_mount, EPERM, POLICY_LAYER_NAMESPACES, "mounts");
}

/* As Podman has it. */
Test(layers, namespaces_may_have_the_name_of_the_host) {
    skip_without_layers(NAMESPACES, false);
    const struct policy policy = {.layers = POLICY_LAYERS_ALL & ~CGROUP, .required = NAMESPACES};
    struct policy_report report = {0};
    struct error error = {0};
    outer_filter_forbid(SYS_sethostname, EPERM);
    cr_assert(policy_probe(&policy, &report, &error), "%s", error.text);
    cr_expect_eq(report.layers[POLICY_LAYER_NAMESPACES].state, POLICY_ACTIVE);
    outer_filter_forbid(SYS_sethostname, EIO);
    cr_expect_not(policy_probe(&policy, &report, &error));
    cr_expect(strstr(error.text, "host name"), "%s", error.text);
}

Test(layers, the_control_group_may_be_missing) {
#ifdef SYS_mkdir
    expect_missing(SYS_mkdir, EROFS, POLICY_LAYER_CGROUP, "control group");
#else
    expect_missing(SYS_mkdirat, EROFS, POLICY_LAYER_CGROUP, "control group");
#endif
}

Test(layers, grant_no_files_without_landlock) {
    static const char *const directories[] = {"/usr"};
    struct policy reading = whole(), writing = whole();
    reading.readable = directories;
    reading.readable_count = 1;
    writing.scratch_bytes = 1 << 20;
    outer_filter_forbid(SYS_landlock_create_ruleset, ENOSYS);
    expect_no_grant(&reading, "landlock");
    expect_no_grant(&writing, "landlock");
    reading.layers &= ~LANDLOCK;
    expect_no_grant(&reading, "landlock");
}

Test(layers, grant_no_files_without_notifications) {
    static const char *const directories[] = {"/usr"};
    struct policy policy = whole();
    policy.readable = directories;
    policy.readable_count = 1;
    policy.degraded = true;
    expect_no_grant(&policy, "notifications");
}

Test(layers, grant_no_scratch_directory_without_namespaces) {
    struct policy policy = whole();
    policy.scratch_bytes = 1 << 20;
    policy.layers &= ~NAMESPACES;
    expect_no_grant(&policy, "namespaces");
    policy.layers |= NAMESPACES;
    outer_filter_forbid(SYS_unshare, EPERM);
    expect_no_grant(&policy, "namespaces");
}

Test(layers, have_names_and_say_what_they_stop) {
    uint32_t optional = policy_optional_layers();
    cr_expect_eq(optional, CGROUP | NAMESPACES | LANDLOCK);
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++) {
        cr_expect_gt(strlen(policy_layer_name(layer)), 4);
        cr_expect_gt(strlen(policy_layer_stops(layer)), 10);
        for (unsigned other = 0; other < layer; other++)
            cr_expect_str_neq(policy_layer_name(layer), policy_layer_name(other));
    }
}
