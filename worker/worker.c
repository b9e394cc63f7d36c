/* A worker's life: descriptors, confinement, then one frame after the other until the channel ends.
 * Code is evaluated only when every required layer of the confinement holds; where one does not,
 * the process says so and ends. */
#include "worker/worker.h"
#include "common/buffer.h"
#include "common/message.h"
#include "worker/evaluate.h"
#include "worker/image.h"
#include "worker/lisp.h"
#include "worker/output.h"

#include <ecl/ecl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CHANNEL = 3,
    EXIT_FAILED = 70,
    /* Address space beyond the heap's own limit: the program, its stack, the collector's tables, a
     * heap that grows while the exhaustion of the last one is handled. Lisp's limit comes first. */
    ADDRESS_SPACE_MARGIN = 512 << 20,
    REPLY_KEPT_BYTES = 1 << 20
};

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

static void confine(const struct worker_configuration *configuration,
                    const struct policy_program *program) {
    struct policy_limits limits = {.address_space_bytes =
                                       configuration->memory_bytes + ADDRESS_SPACE_MARGIN,
                                   .user = configuration->user};
    struct error error = {0};
    int listener = -1;
    if (!policy_enter(program, &limits, &listener, &error))
        fail(error.text);
    struct frame_header ready = {.type = FRAME_READY};
    if (!frame_send(CHANNEL, &ready, NULL, &listener, listener >= 0, &error))
        _exit(EXIT_FAILED);
    if (listener >= 0)
        close(listener);
    if (!policy_seal(program, &error))
        fail(error.text);
}

/* What each frame does; only these may come. */
static void on_evaluate(const struct frame_header *header, const unsigned char *payload) {
    struct evaluate_message message;
    if (!evaluate_message_decode(payload, header->length, &message))
        fail("a malformed evaluate frame");
    evaluate(&message, worker.configuration->value_max_chars, &worker.answer);
    output_flush();
    worker.reply.length = 0;
    worker.reply.failed = false;
    if (!answer_encode(&worker.answer, &worker.reply))
        fail("no memory for an answer");
    struct frame_header reply = {
        .type = FRAME_RESULT, .call = header->call, .length = (uint32_t)worker.reply.length};
    if (!frame_send(CHANNEL, &reply, worker.reply.data, NULL, 0, NULL))
        _exit(EXIT_FAILED);
    worker.reply.length = 0;
    buffer_shrink(&worker.reply, REPLY_KEPT_BYTES);
    evaluate_forget();
    image_recover(worker.configuration);
}

static const struct {
    enum frame_type type;
    void (*handle)(const struct frame_header *header, const unsigned char *payload);
} frames[] = {
    {FRAME_EVALUATE, on_evaluate},
};

static void handle(const struct frame_header *header, const unsigned char *payload) {
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        if (frames[i].type == header->type) {
            frames[i].handle(header, payload);
            return;
        }
    fail("a frame that a worker does not take");
}

static void serve(void) __attribute__((noreturn));

static void serve(void) {
    for (;;) {
        struct frame_header header;
        unsigned char *payload;
        int descriptors[FRAME_DESCRIPTORS_MAX];
        size_t count;
        int got = frame_receive(CHANNEL, &header, &payload, descriptors, &count, NULL);
        if (got <= 0)
            _exit(got == 0 ? 0 : EXIT_FAILED);
        handle(&header, payload);
        free(payload);
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
                 const struct policy_program *program,
                 const struct worker_descriptors *descriptors) {
    worker.configuration = configuration;
    worker.reply = buffer_make(FRAME_PAYLOAD_MAX);
    if (!take_descriptors(descriptors))
        _exit(EXIT_FAILED);
    image_become_worker();
    confine(configuration, program);
    ECL_CATCH_ALL_BEGIN(ecl_process_env()) {
        serve();
    }
    ECL_CATCH_ALL_END;
    end_as_lisp_does();
}
