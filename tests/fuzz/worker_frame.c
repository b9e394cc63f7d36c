/* Fuzz target: the frames of a worker. The input is a script of the actions of workers while the
 * supervisor makes them evaluate and fork, stops and reaps them, compiles for them and seals code.
 * Frames go through real socket pairs; pids, signals and time are the script's. An accepted result
 * is decoded and becomes the text that a client would get. */
#include "common/message.h"
#include "supervisor/process/worker_process.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/result_check.h"

#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of a step from NATIVE_FROM on are those of native code, and among these from TRACKING_FROM
 * on those of the pages that are tracked, and from REFINING_FROM on those of what is compiled
 * between calls. All came later. */
enum { UNITS = 4, NATIVE_FROM = 240, TRACKING_FROM = 248, REFINING_FROM = 252, REFINING_TO = 254 };
enum { SLOTS = 4, FIRST_PID = 100, STEPS_MAX = 200, NS_PER_MS = 1000000 };

/* One worker of the supervisor, and the other end of its channel. */
struct slot {
    struct worker_process *worker; /* NULL: free */
    int peer;                      /* -1: closed */
    pid_t pid;                     /* the sender of its messages */
    bool reaped, killed;
    bool evaluating; /* asked, not answered, not ended */
    bool running;    /* and it was a run */
    bool refining;   /* the same of what it compiles between calls */
    bool asking;     /* with an open question */
    bool says;       /* it was asked for its userfaultfd, and has not said it */
    bool said;       /* it is to be told that this is settled */
    size_t readies;
};

static struct script {
    struct fuzz_input input;
    struct loop loop;
    struct log log;
    struct workers workers;
    struct compiler compiler;
    int compiler_peer; /* the other end of its channel */
    int units[UNITS];  /* the ends of the processes that it was asked for */
    size_t unit_count;
    struct slot slots[SLOTS];
    struct slot *now; /* the current worker */
    pid_t next_pid, spoof;
    unsigned rounds;
    uint32_t calls;
    size_t results;
} script;

static struct slot *slot_of(const struct worker_process *worker) {
    struct slot *slot = script.slots;
    while (slot < script.slots + SLOTS && slot->worker != worker)
        slot++;
    FUZZ_CHECK(slot < script.slots + SLOTS, "an event of nobody");
    return slot;
}

/* --- events --- */

static void on_ready(void *context, struct worker_process *worker) {
    (void)context;
    struct slot *slot = slot_of(worker);
    /* A parent is notified of the end of its fork even after it closed its channel. */
    FUZZ_CHECK(worker->state == WORKER_READY || slot->readies, "ready in state %d",
               (int)worker->state);
    FUZZ_CHECK(worker->pid == slot->pid, "a pid that was not proven");
    FUZZ_CHECK(!worker->spoilt, "a fork that was to fail");
    slot->readies++;
}

static void on_result(void *context, struct worker_process *worker, const unsigned char *payload,
                      size_t size) {
    (void)context;
    struct slot *slot = slot_of(worker);
    FUZZ_CHECK(slot->evaluating && !slot->asking && !slot->refining,
               "a result that nobody asked for");
    slot->evaluating = false;
    script.results++;
    fuzz_faults_pause();
    check_result(payload, size, &script.input);
    fuzz_faults_resume();
}

static void on_event(void *context, struct worker_process *worker, const unsigned char *payload,
                     size_t size) {
    (void)context;
    const struct slot *slot = slot_of(worker);
    FUZZ_CHECK(slot->evaluating && slot->running && !slot->asking, "an event of no run");
    fuzz_faults_pause();
    check_event(payload, size);
    fuzz_faults_resume();
}

static void on_ask(void *context, struct worker_process *worker, const unsigned char *payload,
                   size_t size) {
    (void)context;
    struct slot *slot = slot_of(worker);
    FUZZ_CHECK(slot->evaluating && slot->running && !slot->asking, "a question of no run");
    FUZZ_CHECK(worker->state == WORKER_ASKING, "it goes on");
    slot->asking = true;
    fuzz_faults_pause();
    check_ask(payload, size);
    fuzz_faults_resume();
}

