/* tests/support/client: the harness fails when the server is wrong. Each test runs a shell script
 * in place of the server. */
#include "tests/support/client.h"
#include "tests/support/play.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct client *start_script(const char *script) {
    const char *arguments[] = {"-c", script, NULL};
    return client_start(&(struct client_options){
        .program = "/bin/sh", .arguments = arguments, .collect = true, .watchdog_s = 2});
}

static void expect_complaint(struct client *client, const char *words) {
    cr_assert_not_null(client_failure(client), "no complaint about: %s", words);
    cr_assert_not_null(strstr(client_failure(client), words), "%s", client_failure(client));
    client_free(client);
}

#define ANSWER(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{}}"
#define GOOD       "echo '" ANSWER("1") "';"

Test(client, accepts_a_server_that_answers_and_ends) {
    struct client *client = start_script("read line; " GOOD);
    client_expect_result(client, "{}", "1");
    client_end(client);
    cr_assert_null(client_failure(client), "%s", client_failure(client));
    client_free(client);
}

Test(client, reports_every_fault_of_a_server) {
    static const struct {
        const char *script, *complaint;
        bool asks; /* the client waits for an answer before the end */
    } rows[] = {
        {"echo banner", "no JSON-RPC message", true},
        {"echo", "no JSON-RPC message", true},
        {"echo '{\"jsonrpc\":\"2.0\",\"id\":1}'", "no JSON-RPC message", true},
        {"printf '" ANSWER("1") "\\r\\n'", "no JSON-RPC message", true},
        {"printf '\\377\\n'", "no JSON-RPC message", true},
        {"echo '[" ANSWER("1") "]'", "no JSON-RPC message", true},
        {"printf '" ANSWER("1") "'", "no newline", false},
        {"cat >&2", "in vain", true},
        {"exec >&-; cat >&2", "closed its stdout", true},
        {"echo '" ANSWER("\"1\"") "'; cat", "in vain", true},
        {GOOD GOOD, "unexpected response", true},
        {"exit 3", "status 3", false},
        {"exec sleep 1000", "in vain", false},
        {"sleep 1000 >/dev/null 2>&1 & exit 0", "descendants", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct client *client = start_script(rows[i].script);
        if (rows[i].asks)
            client_await(client, "1", NULL);
        client_end(client);
        expect_complaint(client, rows[i].complaint);
    }
}

Test(client, kills_processes_left_behind) {
    struct client *client = start_script("sleep 1000 >/dev/null 2>&1 & echo $! >&2; exit 0");
    client_wait(client);
    client_await_stderr(client, "\n");
    pid_t left = (pid_t)strtol(client_stderr(client), NULL, 10);
    cr_assert_gt(left, 1);
    cr_assert_eq(kill(left, 0), 0);
    client_free(client);
    cr_assert_eq(kill(left, 0), -1);
    cr_assert_eq(errno, ESRCH);
}

Test(client, reports_death_by_signal) {
    struct client *client = start_script("kill -SEGV $$");
    cr_assert_eq(client_wait(client), 128 + SIGSEGV);
    client_free(client);
}

Test(client, collects_stderr_and_passes_arguments_and_environment) {
    const char *arguments[] = {"-c", "echo \"$0 $1 $A ${B-unset}\" >&2", "zero", "one", NULL};
    const char *environment[] = {"A=a value", "B", NULL};
    setenv("B", "inherited", 1);
    struct client *client = client_start(&(struct client_options){
        .program = "/bin/sh", .arguments = arguments, .environment = environment});
    client_await_stderr(client, "zero one a value unset\n");
    client_finish(client);
}

/* Megabytes in both directions at once: a blocking write would hang. */
Test(client, never_deadlocks) {
    enum { LINES = 40000 };
    static const char line[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":{\"x\":\"0123456789"
        "012345678901234567890123456789012345678901234567890123456789\"}}";
    static const bool sockets[] = {false, true};
    for (size_t i = 0; i < 2; i++) {
        struct client *client =
            client_start(&(struct client_options){.program = "/bin/cat", .socket = sockets[i]});
        for (int count = 0; count < LINES; count++)
            client_send_line(client, line);
        client_close_stdin(client);
        size_t received = 0;
        for (const char *got; (got = client_read_line_or_end(client, NULL)) != NULL; received++)
            cr_assert_str_eq(got, line);
        cr_assert_eq(received, LINES);
        client_finish(client);
    }
}

Test(client, a_full_stderr_blocks_its_writer) {
    const char *arguments[] = {"-c", "echo lost >&2; " GOOD, NULL};
    struct client *client = client_start(&(struct client_options){.program = "/bin/sh",
                                                                  .arguments = arguments,
                                                                  .stderr_full = true,
                                                                  .collect = true,
                                                                  .watchdog_s = 1});
    cr_assert_null(client_await(client, "1", NULL));
    expect_complaint(client, "in vain");
}

/* play.c: a server that answers every line alike is detected, and the script is shrunk to the one
 * line that shows it. */
static bool play_fails(const struct script *script, void *context) {
    const struct play *play = context;
    struct played played = play_once(play, script);
    bool failed = played.fault != NULL;
    free(played.fault);
    return failed;
}

Test(client, the_referee_finds_a_wrong_answer_and_the_shrinker_its_request) {
    /* Answers each line as if it were a ping. */
    const char *arguments[] = {
        "-c",
        "while read -r line; do id=${line#*\\\"id\\\":}; id=${id%%[,\\}]*};"
        "printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\\n' \"$id\"; done",
        NULL};
    struct script script = {0};
    for (int i = 0; i < 5; i++)
        script_add_line(&script, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    struct play play = {.program = "/bin/sh", .arguments = arguments};
    cr_assert_not(play_fails(&script, &play));
    script_add_line(&script,
                    "{\"jsonrpc\":\"2.0\",\"id\":71,\"method\":\"nothing\",\"params\":{}}");
    script_add_line(&script, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    cr_assert(play_fails(&script, &play));
    script_shrink(&script, play_fails, &play, 200);
    cr_assert_eq(script.count, 1);
    cr_assert_null(strstr(script.lines[0].bytes, "ping"), "%s", script.lines[0].bytes);
    script_free(&script);
}
