/* See lisp.h: an unconfined ECL, so that no attack fails for another reason. It runs as nobody in a
 * pid namespace that ends with it, from which it reaches no process outside. */
#include "common/buffer.h"
#include "common/cleanup.h"
#include "tests/escape/lisp.h"
#include "tests/support/command.h"
#include "tests/support/lisp_file.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HUNG = 137 }; /* the status when the watchdog kills the namespace */

#define NAMESPACES                                                                                 \
    "unshare", "--user", "--map-current-user", "--pid", "--fork", "--kill-child", "--mount-proc",  \
        "--ipc", "--net"

static const char *const nothing[] = {"/usr/bin/env", NAMESPACES, "true", NULL};

/* The first process of the namespace, the shell, is immune to most signals; ECL is not. */
static const char *const ecl[] = {
    "/usr/bin/env",
    "timeout",
    "--signal=KILL",
    "50",
    NAMESPACES,
    "sh",
    "-c",
    ECL_PROGRAM " --norc --eval '(load *standard-input*)' 3>/dev/null; exit $?",
    NULL,
};

static const char *const environment[] = {ATTACK_SECRET_NAME "=" ATTACK_SECRET_VALUE, NULL};

static void append_string(struct buffer *code, const char *text) {
    buffer_append_text(code, "\"");
    for (; *text; text++)
        buffer_append_format(code, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    buffer_append_text(code, "\"");
}

/* The result after READY in the output, or the exit status without one. */
static char *outcome(const struct command_result *result, const char *code) {
    cr_assert_neq(result->status, HUNG, "unconfined it hangs: %s", code);
    const char *ready = strstr(result->output, "READY\n");
    cr_assert_not_null(ready, "ECL never came to %s: %s%s", code, result->output, result->error);
    const char *value = strstr(ready, "\n=> "), *error = strstr(ready, "\n[ERROR] ");
    char *text = NULL;
    if (value || error)
        text = strdup(value ? value + 1 : error + 1);
    else
        cr_assert_geq(asprintf(&text, "status %d", result->status), 0);
    text[strcspn(text, "\n")] = '\0';
    return text;
}

bool attack_unconfined_is_possible(void) {
    struct command_result result =
        command_run(&(struct command){.arguments = nothing, .unprivileged = geteuid() == 0});
    command_result_free(&result);
    return result.status == 0;
}

char *attack_unconfined(const char *code) {
    cleanup_buffer struct buffer input = buffer_make(LISP_FILE_MAX);
    lisp_file_append_hostile(&input);
    lisp_file_append(&input, "escape/attack.lisp");
    buffer_append_text(&input, "(unconfined ");
    append_string(&input, code);
    buffer_append_text(&input, ")\n");
    cr_assert_not(input.failed);
    struct command_result result = command_run(&(struct command){.arguments = ecl,
                                                                 .input = (const char *)input.data,
                                                                 .input_length = input.length,
                                                                 .environment = environment,
                                                                 .unprivileged = geteuid() == 0});
    char *text = outcome(&result, code);
    command_result_free(&result);
    return text;
}