static void on_refined(void *context, struct worker_process *worker) {
    (void)context;
    struct slot *slot = slot_of(worker);
    FUZZ_CHECK(slot->refining, "a reply to nothing");
    FUZZ_CHECK(worker->state == WORKER_READY, "in state %d", (int)worker->state);
    FUZZ_CHECK(worker->native.coarse == (worker->header.length > 0), "%u bytes of reply",
               worker->header.length);
    slot->refining = false;
}

static void on_tracks(void *context, struct worker_process *worker) {
    (void)context;
    struct slot *slot = slot_of(worker);
    FUZZ_CHECK(slot->says, "it was not asked for its userfaultfd");
    FUZZ_CHECK(worker->tracking.state == TRACKING_SAID, "in state %d", (int)worker->tracking.state);
    slot->says = false;
    slot->said = true;
}

static void check_sentence(const char *what) {
    FUZZ_CHECK(*what || what, "no reason");
    for (const char *byte = what; *byte; byte++)
        FUZZ_CHECK(*byte >= ' ' && *byte <= '~', "an odd byte in: %s", what);
}

static void on_fork_failed(void *context, struct worker_process *worker, const char *what) {
    (void)context;
    FUZZ_CHECK(slot_of(worker) && worker->state != WORKER_FORKING, "it forks still");
    check_sentence(what);
}

static void on_malformed(void *context, struct worker_process *worker, const char *what) {
    (void)context;
    FUZZ_CHECK(slot_of(worker) && worker->state == WORKER_ENDING, "it lives on");
    check_sentence(what);
}

static void on_violation(void *context, struct worker_process *worker, const char *call_name) {
    (void)context, (void)worker;
    FUZZ_CHECK(false, "a violation without a system call: %s", call_name);
}

static void on_ended(void *context, struct worker_process *worker, int status) {
    (void)context, (void)status;
    struct slot *slot = slot_of(worker);
    if (slot->peer >= 0)
        close(slot->peer);
    *slot = (struct slot){.peer = -1};
    worker_destroy(worker);
}

static const struct worker_events events = {.ready = on_ready,
                                            .result = on_result,
                                            .event = on_event,
                                            .ask = on_ask,
                                            .refined = on_refined,
                                            .tracks = on_tracks,
                                            .fork_failed = on_fork_failed,
                                            .malformed = on_malformed,
                                            .violation = on_violation,
                                            .ended = on_ended};

/* --- the edges --- */

static struct slot *slot_of_pid(pid_t pid) {
    struct slot *slot = script.slots;
    while (slot < script.slots + SLOTS && !(slot->worker && slot->pid == pid))
        slot++;
    return slot < script.slots + SLOTS ? slot : NULL;
}

static void on_kill(pid_t pid, int number) {
    struct slot *slot = slot_of_pid(pid);
    FUZZ_CHECK(pid >= FIRST_PID && slot && !slot->reaped, "it signals %d", (int)pid);
    FUZZ_CHECK(slot->worker->pid == pid, "it signals %d, which was not proven", (int)pid);
    slot->killed |= number == SIGKILL;
}

static bool is_child(pid_t pid) {
    const struct slot *slot = slot_of_pid(pid);
    return slot && !slot->reaped;
}

static pid_t sender(int channel) {
    const struct slot *slot = script.slots;
    while (slot < script.slots + SLOTS && !(slot->worker && slot->worker->channel == channel))
        slot++;
    FUZZ_CHECK(slot < script.slots + SLOTS, "it reads from a stranger");
    return script.spoof ? script.spoof : slot->pid;
}

/* --- actions of the script --- */

static void stop_after_rounds(void *context) {
    (void)context;
    if (script.rounds-- == 0)
        loop_stop(&script.loop);
}

