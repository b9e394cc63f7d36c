/* What the supervisor does not compare itself: regular expressions, numbers and forms. Their work
 * has no bound of its own, and the text is a submission's. Each comparison is a call in a fresh
 * process, under the time limit of its line or test; the text is its standard input. It runs no
 * code of the submission. */
#include "common/frame.h"
#include "common/utf8.h"
#include "supervisor/batch/batch_internal.h"

/* A text and the code that compares it go into one frame. */
enum { TEXT_MAX_BYTES = FRAME_PAYLOAD_MAX / 2, CODE_MAX_BYTES = FRAME_PAYLOAD_MAX / 2 };

static bool keep_text(struct check *check, enum checked what, struct span came) {
    struct buffer *text = &check->texts[what];
    *text = buffer_make(TEXT_MAX_BYTES);
    return utf8_append_repaired(text, came.bytes, came.length);
}

bool check_begin(struct check *check, struct batch *batch, const struct batch_line *line,
                 const struct evaluation *evaluation) {
    *check = (struct check){.batch = batch, .line = line};
    check->left = verdict_unchecked(line, evaluation);
    for (enum checked what = 0; what < CHECKS; what++) {
        if (!(check->left & 1U << what))
            continue;
        struct span came = what == CHECK_STDOUT ? evaluation->output : verdict_value(evaluation);
        if (came.length >= TEXT_MAX_BYTES / 4) /* repaired, it may be three times as long */
            check->left &= ~(1U << what);      /* not met */
        else if (!keep_text(check, what, came))
            return false;
    }
    return true;
}

/* TEXT as a Lisp string. */
static void append_string(struct buffer *code, struct span text) {
    buffer_append_text(code, " \"");
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] == '"' || text.bytes[i] == '\\')
            buffer_append_text(code, "\\");
        buffer_append(code, text.bytes + i, 1);
    }
    buffer_append_text(code, "\"");
}

/* A text that is not exactly one readable form meets no form. */
static void append_form_check(struct buffer *code, struct span form) {
    buffer_append_text(code, "(cl:let* ((cl:*read-eval* cl:nil) (%end (cl:list cl:nil)) "
                             "(%came (cl:read cl:*standard-input*))) "
                             "(cl:and (cl:eq (cl:read cl:*standard-input* cl:nil %end) %end) "
                             "(cl:equalp %came (cl:progn\n");
    buffer_append(code, form.bytes, form.length);
    buffer_append_text(code, "\n))))");
}

static void append_code(struct buffer *code, const struct check *check) {
    const struct batch_line *line = check->line;
    const struct span wanted = check->current == CHECK_VALUE ? line->expect : line->expect_stdout;
    if (check->current == CHECK_FORM) {
        append_form_check(code, line->expect_form);
        return;
    }
    bool is_regex = line->match == MATCH_REGEX;
    buffer_append_text(code, is_regex ? "(eclave::regex-found-p" : "(eclave::same-numbers-p");
    append_string(code, wanted);
    if (!is_regex)
        append_string(code, line->tolerance);
    buffer_append_text(code, ")");
}

static void fail(struct check *check, const char *why) {
    snprintf(check->cause, sizeof check->cause, "%.400s", why);
    check->failure = check->cause;
}

/* Why it came to no verdict. */
static struct span reason_of(const struct evaluation *evaluation) {
    if (evaluation->outcome == OUTCOME_CONDITION && evaluation->result.text.length)
        return evaluation->result.text;
    return string_span(evaluation->outcome == OUTCOME_VALUE ? "no verdict" : evaluation->cause);
}

static void on_checked(void *context, const struct evaluation *evaluation) {
    struct check *check = context;
    const char *member = checked_members[check->current];
    const struct span value = verdict_value(evaluation);
    bool good = true;
    check->call = NULL;
    batch_count_end(check->batch, evaluation);
    usage_add(&check->usage, evaluation->usage);
    check->taken_us += evaluation->elapsed_us;
    buffer_free(&check->texts[check->current]);
    if (evaluation->outcome == OUTCOME_NO_WORKER) {
        fail(check, evaluation->cause);
        return;
    }
    if (value.bytes && span_equal(value, string_span("T")))
        good = record_meet(check->root, check->line, member);
    else if (!value.bytes || !span_equal(value, string_span("NIL")))
        good = record_explain(check->root, member, reason_of(evaluation));
    if (!good)
        fail(check, "out of memory for the result of a comparison");
}

static void start(struct check *check, enum checked what) {
    struct batch *batch = check->batch;
    const struct buffer *text = &check->texts[what];
    cleanup_buffer struct buffer code = buffer_make(CODE_MAX_BYTES);
    check->current = what;
    check->left &= ~(1U << what);
    append_code(&code, check);
    const struct call_request request = {
        .code = {code.data, code.length},
        .input = text->length ? (struct span){text->data, text->length} : string_span(""),
        .timeout_ms = check->line->timeout_ms,
        .cpu_ms = batch_cpu_ms(batch, check->line),
        .done = on_checked,
        .context = check};
    check->call = code.failed ? NULL : session_submit_once(&batch->one_shot.sessions, &request);
    if (!check->call) {
        fail(check, "out of memory");
        return;
    }
    batch->running++;
    session_step(call_session(check->call));
}

void check_step(struct check *check, struct json_object *root) {
    enum checked what = 0;
    if (!check->left || check->call || check->failure ||
        check->batch->running >= (size_t)check->batch->options->jobs)
        return;
    while (!(check->left & 1U << what))
        what++;
    check->root = root;
    start(check, what);
}

bool check_is_done(const struct check *check) {
    return !check->call && (!check->left || check->failure);
}

void check_free(struct check *check) {
    for (enum checked what = 0; what < CHECKS; what++)
        buffer_free(&check->texts[what]);
}
