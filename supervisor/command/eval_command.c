/* `eclave eval`: one evaluation, by the same path as a client's call. */
#include "common/utf8.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/terminal.h"
#include "supervisor/base/whole_file.h"
#include "supervisor/command/commands.h"
#include "supervisor/session/one_shot.h"
#include "supervisor/session/text.h"

#include <string.h>
#include <unistd.h>

enum { TEXT_MAX_BYTES = 1 << 30 };

struct eval {
    const struct settings *settings;
    bool json;
    int status;
};

static bool read_code(const struct command_line *line, struct buffer *code, struct error *error) {
    const char *file = line->count ? line->arguments[0] : "-";
    if (!line->code && strcmp(file, "-") == 0 && isatty(STDIN_FILENO))
        fputs("eclave: type the code; Ctrl-D at the start of a line ends it\n", stderr);
    if (!line->code && !whole_file_read(file, code, error))
        return false;
    if (line->code && !buffer_append_text(code, line->code))
        return error_set(error, 0, "the code is longer than request.max_bytes (%zu)",
                         code->maximum);
    return utf8_is_valid(code->data, code->length) || error_set(error, 0, "the code is not UTF-8");
}

static void on_done(void *context, const struct evaluation *evaluation) {
    struct eval *eval = context;
    const struct text_limits limits = text_limits_of(eval->settings);
    cleanup_buffer struct buffer text = buffer_make(TEXT_MAX_BYTES);
    if (eval->json)
        batch_append_record(&text, evaluation, eval->settings);
    else
        text_append_evaluation(&text, evaluation, &limits);
    buffer_append_text(&text, "\n");
    shown_write(stdout, (struct span){text.data, text.length});
    eval->status = text.failed ? STATUS_INTERNAL : one_shot_status(evaluation);
    if (text.failed)
        shown_complain("out of memory for the result");
}

static int run(const struct command_line *line, struct span code) {
    const struct settings *settings = line->settings;
    struct eval eval = {.settings = settings, .json = line->json, .status = STATUS_INTERNAL};
    const struct call_request request = {.code = code,
                                         .timeout_ms = settings->call_timeout_s * CLOCK_MS_PER_S,
                                         .done = on_done,
                                         .context = &eval};
    struct error error;
    int status;
    if (one_shot_run_alone(settings, &request, &status, &error))
        return eval.status;
    shown_complain(error.text);
    return status;
}

int command_eval(const struct command_line *line) {
    struct error error;
    cleanup_buffer struct buffer code = buffer_make((size_t)line->settings->request_max_bytes);
    if (line->code && line->count) {
        shown_complain("eval takes either -e CODE or a file");
        return STATUS_USAGE;
    }
    if (!read_code(line, &code, &error)) {
        shown_complain(error.text);
        return STATUS_USAGE;
    }
    return run(line, code.data ? (struct span){code.data, code.length} : string_span(""));
}
