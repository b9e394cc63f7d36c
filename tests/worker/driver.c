/* See driver.h. It blocks where a supervisor must not. */
#include "tests/worker/driver.h"
#include "common/blake2b.h"
#include "common/cleanup.h"
#include "common/image_file.h"
#include "policy/policy.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CAPTURE_MAX = 64 << 20, FLUSH_MS = 5000 };

struct zygote_end zygote = {.control = -1};
struct worker_end worker = {.channel = -1};

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

struct worker_configuration driver_configuration(void) {
    return (struct worker_configuration){
        .memory_bytes = 512U << 20,
        .value_max_chars = 50000,
        .address_space_bytes = UINT64_C(2560)
                               << 20, /* as the supervisor: four heaps and a margin */
        .layers = POLICY_LAYERS_ALL & ~(POLICY_LAYER_BIT(POLICY_LAYER_CGROUP) |
                                        POLICY_LAYER_BIT(POLICY_LAYER_NAMESPACES)),
        .user = geteuid() == 0 ? 65534 : 0};
}

/* Opens what a zygote with an image is given, which is kept in the directory WORKER_IMAGES. Returns
 * the program to execute. */
static const char *give_image(const unsigned char key[IMAGE_KEY_BYTES]) {
    char name[IMAGE_NAME_BYTES];
    image_file_name(name, key);
    int own = open(ECLAVE_WORKER, O_RDONLY);
    int directory = open(getenv("WORKER_IMAGES"), O_RDONLY | O_DIRECTORY);
    int image = openat(directory, name, O_RDONLY);
    if (own != IMAGE_PROGRAM_FD || directory != IMAGE_DIRECTORY_FD)
        _exit(125);
    return image == IMAGE_FILE_FD && open(ECLAVE_RESTORER, O_RDONLY) == IMAGE_RESTORER_FD
               ? ECLAVE_RESTORER
               : ECLAVE_WORKER;
}

/* The child of driver_start: the descriptors that the supervisor passes, no environment. */
static void become_zygote(int control, const unsigned char key[IMAGE_KEY_BYTES]) {
    int null = open("/dev/null", O_RDWR);
    if (dup2(control, 3) < 0 || dup2(null, 0) < 0 || dup2(2, 1) < 0)
        _exit(126);
    if (control == 3)
        fcntl(3, F_SETFD, 0);
    close_range(4, ~0U, 0);
    static char name[] = "eclave-worker", missing[] = {'A' + IMAGE_MISSING, 0};
    static char markers[] = "GC_MARKERS=1";
    const char *program = getenv("WORKER_IMAGES") ? give_image(key) : ECLAVE_WORKER;
    const bool writes = getenv("WORKER_IMAGES") && strcmp(program, ECLAVE_WORKER) == 0;
    char *arguments[] = {name, writes ? missing : NULL, NULL};
    char *environment[] = {markers, NULL};
    execve(program, arguments, environment);
    _exit(127);
}

/* An image for each configuration. */
static void make_key(struct worker_configuration *configuration) {
    struct blake2b hash;
    blake2b_begin(&hash);
    blake2b_add(&hash, configuration, sizeof *configuration);
    blake2b_end(&hash, configuration->image_key);
}

static bool expect_booted(int control, struct error *error) {
    struct frame_header header;
    unsigned char *payload;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
    int got = frame_receive(control, &header, &payload, descriptors, &count, error);
    if (got == 0)
        error_set(error, 0, "the zygote ended while booting");
    if (got == 1 && header.type == FRAME_IMAGE) {
        free(payload);
        return expect_booted(control, error);
    }
    if (got == 1 && header.type != FRAME_BOOTED) {
        error_set(error, 0, "%.*s", (int)header.length, payload ? (char *)payload : "");
        got = 0;
    }
    if (got == 1 || header.length)
        free(payload);
    return got == 1;
}

bool driver_start(struct zygote_end *started, const struct worker_configuration *configuration,
                  struct error *error) {
    int ends[2];
    struct worker_configuration sent = *configuration;
    make_key(&sent);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return error_set(error, errno, "a control socket");
    started->pid = fork();
    if (started->pid == 0)
        become_zygote(ends[1], sent.image_key);
    close(ends[1]);
    started->control = ends[0];
    struct frame_header header = {.type = FRAME_CONFIGURE, .length = sizeof *configuration};
    return frame_send(started->control, &header, &sent, NULL, 0, error) &&
           expect_booted(started->control, error);
}

static int reap(pid_t pid) {
    int status = 0;
    if (pid > 1)
        waitpid(pid, &status, 0);
    return status;
}

int driver_stop(void) {
    if (zygote.control < 0)
        return 0;
    close(zygote.control);
    zygote.control = -1;
    return reap(zygote.pid);
}

