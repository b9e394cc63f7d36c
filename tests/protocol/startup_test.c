/* Start-up mistakes: one clear line on stderr, nothing on stdout, status 2. And the options that
 * describe the program. */
#include "tests/support/command.h"
#include "tests/support/project_files.h"
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS_MAX = 4 };

/* The directory holds the files of a test. */
TestSuite(startup, .init = project_files_begin, .fini = project_files_end);

static const char *path_of(const char *name) {
    return formatted("%s/%s", project_files_path(), name);
}

static void expect_mistake(struct command_result result, const char *named) {
    cr_assert_eq(result.status, 2, "status %d for %s: %s", result.status, named, result.error);
    cr_assert_str_eq(result.output, "", "something on stdout for %s", named);
    const char *newline = strchr(result.error, '\n');
    cr_assert(newline && newline[1] == '\0', "not one line: %s", result.error);
    cr_assert_eq(strncmp(result.error, "eclave: ", 8), 0, "%s", result.error);
    expect_contains(result.error, named);
    command_result_free(&result);
}

Test(startup, a_mistake_in_the_arguments_is_named) {
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
        {{"--call-timeout-s"}, "--call-timeout-s needs a value"},
        {{"--policy"}, "--policy needs a value"},
        {{"--policy=/nonexistent/policy.json"}, "No such file or directory"},
        {{"--policy", "/"}, "policy file: read /"},
        {{"--systems"}, "--systems needs a value"},
        {{"--systems", ""}, "--systems must be names of ASDF systems"},
        {{"--systems", "a,,b"}, "--systems must be names of ASDF systems"},
        {{"--systems", "a b"}, "not \"a b\""},
        {{"--systems=good,(bad)"}, "not \"(bad)\""},
        {{"--systems", "good,"}, "--systems must be names of ASDF systems"},
        {{"--system", "a"}, "--systems"},
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

Test(startup, a_value_out_of_range_is_named_with_the_range) {
    static const char range[] =
        "--call-timeout-s must be a whole number of seconds from 1 to 86400";
    static const char *const values[] = {
        "0",  "-1", "86401", "99999999999999999999", "1.5", "abc", "", " 5", "5 ", "0x1", "1e2",
        "+5", "-",  "NaN"};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        expect_mistake(command_eclave(STRINGS("--call-timeout-s", values[i]), NULL), range);
        expect_mistake(command_eclave(STRINGS(formatted("--call-timeout-s=%s", values[i])), NULL),
                       range);
    }
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
        {"ECLAVE_SYSTEMS=", "ECLAVE_SYSTEMS must be names of ASDF systems"},
        {"ECLAVE_SYSTEMS=a:b", "ECLAVE_SYSTEMS"},
        {"ECLAVE_POLICY=/nonexistent/policy", "/nonexistent/policy"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect_mistake(command_run(&(struct command){.arguments = STRINGS(ECLAVE_BINARY),
                                                     .environment = STRINGS(rows[i][0])}),
                       rows[i][1]);
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
        {"{\"systems\":5}", "\"systems\" must be names of ASDF systems"},
        {"{\"systems\":[\"a\",null]}", "\"systems\" must be names of ASDF systems"},
        {"{\"systems\":\"a\\u0000b\"}", "systems"},
        {"{\"system\":\"a\"}", "unknown member \"system\""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        project_files_write("policy.json", rows[i][0]);
        expect_mistake(command_eclave(STRINGS("--policy", path_of("policy.json")), NULL),
                       rows[i][1]);
    }
}

static void expect_description(const char *const *arguments, const char *const *environment,
                               const char *part) {
    struct client *client = client_start_ready(
        &(struct client_options){.arguments = arguments, .environment = environment}, NULL);
    expect_contains(client_expect_result(client, REQUEST("1", "tools/list"), "1"), part);
    client_finish(client);
}

Test(startup, a_flag_overrides_the_environment_and_that_overrides_the_policy_file) {
    project_files_write(
        "policy.json",
        "{\"call.timeout_s\":13,\"call.timeout_max_s\":130,\"log-level\":\"error\"}");
    const char *policy = formatted("ECLAVE_POLICY=%s", path_of("policy.json"));
    expect_description(NULL, STRINGS(policy), "Limits: 13 s (");
    expect_description(NULL, STRINGS(policy), "up to 130 s)");
    expect_description(NULL, STRINGS(policy, "ECLAVE_CALL_TIMEOUT_S=12"), "Limits: 12 s (");
    expect_description(STRINGS("--call-timeout-s", "11"),
                       STRINGS(policy, "ECLAVE_CALL_TIMEOUT_S=12"), "Limits: 11 s (");
}

/* A copy of the program without its worker; the path. */
static const char *copy_program(void) {
    const char *path = path_of("eclave");
    cr_assert_eq(system(formatted("cp %s %s && chmod 755 %s", ECLAVE_BINARY, path, path)), 0);
    return path;
}

Test(startup, a_missing_worker_program_is_a_mistake) {
    const char *path = copy_program();
    expect_mistake(
        command_run(&(struct command){.arguments = STRINGS(path), .input = PING("1") "\n"}),
        "eclave-worker");
    expect_mistake(command_run(&(struct command){.arguments = STRINGS(path, "eval", "-e", "1")}),
                   "eclave-worker");
}

Test(startup, a_broken_worker_program_makes_each_call_an_error_and_the_server_goes_on) {
    const char *path = copy_program();
    cr_assert_eq(
        system(formatted("printf '#!/bin/false\\n' >%s-worker && chmod 755 %s-worker", path, path)),
        0);
    struct client *client = client_start_ready(&(struct client_options){.program = path}, NULL);
    for (int i = 0; i < 3; i++) {
        struct evaluation evaluation = client_evaluate(client, "1");
        cr_assert_eq(evaluation.error_code, -32603);
        expect_contains(evaluation.text, "No worker can be started");
    }
    client_ping(client);
    client_finish(client);
    struct command_result result =
        command_run(&(struct command){.arguments = STRINGS(path, "eval", "-e", "1")});
    cr_assert_eq(result.status, 70);
    command_result_free(&result);
}

Test(startup, help_names_every_setting_but_not_the_test_switches) {
    static const char *const names[] = {
        "eval",        "serve",           "--policy",       "--version",
        "--minimal",   "--batches",       "--cancel-reply", "--call-timeout-s",
        "--log-level", "--session-queue", "--log-format",   "--corruption-threshold",
        "--degraded",  "--json-max-depth"};
    const struct command_result *result = command_expect(0, STRINGS("--help"), NULL);
    cr_assert_str_eq(result->error, "");
    for (size_t i = 0; i < COUNT_OF(names); i++)
        expect_contains(result->output, names[i]);
    expect_lacks(result->output, "inject");
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
        const char *output =
            command_expect(0, STRINGS(commands[i].command, "--help"), NULL)->output;
        cr_assert_eq(strncmp(output, commands[i].usage, strlen(commands[i].usage)), 0, "%s",
                     output);
        expect_contains(output, commands[i].own);
        expect_contains(output, "eclave --help");
        expect_lacks(output, "--call-timeout-s");
    }
}

Test(startup, version_is_a_line_and_is_followed_by_the_build_the_lisp_and_the_layers) {
    static const char first[] = "eclave " ECLAVE_VERSION "\n";
    const struct command_result *result = command_expect(0, STRINGS("--version"), NULL);
    cr_assert_eq(strncmp(result->output, first, sizeof first - 1), 0);
    expect_contains(result->output, "\nBuild: ");
    expect_contains(result->output, ", with the ECL of the system\nECL: ");
#define LAYER(id, name, ...) expect_contains(strstr(result->output, "\nLayers:"), " " name);
#include "policy/layers.def"
#undef LAYER
    cr_assert_str_eq(result->error, "");
}

Test(startup, serve_is_the_default_command) {
    static const char *const commands[] = {"serve", NULL};
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        cr_assert_str_eq(command_expect(0, STRINGS(commands[i]), PING("1") "\n")->output,
                         "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
}
