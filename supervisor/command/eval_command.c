/* `eclave eval`: one evaluation in a world of its own, for a shell. The same path as a call of the
 * server, without the protocol. */
#include "common/cleanup.h"
#include "common/utf8.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/stdio.h"
#include "supervisor/base/terminal.h"
#include "supervisor/base/whole_file.h"
#include "supervisor/command/commands.h"
#include "supervisor/session/one_shot.h"
#include "supervisor/session/text.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX_BYTES = 1 << 30 };

struct eval_run {
    const struct settings *settings;
    struct one_shot one_shot;
    int status;
};

/* The code from the command line. False with *error. */
static bool find_code(int count, char **arguments, struct buffer *code, struct error *error) {
    if (count == 2 && strcmp(arguments[0], "-e") == 0)
        return buffer_append_text(code, arguments[1]) ||
               error_set(error, 0, "the code is longer than request.max_bytes (%zu)",
                         code->maximum);
    if (count > 1 || (count == 1 && arguments[0][0] == '-' && arguments[0][1]))
        return error_set(error, 0, "usage: eclave eval [OPTIONS] [-e CODE | FILE | -]");
    return whole_file_read(count ? arguments[0] : "-", code, error);
}

static void done(void *context, const struct evaluation *evaluation) {
    struct eval_run *run = context;
    const struct text_limits limits = text_limits_of(run->settings);
    cleanup_buffer struct buffer text = buffer_make(TEXT_MAX_BYTES);
    text_append_evaluation(&text, evaluation, &limits);
    if (text.length)
        buffer_append_text(&text, "\n");
    run->status = evaluation->exit_code;
    if (!shown_write(stdout, (struct span){text.data, text.length}) || fflush(stdout) != 0) {
        fprintf(stderr, "eclave: writing the result: %s\n", strerror(errno));
        run->status = STATUS_INTERNAL;
    }
    loop_stop(&run->one_shot.loop);
}

static void interrupted(void *context) {
    struct eval_run *run = context;
    sessions_cancel_all(&run->one_shot.sessions, "Interrupted.");
}

static int usage_error(const struct error *error) {
    fprintf(stderr, "eclave: %s\n", error->text);
    return STATUS_USAGE;
}

static void evaluate(struct eval_run *run, struct span code) {
    struct one_shot *one_shot = &run->one_shot;
    struct session *session = sessions_own(&one_shot->sessions, "main");
    const struct call_request request = {.code = code,
                                         .timeout_ms =
                                             run->settings->call_timeout_s * CLOCK_MS_PER_S,
                                         .done = done,
                                         .context = run};
    struct error error;
    if (!session || !session_submit(session, &request)) {
        fprintf(stderr, "eclave: out of memory\n");
        return;
    }
    one_shot->pool.spares_wanted = 0;
    session_step(session);
    if (!one_shot->loop.stopped && !loop_run(&one_shot->loop, &error))
        fprintf(stderr, "eclave: %s\n", error.text);
}

int command_eval(const struct settings *settings, int count, char **arguments) {
    struct eval_run run = {.settings = settings};
    struct error error;
    cleanup_buffer struct buffer code = buffer_make((size_t)settings->request_max_bytes);
    if (!stdio_fill(&error) || !find_code(count, arguments, &code, &error))
        return usage_error(&error);
    if (!utf8_is_valid(code.data, code.length)) {
        error_set(&error, 0, "the code is not UTF-8");
        return usage_error(&error);
    }
    if (!one_shot_open(&run.one_shot, settings, interrupted, &run, &run.status, &error)) {
        fprintf(stderr, "eclave: %s\n", error.text);
        return run.status;
    }
    static const unsigned char nothing[1];
    become_undumpable();
    run.status = STATUS_INTERNAL;
    evaluate(&run, (struct span){code.data ? code.data : nothing, code.length});
    one_shot_close(&run.one_shot);
    return run.status;
}
