/* See lisp.h: an unconfined ECL, so that no attack fails for another reason. */
#include "common/buffer.h"
#include "common/cleanup.h"
#include "tests/escape/lisp.h"
#include "tests/support/lisp_file.h"
#include "tests/support/unconfined.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECONDS = 50 };

static const char *const environment[] = {ATTACK_SECRET_NAME "=" ATTACK_SECRET_VALUE, NULL};

/* The result after READY in the output, or the exit status without one. */
static char *outcome(const struct command_result *result, const char *code) {
    cr_assert_neq(result->status, UNCONFINED_HUNG, "unconfined it hangs: %s", code);
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

char *attack_unconfined(const char *code) {
    cleanup_buffer struct buffer input = buffer_make(LISP_FILE_MAX);
    lisp_file_append_hostile(&input);
    lisp_file_append(&input, "escape/attack.lisp");
    buffer_append_text(&input, "(unconfined ");
    lisp_file_append_string(&input, code);
    buffer_append_text(&input, ")\n");
    struct command_result result = unconfined_load(&input, SECONDS, environment);
    char *text = outcome(&result, code);
    command_result_free(&result);
    return text;
}