static void run_loop(unsigned rounds) {
    script.rounds = rounds;
    script.loop.stopped = false;
    fuzz_faults_resume();
    FUZZ_CHECK(loop_run(&script.loop, NULL), "the loop failed");
    fuzz_faults_pause();
}

static void give_slot(struct slot *slot, struct worker_process *worker, int peer) {
    *slot = (struct slot){.worker = worker, .peer = peer, .pid = script.next_pid++};
}

static struct slot *free_slot(void) {
    for (struct slot *slot = script.slots; slot < script.slots + SLOTS; slot++)
        if (!slot->worker)
            return slot;
    return NULL;
}

static void start(void) {
    struct slot *slot = free_slot();
    int channel;
    if (!slot)
        return;
    fuzz_faults_resume();
    struct worker_process *worker = worker_create(&script.workers, &events, NULL, &channel, NULL);
    fuzz_faults_pause();
    FUZZ_CHECK(worker || fuzz_faults_refused(), "no worker");
    if (!worker)
        return;
    give_slot(slot, worker, channel);
    script.now = slot;
}

/* Reads the FORK frame, whose descriptor is the child's channel. */
static int take_channel(int parent) {
    struct frame_header header;
    unsigned char *payload;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
    /* Frames of evaluations and of pages may be before it. */
    while (frame_receive(parent, &header, &payload, descriptors, &count, NULL) > 0) {
        free(payload);
        for (size_t i = header.type == FRAME_FORK; i < count; i++)
            close(descriptors[i]);
        if (header.type == FRAME_FORK)
            return descriptors[0];
    }
    return -1;
}

static void ask_fork(void) {
    struct slot *parent = script.now, *slot = free_slot();
    if (!slot || parent->worker->state != WORKER_READY || !worker_can_fork(parent->worker))
        return;
    const int outputs[] = {eventfd(0, EFD_CLOEXEC), eventfd(0, EFD_CLOEXEC)};
    bool other_outputs = fuzz_byte(&script.input) % 2;
    fuzz_faults_resume();
    struct worker_process *child = worker_fork(parent->worker, &events, NULL, NULL,
                                               other_outputs ? outputs : NULL, false, NULL);
    fuzz_faults_pause();
    close(outputs[0]);
    close(outputs[1]);
    if (!child)
        return;
    give_slot(slot, child, -1);
    slot->peer = take_channel(parent->peer);
    FUZZ_CHECK(slot->peer >= 0, "no channel for the fork");
}

