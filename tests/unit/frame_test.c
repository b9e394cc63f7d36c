/* common/frame: complete frames or errors, whatever arrives; no descriptor is lost or leaked. */
#include "common/frame.h"
#include "tests/support/process.h"
#include "tests/support/random.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct channel {
    int near, far;
};

static struct channel open_channel(void) {
    int ends[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    signal(SIGPIPE, SIG_IGN);
    return (struct channel){ends[0], ends[1]};
}

static void close_end(int *end) {
    if (*end >= 0)
        close(*end);
    *end = -1;
}

static void close_channel(struct channel *channel) {
    close_end(&channel->near);
    close_end(&channel->far);
}

/* Opens a channel that is closed when it goes out of scope. */
#define CHANNEL(name) __attribute__((cleanup(close_channel))) struct channel name = open_channel()

/* Sends raw bytes with COUNT descriptors, as a hostile sender may. */
static void send_raw(int fd, const void *bytes, size_t size, const int *descriptors, size_t count) {
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * 16)] = {0};
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *rights = (struct cmsghdr *)control;
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(rights), descriptors, sizeof(int) * count);
    }
    cr_assert_eq(sendmsg(fd, &message, 0), (ssize_t)size);
}

struct received {
    int outcome;
    struct frame_header header;
    unsigned char *payload;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
    struct error error;
};

static struct received receive(int fd) {
    struct received received = {.payload = (void *)1, .count = 99};
    received.outcome = frame_receive(fd, &received.header, &received.payload, received.descriptors,
                                     &received.count, &received.error);
    return received;
}

static struct received receive_one(const struct channel *channel) {
    struct received received = receive(channel->near);
    cr_assert_eq(received.outcome, 1);
    return received;
}

static void release(struct received *received) {
    free(received->payload);
    for (size_t i = 0; i < received->count; i++)
        close(received->descriptors[i]);
}

/* An error returns nothing else and has a text. */
static void expect_refused(struct channel channel) {
    struct received received = receive(channel.near);
    cr_assert_eq(received.outcome, -1);
    cr_assert_null(received.payload);
    cr_assert_eq(received.count, 0);
    cr_assert_gt(strlen(received.error.text), 0);
}

Test(frame, a_frame_is_received_as_sent) {
    CHANNEL(channel);
    struct frame_header header = {.type = FRAME_EVALUATE, .call = 7, .length = 5};
    struct error error;
    cr_assert(frame_send(channel.far, &header, "hello", NULL, 0, &error));
    struct received received = receive_one(&channel);
    cr_assert_eq(received.header.type, FRAME_EVALUATE);
    cr_assert_eq(received.header.call, 7);
    cr_assert_eq(received.header.length, 5);
    cr_assert_eq(memcmp(received.payload, "hello", 5), 0);
    cr_assert_eq(received.count, 0);
    release(&received);
}

Test(frame, an_empty_frame_has_no_payload) {
    CHANNEL(channel);
    struct frame_header header = {.type = FRAME_BOOTED};
    cr_assert(frame_send(channel.far, &header, NULL, NULL, 0, NULL));
    struct received received = receive_one(&channel);
    cr_assert_null(received.payload);
}

Test(frame, frames_that_arrive_together_are_separated) {
    CHANNEL(channel);
    for (uint32_t call = 0; call < 3; call++) {
        struct frame_header header = {.type = FRAME_RESULT, .call = call, .length = call};
        cr_assert(frame_send(channel.far, &header, "ab", NULL, 0, NULL));
    }
    close_end(&channel.far);
    for (uint32_t call = 0; call < 3; call++) {
        struct received received = receive_one(&channel);
        cr_assert_eq(received.header.call, call);
        cr_assert_eq(received.header.length, call);
        release(&received);
    }
    cr_assert_eq(receive(channel.near).outcome, 0);
}

Test(frame, the_end_between_frames_is_not_an_error) {
    CHANNEL(channel);
    close_end(&channel.far);
    struct received received = receive(channel.near);
    cr_assert_eq(received.outcome, 0);
    cr_assert_null(received.payload);
    cr_assert_eq(received.count, 0);
}

Test(frame, the_end_within_a_frame_is_an_error) {
    unsigned char whole[sizeof(struct frame_header) + 4];
    struct frame_header header = {.type = FRAME_RESULT, .length = 4};
    memcpy(whole, &header, sizeof header);
    memcpy(whole + sizeof header, "abcd", 4);
    for (size_t size = 1; size < sizeof whole; size++) {
        CHANNEL(channel);
        send_raw(channel.far, whole, size, NULL, 0);
        close_end(&channel.far);
        expect_refused(channel);
    }
}