/* Receives FRAME_READY with its credentials and its descriptor. */
static bool expect_ready(struct error *error) {
    struct frame_header header;
    struct iovec part = {&header, sizeof header};
    _Alignas(struct cmsghdr) char control[256];
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t got = recvmsg(worker.channel, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
    if (got != sizeof header)
        return error_set(error, 0, "the worker ended before it was ready");
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            memcpy(&worker.listener, CMSG_DATA(c), sizeof(int));
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
            struct ucred who;
            memcpy(&who, CMSG_DATA(c), sizeof who);
            worker.pid = who.pid;
        }
    }
    if (header.type == FRAME_READY)
        return true;
    char text[200] = "";
    recv(worker.channel, text, sizeof text - 1, 0);
    return error_set(error, 0, "%s", text);
}

/* Spawns the worker and waits until it is confined. */
static bool spawn(struct error *error) {
    worker = (struct worker_end){.channel = -1, .listener = -1};
    int channel[2], output[2], errors[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0 ||
        pipe2(output, O_CLOEXEC) != 0 || pipe2(errors, O_CLOEXEC) != 0)
        return error_set(error, errno, "descriptors of a worker");
    int on = 1;
    setsockopt(channel[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    int passed[3] = {channel[1], output[1], errors[1]};
    struct frame_header header = {.type = FRAME_SPAWN};
    bool sent = frame_send(zygote.control, &header, NULL, passed, 3, error);
    for (size_t i = 0; i < 3; i++)
        close(passed[i]);
    worker.channel = channel[0];
    worker.output = output[0];
    worker.error = errors[0];
    fcntl(worker.output, F_SETFL, O_NONBLOCK);
    fcntl(worker.error, F_SETFL, O_NONBLOCK);
    return sent && expect_ready(error);
}

static void drain(int fd, struct buffer *buffer) {
    for (;;) {
        unsigned char *room = buffer_reserve(buffer, 65536);
        ssize_t got = room ? read(fd, room, 65536) : 0;
        if (got <= 0)
            return;
        buffer->length += (size_t)got;
    }
}

/* Answers one notified call. True when it is one that kills, which *end then says. */
static bool judge(struct call_end *end) {
    union {
        struct seccomp_notif request;
        unsigned char room[256];
    } notified = {.room = {0}};
    union {
        struct seccomp_notif_resp response;
        unsigned char room[256];
    } reply = {.room = {0}};
    if (ioctl(worker.listener, SECCOMP_IOCTL_NOTIF_RECV, &notified.request) != 0)
        return false;
    struct policy_ruling answer =
        policy_judge(0, &notified.request.data, (pid_t)notified.request.pid);
    if (answer.verdict == POLICY_KILL) {
        end->kind = END_VIOLATION;
        snprintf(end->text, sizeof end->text, "%s", answer.name);
        kill(worker.pid, SIGKILL);
        return true;
    }
    if (getenv("WORKER_TEST_TRACE"))
        fprintf(stderr, "refused: %s\n", answer.name);
    reply.response.id = notified.request.id;
    reply.response.error = -answer.error;
    if (answer.verdict == POLICY_ALLOW)
        reply.response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(worker.listener, SECCOMP_IOCTL_NOTIF_SEND, &reply.response);
    return false;
}

/* Records an event or a question of a run, and answers the latter. False for any other frame. */
static bool take_event(const struct frame_header *header, const unsigned char *payload,
                       const char *const **answers, struct call_end *end) {
    bool asks = header->type == FRAME_ASK;
    if (!*answers || (!asks && header->type != FRAME_EVENT) || header->call != worker.calls)
        return false;
    buffer_append_format(&end->sent, "%s %.*s\n", asks ? "ask" : "event", (int)header->length,
                         (const char *)payload);
    if (asks && **answers) {
        const char *answer = *(*answers)++;
        struct frame_header reply = {
            .type = FRAME_ANSWER, .call = worker.calls, .length = (uint32_t)strlen(answer)};
        frame_send(worker.channel, &reply, answer, NULL, 0, NULL);
    }
    return true;
}

/* Receives one frame. False at the end of the channel; *over when it was the last. */
static bool take_frame(const char *const **answers, bool *over, struct call_end *end) {
    struct frame_header header;
    unsigned char *payload;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
    struct error error = {0};
    int got = frame_receive(worker.channel, &header, &payload, descriptors, &count, &error);
    *over = true;
    if (got <= 0)
        return false;
    if (take_event(&header, payload, answers, end)) {
        free(payload);
        *over = false;
        return true;
    }
    if (header.type == FRAME_FAILED) {
        end->kind = END_FAILED;
        snprintf(end->text, sizeof end->text, "%.*s", (int)header.length, (char *)payload);
    } else {
        end->kind = header.type == FRAME_RESULT && header.call == worker.calls &&
                            result_message_decode(payload, header.length, &end->result)
                        ? END_RESULT
                        : END_MALFORMED;
    }
    end->payload = payload;
    return true;
}

static void finish(struct call_end *end, bool ended) {
    if (ended && worker.pid > 1) {
        int status = reap(worker.pid);
        worker.pid = 0;
        if (end->kind == END_EXIT && WIFSIGNALED(status)) {
            end->kind = END_SIGNAL;
            end->number = WTERMSIG(status);
        } else if (end->kind == END_EXIT) {
            end->number = WEXITSTATUS(status);
        }
    }
    drain(worker.output, &end->output);
    drain(worker.error, &end->error);
}

/* Makes the worker flush its output, and kills it. */
static void time_out(struct call_end *end) {
    end->kind = END_TIMEOUT;
    kill(worker.pid, SIGUSR1);
    struct pollfd hangup = {.fd = worker.channel, .events = POLLIN};
    double stop = now_ms() + FLUSH_MS;
    while (now_ms() < stop && poll(&hangup, 1, 1) == 0) {
        drain(worker.output, &end->output);
        drain(worker.error, &end->error);
    }
    kill(worker.pid, SIGKILL);
}

static void release(struct call_end *end) {
    free(end->payload);
    buffer_free(&end->output);
    buffer_free(&end->error);
    buffer_free(&end->sent);
}

static const struct call_end *converse(enum frame_type type, const struct buffer *payload,
                                       const char *const *answers, int timeout_ms) {
    static struct call_end end;
    release(&end);
    end = (struct call_end){.kind = END_EXIT,
                            .output = buffer_make(CAPTURE_MAX),
                            .error = buffer_make(CAPTURE_MAX),
                            .sent = buffer_make(CAPTURE_MAX)};
    struct frame_header header = {
        .type = (uint16_t)type, .call = ++worker.calls, .length = (uint32_t)payload->length};
    double start = now_ms();
    struct error error = {0};
    bool ended = !frame_send(worker.channel, &header, payload->data, NULL, 0, &error);
    bool over = ended;
    while (!over) {
        struct pollfd polled[] = {{.fd = worker.channel, .events = POLLIN},
                                  {.fd = worker.output, .events = POLLIN},
                                  {.fd = worker.error, .events = POLLIN},
                                  {.fd = worker.listener, .events = POLLIN}};
        int left = timeout_ms - (int)(now_ms() - start);
        if (poll(polled, 4, left > 0 ? left : 0) == 0) {
            time_out(&end);
            ended = true;
            break;
        }
        if (polled[1].revents)
            drain(worker.output, &end.output);
        if (polled[2].revents)
            drain(worker.error, &end.error);
        if (polled[3].revents & POLLIN)
            over = ended = judge(&end);
        if (!over && polled[0].revents)
            ended = !take_frame(&answers, &over, &end);
    }
    finish(&end, ended);
    return &end;
}

const struct call_end *driver_call(const char *code, const char *package, int timeout_ms) {
    cleanup_buffer struct buffer payload = buffer_make(FRAME_PAYLOAD_MAX);
    struct evaluate_message message = {.code = span_of(code)};
    if (package)
        message.package = span_of(package);
    evaluate_message_encode(&payload, &message);
    return converse(FRAME_EVALUATE, &payload, NULL, timeout_ms);
}

const struct call_end *driver_run(const struct run_message *message, const char *const *answers,
                                  int timeout_ms) {
    static const char *const none[] = {NULL};
    cleanup_buffer struct buffer payload = buffer_make(FRAME_PAYLOAD_MAX);
    run_message_encode(&payload, message);
    return converse(FRAME_RUN, &payload, answers ? answers : none, timeout_ms);
}

int driver_close(void) {
    if (worker.channel < 0)
        return 0;
    close(worker.channel);
    int status = reap(worker.pid);
    close(worker.output);
    close(worker.error);
    if (worker.listener >= 0)
        close(worker.listener);
    worker = (struct worker_end){.channel = -1, .listener = -1};
    return status;
}

void driver_renew(void) {
    struct error error = {0};
    driver_close();
    cr_assert(spawn(&error), "%s", error.text);
}

void driver_begin(void) {
    struct error error = {0};
    struct worker_configuration configuration = driver_configuration();
    cr_assert(driver_start(&zygote, &configuration, &error), "%s", error.text);
    driver_renew();
}

void driver_end(void) {
    driver_close();
    driver_stop();
}

bool buffer_is(const struct buffer *buffer, const char *string) {
    return buffer->length == strlen(string) &&
           (!buffer->length || memcmp(buffer->data, string, buffer->length) == 0);
}

static void print(const char *what, const unsigned char *bytes, size_t length) {
    enum { SHOWN = 2000 };
    fprintf(stderr, "  %s%.*s\n", what, (int)(length < SHOWN ? length : SHOWN),
            (const char *)bytes);
}

static void print_some(const char *what, const struct span *spans, size_t count) {
    for (size_t i = 0; i < count && i < 3; i++)
        print(what, spans[i].bytes, spans[i].length);
}

void driver_describe(const struct call_end *end) {
    fprintf(stderr, "  end %d %d %s\n", end->kind, end->number, end->text);
    if (end->kind == END_RESULT) {
        const struct result_message *result = &end->result;
        print("condition: ", result->condition.bytes, result->condition.length);
        print("message: ", result->text.bytes, result->text.length);
        print("json: ", result->json.bytes, result->json.length);
        print_some("frame: ", result->frames, result->frame_count);
        print_some("=> ", result->values, result->value_count);
        print_some("warning: ", result->warnings, result->warning_count);
    }
    print("out: ", end->output.data, end->output.length);
    print("err: ", end->error.data, end->error.length);
    print("sent: ", end->sent.data, end->sent.length);
}
