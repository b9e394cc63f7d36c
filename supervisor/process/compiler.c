/* The supervisor's end of the compiler: its start, and a process for each unit. */
#include "supervisor/process/compiler.h"
#include "common/cleanup.h"
#include "common/descriptor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BOOT_LIMIT_MS = 10000,
    UNIT_LIMIT_MS =
        5000, /* of one unit, on a busy machine too; its processor time is limited to 2 s */
    COMPILATIONS_MAX = 64,
    FAILURES_MAX = 3, /* in a row, after which there is no compiler */
    STEPS_MAX = 32    /* reads or writes of one unit in one turn */
};

struct compilation {
    struct compiler *compiler;
    unsigned char *text;
    struct unit_header header; /* of the source, then of the object */
    size_t sent, have;         /* bytes, with the header */
    unsigned char *object;
    bool answered; /* its header is that of the object */
    int channel;   /* -1: waits for the program */
    struct loop_watch watch;
    struct loop_timer timer;
    void (*done)(void *context, const unsigned char *object, size_t size);
    void *context;
    LIST_ENTRY(compilation) entry;
};

static void log_state(const struct compiler *compiler, const char *text) {
    const struct log_event event = {.level = LOG_WARNING_LEVEL, .name = "compiler"};
    log_write(compiler->log, &event, "%s", text);
}

/* --- compilations --- */

void compiler_cancel(struct compilation *compilation) {
    struct compiler *compiler = compilation->compiler;
    LIST_REMOVE(compilation, entry);
    compiler->count--;
    loop_watch_remove(compiler->loop, &compilation->watch);
    loop_timer_stop(compiler->loop, &compilation->timer);
    if (compilation->channel >= 0)
        close(compilation->channel);
    free(compilation->text);
    free(compilation->object);
    free(compilation);
}

/* Ends it with its object, of SIZE bytes. */
static void finish(struct compilation *compilation, size_t size) {
    void (*done)(void *, const unsigned char *, size_t) = compilation->done;
    void *context = compilation->context;
    cleanup_free unsigned char *object = compilation->object;
    compilation->object = NULL;
    compiler_cancel(compilation);
    done(context, object, size);
}

static void on_unit_limit(void *context) {
    finish(context, 0);
}

/* True if the source is sent, or the process has ended, which reading finds out. */
static bool send_source(struct compilation *compilation) {
    const size_t head = sizeof compilation->header;
    const size_t total = head + compilation->header.length;
    for (unsigned i = 0; i < STEPS_MAX && compilation->sent < total; i++) {
        const bool in_header = compilation->sent < head;
        const unsigned char *from =
            in_header ? (const unsigned char *)&compilation->header + compilation->sent
                      : compilation->text + (compilation->sent - head);
        const size_t rest = (in_header ? head : total) - compilation->sent;
        ssize_t sent = send(compilation->channel, from, rest, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0)
            return errno != EAGAIN && errno != EINTR;
        compilation->sent += (size_t)sent;
    }
    return compilation->sent == total;
}

/* The header of the object has arrived. False if there is none. */
static bool take_header(struct compilation *compilation) {
    const uint32_t length = compilation->header.length;
    if (length == 0 || length > UNIT_OBJECT_MAX)
        return false;
    compilation->object = malloc(length);
    return compilation->object != NULL;
}

static void receive_object(struct compilation *compilation) {
    const size_t head = sizeof compilation->header;
    for (unsigned i = 0; i < STEPS_MAX; i++) {
        const bool in_header = compilation->have < head;
        unsigned char *into = in_header ? (unsigned char *)&compilation->header + compilation->have
                                        : compilation->object + (compilation->have - head);
        const size_t total = in_header ? head : head + compilation->header.length;
        ssize_t got = recv(compilation->channel, into, total - compilation->have, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            finish(compilation, 0); /* it crashed, or was ended */
            return;
        }
        compilation->have += (size_t)got;
        if (in_header && compilation->have == head && !take_header(compilation)) {
            finish(compilation, 0);
            return;
        }
        if (!in_header && compilation->have == total) {
            finish(compilation, compilation->header.length);
            return;
        }
    }
}