Test(frame, bad_headers_are_refused_before_their_payload_is_read) {
    static const struct frame_header bad[] = {
        {.type = 0},
        {.type = FRAME_TYPE_END},
        {.type = UINT16_MAX},
        {.type = FRAME_RESULT, .flags = 1},
        {.type = FRAME_RESULT, .flags = 0x8000},
        {.type = FRAME_RESULT, .length = FRAME_PAYLOAD_MAX + 1},
        {.type = FRAME_RESULT, .length = UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHANNEL(channel);
        send_raw(channel.far, &bad[i], sizeof bad[i], NULL, 0); /* the channel stays open */
        expect_refused(channel);
    }
}

Test(frame, every_type_of_the_table_is_accepted) {
    for (unsigned type = FRAME_CONFIGURE; type < FRAME_TYPE_END; type++) {
        CHANNEL(channel);
        struct frame_header header = {.type = (uint16_t)type};
        send_raw(channel.far, &header, sizeof header, NULL, 0);
        cr_assert_eq(receive(channel.near).outcome, 1);
    }
}

/* Runs WORK in a child so that a payload larger than a socket's buffer can be sent and received. */
static pid_t beside(void (*work)(int fd), struct channel *channel) {
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        close(channel->near);
        work(channel->far);
        _exit(0);
    }
    close_end(&channel->far);
    return pid;
}

enum { LARGE = 3 << 20 };

static void send_large(int fd) {
    struct frame_header header = {.type = FRAME_RESULT, .length = LARGE};
    unsigned char *bytes = malloc(LARGE);
    for (size_t i = 0; bytes && i < LARGE; i++)
        bytes[i] = (unsigned char)(i * 7);
    int descriptor = open("/dev/null", O_RDONLY);
    frame_send(fd, &header, bytes, NULL, 0, NULL);
    frame_send(fd, &header, bytes, &descriptor, 1, NULL);
    free(bytes);
}

Test(frame, a_frame_larger_than_the_socket_buffer_is_received_whole) {
    CHANNEL(channel);
    pid_t child = beside(send_large, &channel);
    for (size_t frame = 0; frame < 2; frame++) {
        struct received received = receive_one(&channel);
        cr_assert_eq(received.header.length, LARGE);
        cr_assert_eq(received.count, frame);
        for (size_t i = 0; i < LARGE; i++)
            cr_assert_eq(received.payload[i], (unsigned char)(i * 7), "byte %zu", i);
        release(&received);
    }
    cr_assert_eq(receive(channel.near).outcome, 0);
    waitpid(child, NULL, 0);
}

static void send_byte_by_byte(int fd) {
    struct frame_header header = {.type = FRAME_RESULT, .call = 9, .length = 6};
    for (size_t i = 0; i < sizeof header; i++)
        if (write(fd, (unsigned char *)&header + i, 1) != 1)
            _exit(1);
    for (size_t i = 0; i < 6; i++)
        if (write(fd, "abcdef" + i, 1) != 1)
            _exit(1);
}

Test(frame, a_frame_may_arrive_byte_by_byte) {
    CHANNEL(channel);
    pid_t child = beside(send_byte_by_byte, &channel);
    struct received received = receive_one(&channel);
    cr_assert_eq(memcmp(received.payload, "abcdef", 6), 0);
    release(&received);
    waitpid(child, NULL, 0);
}

/* Descriptors. */