static void read_all(void) {
    static unsigned char bytes[65536];
    while (script.now->peer >= 0 && recv(script.now->peer, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        run_loop(1);
}

/* Code that fits into the channel's buffer, or does not. */
static void ask_evaluate(void) {
    static unsigned char code[1 << 20];
    struct slot *slot = script.now;
    unsigned choice = fuzz_byte(&script.input);
    const struct buffer payload = {.data = code, .length = choice % 16 == 15 ? sizeof code : 8};
    if (slot->worker->state != WORKER_READY)
        return;
    slot->running = choice & 16;
    slot->evaluating = true;
    fuzz_faults_resume();
    bool sent =
        (slot->running ? worker_run : worker_evaluate)(slot->worker, ++script.calls, &payload);
    fuzz_faults_pause();
    FUZZ_CHECK(sent || fuzz_faults_refused(), "not sent");
    if (!sent)
        worker_kill(slot->worker);
    if (choice % 8)
        read_all();
}

/* An answer, with or without a question. */
static void give_answer(void) {
    static const unsigned char answer[64] = "{}";
    struct slot *slot = script.now;
    fuzz_faults_resume();
    bool taken = worker_answer(slot->worker, (struct span){answer, sizeof answer});
    fuzz_faults_pause();
    FUZZ_CHECK(!taken || slot->asking, "an answer to no question");
    FUZZ_CHECK(!taken || slot->worker->state == WORKER_BUSY, "it does not go on");
    if (taken)
        slot->asking = false;
    if (fuzz_byte(&script.input) % 8)
        read_all();
}

/* Sends BYTES with COUNT descriptors in pieces of PIECE bytes, the supervisor reading between. */
static void send_pieces(const void *bytes, size_t size, size_t piece, size_t count) {
    struct slot *slot = script.now;
    int descriptors[3];
    for (size_t i = 0; i < count; i++)
        descriptors[i] = eventfd(0, EFD_CLOEXEC);
    for (size_t at = 0; at < size && slot->peer >= 0; at += piece) {
        struct iovec part = {.iov_base = (char *)(uintptr_t)bytes + at,
                             .iov_len = size - at < piece ? size - at : piece};
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof descriptors)] = {0};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        if (count && at == 0) {
            message.msg_control = control;
            message.msg_controllen = CMSG_SPACE(count * sizeof *descriptors);
            struct cmsghdr *item = CMSG_FIRSTHDR(&message);
            *item = (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof *descriptors),
                                     .cmsg_level = SOL_SOCKET,
                                     .cmsg_type = SCM_RIGHTS};
            memcpy(CMSG_DATA(item), descriptors, count * sizeof *descriptors);
        }
        if (sendmsg(slot->peer, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            break;
        run_loop(1);
    }
    for (size_t i = 0; i < count; i++)
        close(descriptors[i]);
    if (slot->worker)
        run_loop(2);
}

static size_t piece_size(void) {
    size_t size = fuzz_byte(&script.input);
    return size ? size : SIZE_MAX / 2;
}

static void send_raw(void) {
    size_t taken, piece = piece_size();
    const uint8_t *bytes = fuzz_bytes(&script.input, fuzz_byte(&script.input), &taken);
    send_pieces(bytes, taken, piece, 0);
}

/* A frame of PAYLOAD with a header that the script chooses. */
static void send_frame(const void *payload, size_t size, enum frame_type lawful) {
    unsigned odd = lawful ? 0 : fuzz_byte(&script.input);
    struct frame_header header = {.type = lawful ? (uint16_t)lawful
                                                 : fuzz_byte(&script.input) % (FRAME_TYPE_END + 1),
                                  .call = script.now->worker->call,
                                  .length = (uint32_t)size};
    if (header.type != FRAME_RESULT && header.type != FRAME_EVENT && header.type != FRAME_ASK &&
        header.type != FRAME_COMPILE && header.type != FRAME_CODE)
        header.call = 0;
    if (odd & 1)
        header.flags = fuzz_byte(&script.input);
    if (odd & 2)
        header.call += fuzz_byte(&script.input);
    if (odd & 4)
        header.length = (uint32_t)fuzz_byte(&script.input) << fuzz_byte(&script.input) % 32;
    cleanup_buffer struct buffer whole = buffer_make(FRAME_PAYLOAD_MAX);
    buffer_append(&whole, &header, sizeof header);
    buffer_append(&whole, payload, size);
    send_pieces(whole.data, whole.length, piece_size(), odd >> 3 & 3);
}

static void send_bytes(void) {
    size_t taken;
    const uint8_t *bytes = fuzz_bytes(&script.input, fuzz_byte(&script.input), &taken);
    send_frame(bytes, taken, 0);
}

static void send_result(void) {
    cleanup_buffer struct buffer payload = buffer_make(FRAME_PAYLOAD_MAX);
    for (unsigned sections = fuzz_byte(&script.input) % 32; sections; sections--) {
        size_t taken;
        unsigned tag = fuzz_byte(&script.input) % (SECTION_TAG_END + 1);
        const uint8_t *bytes = fuzz_bytes(&script.input, fuzz_byte(&script.input), &taken);
        message_put(&payload, tag, bytes, taken);
    }
    send_frame(payload.data, payload.length, FRAME_RESULT);
}

/* An event or a question of a run: bytes of the script, or a valid one. */
static void send_word(void) {
    static const char *const words[] = {
        "{\"type\":\"progress\",\"progress\":1}",
        "{\"type\":\"log\",\"level\":\"info\",\"data\":1}",
        "{\"requests\":{\"k\":{\"method\":\"roots/list\",\"params\":{}}}}"};
    unsigned choice = fuzz_byte(&script.input) % 4;
    size_t taken = choice < 3 ? strlen(words[choice]) : 0;
    const void *bytes = choice < 3 ? (const void *)words[choice]
                                   : fuzz_bytes(&script.input, fuzz_byte(&script.input), &taken);
    enum frame_type type =
        choice == 2 || (choice == 3 && fuzz_byte(&script.input) % 2) ? FRAME_ASK : FRAME_EVENT;
    send_frame(bytes, taken, type);
}

static void send_ready(void) {
    static const struct frame_header header = {.type = FRAME_READY};
    send_pieces(&header, sizeof header, SIZE_MAX / 2, fuzz_byte(&script.input) % 4);
}

static void close_peer(void) {
    if (script.now->peer >= 0)
        close(script.now->peer);
    script.now->peer = -1;
    run_loop(2);
}

static void reap(void) {
    static const int statuses[] = {0, 1 << 8, SIGKILL, SIGSYS, SIGSEGV, 255 << 8};
    struct slot *slot = script.now;
    if (slot->worker->pid == 0 || slot->reaped)
        return; /* it could not be identified */
    int status = statuses[fuzz_byte(&script.input) % 6];
    slot->reaped = true;
    fuzz_faults_resume();
    worker_reaped(slot->worker, status, (struct usage){0});
    fuzz_faults_pause();
}

/* The answer of a worker that ended right afterwards counts. */
static void answer_and_die(void) {
    struct slot *slot = script.now;
    struct worker_process *worker = slot->worker;
    cleanup_buffer struct buffer frame = buffer_make(64);
    const struct frame_header header = {
        .type = FRAME_RESULT, .call = worker->call, .length = 2 * sizeof(uint32_t) + 1};
    size_t before = script.results;
    if (worker->state != WORKER_BUSY || slot->peer < 0 || script.spoof || fuzz_faults.planned)
        return;
    run_loop(2);
    if (worker->state != WORKER_BUSY || !worker->channel_watch.active || worker->header_have ||
        worker->outgoing.length)
        return;
    buffer_append(&frame, &header, sizeof header);
    message_put(&frame, SECTION_PACKAGE, "P", 1);
    FUZZ_CHECK(send(slot->peer, frame.data, frame.length, MSG_DONTWAIT) == (ssize_t)frame.length,
               "no room");
    slot->reaped = true;
    worker_reaped(worker, 0, (struct usage){0});
    FUZZ_CHECK(script.results == before + 1, "its answer was lost");
}

static void pass_time(void) {
    enum { LONG_MS = 250 }; /* long enough for a kill after a request to end */
    static const int delays_ms[] = {0, 10, LONG_MS, 1100, 11000};
    int delay_ms = delays_ms[fuzz_byte(&script.input) % 5];
    fuzz_edges.now_ns += delay_ms * (int64_t)NS_PER_MS;
    read_all();
    run_loop(2);
    for (const struct slot *slot = script.slots; slot < script.slots + SLOTS; slot++)
        FUZZ_CHECK(delay_ms < LONG_MS || !slot->worker || slot->worker->state != WORKER_ENDING ||
                       slot->killed || slot->worker->pid == 0,
                   "nobody ends %d", (int)slot->pid);
}

static void end_worker(void) {
    if (script.now->worker->state == WORKER_ENDING)
        return;
    if (fuzz_byte(&script.input) % 2)
        worker_stop(script.now->worker);
    else
        worker_kill(script.now->worker);
}

static void take_turn(void) {
    struct slot *slot = &script.slots[fuzz_byte(&script.input) % SLOTS];
    if (slot->worker)
        script.now = slot;
}

/* Changes the sender: itself, another known worker, the init process, not a child. */
static void spoof(void) {
    unsigned choice = fuzz_byte(&script.input);
    const struct worker_process *other = script.slots[choice / 4 % SLOTS].worker;
    const pid_t pids[] = {0, other ? other->pid : 0, 1, 30000};
    script.spoof = pids[choice % 4];
}

static void (*const steps[])(void) = {start,       take_turn,  send_ready,     ask_evaluate,
                                      send_result, send_bytes, send_raw,       ask_fork,
                                      close_peer,  reap,       pass_time,      end_worker,
                                      spoof,       send_ready, answer_and_die, ask_evaluate};

/* --- native code --- */

static void open_compiler(void) {
    static const struct policy policy;
    int pair[2];
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "no pair");
    compiler_open(&script.compiler, &script.loop, &script.log, NULL, &policy);
    script.compiler.state = COMPILER_UP;
    script.compiler.channel = pair[0];
    script.compiler_peer = pair[1];
    script.workers.compiler = &script.compiler;
}

