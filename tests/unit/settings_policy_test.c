/* supervisor/settings: profiles and invalid policy files. */
#include "tests/unit/read_settings.h"
#include <stdio.h>
#include <sys/stat.h>

Test(settings_policy, strict_is_the_default) {
    struct settings strict, settings;
    unsetenv("ECLAVE_IMAGE"); /* which the tests of the sanitized build have */
    READ_FINE(&strict, "--policy", "strict");
    settings_default(&settings);
    cr_expect_eq(memcmp(&strict, &settings, sizeof settings), 0);
}

Test(settings_policy, ci_has_tight_limits) {
    struct settings settings;
    READ_FINE(&settings, "--policy=ci");
    cr_expect_eq(settings.call_timeout_s, 10);
    cr_expect_eq(settings.call_timeout_max_s, 60);
    cr_expect_eq(settings.session_memory_mb, 256);
    cr_expect_eq(settings.session_history, 0);
    cr_expect_eq(settings.output_max_bytes, 1048576);
    cr_expect_eq(settings.stderr_max_bytes, 1048576);
    cr_expect_eq(settings.allow_read.count, 0);
}

/* Whether LIST has the path DIRECTORY/NAME. */
static bool lists(const struct path_list *list, const char *directory, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->paths[i], path) == 0)
            return true;
    return false;
}

Test(settings_policy, library_reads_existing_directories_at_home) {
    struct settings settings;
    char home[] = "/tmp/eclave-home-XXXXXX", path[64];
    cr_assert_not_null(mkdtemp(home));
    setenv("HOME", home, 1);
    READ_FINE(&settings, "--policy", "library");
    cr_expect_not(lists(&settings.allow_read, home, "common-lisp"));
    settings_free(&settings);
    snprintf(path, sizeof path, "%s/common-lisp", home);
    cr_assert_eq(mkdir(path, 0700), 0);
    READ_FINE(&settings, "--policy", "library");
    cr_expect(lists(&settings.allow_read, home, "common-lisp"));
    settings_free(&settings);
    cr_expect_eq(rmdir(path), 0);
    cr_expect_eq(rmdir(home), 0);
    setenv("HOME", "relative", 1);
    READ_FINE(&settings, "--policy", "library");
    settings_free(&settings);
    unsetenv("HOME");
    READ_FINE(&settings, "--policy", "library");
    settings_free(&settings);
}

Test(settings_policy, the_file_overrides_its_profile_and_a_flag_overrides_both) {
    static const char text[] = "{\"session.memory_mb\":300,\"profile\":\"ci\"}";
    struct settings settings;
    struct error error = {0};
    cr_assert(read_policy_text(&settings, &error, text, sizeof text - 1), "%s", error.text);
    cr_expect_eq(settings.session_memory_mb, 300); /* whichever comes first */
    cr_expect_eq(settings.call_timeout_s, 10);
    static const char marked[] = "\xef\xbb\xbf{\"session.max\":2}";
    cr_assert(read_policy_text(&settings, &error, marked, sizeof marked - 1), "%s", error.text);
    cr_expect_eq(settings.session_max, 2);
    setenv("ECLAVE_SESSION_HISTORY", "3", 1);
    READ_FINE(&settings, "--policy", "ci", "--session-memory-mb=400");
    cr_expect_eq(settings.session_memory_mb, 400);
    cr_expect_eq(settings.session_history, 3);
}

Test(settings_policy, the_last_policy_applies_and_overrides_the_variable) {
    struct settings settings;
    setenv("ECLAVE_POLICY", "/no/such/file", 1);
    READ_FINE(&settings, "--policy", "library", "--policy=ci");
    cr_expect_eq(settings.call_timeout_s, 10);
    setenv("ECLAVE_POLICY", "ci", 1);
    READ_FINE(&settings, "--default-session", "x");
    cr_expect_eq(settings.call_timeout_s, 10);
}

Test(settings_policy, a_file_named_like_a_profile_is_found_by_its_path) {
    char directory[] = "/tmp/eclave-profile-XXXXXX";
    struct settings settings;
    cr_assert_not_null(mkdtemp(directory));
    cr_assert_eq(chdir(directory), 0);
    write_file("ci", "{\"session.max\":2}", 17);
    READ_FINE(&settings, "--policy", "./ci");
    cr_expect_eq(settings.session_max, 2);
    cr_expect_eq(settings.call_timeout_s, 30);
    READ_FINE(&settings, "--policy", "ci");
    cr_expect_eq(settings.session_max, 256);
    cr_expect_eq(unlink("ci"), 0);
    cr_expect_eq(rmdir(directory), 0);
}