static void open_some(int *descriptors, size_t count) {
    for (size_t i = 0; i < count; i++)
        cr_assert_geq(descriptors[i] = open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
}

static void close_some(const int *descriptors, size_t count) {
    for (size_t i = 0; i < count; i++)
        close(descriptors[i]);
}

Test(frame, descriptors_are_received_with_close_on_exec) {
    for (size_t count = 1; count <= FRAME_DESCRIPTORS_MAX; count++) {
        CHANNEL(channel);
        struct frame_header header = {.type = FRAME_SPAWN, .length = 2};
        int sent[FRAME_DESCRIPTORS_MAX], before = process_descriptors(getpid());
        open_some(sent, count);
        cr_assert(frame_send(channel.far, &header, "xy", sent, count, NULL));
        close_some(sent, count); /* the sender keeps its own */
        struct received received = receive_one(&channel);
        cr_assert_eq(received.count, count);
        for (size_t i = 0; i < count; i++)
            cr_assert(fcntl(received.descriptors[i], F_GETFD) & FD_CLOEXEC);
        release(&received);
        cr_assert_eq(process_descriptors(getpid()), before);
    }
}

Test(frame, too_many_descriptors_or_bytes_are_not_sent) {
    CHANNEL(channel);
    struct error error = {0};
    int descriptors[FRAME_DESCRIPTORS_MAX + 1];
    open_some(descriptors, FRAME_DESCRIPTORS_MAX + 1);
    struct frame_header header = {.type = FRAME_SPAWN};
    cr_assert_not(
        frame_send(channel.far, &header, NULL, descriptors, FRAME_DESCRIPTORS_MAX + 1, &error));
    cr_assert_gt(strlen(error.text), 0);
    header.length = FRAME_PAYLOAD_MAX + 1;
    cr_assert_not(frame_send(channel.far, &header, NULL, NULL, 0, &error));
    close_end(&channel.far); /* nothing was sent */
    cr_assert_eq(receive(channel.near).outcome, 0);
    close_some(descriptors, FRAME_DESCRIPTORS_MAX + 1);
}

Test(frame, descriptors_beyond_the_limit_are_refused_and_not_leaked) {
    for (size_t count = FRAME_DESCRIPTORS_MAX + 1; count <= 12; count++) {
        CHANNEL(channel);
        int before = process_descriptors(getpid()), sent[12];
        struct frame_header header = {.type = FRAME_RESULT};
        open_some(sent, count);
        send_raw(channel.far, &header, sizeof header, sent, count);
        close_some(sent, count);
        expect_refused(channel);
        cr_assert_eq(process_descriptors(getpid()), before, "%zu descriptors", count);
    }
}

Test(frame, descriptors_of_a_frame_that_fails_are_not_leaked) {
    struct frame_header torn = {.type = FRAME_RESULT, .length = 10}, bad = {.type = 0};
    struct {
        const struct frame_header *header;
        size_t size;
    } cases[] = {{&torn, sizeof torn}, {&torn, 5}, {&bad, sizeof bad}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHANNEL(channel);
        int before = process_descriptors(getpid()), sent[2];
        open_some(sent, 2);
        send_raw(channel.far, cases[i].header, cases[i].size, sent, 2);
        close_some(sent, 2);
        close_end(&channel.far);
        expect_refused(channel);
        cr_assert_eq(process_descriptors(getpid()), before - 1); /* the far end */
    }
}

Test(frame, descriptors_attached_to_parts_of_a_frame_are_counted_together) {
    CHANNEL(channel);
    int before = process_descriptors(getpid()), sent[2];
    struct frame_header header = {.type = FRAME_RESULT, .length = 4};
    open_some(sent, 2);
    send_raw(channel.far, &header, sizeof header, sent, 2);
    send_raw(channel.far, "ab", 2, sent, 2);
    send_raw(channel.far, "cd", 2, sent, 2);
    close_some(sent, 2);
    expect_refused(channel);
    cr_assert_eq(process_descriptors(getpid()), before);
}

Test(frame, random_bytes_are_frames_or_errors) {
    struct random random = random_for("random_frames");
    int before = process_descriptors(getpid());
    for (size_t trial = 0; trial < random_trials(500, 5000); trial++) {
        CHANNEL(channel);
        unsigned char bytes[64];
        size_t size = 1 + random_below(&random, sizeof bytes), count = random_below(&random, 5);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)random_below(&random, random_percent(&random, 70) ? 8 : 256);
        int sent[5];
        open_some(sent, count);
        send_raw(channel.far, bytes, size, sent, count);
        close_some(sent, count);
        close_end(&channel.far);
        struct received received;
        do {
            received = receive(channel.near);
            if (received.outcome == 1)
                release(&received);
        } while (received.outcome == 1);
        close_end(&channel.near);
        cr_assert_eq(process_descriptors(getpid()), before);
    }
}

Test(frame, sending_to_a_closed_channel_is_an_error_without_a_signal) {
    CHANNEL(channel);
    struct error error = {0};
    struct frame_header header = {.type = FRAME_RESULT, .length = 3};
    close_end(&channel.near);
    cr_assert_not(frame_send(channel.far, &header, "abc", NULL, 0, &error));
    cr_assert_eq(error.code, EPIPE);
}
