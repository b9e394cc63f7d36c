/* Loads what the operator names with --systems and --preload. */
#include "worker/preload.h"
#include "common/buffer.h"
#include "common/cleanup.h"
#include "worker/convert.h"
#include "worker/evaluate.h"
#include "worker/lisp.h"
#include "worker/numbers.h"
#include "worker/streams.h"
#include "worker/worker.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LIMIT_S = 15, /* less than the supervisor waits for the zygote, so that the place is known */
    REASON_BYTES = 240,
    MESSAGE_BYTES = 100
};

/* Where the form that is being read or evaluated begins. Also read by the signal handler. */
static struct {
    char file[PATH_MAX];
    volatile long offset;
    void (*failed)(const char *reason); /* NULL: no file is being loaded */
} place;

cl_object preload_note_place(cl_object file, cl_object offset) {
    cleanup_buffer struct buffer name = buffer_make(sizeof place.file - 1);
    if (place.failed && convert_string_to_utf8(&name, file) && name.length < sizeof place.file) {
        memcpy(place.file, name.data, name.length);
        place.file[name.length] = 0;
        place.offset = ECL_FIXNUMP(offset) ? (long)ecl_fixnum(offset) : 0;
    }
    return ECL_NIL;
}

/* Only with functions that are safe in a signal handler. */
static unsigned line_of_place(void) {
    char bytes[4096];
    unsigned line = 1;
    long left = place.offset;
    int file = open(place.file, O_RDONLY | O_CLOEXEC);
    for (ssize_t got; file >= 0 && left > 0 && (got = read(file, bytes, sizeof bytes)) > 0;
         left -= got)
        for (ssize_t i = 0; i < got && i < left; i++)
            line += bytes[i] == '\n';
    if (file >= 0)
        close(file);
    return line;
}

/* "preloading FILE, line N: WHAT". Without its directory, since clients are sent it. The C library
 * formats strings and numbers without a lock or an allocation. */
static void describe(char reason[REASON_BYTES], const char *what) {
    const char *slash = strrchr(place.file, '/');
    snprintf(reason, REASON_BYTES, "preloading %.80s, line %u: %s", slash ? slash + 1 : place.file,
             line_of_place(), what);
}

static void report_end(const char *what) {
    char reason[REASON_BYTES];
    if (!place.failed)
        return;
    describe(reason, what);
    place.failed(reason);
    place.failed = NULL;
}

static void on_limit(int number) {
    (void)number;
    report_end("the file is not loaded within 15 s");
    _exit(EXIT_FAILED);
}

/* An exit hook: code may call the C library's exit without EXT:QUIT. */
static void on_exit_hook(void) {
    report_end("the code ended the process");
}

void preload_begin(void (*failed)(const char *reason)) {
    const struct sigaction limit = {.sa_handler = on_limit};
    place.failed = failed;
    atexit(on_exit_hook);
    sigaction(SIGALRM, &limit, NULL);
    alarm(LIMIT_S);
}

void preload_end(void) {
    alarm(0);
    signal(SIGALRM, SIG_DFL);
    place.failed = NULL;
    explicit_bzero(place.file, sizeof place.file);
}

/* Whether EXT:QUIT, which sets the variable and unwinds, ended the evaluation. */
static bool has_quit(cl_object before) {
    return ECL_SYM_VAL(ecl_process_env(), lisp.exit_code) != before;
}

/* The message of a failure as the end of a sentence. */
static void make_phrase(char what[MESSAGE_BYTES], const struct result *result) {
    if (!result->failed) {
        snprintf(what, MESSAGE_BYTES, "the code invoked the restart ABORT");
        return;
    }
    int length = snprintf(what, MESSAGE_BYTES, "%.*s", (int)result->message.length,
                          (const char *)result->arena.data + result->message.offset);
    for (char *byte = what; *byte; byte++)
        if (*byte == '\n')
            *byte = ' ';
    if (length > 0 && length < MESSAGE_BYTES && what[length - 1] == '.')
        what[length - 1] = 0;
}

/* The reasons why RESULT is not that of a load. */

static void fail_file(const struct result *result, const char *path, struct error *error) {
    char what[MESSAGE_BYTES], reason[REASON_BYTES];
    (void)path; /* the place is in it or in a file that it loads */
    make_phrase(what, result);
    describe(reason, what);
    error_set(error, 0, "%s", reason);
}

static void fail_system(const struct result *result, const char *name, struct error *error) {
    error_set(error, 0, "cannot load the system %.80s: %.*s", name, (int)result->message.length,
              (const char *)result->arena.data + result->message.offset);
}

static void fail_quit(struct error *error) {
    char reason[REASON_BYTES];
    describe(reason, "the code ended the process");
    error_set(error, 0, "%s", reason);
}

/* Has Lisp call a function of the runtime with the name of what it loads, which returns a value
 * unless the code quits or aborts. FAIL sets the error of any other failure. */
static bool load(const struct worker_configuration *configuration, const char *function,
                 const char *name,
                 void (*fail)(const struct result *result, const char *name, struct error *error),
                 struct error *error) {
    struct result result = {0};
    const cl_object running = ecl_list1(ECL_NIL); /* no exit code */
    cleanup_buffer struct buffer code = buffer_make((size_t)4 * PATH_MAX);
    buffer_append_format(&code, "(eclave::%s \"", function);
    for (const char *byte = name; *byte; byte++)
        buffer_append_format(&code, *byte == '"' || *byte == '\\' ? "\\%c" : "%c", *byte);
    buffer_append_text(&code, "\")");
    struct evaluate_message message = {.code = {code.data, code.length}};
    snprintf(place.file, sizeof place.file, "%s", name);
    place.offset = 0;
    ECL_SETQ(ecl_process_env(), lisp.exit_code, running);
    evaluate(&message, configuration->value_max_chars, &result);
    bool good = !result.failed && result.value_count == 1;
    if (!good && has_quit(running))
        fail_quit(error);
    else if (!good)
        fail(&result, name, error);
    if (!good)
        place.failed = NULL; /* it is reported by the caller */
    ECL_SETQ(ecl_process_env(), lisp.exit_code, ecl_make_fixnum(0));
    buffer_free(&result.arena);
    evaluate_forget();
    numbers_forget();
    streams_discard();
    GC_gcollect(); /* each fork would copy the garbage */
    return good;
}

bool preload_file(const struct worker_configuration *configuration, const char *path,
                  struct error *error) {
    return load(configuration, "preload", path, fail_file, error);
}

bool preload_system(const struct worker_configuration *configuration, const char *name,
                    struct error *error) {
    return load(configuration, "add-system", name, fail_system, error);
}
