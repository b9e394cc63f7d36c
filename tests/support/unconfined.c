/* See unconfined.h. */
#include "tests/support/unconfined.h"
#include "policy/policy.h"
#include "tests/support/available.h"
#include "tests/support/lines.h"
#include <criterion/criterion.h>
#include <unistd.h>

#define NAMESPACES                                                                                 \
    "unshare", "--user", "--map-current-user", "--pid", "--fork", "--kill-child", "--mount-proc",  \
        "--ipc", "--net"

static const char *const nothing[] = {"/usr/bin/env", NAMESPACES, "true", NULL};

bool unconfined_is_possible(void) {
    struct command_result result =
        command_run(&(struct command){.arguments = nothing, .unprivileged = geteuid() == 0});
    command_result_free(&result);
    return result.status == 0;
}

void unconfined_or_skip(void) {
    if (unconfined_is_possible())
        return;
    const struct policy_report report = available_report(geteuid() == 0);
    cr_assert_neq(report.layers[POLICY_LAYER_NAMESPACES].state, POLICY_ACTIVE);
    cr_skip_test("an unconfined ECL needs namespaces, which cannot be made here");
}

#define LOAD ECL_PROGRAM " --norc --eval '(load *standard-input*)' "

/* Runs COMMAND of bash. */
static struct command_result load(const char *command, const struct buffer *input, unsigned seconds,
                                  const char *const *environment) {
    cr_assert_not(input->failed);
    /* The first process of the namespace, the shell, is immune to most signals; ECL is not. */
    const char *const arguments[] = {
        "/usr/bin/env",
        "timeout",
        "--signal=KILL",
        formatted("%u", seconds),
        NAMESPACES,
        "bash",
        "-c",
        command,
        NULL,
    };
    return command_run(&(struct command){.arguments = arguments,
                                         .input = (const char *)input->data,
                                         .input_length = input->length,
                                         .environment = environment,
                                         .unprivileged = geteuid() == 0});
}

struct command_result unconfined_load(const struct buffer *input, unsigned seconds,
                                      const char *const *environment) {
    return load(LOAD "3>/dev/null; exit $?", input, seconds, environment);
}

struct command_result unconfined_load_within_limits(const struct buffer *input, unsigned seconds,
                                                    const char *const *environment) {
    return load("ulimit -v 1500000 -u 100 -f 4000; " LOAD "3>&1; exit $?", input, seconds,
                environment);
}
