/* A worker: sets up its descriptors, confines itself, and serves frames until the channel ends. If
 * a required layer cannot be put on, it reports that and exits before it evaluates anything. */
#include "worker/worker.h"
#include "common/buffer.h"
#include "common/child.h"
#include "common/descriptor.h"
#include "common/message.h"
#include "worker/adopt.h"
#include "worker/evaluate.h"
#include "worker/exchange.h"
#include "worker/image.h"
#include "worker/lisp.h"
#include "worker/native.h"
#include "worker/pages.h"
#include "worker/park.h"
#include "worker/streams.h"
#include "worker/working_set.h"

#include <ecl/ecl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CHANNEL = FRAME_CHANNEL, PAYLOAD_KEPT_BYTES = 1 << 20, LAST_BYTES = 512 };

struct worker {
    const struct worker_configuration *configuration;
    struct result result;
    struct buffer payload; /* of FRAME_RESULT */
    cl_object exit_code;
    unsigned forks;
    struct {
        unsigned char bytes[LAST_BYTES];
        size_t size;
    } last; /* what is sent when the process is ready for the next frame */
};

static struct worker worker; /* static: an exit in user code jumps back to worker_live */

/* Reports TEXT to the supervisor and exits. */
static _Noreturn void fail(const char *text) {
    struct frame_header header = {.type = FRAME_FAILED, .length = (uint32_t)strlen(text)};
    frame_send(CHANNEL, &header, text, NULL, 0, NULL);
    _exit(EXIT_FAILED);
}

static bool take_descriptors(const struct worker_descriptors *descriptors) {
    return dup2(descriptors->output, STDOUT_FILENO) >= 0 &&
           dup2(descriptors->error, STDERR_FILENO) >= 0 &&
           dup2(descriptors->channel, CHANNEL) >= 0 && close_range(CHANNEL + 1, ~0U, 0) == 0;
}

static void confine(const struct policy_prepared *prepared) {
    struct error error = {0};
    int listener = -1;
    if (!policy_enter(prepared, &listener, &error))
        fail(error.text);
    struct frame_header ready = {.type = FRAME_READY};
    if (!frame_send(CHANNEL, &ready, NULL, &listener, listener >= 0, &error))
        _exit(EXIT_FAILED);
    if (listener >= 0)
        close(listener);
    if (!policy_seal(prepared, &error))
        fail(error.text);
}

/* A frame and its descriptors, which the handlers below do not close. */
struct received {
    struct frame_header header;
    unsigned char *payload;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
};

static void close_all(struct received *frame) {
    while (frame->count)
        close(frame->descriptors[--frame->count]);
}

static void encode_result(void) {
    struct buffer *payload = &worker.payload;
    streams_flush();
    payload->length = 0;
    payload->failed = false;
    if (!result_encode(&worker.result, payload))
        fail("worker: out of memory for the result");
}

/* Prepares for the next frame. */
static void forget_result(void) {
    worker.payload.length = 0;
    buffer_shrink(&worker.payload, PAYLOAD_KEPT_BYTES);
    evaluate_forget();
    image_recover(worker.configuration);
}

/* Sends a frame but for its end, which goes when this process is ready for the next frame. */
static void send_but_last(const struct frame_header *header, const unsigned char *payload) {
    const size_t last =
        header->length < LAST_BYTES - sizeof *header ? header->length : LAST_BYTES / 2;
    const size_t first = header->length - last;
    if (first > 0) {
        if (!write_all(CHANNEL, header, sizeof *header) || !write_all(CHANNEL, payload, first))
            _exit(EXIT_FAILED);
        worker.last.size = 0;
    } else {
        memcpy(worker.last.bytes, header, sizeof *header);
        worker.last.size = sizeof *header;
    }
    memcpy(worker.last.bytes + worker.last.size, payload + first, last);
    worker.last.size += last;
}

static void send_result(const struct received *frame) {
    worker.result.settles = image_is_to_settle();
    worker.result.refines = native_is_coarse();
    encode_result();
    const struct frame_header header = {.type = FRAME_RESULT,
                                        .call = frame->header.call,
                                        .length = (uint32_t)worker.payload.length};
    send_but_last(&header, worker.payload.data);
    forget_result();
}

static void evaluate_received(const struct received *frame) {
    struct evaluate_message message;
    if (!evaluate_message_decode(frame->payload, frame->header.length, &message))
        fail("worker: malformed evaluate frame");
    evaluate(&message, worker.configuration->value_max_chars, &worker.result);
}