static void on_unit(void *context, uint32_t events) {
    (void)events;
    struct compilation *compilation = context;
    if (!compilation->answered) {
        if (!send_source(compilation))
            return;
        compilation->answered = true;
        compilation->header.length = 0;
        loop_watch_change(compilation->compiler->loop, &compilation->watch, EPOLLIN);
        return;
    }
    receive_object(compilation);
}

/* --- processes --- */

/* Asks for one more process, whose channel is *CHANNEL. False if that is not possible now. */
static bool ask_for_process(const struct compiler *compiler, int *channel) {
    int pair[2];
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = sizeof byte};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    bool asked = descriptors_send(compiler->channel, &part, 1, &pair[1], 1) == sizeof byte;
    close(pair[1]);
    if (asked)
        *channel = pair[0];
    else
        close(pair[0]);
    return asked;
}

/* Gives COMPILATION a process, and has another one wait for the next. */
static void assign(struct compiler *compiler, struct compilation *compilation) {
    compilation->channel = compiler->spare;
    compiler->spare = -1;
    if (compilation->channel < 0 && !ask_for_process(compiler, &compilation->channel))
        return; /* fails at its time limit */
    ask_for_process(compiler, &compiler->spare);
    if (!loop_watch_add(compiler->loop, &compilation->watch, compilation->channel, EPOLLOUT,
                        on_unit, compilation, NULL))
        return;
    /* Most units fit into the socket. */
    if (send_source(compilation)) {
        compilation->answered = true;
        compilation->header.length = 0;
        loop_watch_change(compiler->loop, &compilation->watch, EPOLLIN);
    }
}

struct compilation *compiler_begin(struct compiler *compiler, unsigned char *text, size_t length,
                                   void (*done)(void *, const unsigned char *, size_t),
                                   void *context) {
    struct compilation *compilation =
        compiler->count < COMPILATIONS_MAX ? calloc(1, sizeof *compilation) : NULL;
    compiler_start(compiler);
    if (!compilation || compiler->state == COMPILER_ABSENT) {
        free(text);
        free(compilation);
        return NULL;
    }
    *compilation = (struct compilation){.compiler = compiler,
                                        .text = text,
                                        .header = {.length = (uint32_t)length},
                                        .channel = -1,
                                        .done = done,
                                        .context = context};
    LIST_INSERT_HEAD(&compiler->compilations, compilation, entry);
    compiler->count++;
    loop_timer_start(compiler->loop, &compilation->timer,
                     compiler->state == COMPILER_UP ? UNIT_LIMIT_MS : UNIT_LIMIT_MS + BOOT_LIMIT_MS,
                     on_unit_limit, compilation);
    if (compiler->state == COMPILER_UP)
        assign(compiler, compilation);
    return compilation;
}

/* --- the program --- */

/* Compilations that wait for it fail now, others finish. */
static void end_program(struct compiler *compiler) {
    compiler->state = COMPILER_ABSENT;
    loop_watch_remove(compiler->loop, &compiler->watch);
    loop_timer_stop(compiler->loop, &compiler->timer);
    if (compiler->channel >= 0)
        close(compiler->channel);
    if (compiler->spare >= 0)
        close(compiler->spare);
    if (compiler->launched.reports >= 0)
        close(compiler->launched.reports);
    if (compiler->launched.init_life >= 0)
        close(compiler->launched.init_life);
    compiler->channel = compiler->spare = -1;
    compiler->launched = (struct policy_launched){.reports = -1, .init_life = -1};
}

static void fail_program(struct compiler *compiler, const char *why) {
    end_program(compiler);
    compiler->failures++;
    log_state(compiler, why);
    struct compilation *compilation, *next;
    for (compilation = LIST_FIRST(&compiler->compilations); compilation; compilation = next) {
        next = LIST_NEXT(compilation, entry);
        /* Not now: the one that asked may be on the stack. */
        if (compilation->channel < 0)
            loop_timer_start(compiler->loop, &compilation->timer, 0, on_unit_limit, compilation);
    }
}

