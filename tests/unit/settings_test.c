/* supervisor/settings: flags override the environment, which overrides the file; mistakes are
 * named. */
#include "tests/unit/read_settings.h"
#include <stdio.h>

Test(settings, the_defaults_are_those_of_the_contract) {
    struct settings settings;
    settings_default(&settings);
    cr_expect_eq(settings.call_timeout_s, 30);
    cr_expect_eq(settings.call_timeout_max_s, 600);
    cr_expect_eq(settings.session_memory_mb, 512);
    cr_expect_eq(settings.session_max, 256);
    cr_expect_eq(settings.session_unnamed_max, 8);
    cr_expect_eq(settings.call_running_max, 16);
    cr_expect_eq(settings.session_history, 8);
    cr_expect_eq(settings.session_queue, 4096);
    cr_expect_eq(settings.output_max_bytes, 10485760);
    cr_expect_eq(settings.stderr_max_bytes, 10485760);
    cr_expect_eq(settings.text_max_chars, 40000);
    cr_expect_eq(settings.value_max_chars, 20000);
    cr_expect_eq(settings.request_max_bytes, 16777216);
    cr_expect_eq(settings.json_max_depth, 128);
    cr_expect_eq(settings.response_max_bytes, 10485760);
    cr_expect_eq(settings.registry_max_bytes, 104857600);
    cr_expect_eq(settings.resource_max_bytes, 10485760);
    cr_expect_eq(settings.corruption_threshold, 3);
    cr_expect_eq(settings.corruption_window_s, 60);
    cr_expect_eq(settings.shutdown_grace_s, 5);
    cr_expect_eq(settings.minimal, 0);
    cr_expect_eq(settings.batches, 0);
}

Test(settings, a_flag_takes_its_value_in_both_spellings) {
    struct settings settings;
    READ_FINE(&settings, "--call-timeout-s", "7");
    cr_assert_eq(settings.call_timeout_s, 7);
    READ_FINE(&settings, "--call-timeout-s=8", "--batches");
    cr_assert_eq(settings.call_timeout_s, 8);
    cr_assert_eq(settings.batches, 1);
}

Test(settings, other_arguments_are_left_in_order) {
    struct settings settings;
    struct error error;
    int left;
    const char *arguments[ARGUMENTS_MAX] = {NULL, "eval", "--session-max", "3", "file",
                                            "--", "--x"};
    cr_assert(read_settings(&settings, &error, &left, arguments), "%s", error.text);
    cr_assert_eq(settings.session_max, 3);
    cr_assert_eq(left, 3);
}