Test(settings_policy, an_unknown_profile_is_refused_with_a_suggestion) {
    expect_refused("--policy", "librry", "did you mean \"library\"?");
    expect_refused("--policy", "/no/strict", "No such file");
    expect_refused("--policy", "", "policy file");
    expect_refused("--policy", "/tmp", "Is a directory");
    expect_file_refused("{\"profile\":\"strit\"}", "one of strict|library|ci, not \"strit\"");
    expect_file_refused("{\"profile\":\"strit\"}", "did you mean \"strict\"?");
    expect_file_refused("{\"profile\":\"./ci\"}", "\"profile\" must be one of");
    expect_file_refused("{\"profile\":\"\"}", "\"profile\" must be one of");
    expect_file_refused("{\"profile\":[\"ci\"]}", "not an array");
    expect_file_refused("{\"profile\":null}", "not null");
    expect_file_refused("{\"profile\":\"ci\\u0000x\"}", "U+0000");
}

#define FOUR "[[[["
#define DEEP FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR

Test(settings_policy, a_file_that_is_not_one_object_is_refused_with_its_line) {
    expect_file_refused("", "is not JSON (line 1)");
    expect_file_refused("\n\n{\"a\":}", "is not JSON (line 3)");
    expect_file_refused("[]", "is not a JSON object");
    expect_file_refused("null", "is not a JSON object");
    static const char *const malformed[] = {
#define MALFORMED(value) "{\"session.max\":" value "}",
#define NOT_UTF8(value)
#include "tests/support/malformed_json.def"
    };
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        expect_file_refused(malformed[i], "is not JSON");
    expect_file_refused("{\"a\\u0000b\":2}", "U+0000");
    expect_bytes_refused("{}\0{}", 5, "is not JSON");
    expect_file_refused(" \xef\xbb\xbf{}", "is not JSON");
    expect_file_refused("{\"\xc0\xaf\":1}", "is not UTF-8");
    expect_file_refused("{\"allow-read\":" DEEP "}", "is nested too deep");
}

Test(settings_policy, too_large_and_too_many_are_refused) {
    enum { SIZE = (1 << 20) + 1, VALUES = 4096 };
    char *text = malloc(SIZE);
    cr_assert_not_null(text);
    memset(text, ' ', SIZE);
    memcpy(text, "{}", 2);
    expect_bytes_refused(text, SIZE, "File too large");
    char *at = text;
    at += sprintf(at, "{\"allow-read\":[0");
    for (size_t i = 0; i < VALUES; i++)
        at += sprintf(at, ",0");
    at += sprintf(at, "]}");
    expect_bytes_refused(text, (size_t)(at - text), "has too many values");
    free(text);
}

Test(settings_policy, duplicate_members_are_refused) {
    expect_file_refused("{\"session.max\":2,\"session.max\":2}",
                        "has the member \"session.max\" twice");
    expect_file_refused("{\"batches\":true,\"batche\\u0073\":false}", "twice");
    expect_file_refused("{\"profile\":\"ci\",\"profile\":\"ci\"}",
                        "has the member \"profile\" twice");
    expect_file_refused("{\"allow-read\":[\"/}]\"],\"x\":{},\"allow-read\":[]}", "twice");
}

Test(settings_policy, unknown_members_are_refused_with_a_suggestion) {
    expect_file_refused("{\"call.timout_s\":3}",
                        "unknown member \"call.timout_s\"; did you mean \"call.timeout_s\"?");
    expect_file_refused("{\"profil\":\"ci\"}", "did you mean \"profile\"?");
    expect_file_refused("{\"call-timeout-s\":3}", "did you mean \"call.timeout_s\"?");
    struct settings settings;
    struct error error = {0};
    static const char far[] = "{\"network\":true}", secret[] = "{\"inject-falt\":\"none\"}";
    cr_expect_not(read_policy_text(&settings, &error, far, sizeof far - 1));
    cr_expect_null(strstr(error.text, "mean"), "%s", error.text);
    cr_expect_not(read_policy_text(&settings, &error, secret, sizeof secret - 1));
    cr_expect_null(strstr(error.text, "mean"), "%s", error.text);
    expect_file_refused("{\"\\n\\u001b[2J\":1}", "unknown member \"??[2J\"");
}

Test(settings_policy, a_value_of_another_type_is_refused) {
    expect_file_refused("{\"session.max\":\"3\"}", "from 1 to 1024, not a string");
    expect_file_refused("{\"session.max\":true}", "\"session.max\" must be a whole number");
    expect_file_refused("{\"session.max\":3.0}", "not \"3.0\"");
    expect_file_refused("{\"session.max\":1e2}", "\"session.max\" must be");
    expect_file_refused("{\"session.max\":18446744073709551617}", "\"session.max\" must be");
    expect_file_refused("{\"batches\":1}", "\"batches\" must be true or false, not a number");
    expect_file_refused("{\"batches\":\"true\"}", "must be true or false, not a string");
    expect_file_refused("{\"log-level\":1}", "must be one of debug|");
    expect_file_refused("{\"default-session\":[\"a\"]}", "letters, digits");
    expect_file_refused("{\"default-session\":\"a\\u0000b\"}", "not a string with U+0000");
}
