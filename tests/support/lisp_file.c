/* See lisp_file.h. Reads files of the source tree and nothing else. */
#include "tests/support/lisp_file.h"
#include "common/buffer.h"
#include "common/cleanup.h"
#include "common/frame.h"
#include "tests/support/client_sessions.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/syscall.h>

enum { CODE_MAX = 1 << 20 };

static void append_file(struct buffer *code, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/sessions/%s", ECLAVE_SOURCE_DIR, name);
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file, "cannot read %s", path);
    char bytes[4096];
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
        buffer_append(code, bytes, got);
    fclose(file);
    buffer_append(code, "", 1);
    cr_assert_not(code->failed);
}

static void evaluate(struct client *client, const char *session, const struct buffer *code) {
    struct evaluation evaluation =
        client_session_evaluate(client, session, (const char *)code->data);
    if (evaluation.line && (evaluation.error_code || evaluation.is_error))
        client_fail(client, "the code of a test does not load: %.1000s", evaluation.text);
}

void lisp_file_load(struct client *client, const char *session, const char *name) {
    cleanup_buffer struct buffer code = buffer_make(CODE_MAX);
    append_file(&code, name);
    evaluate(client, session, &code);
}

static const struct {
    const char *name;
    long number;
} numbers[] = {
    {"read", SYS_read},         {"write", SYS_write},     {"close", SYS_close},
    {"dup3", SYS_dup3},         {"openat", SYS_openat},   {"rt_sigprocmask", SYS_rt_sigprocmask},
    {"pselect6", SYS_pselect6}, {"sendmsg", SYS_sendmsg}, {"recvmsg", SYS_recvmsg},
    {"clone", SYS_clone},       {"clone3", SYS_clone3},   {"kill", SYS_kill},
    {"prctl", SYS_prctl},       {"tgkill", SYS_tgkill},   {"exit_group", SYS_exit_group},
#ifdef SYS_fork
    {"fork", SYS_fork},         {"vfork", SYS_vfork},
#endif
};

static const struct {
    const char *name;
    enum frame_type type;
} frames[] = {
    {"failed", FRAME_FAILED}, {"evaluate", FRAME_EVALUATE}, {"fork", FRAME_FORK},
    {"ready", FRAME_READY},   {"result", FRAME_RESULT},
};

void lisp_file_load_hostile(struct client *client, const char *session) {
    cleanup_buffer struct buffer code = buffer_make(CODE_MAX);
    buffer_append_text(&code, "(defpackage :hostile (:use :cl)) (defvar hostile::*numbers* '(");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        buffer_append_format(&code, " :%s %ld", numbers[i].name, numbers[i].number);
    buffer_append_text(&code, ")) (defvar hostile::*frames* '(");
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        buffer_append_format(&code, " :%s %d", frames[i].name, (int)frames[i].type);
    buffer_append_text(&code, "))\n");
    append_file(&code, "hostile.lisp");
    evaluate(client, session, &code);
}