static void close_compiler(void) {
    FUZZ_CHECK(script.compiler.count == 0, "%zu compilations of nobody", script.compiler.count);
    compiler_close(&script.compiler);
    close(script.compiler_peer);
    while (script.unit_count)
        close(script.units[--script.unit_count]);
}

/* Takes the channels of the processes that the supervisor has asked for. */
static void take_units(void) {
    while (script.unit_count < UNITS) {
        char byte;
        struct iovec part = {.iov_base = &byte, .iov_len = 1};
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof control};
        if (recvmsg(script.compiler_peer, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
            return;
        const struct cmsghdr *item = CMSG_FIRSTHDR(&message);
        FUZZ_CHECK(item && item->cmsg_len == CMSG_LEN(sizeof(int)), "a process without a channel");
        memcpy(&script.units[script.unit_count++], CMSG_DATA(item), sizeof(int));
    }
}

static void send_compile(void) {
    size_t taken;
    const uint8_t *bytes = fuzz_bytes(&script.input, fuzz_byte(&script.input), &taken);
    send_frame(bytes, taken, FRAME_COMPILE);
}

/* Whole pages, or a few bytes more. */
static void send_code(void) {
    static const unsigned char pages[4 * UNIT_PAGE_BYTES];
    const unsigned choice = fuzz_byte(&script.input);
    send_frame(pages, choice % 4 * UNIT_PAGE_BYTES + choice / 4 % 4, FRAME_CODE);
}

/* The process of a unit answers: with a length that it keeps to or not, or by its end. */
static void answer_unit(void) {
    static const uint32_t lengths[] = {0, 1, UNIT_OBJECT_MAX, UNIT_OBJECT_MAX + 1, UINT32_MAX};
    const unsigned choice = fuzz_byte(&script.input);
    size_t taken;
    take_units();
    if (script.unit_count == 0)
        return;
    const size_t at = choice % script.unit_count;
    const uint8_t *bytes = fuzz_bytes(&script.input, fuzz_byte(&script.input), &taken);
    const struct unit_header header = {.length =
                                           choice & 8 ? lengths[choice / 16 % 5] : (uint32_t)taken};
    if (choice & 4)
        send(script.units[at], &header, sizeof header, MSG_DONTWAIT | MSG_NOSIGNAL);
    send(script.units[at], bytes, taken, MSG_DONTWAIT | MSG_NOSIGNAL);
    run_loop(2);
    if (choice & 64) {
        close(script.units[at]);
        script.units[at] = script.units[--script.unit_count];
        run_loop(2);
    }
    read_all();
}

static void (*const native_steps[])(void) = {send_compile, send_code, answer_unit, ask_evaluate};

static void check_native(const struct worker_process *worker) {
    const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    const struct native_use *native = &worker->native;
    struct stat status;
    FUZZ_CHECK(native->units <= UNITS_MAX && native->bytes <= UNITS_BYTES_MAX, "%zu units",
               native->units);
    FUZZ_CHECK(!native->compilation || worker->state == WORKER_BUSY ||
                   worker->state == WORKER_ENDING,
               "it compiles in state %d", (int)worker->state);
    FUZZ_CHECK(native->sealed < 0 || (fstat(native->sealed, &status) == 0 &&
                                      (size_t)status.st_size == native->sealed_bytes &&
                                      (fcntl(native->sealed, F_GET_SEALS) & seals) == seals),
               "code that can change");
}

/* --- tracking --- */

static void ask_track(void) {
    struct slot *slot = script.now;
    const bool asks =
        slot->worker->state == WORKER_READY && slot->worker->tracking.state == TRACKING_NOT;
    fuzz_faults_resume();
    worker_track(slot->worker);
    fuzz_faults_pause();
    FUZZ_CHECK(asks || slot->worker->tracking.state != TRACKING_ASKED || slot->says, "asked twice");
    slot->says = slot->says || (asks && slot->worker->tracking.state == TRACKING_ASKED);
}

/* A descriptor, and a part of the stack, as the script says. */
static void send_tracked(void) {
    unsigned char payload[UINT8_MAX] = {0};
    size_t taken;
    const uint8_t *bytes = fuzz_bytes(&script.input, sizeof(struct tracked_message), &taken);
    memcpy(payload, bytes, taken);
    const unsigned choice = fuzz_byte(&script.input);
    send_frame(payload, choice % 8 == 7 ? choice : sizeof(struct tracked_message), FRAME_TRACKED);
}

/* What the weigher found, which is nothing. The descriptor is to be closed with the next frame. */
static void settle_track(void) {
    struct slot *slot = script.now;
    if (!slot->said)
        return;
    slot->said = false;
    worker_set_tracker(slot->worker, NULL);
}

static void put_pages(void) {
    static unsigned char bytes[TRACKER_PAGE_BYTES];
    struct page pages[] = {{.address = 1 << 20, .bytes = bytes}};
    struct error error;
    const enum worker_state state = script.now->worker->state;
    if (state != WORKER_READY && state != WORKER_STARTING)
        return;
    fuzz_faults_resume();
    worker_put_pages(script.now->worker, &(struct page_set){pages, 1}, &error);
    fuzz_faults_pause();
    if (fuzz_byte(&script.input) % 8)
        read_all();
}

/* --- refining --- */

static void ask_refine(void) {
    struct slot *slot = script.now;
    if (slot->worker->state != WORKER_READY)
        return;
    fuzz_faults_resume();
    const bool sent = worker_refine(slot->worker);
    fuzz_faults_pause();
    slot->refining = true;
    if (!sent)
        worker_kill(slot->worker);
    if (fuzz_byte(&script.input) % 8)
        read_all();
}

static void send_refined(void) {
    static const unsigned char payload[2] = {1};
    send_frame(payload, fuzz_byte(&script.input) % 3, FRAME_REFINED);
}

/* A fork that is to fail. */
static void spoil(void) {
    if (script.now->worker->state == WORKER_STARTING && script.now->worker->is_fork)
        worker_spoil(script.now->worker);
}

static void (*const refining_steps[])(void) = {ask_refine, send_refined, spoil};

static void (*const tracking_steps[])(void) = {ask_track, send_tracked, settle_track, put_pages};

/* --- invariants between the steps --- */

static void check_states(void) {
    for (const struct slot *slot = script.slots; slot < script.slots + SLOTS; slot++) {
        const struct worker_process *worker = slot->worker;
        if (!worker)
            continue;
        check_native(worker);
        FUZZ_CHECK(worker->state <= WORKER_ENDING, "state %d", (int)worker->state);
        FUZZ_CHECK(worker->state != WORKER_FORKING || worker->child, "it forks nobody");
        FUZZ_CHECK(!worker->child || worker->child->parent == worker, "a child of another");
        FUZZ_CHECK(!worker->parent || worker->parent->child == worker, "a parent of another");
        FUZZ_CHECK(!worker->clone_expected || worker->child, "a clone without a child");
        FUZZ_CHECK(worker->state == WORKER_STARTING || worker->state == WORKER_ENDING ||
                       worker->pid == slot->pid,
                   "in state %d with pid %d", (int)worker->state, (int)worker->pid);
        FUZZ_CHECK(worker->state != WORKER_BUSY || slot->evaluating || slot->refining,
                   "busy with nothing");
        FUZZ_CHECK((worker->state == WORKER_ASKING) <= slot->asking, "it asks nothing");
        FUZZ_CHECK(worker->state != WORKER_BUSY || !slot->asking, "it asks and goes on");
        FUZZ_CHECK(worker->header_have < sizeof worker->header ||
                       worker->payload_have < worker->header.length ||
                       worker->state == WORKER_ENDING,
                   "a whole frame was left lying");
    }
}

/* Ends the remaining workers, as the pool does. */
static void end_all(void) {
    fuzz_faults_end();
    script.spoof = 0;
    for (struct slot *slot = script.slots; slot < script.slots + SLOTS; slot++) {
        if (!slot->worker)
            continue;
        script.now = slot;
        if (slot->worker->state != WORKER_ENDING)
            worker_kill(slot->worker);
        if (slot->worker && slot->worker->pid && !slot->reaped) {
            slot->reaped = true;
            worker_reaped(slot->worker, SIGKILL, (struct usage){0});
        }
    }
    for (int i = 0; i < 300 && !LIST_EMPTY(&script.workers.list); i++) {
        fuzz_edges.now_ns += 20000 * (int64_t)NS_PER_MS;
        run_loop(1);
        for (struct slot *slot = script.slots; slot < script.slots + SLOTS; slot++)
            if (slot->worker && slot->worker->pid && !slot->reaped) {
                slot->reaped = true;
                worker_reaped(slot->worker, SIGKILL, (struct usage){0});
            }
    }
    FUZZ_CHECK(LIST_EMPTY(&script.workers.list), "a worker never ends");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int open_before = fuzz_open_descriptors();
    signal(SIGPIPE, SIG_IGN); /* as the supervisor does: a worker may have closed its channel */
    fuzz_edges =
        (struct fuzz_edges){.now_ns = 1, .killed = on_kill, .is_child = is_child, .sender = sender};
    script = (struct script){.input = {data, size}, .next_pid = FIRST_PID, .log = {.out.fd = -1}};
    for (size_t i = 0; i < SLOTS; i++)
        script.slots[i].peer = -1;
    fuzz_faults_begin(&script.input);
    fuzz_faults_pause();
    FUZZ_CHECK(loop_open(&script.loop, NULL), "no loop");
    script.loop.before_wait = stop_after_rounds;
    script.workers = (struct workers){.loop = &script.loop, .log = &script.log};
    open_compiler();
    script.now = script.slots;
    start();
    for (unsigned done = 0; script.input.left && done < STEPS_MAX; done++) {
        if (!script.now->worker)
            take_turn();
        const unsigned byte = fuzz_byte(&script.input);
        if (!script.now->worker)
            start();
        else if (byte >= REFINING_FROM && byte < REFINING_TO)
            refining_steps[byte - REFINING_FROM]();
        else if (byte >= TRACKING_FROM && byte < REFINING_FROM)
            tracking_steps[byte - TRACKING_FROM]();
        else if (byte >= NATIVE_FROM)
            native_steps[byte % (sizeof native_steps / sizeof *native_steps)]();
        else
            steps[byte % (sizeof steps / sizeof *steps)]();
        check_states();
    }
    end_all();
    close_compiler();
    loop_close(&script.loop);
    FUZZ_CHECK(fuzz_open_descriptors() == open_before, "a descriptor was left open");
    return 0;
}
