/* See lisp_file.h. */
#include "tests/support/lisp_file.h"
#include "common/buffer.h"
#include "common/cleanup.h"
#include "common/frame.h"
#include "policy/syscalls.h"
#include "tests/support/client_sessions.h"
#include <criterion/criterion.h>
#include <stdio.h>

void lisp_file_append(struct buffer *code, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/%s", ECLAVE_SOURCE_DIR, name);
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file, "cannot read %s", path);
    char bytes[4096];
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
        buffer_append(code, bytes, got);
    fclose(file);
    cr_assert_not(code->failed);
}

void lisp_file_evaluate(struct client *client, const char *session, struct buffer *code) {
    buffer_append(code, "", 1);
    cr_assert_not(code->failed);
    struct evaluation evaluation =
        client_session_evaluate(client, session, (const char *)code->data);
    if (evaluation.line && (evaluation.error_code || evaluation.is_error))
        client_fail(client, "the code of a test does not load: %.1000s", evaluation.text);
}

void lisp_file_load(struct client *client, const char *session, const char *name) {
    cleanup_buffer struct buffer code = buffer_make(LISP_FILE_MAX);
    lisp_file_append(&code, name);
    lisp_file_evaluate(client, session, &code);
}

void lisp_file_append_string(struct buffer *code, const char *text) {
    buffer_append_text(code, "\"");
    for (; *text; text++)
        buffer_append_format(code, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    buffer_append_text(code, "\"");
}

static const struct {
    const char *name;
    enum frame_type type;
} frames[] = {
    {"failed", FRAME_FAILED},     {"evaluate", FRAME_EVALUATE}, {"fork", FRAME_FORK},
    {"ready", FRAME_READY},       {"result", FRAME_RESULT},     {"run", FRAME_RUN},
    {"answer", FRAME_ANSWER},     {"event", FRAME_EVENT},       {"ask", FRAME_ASK},
    {"outputs", FRAME_OUTPUTS},   {"track", FRAME_TRACK},       {"tracked", FRAME_TRACKED},
    {"pages", FRAME_PAGES},       {"refine", FRAME_REFINE},     {"refined", FRAME_REFINED},
    {"prefault", FRAME_PREFAULT},
};

static void append_call_numbers(struct buffer *code) {
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].number >= 0)
            buffer_append_format(code, " :%s %d", rows[i].name, rows[i].number);
}

void lisp_file_append_hostile(struct buffer *code) {
    buffer_append_text(code, "(defpackage :hostile (:use :cl)) (defvar hostile::*numbers* '(");
    append_call_numbers(code);
    buffer_append_text(code, ")) (defvar hostile::*frames* '(");
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        buffer_append_format(code, " :%s %d", frames[i].name, (int)frames[i].type);
    buffer_append_text(code, "))\n");
    lisp_file_append(code, "sessions/hostile.lisp");
}

void lisp_file_load_hostile(struct client *client, const char *session) {
    cleanup_buffer struct buffer code = buffer_make(LISP_FILE_MAX);
    lisp_file_append_hostile(&code);
    lisp_file_evaluate(client, session, &code);
}

const char *lisp_file_hostile(const char *code) {
    static struct buffer whole;
    buffer_free(&whole);
    whole = buffer_make(LISP_FILE_MAX);
    lisp_file_append_hostile(&whole);
    buffer_append_format(&whole, "\n%s", code);
    buffer_append(&whole, "", 1);
    cr_assert_not(whole.failed);
    return (const char *)whole.data;
}