static void on_evaluate(struct received *frame) {
    native_begin(CHANNEL, frame->header.call);
    evaluate_received(frame);
    native_note_live();
    native_end();
    send_result(frame);
}

static void on_refine(struct received *frame) {
    static const unsigned char more = 1;
    native_begin(CHANNEL, frame->header.call);
    native_refine();
    native_end();
    const struct frame_header header = {.type = FRAME_REFINED,
                                        .call = frame->header.call,
                                        .length = native_is_coarse() ? sizeof more : 0};
    send_but_last(&header, &more);
}

static void on_run(struct received *frame) {
    struct run_message message;
    if (!run_message_decode(frame->payload, frame->header.length, &message))
        fail("worker: malformed run frame");
    exchange_begin(CHANNEL, frame->header.call);
    native_begin(CHANNEL, frame->header.call);
    evaluate_run(&message, &worker.result);
    native_end();
    exchange_end();
    send_result(frame);
}

static void begin(const struct worker_configuration *configuration) {
    worker.configuration = configuration;
    worker.payload = buffer_make(FRAME_PAYLOAD_MAX);
    image_become_worker();
}

void worker_rehearse(const struct worker_configuration *configuration) {
    static const char code[] = "(+ 1 2)";
    const struct evaluate_message message = {
        .code = {(const unsigned char *)code, sizeof code - 1}};
    cleanup_buffer struct buffer frame = buffer_make(FRAME_PAYLOAD_MAX);
    if (!worker.configuration)
        begin(configuration);
    if (!evaluate_message_encode(&frame, &message))
        fail("worker: out of memory");
    const struct received received = {.header.length = (uint32_t)frame.length,
                                      .payload = frame.data};
    evaluate_received(&received);
    encode_result();
    forget_result();
}

static bool install_outputs(const int outputs[2]) {
    return dup2(outputs[0], STDOUT_FILENO) >= 0 && dup2(outputs[1], STDERR_FILENO) >= 0;
}

static void on_outputs(struct received *frame) {
    if (frame->count != 2 || !install_outputs(frame->descriptors))
        fail("worker: malformed outputs frame");
}

/* In the fork: sets the death signal, which is not inherited, and installs its own channel, unless
 * the kernel has put it there by now, and, for another session, its own outputs. Its memory is that
 * of the state: nothing of it may change but the stack below serve(). */
static _Noreturn void begin_as_fork(const struct received *frame) {
    bool taken = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
                 (frame->count == 0 || dup2(frame->descriptors[0], CHANNEL) >= 0) &&
                 (frame->count < FRAME_DESCRIPTORS_MAX || install_outputs(frame->descriptors + 1));
    const struct frame_header ready = {.type = FRAME_READY};
    for (size_t i = 0; i < frame->count; i++)
        close(frame->descriptors[i]);
    if (!taken)
        _exit(EXIT_FAILED);
    park(CHANNEL, &ready, sizeof ready);
}

/* Forks a checkpoint, or the head of another session. The clone is notified, and the supervisor
 * permits this one. */
static void on_fork(struct received *frame) {
    if (frame->count > 1 && frame->count != FRAME_DESCRIPTORS_MAX)
        fail("worker: malformed fork frame");
    image_settle();
    pid_t pid = fork_for_parent();
    if (pid == 0) {
        begin_as_fork(frame);
    } else if (pid < 0) {
        static const char text[] = "worker: the kernel refused the fork";
        struct frame_header failed = {.type = FRAME_FAILED, .length = sizeof text - 1};
        if (!frame_send(CHANNEL, &failed, text, NULL, 0, NULL))
            _exit(EXIT_FAILED);
    } else if (++worker.forks > 1) { /* a session that has had two calls will have more */
        working_set_copy();
    }
}

/* WHY: as of adopt_session; NULL: this process is the session now. */
static void report_adoption(uint32_t call, const char *why) {
    cleanup_buffer struct buffer payload = buffer_make(FRAME_PAYLOAD_MAX);
    struct result_message message = {.package = string_span("COMMON-LISP-USER"),
                                     .refines = native_is_coarse()};
    if (why) {
        message.condition = string_span("UNFIT");
        message.text = string_span(why);
    } else {
        message.values[message.value_count++] = string_span("T");
    }
    struct frame_header header = {.type = FRAME_RESULT, .call = call};
    if (!result_message_encode(&payload, &message))
        fail("worker: out of memory for the result");
    header.length = (uint32_t)payload.length;
    send_but_last(&header, payload.data);
}

