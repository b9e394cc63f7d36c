/* Minimal mode, asked for or forced by a machine where no worker can be confined: lifecycle, ping
 * and logging work in both eras, nothing is evaluated, and the reason is reported. */
#include "tests/support/command.h"
#include "tests/support/eras.h"
#include "tests/support/family.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* LINE is an answer that describes the server. */
static void expect_described(struct client *client, const char *line, const char *reason) {
    expect_member(line, "{\"logging\":{}}", "result", "capabilities", NULL);
    const char *instructions = client_string(client, line, "result", "instructions", NULL);
    expect_contains(instructions, "minimal mode");
    expect_contains(instructions, reason);
}

static void expect_no_tools(struct client *client, const struct era *era) {
    static const char *const refused[] = {
        "tools/list",  "tools/call",         "tools/foo",      "prompts/list",
        "prompts/get", "resources/list",     "resources/read", "resources/templates/list",
        "no/such",     "completion/complete"};
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        era_refused(client, era, -32601, "4", refused[i], NULL);
}

static void expect_minimal(struct client *client, const char *reason) {
    client_expect_error(client, REQUEST("0", "tools/list"), -32002, "0");
    client_expect_error(client, INITIALIZE("1", "\"1999-01-01\""), -32602, "1");
    expect_described(client, client_initialize(client, "2025-03-26"), reason);
    expect_described(client, client_expect_result(client, MODERN("1", "server/discover"), "1"),
                     reason);
    client_await_stderr(client, reason);

    client_ping(client);
    client_expect_result(client, REQUEST_WITH("2", "logging/setLevel", "{\"level\":\"DEBUG\"}"),
                         "2");
    client_expect_error(client, REQUEST_WITH("3", "logging/setLevel", "{\"level\":\"loud\"}"),
                        -32602, "3");
    expect_no_tools(client, era_legacy);
    expect_no_tools(client, era_modern);
    client_expect_error(client, EVALUATE("5", "(+ 1 2)"), -32601, "5");
    client_expect_error(client, REQUEST_WITH("6", "tools/list", "42"), -32601, "6");
    client_send_line(client, CANCEL("5"));
    client_expect_silence(client);
    pid_t pid;
    cr_assert_eq(client_descendants(client, &pid, 1), 0, "a process was started");

    client_expect_error(client, REQUEST("7", "exit"), -32005, "7");
    client_expect_result(client, REQUEST("8", "shutdown"), "8");
    client_expect_error(client, PING("9"), -32003, "9");
    client_expect_result(client, REQUEST("10", "exit"), "10");
    family_expect_end(client, 0);
}

Test(minimal, is_turned_on_by_the_flag) {
    const char *arguments[] = {"--minimal", NULL};
    expect_minimal(client_start(&(struct client_options){.arguments = arguments}),
                   "the setting minimal asks for it");
}

Test(minimal, is_turned_on_by_the_environment) {
    static const char *const settings[] = {"MCPBASH_FORCE_MINIMAL=true", "MCPBASH_FORCE_MINIMAL=1",
                                           "ECLAVE_MINIMAL=yes"};
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        const char *environment[] = {settings[i], NULL};
        expect_minimal(client_start(&(struct client_options){.environment = environment}),
                       "the setting minimal asks for it");
    }
}

Test(minimal, is_not_turned_on_by_false) {
    const char *environment[] = {"MCPBASH_FORCE_MINIMAL=false", NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.environment = environment}, NULL);
    client_expect_result(client, REQUEST("1", "tools/list"), "1");
    client_finish(client);
}

/* Makes seccomp(2) and prctl(PR_SET_SECCOMP) fail for this process and its descendants, as some
 * containers do. */
static void forbid_seccomp(void) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = COUNT_OF(program), .filter = program};
    cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

Test(minimal, is_forced_where_seccomp_is_missing) {
    forbid_seccomp();
    expect_minimal(client_start(NULL), "a worker cannot be confined here");
}

Test(minimal, is_forced_where_seccomp_is_missing_even_when_degraded) {
    const char *arguments[] = {"--degraded", NULL};
    forbid_seccomp();
    expect_minimal(client_start(&(struct client_options){.arguments = arguments}),
                   "a worker cannot be confined here");
}

static void expect_no_evaluation(const char *const *arguments) {
    struct command_result result = command_eclave(arguments, "(print 1)");
    cr_assert_eq(result.status, 70);
    cr_assert_str_eq(result.output, "");
    expect_contains(result.error, "eclave: code cannot be evaluated here: ");
    command_result_free(&result);
}

Test(minimal, stops_the_command_line_as_well) {
    expect_no_evaluation((const char *const[]){"eval", "--minimal", NULL});
    forbid_seccomp();
    expect_no_evaluation((const char *const[]){"eval", NULL});
}
