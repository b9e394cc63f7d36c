/* A worker's life: descriptors, confinement, then one frame after the other until the channel ends.
 * Code is evaluated only when every required layer of the confinement holds; where one does not,
 * the process says so and ends. */
#include "worker/worker.h"
#include "common/buffer.h"
#include "common/child.h"
#include "common/message.h"
#include "worker/evaluate.h"
#include "worker/exchange.h"
#include "worker/image.h"
#include "worker/lisp.h"
#include "worker/output.h"

#include <ecl/ecl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CHANNEL = 3, EXIT_FAILED = 70, REPLY_KEPT_BYTES = 1 << 20 };

struct worker {
    const struct worker_configuration *configuration;
    struct answer answer;
    struct buffer reply;
    cl_object exit_code;
};

static struct worker worker; /* static: an exit of user code comes back to worker_live by a jump */

static void fail(const char *text) __attribute__((noreturn));

/* Tells the supervisor why, and ends. */
static void fail(const char *text) {
    struct frame_header header = {.type = FRAME_FAILED, .length = (uint32_t)strlen(text)};
    frame_send(CHANNEL, &header, text, NULL, 0, NULL);
    _exit(EXIT_FAILED);
}

static bool take_descriptors(const struct worker_descriptors *descriptors) {
    return dup2(descriptors->output, STDOUT_FILENO) >= 0 &&
           dup2(descriptors->error, STDERR_FILENO) >= 0 &&
           dup2(descriptors->channel, CHANNEL) >= 0 && close_range(CHANNEL + 1, ~0U, 0) == 0;
}

static void confine(const struct policy_ground *ground) {
    struct error error = {0};
    int listener = -1;
    if (!policy_enter(ground, &listener, &error))
        fail(error.text);
    struct frame_header ready = {.type = FRAME_READY};
    if (!frame_send(CHANNEL, &ready, NULL, &listener, listener >= 0, &error))
        _exit(EXIT_FAILED);
    if (listener >= 0)
        close(listener);
    if (!policy_seal(ground, &error))
        fail(error.text);
}

/* A frame as it came, with the descriptors that came with it, which stay the caller's. */
struct received {
    struct frame_header header;
    unsigned char *payload;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
};

/* Sends the answer to FRAME and makes ready for the next. */
static void reply_to(const struct received *frame) {
    output_flush();
    worker.reply.length = 0;
    worker.reply.failed = false;
    if (!answer_encode(&worker.answer, &worker.reply))
        fail("no memory for an answer");
    struct frame_header reply = {
        .type = FRAME_RESULT, .call = frame->header.call, .length = (uint32_t)worker.reply.length};
    if (!frame_send(CHANNEL, &reply, worker.reply.data, NULL, 0, NULL))
        _exit(EXIT_FAILED);
    worker.reply.length = 0;
    buffer_shrink(&worker.reply, REPLY_KEPT_BYTES);
    evaluate_forget();
    image_recover(worker.configuration);
}

/* What each frame does; only these may come. */
static void on_evaluate(const struct received *frame) {
    struct evaluate_message message;
    if (!evaluate_message_decode(frame->payload, frame->header.length, &message))
        fail("a malformed evaluate frame");
    evaluate(&message, worker.configuration->value_max_chars, &worker.answer);
    reply_to(frame);
}

static void on_run(const struct received *frame) {
    struct run_message message;
    if (!run_message_decode(frame->payload, frame->header.length, &message))
        fail("a malformed run frame");
    exchange_begin(CHANNEL, frame->header.call);
    evaluate_run(&message, &worker.answer);
    exchange_end();
    reply_to(frame);
}

/* In the fork: its own channel, and for another session its own outputs, in the usual places. The
 * death signal is not inherited. */
static void begin_as_fork(const struct received *frame) {
    bool taken =
        prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && dup2(frame->descriptors[0], CHANNEL) >= 0 &&
        (frame->count < FRAME_DESCRIPTORS_MAX || (dup2(frame->descriptors[1], STDOUT_FILENO) >= 0 &&
                                                  dup2(frame->descriptors[2], STDERR_FILENO) >= 0));
    struct frame_header ready = {.type = FRAME_READY};
    if (!taken || !frame_send(CHANNEL, &ready, NULL, NULL, 0, NULL))
        _exit(EXIT_FAILED);
}

/* A copy of this world: a checkpoint, or the beginning of another session. The supervisor is its
 * parent, and lets this one clone through the filter. */
static void on_fork(const struct received *frame) {
    if (frame->count != 1 && frame->count != FRAME_DESCRIPTORS_MAX)
        fail("a malformed fork frame");
    image_settle();
    pid_t pid = fork_for_parent();
    if (pid == 0) {
        begin_as_fork(frame);
    } else if (pid < 0) {
        static const char text[] = "the kernel refused the fork";
        struct frame_header failed = {.type = FRAME_FAILED, .length = sizeof text - 1};
        if (!frame_send(CHANNEL, &failed, text, NULL, 0, NULL))
            _exit(EXIT_FAILED);
    }
}

static const struct {
    enum frame_type type;
    void (*handle)(const struct received *frame);
} frames[] = {
    {FRAME_EVALUATE, on_evaluate},
    {FRAME_RUN, on_run},
    {FRAME_FORK, on_fork},
};

static void handle(const struct received *frame) {
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        if (frames[i].type == frame->header.type) {
            frames[i].handle(frame);
            return;
        }
    fail("a frame that a worker does not take");
}

static void serve(void) __attribute__((noreturn));

static void serve(void) {
    for (;;) {
        struct received frame;
        int got = frame_receive(CHANNEL, &frame.header, &frame.payload, frame.descriptors,
                                &frame.count, NULL);
        if (got <= 0)
            _exit(got == 0 ? 0 : EXIT_FAILED);
        handle(&frame);
        for (size_t i = 0; i < frame.count; i++)
            close(frame.descriptors[i]);
        free(frame.payload);
    }
}

/* (EXT:QUIT n) unwinds to the outermost frame, which is the one of worker_live; the process ends
 * as ECL would end it, with exit hooks and all. */
static void end_as_lisp_does(void) __attribute__((noreturn));

static void end_as_lisp_does(void) {
    worker.exit_code = ecl_symbol_value(lisp.exit_code);
    ECL_CATCH_ALL_BEGIN(ecl_process_env()) {
        si_exit(1, worker.exit_code);
    }
    ECL_CATCH_ALL_END;
    output_flush();
    _exit(ECL_FIXNUMP(worker.exit_code) ? (int)ecl_fixnum(worker.exit_code) : 0);
}

void worker_live(const struct worker_configuration *configuration,
                 const struct policy_ground *ground, const struct worker_descriptors *descriptors) {
    worker.configuration = configuration;
    worker.reply = buffer_make(FRAME_PAYLOAD_MAX);
    if (!take_descriptors(descriptors))
        _exit(EXIT_FAILED);
    image_become_worker();
    confine(ground);
    ECL_CATCH_ALL_BEGIN(ecl_process_env()) {
        serve();
    }
    ECL_CATCH_ALL_END;
    end_as_lisp_does();
}
