/* See junit.h. */
#include "tests/support/junit.h"
#include "tests/support/command.h"
#include <criterion/criterion.h>
#include <string.h>

#define SCHEMA ECLAVE_SOURCE_DIR "/tests/batch/junit-10.xsd"

static struct command_result xmllint(const char *option, const char *value, const char *path) {
    const char *arguments[] = {"/usr/bin/xmllint", "--noout", option, value, path, NULL};
    return command_run(&(struct command){.arguments = arguments});
}

void junit_expect_valid(const char *path) {
    struct command_result result = xmllint("--schema", SCHEMA, path);
    cr_assert_eq(result.status, 0, "%s", result.error);
    command_result_free(&result);
}

void junit_expect(const char *path, const char *expression, const char *value) {
    struct command_result result = xmllint("--xpath", expression, path);
    result.output[strcspn(result.output, "\n")] = '\0';
    cr_assert_str_eq(result.output, value, "%s", expression);
    command_result_free(&result);
}
