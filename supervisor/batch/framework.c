/* The tests of `eclave grade --framework`: a file of Lisp. Which tests it has is known once it is
 * loaded, which is done without a submission, so that no submission decides that. A child does it:
 * it confines itself, and the batch that follows cannot start from there. */
#include "common/cleanup.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/status.h"
#include "supervisor/base/whole_file.h"
#include "supervisor/batch/batch_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const frameworks[] = {
#define FRAMEWORK(name) name,
#include "supervisor/batch/frameworks.def"
};

static const char names[] =
#define FRAMEWORK(name) " " name
#include "supervisor/batch/frameworks.def"
    ;

bool framework_load(const char *framework, struct settings *settings, struct error *error) {
    struct name_list *systems = &settings->systems;
    bool is_known = false;
    if (!framework)
        return true;
    for (size_t i = 0; i < sizeof frameworks / sizeof *frameworks; i++)
        is_known |= strcmp(framework, frameworks[i]) == 0;
    if (!is_known)
        return error_set(error, 0, "option --framework needs one of:%s", names);
    for (size_t i = 0; i < systems->count; i++)
        if (strcmp(systems->names[i], framework) == 0)
            return true;
    if (systems->count == NAME_LIST_MAX)
        return error_set(error, 0, "--systems has no room for %s", framework);
    snprintf(systems->names[systems->count++], NAME_BYTES, "%s", framework);
    return true;
}

/* --- the child --- */

/* What the child writes: this byte and the lines, or else why there are none. */
enum { GOOD = '+', BAD = '-' };

/* Why the tests cannot be loaded, and the line. */
static void put_failure(const struct evaluation *evaluation, const struct settings *settings) {
    const struct batch_line none = {.number = 0};
    struct record record;
    cleanup_buffer struct buffer text = buffer_make((size_t)settings->request_max_bytes);
    putchar(BAD);
    if (!record_make(&record, &none, evaluation, settings))
        return;
    failure_append_first(&text, &record);
    record_free(&record);
    fwrite(text.data, 1, text.length, stdout);
}

static void on_listed(void *context, const struct evaluation *evaluation) {
    const struct span lines = verdict_value(evaluation);
    if (evaluation->outcome == OUTCOME_NO_WORKER) {
        printf("%c%s", BAD, evaluation->cause);
    } else if (!lines.bytes) {
        put_failure(evaluation, context);
    } else {
        putchar(GOOD);
        fwrite(lines.bytes, 1, lines.length, stdout);
    }
}

/* Evaluates CODE, whose value is written to standard output. */
static void evaluate(const struct settings *settings, struct span code) {
    struct settings own = *settings;
    own.value_max_chars = settings->request_max_bytes;
    const struct call_request request = {.code = code,
                                         .files = string_span("1 the tests"),
                                         .timeout_ms = settings->call_timeout_s * CLOCK_MS_PER_S,
                                         .done = on_listed,
                                         .context = &own};
    struct error error;
    int status;
    if (!one_shot_run_alone(&own, &request, &status, &error))
        printf("%c%s", BAD, error.text);
}

static _Noreturn void run_child(const struct settings *settings, const struct buffer *code,
                                int out) {
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* a loop in the tests ends with the command */
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool good = null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0;
    if (good)
        evaluate(settings, (struct span){code->data, code->length});
    good &= fflush(stdout) == 0;
    _exit(good ? 0 : STATUS_INTERNAL);
}

/* Runs the child, and appends what it writes to OUT. */
static bool read_child(const struct settings *settings, const struct buffer *code,
                       struct buffer *out, struct error *error) {
    int ends[2], status = 0, reading = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(error, errno, "pipe2");
    pid_t pid = fork();
    if (pid == 0)
        run_child(settings, code, ends[1]);
    int failed = pid < 0 ? errno : 0;
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    bool read = in && pid > 0 && whole_file_append(in, out, &reading);
    if (in)
        fclose(in);
    else
        close(ends[0]);
    if (pid > 0)
        waitpid(pid, &status, 0);
    if (!read || status != 0 || out->length == 0)
        return error_set(error, failed ? failed : reading, "listing the tests");
    return true;
}

bool framework_list(const struct settings *settings, const char *framework, struct span tests,
                    struct buffer *lines, struct error *error) {
    const size_t most = (size_t)settings->request_max_bytes;
    cleanup_buffer struct buffer code = buffer_make(most), out = buffer_make(most);
    buffer_append(&code, tests.bytes, tests.length);
    buffer_append_format(&code, "\n(eclave::list-tests \"%s\")", framework);
    if (code.failed)
        return error_set(error, 0, "it is too long");
    if (!read_child(settings, &code, &out, error))
        return false;
    const struct span rest = {out.data + 1, out.length - 1};
    if (out.data[0] != GOOD)
        return error_set(error, 0, "%.*s", (int)rest.length, (const char *)rest.bytes);
    return buffer_append(lines, rest.bytes, rest.length) || error_set(error, 0, "it is too long");
}