static void on_boot_limit(void *context) {
    fail_program(context, "the compiler did not start in time");
}

static void take_answer(struct compiler *compiler, const struct compiler_answer *answer) {
    struct policy_report report = {0};
    struct error error;
    if (answer->failure[0]) {
        char text[sizeof answer->failure];
        snprintf(text, sizeof text, "%.*s", (int)sizeof text - 1, answer->failure);
        compiler->failures = FAILURES_MAX; /* it would fail again */
        fail_program(compiler, text);
    } else if (!policy_launch_finish(&compiler->launched, &report, &error)) {
        fail_program(compiler, error.text);
    } else {
        compiler->state = COMPILER_UP;
        compiler->failures = 0;
        loop_timer_stop(compiler->loop, &compiler->timer);
        ask_for_process(compiler, &compiler->spare);
        struct compilation *compilation;
        LIST_FOREACH(compilation, &compiler->compilations, entry) {
            if (compilation->channel < 0)
                assign(compiler, compilation);
        }
    }
}

/* Its answer to the configuration; afterwards it sends nothing. */
static void on_program(void *context, uint32_t events) {
    (void)events;
    struct compiler *compiler = context;
    struct compiler_answer answer;
    ssize_t got = recv(compiler->channel, &answer, sizeof answer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got == (ssize_t)sizeof answer && compiler->state == COMPILER_BOOTING)
        take_answer(compiler, &answer);
    else
        fail_program(compiler, "the compiler has ended");
}

static bool launch(struct compiler *compiler, struct error *error) {
    int pair[2];
    struct policy_report report = {0};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return error_set(error, errno, "channel of the compiler");
    compiler->channel = pair[0];
    cleanup_fd int theirs = pair[1];
    const int passed[POLICY_LAUNCHER_DESCRIPTORS] = {theirs, theirs};
    if (!policy_launcher_launch(compiler->launcher, passed, &compiler->launched, &report, error))
        return false;
    struct compiler_configuration configuration = compiler->configuration;
    configuration.layers &= ~policy_layers_in(&report, POLICY_UNAVAILABLE);
    if (send(compiler->channel, &configuration, sizeof configuration, MSG_NOSIGNAL) !=
        (ssize_t)sizeof configuration)
        return error_set(error, errno, "configuration of the compiler");
    return loop_watch_add(compiler->loop, &compiler->watch, compiler->channel, EPOLLIN, on_program,
                          compiler, error);
}

void compiler_start(struct compiler *compiler) {
    struct error error;
    if (compiler->closed || compiler->state != COMPILER_ABSENT ||
        compiler->failures >= FAILURES_MAX)
        return;
    if (!launch(compiler, &error)) {
        fail_program(compiler, error.text);
        return;
    }
    compiler->state = COMPILER_BOOTING;
    loop_timer_start(compiler->loop, &compiler->timer, BOOT_LIMIT_MS, on_boot_limit, compiler);
}

void compiler_open(struct compiler *compiler, struct loop *loop, struct log *log,
                   const struct policy_launcher *launcher, const struct policy *policy) {
    *compiler = (struct compiler){.loop = loop,
                                  .log = log,
                                  .launcher = launcher,
                                  .configuration = {.layers = policy->layers,
                                                    .required = policy->required,
                                                    .user = policy->user},
                                  .launched = {.reports = -1, .init_life = -1},
                                  .channel = -1,
                                  .spare = -1};
    LIST_INIT(&compiler->compilations);
}

void compiler_close(struct compiler *compiler) {
    if (!compiler->loop)
        return;
    compiler->closed = true;
    while (!LIST_EMPTY(&compiler->compilations))
        compiler_cancel(LIST_FIRST(&compiler->compilations));
    end_program(compiler);
}