static void on_adopt(struct received *frame) {
    struct adopt_message message;
    if (frame->count != 1 || frame->header.length != sizeof message)
        fail("worker: malformed adopt frame");
    memcpy(&message, frame->payload, sizeof message);
    report_adoption(frame->header.call,
                    adopt_session(frame->descriptors[0], frame->header.call, &message));
}

static void on_track(struct received *frame) {
    int32_t fd;
    if (frame->header.length == sizeof fd) {
        memcpy(&fd, frame->payload, sizeof fd);
        close(fd);
        prctl(PR_SET_DUMPABLE, 0);
        return;
    }
    if (frame->header.length != 1)
        fail("worker: malformed track frame");
    struct tracked_message message = {.userfault = pages_track()};
    const struct frame_header header = {.type = FRAME_TRACKED, .length = sizeof message};
    image_unused_stack(&message.start, &message.end);
    if (frame->payload[0])
        prctl(PR_SET_DUMPABLE, 1);
    if (!frame_send(CHANNEL, &header, &message, NULL, 0, NULL))
        _exit(EXIT_FAILED);
}

static void on_pages(struct received *frame) {
    if (frame->count != 1)
        fail("worker: malformed pages frame");
    pages_put(frame->descriptors[0]);
}

static void on_prefault(struct received *frame) {
    struct page_run runs[PAGE_RUNS_MAX];
    const size_t count = frame->header.length / sizeof *runs;
    if (frame->header.length % sizeof *runs || count > PAGE_RUNS_MAX)
        fail("worker: malformed prefault frame");
    memcpy(runs, frame->payload, frame->header.length);
    working_set_copy_runs(runs, count);
}

static const struct {
    enum frame_type type;
    void (*handle)(struct received *frame);
} frames[] = {
    {FRAME_EVALUATE, on_evaluate}, {FRAME_RUN, on_run},       {FRAME_FORK, on_fork},
    {FRAME_OUTPUTS, on_outputs},   {FRAME_ADOPT, on_adopt},   {FRAME_TRACK, on_track},
    {FRAME_PAGES, on_pages},       {FRAME_REFINE, on_refine}, {FRAME_PREFAULT, on_prefault},
};

static void handle(struct received *frame) {
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        if (frames[i].type == frame->header.type) {
            frames[i].handle(frame);
            return;
        }
    fail("worker: unexpected frame");
}

static _Noreturn void serve(void) {
    for (;;) {
        struct received frame;
        fegetenv(&parked.floating);
        switch (setjmp(parked.registers)) {
        case PARKED_PAGES:
            pages_finish();
            park(CHANNEL, NULL, 0);
        case PARKED_ADOPTED:
            report_adoption(adopt_finish(), NULL);
            park(CHANNEL, worker.last.bytes, worker.last.size);
        case PARKED_FIRST:
            park(CHANNEL, worker.last.bytes, worker.last.size);
        }
        fesetenv(&parked.floating); /* it is another process that has been given this memory */
        worker.last.size = 0;
        int got = frame_receive(CHANNEL, &frame.header, &frame.payload, frame.descriptors,
                                &frame.count, NULL);
        if (got <= 0)
            _exit(got == 0 ? 0 : EXIT_FAILED);
        handle(&frame);
        close_all(&frame);
        free(frame.payload);
    }
}

/* (EXT:QUIT n) unwinds to the outermost frame, which is in worker_live. Exits as ECL does then,
 * with exit hooks. */
static _Noreturn void exit_lisp(void) {
    worker.exit_code = ecl_symbol_value(lisp.exit_code);
    ECL_CATCH_ALL_BEGIN(ecl_process_env()) {
        si_exit(1, worker.exit_code);
    }
    ECL_CATCH_ALL_END;
    streams_flush();
    _exit(ECL_FIXNUMP(worker.exit_code) ? (int)ecl_fixnum(worker.exit_code) : 0);
}

void worker_live(const struct worker_configuration *configuration,
                 const struct policy_prepared *prepared,
                 const struct worker_descriptors *descriptors) {
    if (!take_descriptors(descriptors))
        _exit(EXIT_FAILED);
    begin(configuration);
    confine(prepared);
    working_set_copy();
    ECL_CATCH_ALL_BEGIN(ecl_process_env()) {
        serve();
    }
    ECL_CATCH_ALL_END;
    exit_lisp();
}
