/* Start-up mistakes: one clear line on stderr, nothing on stdout, status 2. And what the program
 * says of itself. */
#include "tests/support/client.h"
#include "tests/support/command.h"
#include "tests/support/lines.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 4 };

static void expect_mistake(struct command_result result, const char *named) {
    cr_assert_eq(result.status, 2, "status %d for %s: %s", result.status, named, result.error);
    cr_assert_str_eq(result.output, "", "something on stdout for %s", named);
    const char *newline = strchr(result.error, '\n');
    cr_assert(newline && newline[1] == '\0', "not one line: %s", result.error);
    cr_assert_eq(strncmp(result.error, "eclave: ", 8), 0, "%s", result.error);
    expect_contains(result.error, named);
    command_result_free(&result);
}

Test(startup, an_unknown_option_or_command_is_named) {
    static const struct {
        const char *arguments[ARGUMENTS_MAX];
        const char *named;
    } rows[] = {
        {{"--nope"}, "--nope"},
        {{"--nope=1"}, "--nope"},
        {{"serve", "--nope"}, "--nope"},
        {{"eval", "--nope", "-"}, "--nope"},
        {{"--call-timeout"}, "--call-timeout"},
        {{"--call.timeout_s", "1"}, "--call.timeout_s"},
        {{"--Minimal"}, "--Minimal"},
        {{"-x"}, "-x"},
        {{"nonsense"}, "nonsense"},
        {{"serve", "extra"}, "extra"},
        {{"Serve"}, "Serve"},
        {{""}, "command"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect_mistake(command_eclave(rows[i].arguments, NULL), rows[i].named);
}

Test(startup, a_value_out_of_range_is_named_with_the_range) {
    static const char *const values[] = {
        "0",  "-1", "86401", "99999999999999999999", "1.5", "abc", "", " 5", "5 ", "0x1", "1e2",
        "+5", "-",  "NaN"};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        const char *arguments[] = {"--call-timeout-s", values[i], NULL};
        expect_mistake(command_eclave(arguments, NULL),
                       "--call-timeout-s must be a whole number of seconds from 1 to 86400");
        char joined[64];
        snprintf(joined, sizeof joined, "--call-timeout-s=%s", values[i]);
        const char *joined_arguments[] = {joined, NULL};
        expect_mistake(command_eclave(joined_arguments, NULL), "from 1 to 86400");
    }
}

Test(startup, a_bad_choice_or_switch_or_a_missing_value_is_named) {
    static const struct {
        const char *arguments[ARGUMENTS_MAX];
        const char *named;
    } rows[] = {
        {{"--call-timeout-s"}, "--call-timeout-s needs a value"},
        {{"--policy"}, "--policy needs a value"},
        {{"--log-level", "loud"}, "--log-level must be one of debug|info|"},
        {{"--log-level", ""}, "--log-level must be one of"},
        {{"--log-level", "debug|info"}, "--log-level must be one of"},
        {{"--cancel-reply", "maybe"}, "auto|error|silent"},
        {{"--minimal=maybe"}, "--minimal must be true or false"},
        {{"--minimal="}, "--minimal must be true or false"},
        {{"--call-timeout-s", "700"}, "call.timeout_max_s"},
        {{"--json-max-depth", "7"}, "from 8 to 512"},
        {{"--request-max-bytes", "1023"}, "from 1024 to"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect_mistake(command_eclave(rows[i].arguments, NULL), rows[i].named);
}

Test(startup, a_bad_value_in_the_environment_is_named) {
    static const char *const rows[][2] = {
        {"ECLAVE_CALL_TIMEOUT_S=abc", "ECLAVE_CALL_TIMEOUT_S"},
        {"ECLAVE_CALL_TIMEOUT_S=", "ECLAVE_CALL_TIMEOUT_S"},
        {"ECLAVE_LOG_LEVEL=loud", "ECLAVE_LOG_LEVEL"},
        {"ECLAVE_MINIMAL=maybe", "ECLAVE_MINIMAL"},
        {"MCPBASH_FORCE_MINIMAL=2", "MCPBASH_FORCE_MINIMAL"},
        {"MCPBASH_CORRUPTION_THRESHOLD=0", "MCPBASH_CORRUPTION_THRESHOLD"},
        {"MCPBASH_CORRUPTION_WINDOW=x", "MCPBASH_CORRUPTION_WINDOW"},
        {"MCPBASH_REGISTRY_MAX_BYTES=x", "MCPBASH_REGISTRY_MAX_BYTES"},
        {"MCPBASH_MAX_RESOURCE_BYTES=x", "MCPBASH_MAX_RESOURCE_BYTES"},
        {"MCPBASH_MAX_TOOL_OUTPUT_SIZE=x", "MCPBASH_MAX_TOOL_OUTPUT_SIZE"},
        {"MCPBASH_MAX_TOOL_STDERR_SIZE=x", "MCPBASH_MAX_TOOL_STDERR_SIZE"},
        {"ECLAVE_POLICY=/nonexistent/policy", "/nonexistent/policy"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *environment[] = {rows[i][0], NULL};
        const char *arguments[] = {ECLAVE_BINARY, NULL};
        expect_mistake(
            command_run(&(struct command){.arguments = arguments, .environment = environment}),
            rows[i][1]);
    }
}

/* A file with TEXT in a directory of this test; its path into PATH. */
static void write_file(char *path, size_t size, const char *name, const char *text) {
    static char directory[] = "/tmp/eclave-startup-XXXXXX";
    static bool made;
    if (!made)
        cr_assert_not_null(mkdtemp(directory));
    made = true;
    snprintf(path, size, "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

static void remove_file(const char *path) {
    char directory[200];
    snprintf(directory, sizeof directory, "%s", path);
    *strrchr(directory, '/') = '\0';
    unlink(path);
    rmdir(directory);
}

Test(startup, a_mistake_in_the_policy_file_is_named) {
    static const char *const rows[][2] = {
        {"", "not JSON"},
        {"{", "not JSON"},
        {"[]", "not a JSON object"},
        {"{\"call.timeout_s\":5} trailing", "JSON"},
        {"{\"call.timeout\":5}", "unknown member \"call.timeout\""},
        {"{\"call_timeout_s\":5}", "unknown member"},
        {"{\"\":5}", "unknown member"},
        {"{\"call.timeout_s\":0}", "\"call.timeout_s\" must be a whole number of seconds from 1"},
        {"{\"call.timeout_s\":\"x\"}", "call.timeout_s"},
        {"{\"call.timeout_s\":\"5\"}", "not a string"},
        {"{\"call.timeout_s\":1.5}", "call.timeout_s"},
        {"{\"call.timeout_s\":null}", "call.timeout_s"},
        {"{\"call.timeout_s\":{}}", "call.timeout_s"},
        {"{\"call.timeout_s\":[5]}", "call.timeout_s"},
        {"{\"log-level\":\"loud\"}", "log-level"},
        {"{\"minimal\":2}", "minimal"},
    };
    char path[200] = "";
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        write_file(path, sizeof path, "policy.json", rows[i][0]);
        const char *arguments[] = {"--policy", path, NULL};
        expect_mistake(command_eclave(arguments, NULL), rows[i][1]);
    }
    remove_file(path);
    const char *missing[] = {"--policy=/nonexistent/policy.json", NULL};
    expect_mistake(command_eclave(missing, NULL), "No such file or directory");
    const char *directory[] = {"--policy", "/", NULL};
    expect_mistake(command_eclave(directory, NULL), "policy file /");
}

static void expect_description(const char *const *arguments, const char *const *environment,
                               const char *part) {
    struct client *client = client_start_ready(
        &(struct client_options){.arguments = arguments, .environment = environment}, NULL);
    expect_contains(client_expect_result(client, REQUEST("1", "tools/list"), "1"), part);
    client_finish(client);
}

Test(startup, the_flag_is_stronger_than_the_environment_and_that_than_the_file) {
    char path[200], variable[220];
    write_file(path, sizeof path, "policy.json",
               "{\"call.timeout_s\":13,\"call.timeout_max_s\":130,\"log-level\":\"error\"}");
    snprintf(variable, sizeof variable, "ECLAVE_POLICY=%s", path);
    const char *file_only[] = {variable, NULL};
    const char *file_and_environment[] = {variable, "ECLAVE_CALL_TIMEOUT_S=12", NULL};
    const char *flags[] = {"--call-timeout-s", "11", NULL};
    expect_description(NULL, file_only, "Limits: 13 s a call");
    expect_description(NULL, file_only, "(at most 130 s)");
    expect_description(NULL, file_and_environment, "Limits: 12 s a call");
    expect_description(flags, file_and_environment, "Limits: 11 s a call");
    remove_file(path);
}

Test(startup, a_missing_worker_program_is_a_mistake) {
    char path[200], copy[600];
    write_file(path, sizeof path, "eclave", "");
    snprintf(copy, sizeof copy, "cp %s %s && chmod 755 %s", ECLAVE_BINARY, path, path);
    cr_assert_eq(system(copy), 0);
    const char *serve[] = {path, NULL};
    const char *eval[] = {path, "eval", "-e", "1", NULL};
    expect_mistake(command_run(&(struct command){.arguments = serve, .input = PING("1") "\n"}),
                   "eclave-worker");
    expect_mistake(command_run(&(struct command){.arguments = eval}), "eclave-worker");
    remove_file(path);
}

Test(startup, a_worker_program_that_cannot_work_is_an_answer_not_an_end) {
    char path[200] = "", script[1600];
    write_file(path, sizeof path, "eclave", "");
    snprintf(script, sizeof script,
             "cp %s %s && chmod 755 %s && printf '#!/bin/false\\n' >%s-worker && "
             "chmod 755 %s-worker",
             ECLAVE_BINARY, path, path, path, path);
    cr_assert_eq(system(script), 0);
    struct client *client = client_start_ready(&(struct client_options){.program = path}, NULL);
    for (int i = 0; i < 3; i++) {
        struct evaluation evaluation = client_evaluate(client, "1");
        cr_assert_eq(evaluation.error_code, -32603);
        expect_contains(evaluation.text, "No worker can be started");
    }
    client_ping(client);
    client_finish(client);
    const char *eval[] = {path, "eval", "-e", "1", NULL};
    struct command_result result = command_run(&(struct command){.arguments = eval});
    cr_assert_eq(result.status, 70);
    command_result_free(&result);
    char worker[220];
    snprintf(worker, sizeof worker, "%s-worker", path);
    unlink(worker);
    remove_file(path);
}

Test(startup, help_names_every_setting_and_keeps_the_test_switches_to_itself) {
    const char *arguments[] = {"--help", NULL};
    struct command_result result = command_eclave(arguments, NULL);
    cr_assert_eq(result.status, 0);
    cr_assert_str_eq(result.error, "");
    static const char *const names[] = {
        "eval",        "serve",           "--policy",       "--version",
        "--minimal",   "--batches",       "--cancel-reply", "--call-timeout-s",
        "--log-level", "--session-queue", "--log-format",   "--corruption-threshold",
        "--degraded",  "--json-max-depth"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        expect_contains(result.output, names[i]);
    expect_lacks(result.output, "inject");
    command_result_free(&result);
}

Test(startup, each_command_has_its_own_help) {
    static const struct {
        const char *command, *usage, *own;
    } commands[] = {
        {"serve", "Usage: eclave [serve] [OPTIONS]\n", "--project DIR"},
        {"eval", "Usage: eclave eval [OPTIONS] [-e CODE", "-e CODE  "},
        {"batch", "Usage: eclave batch [OPTIONS] [FILE", "--skip-done"},
        {"tool", "Usage: eclave tool --project DIR", "--args JSON|@FILE|-  "},
        {"new", "Usage: eclave new KIND NAME", "completions/NAME.lisp"},
        {"check", "Usage: eclave check [OPTIONS] DIR\n", "tools/NAME.test.jsonl"},
        {"doctor", "Usage: eclave doctor [OPTIONS]", "--json  "},
        {"policy", "Usage: eclave policy [OPTIONS]\n", "system call"},
    };
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        const char *arguments[] = {commands[i].command, "--help", NULL};
        struct command_result result = command_eclave(arguments, NULL);
        cr_assert_eq(result.status, 0);
        cr_assert_eq(strncmp(result.output, commands[i].usage, strlen(commands[i].usage)), 0, "%s",
                     result.output);
        expect_contains(result.output, commands[i].own);
        expect_contains(result.output, "eclave --help");
        expect_lacks(result.output, "--call-timeout-s");
        command_result_free(&result);
    }
}

Test(startup, version_is_one_line) {
    const char *arguments[] = {"--version", NULL};
    struct command_result result = command_eclave(arguments, NULL);
    cr_assert_eq(result.status, 0);
    cr_assert_str_eq(result.output, "eclave " ECLAVE_VERSION "\n");
    cr_assert_str_eq(result.error, "");
    command_result_free(&result);
}

Test(startup, serve_is_what_happens_without_a_command) {
    const char *serve[] = {"serve", NULL};
    const char *nothing[] = {NULL};
    struct command_result named = command_eclave(serve, PING("1") "\n");
    struct command_result unnamed = command_eclave(nothing, PING("1") "\n");
    cr_assert_str_eq(named.output, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    cr_assert_str_eq(unnamed.output, named.output);
    command_result_free(&named);
    command_result_free(&unnamed);
}