Test(settings, a_flag_overrides_the_environment_which_overrides_the_file) {
    char path[] = "/tmp/eclave-settings-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    static const char file[] = "{\"session.max\":2,\"session.queue\":20,\"call.timeout_s\":11}";
    cr_assert_eq(write(fd, file, sizeof file - 1), (ssize_t)sizeof file - 1);
    close(fd);
    setenv("ECLAVE_SESSION_QUEUE", "30", 1);
    setenv("ECLAVE_CALL_TIMEOUT_S", "12", 1);
    struct settings settings;
    struct error error;
    int left;
    bool read = READ(&settings, &error, &left, "--call-timeout-s", "13", "--policy", path);
    unlink(path);
    cr_assert(read, "%s", error.text);
    cr_assert_eq(settings.session_max, 2);
    cr_assert_eq(settings.session_queue, 30);
    cr_assert_eq(settings.call_timeout_s, 13);
}

Test(settings, a_former_name_of_a_setting_is_accepted_and_the_present_one_is_stronger) {
    struct settings settings;
    READ_FINE(&settings, "--output-shown-chars", "6000");
    cr_assert_eq(settings.text_max_chars, 6000);
    setenv("ECLAVE_OUTPUT_SHOWN_CHARS", "4000", 1);
    READ_FINE(&settings);
    cr_assert_eq(settings.text_max_chars, 4000);
    setenv("ECLAVE_TEXT_MAX_CHARS", "5000", 1);
    READ_FINE(&settings);
    cr_assert_eq(settings.text_max_chars, 5000);
    unsetenv("ECLAVE_TEXT_MAX_CHARS");
    unsetenv("ECLAVE_OUTPUT_SHOWN_CHARS");
}

Test(settings, the_names_of_mcpbash_are_aliases) {
    static const struct {
        const char *name, *value;
    } aliases[] = {
        {"MCPBASH_CORRUPTION_THRESHOLD", "5"},    {"MCPBASH_CORRUPTION_WINDOW", "6"},
        {"MCPBASH_REGISTRY_MAX_BYTES", "7000"},   {"MCPBASH_MAX_RESOURCE_BYTES", "8000"},
        {"MCPBASH_MAX_TOOL_OUTPUT_SIZE", "9000"}, {"MCPBASH_MAX_TOOL_STDERR_SIZE", "9001"},
        {"MCPBASH_FORCE_MINIMAL", "true"},
    };
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        setenv(aliases[i].name, aliases[i].value, 1);
    struct settings settings;
    READ_FINE(&settings, NULL);
    cr_expect_eq(settings.corruption_threshold, 5);
    cr_expect_eq(settings.corruption_window_s, 6);
    cr_expect_eq(settings.registry_max_bytes, 7000);
    cr_expect_eq(settings.resource_max_bytes, 8000);
    cr_expect_eq(settings.output_max_bytes, 9000);
    cr_expect_eq(settings.stderr_max_bytes, 9001);
    cr_expect_eq(settings.minimal, 1);
}

Test(settings, invalid_values_are_refused_and_named) {
    static const char *const wrong[] = {"0",    "-1", "abc", "",    "1.5", "99999999999999999999",
                                        "1025", " 5", "5 ",  "0x5", "+5"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect_refused("--session-max", wrong[i], "session");
    expect_refused("--session-max", "9999", "1024"); /* the message has the range */
    expect_refused("--log-level", "loud", "debug");
    expect_refused("--cancel-reply", "ERROR", "auto");
    expect_refused("--no-such-flag", "1", "no-such-flag; see");
    expect_refused("--sesion-max", "1", "did you mean --session-max?");
    expect_refused("--polcy", "ci", "did you mean --policy?");
    expect_refused("--inject-falt", "none", "inject-falt; see"); /* hidden ones are not suggested */
    expect_refused("--session-max", NULL, "session");
}

Test(settings, both_ends_of_a_range_are_allowed) {
    struct settings settings;
    READ_FINE(&settings, "--session-max", "1");
    READ_FINE(&settings, "--session-max", "1024");
    cr_assert_eq(settings.session_max, 1024);
}

static void expect_variable_refused(const char *name, const char *value) {
    struct settings settings;
    struct error error = {0};
    int left;
    setenv(name, value, 1);
    cr_expect_not(READ(&settings, &error, &left, NULL), "%s=%s", name, value);
    cr_expect_not_null(strstr(error.text, name), "%s=%s: %s", name, value, error.text);
    unsetenv(name);
}

Test(settings, invalid_variables_are_refused_and_named) {
    expect_variable_refused("ECLAVE_SESSION_MAX", "many");
    expect_variable_refused("ECLAVE_CALL_TIMEOUT_S", "0");
    expect_variable_refused("ECLAVE_LOG_FORMAT", "xml");
    expect_variable_refused("MCPBASH_CORRUPTION_THRESHOLD", "-3");
}

Test(settings, invalid_files_are_refused) {
    expect_file_refused("{\"session.max\":0}", "session.max");
    expect_file_refused("{\"session.max\":1.5}", "session.max");
    expect_file_refused("{\"session.max\":null}", "session.max");
    expect_file_refused("{\"session.max\":[1]}", "session.max");
    expect_file_refused("{\"no.such\":1}", "no.such");
    expect_refused("--policy", "/no/such/eclave/file", "policy file");
}

Test(settings, the_help_names_every_flag_on_one_line_each) {
    char *text;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    settings_help(file);
    fclose(file);
    cr_expect_not_null(strstr(text, "--call-timeout-s"));
    cr_expect_not_null(strstr(text, "--minimal"));
    cr_expect_null(strstr(text, "inject-fault"), "a setting for tests is none of the user's");
    free(text);
}
