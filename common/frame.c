/* The blocking ends of a channel. Never hands on a frame that it has not read whole. */
#include "common/frame.h"
#include "common/cleanup.h"
#include "common/descriptor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool frame_send(int channel, const struct frame_header *header, const void *payload,
                const int *descriptors, size_t count, struct error *error) {
    if (header->length > FRAME_PAYLOAD_MAX || count > FRAME_DESCRIPTORS_MAX)
        return error_set(error, EMSGSIZE, "a frame of type %u", header->type);
    struct iovec parts[2] = {{.iov_base = (void *)header, .iov_len = sizeof *header},
                             {.iov_base = (void *)payload, .iov_len = header->length}};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * FRAME_DESCRIPTORS_MAX)] = {0};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = header->length ? 2 : 1};
    if (count) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(rights), descriptors, sizeof(int) * count);
    }
    if (count == 0) {
        /* A sealed worker has no sendmsg; writev would do, but a plain write needs one call less
         * in its filter. */
        size_t total = sizeof *header + header->length;
        unsigned char small[512];
        if (total <= sizeof small) {
            memcpy(small, header, sizeof *header);
            if (header->length)
                memcpy(small + sizeof *header, payload, header->length);
            if (!write_all(channel, small, total))
                return error_set(error, errno, "sending a frame");
            return true;
        }
        if (!write_all(channel, header, sizeof *header) ||
            !write_all(channel, payload, header->length))
            return error_set(error, errno, "sending a frame");
        return true;
    }
    ssize_t sent = send_message(channel, &message);
    if (sent < 0)
        return error_set(error, errno, "sending a frame");
    /* The descriptors went with the first byte; the rest is ordinary bytes. */
    for (size_t i = 0, done = (size_t)sent; i < 2; i++) {
        size_t size = i == 0 ? sizeof *header : header->length;
        if (done < size && !write_all(channel, (const char *)parts[i].iov_base + done, size - done))
            return error_set(error, errno, "sending a frame");
        done = done > size ? done - size : 0;
    }
    return true;
}

/* Takes the descriptors out of a received message; those beyond what DESCRIPTORS holds are closed.
 * False when there were such. */
static bool take_descriptors(struct msghdr *message, int descriptors[FRAME_DESCRIPTORS_MAX],
                             size_t *count) {
    bool fits = !(message->msg_flags & MSG_CTRUNC);
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        size_t held = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < held; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            if (*count < FRAME_DESCRIPTORS_MAX) {
                descriptors[(*count)++] = fd;
            } else {
                close(fd);
                fits = false;
            }
        }
    }
    return fits;
}

/* Reads SIZE bytes. Returns how many came before the end of the channel, or -1 with *error. */
// NOLINTNEXTLINE(readability-non-const-parameter): recvmsg writes to bytes
static ssize_t receive_bytes(int channel, unsigned char *bytes, size_t size,
                             int descriptors[FRAME_DESCRIPTORS_MAX], size_t *count,
                             struct error *error) {
    size_t have = 0;
    while (have < size) {
        struct iovec part = {.iov_base = bytes + have, .iov_len = size - have};
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * FRAME_DESCRIPTORS_MAX)];
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof control};
        ssize_t got = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            error_set(error, errno, "receiving a frame");
            return -1;
        }
        if (!take_descriptors(&message, descriptors, count)) {
            error_set(error, EMSGSIZE, "a frame with too many descriptors");
            return -1;
        }
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

/* 1 with a whole frame, 0 at a clean end, -1 with *error; the caller owns what arrived so far. */
static int receive_frame(int channel, struct frame_header *header, unsigned char **payload,
                         int descriptors[FRAME_DESCRIPTORS_MAX], size_t *count,
                         struct error *error) {
    ssize_t got =
        receive_bytes(channel, (unsigned char *)header, sizeof *header, descriptors, count, error);
    if (got <= 0)
        return (int)got;
    if ((size_t)got < sizeof *header) {
        error_set(error, EPROTO, "a frame torn in its header");
        return -1;
    }
    if (header->type == 0 || header->type >= FRAME_TYPE_END || header->flags != 0 ||
        header->length > FRAME_PAYLOAD_MAX) {
        error_set(error, EPROTO, "a frame with a bad header");
        return -1;
    }
    if (header->length == 0)
        return 1;
    cleanup_free unsigned char *bytes = malloc(header->length);
    if (!bytes) {
        error_set(error, ENOMEM, "a frame of %u bytes", header->length);
        return -1;
    }
    got = receive_bytes(channel, bytes, header->length, descriptors, count, error);
    if (got < 0)
        return -1;
    if ((size_t)got < header->length) {
        error_set(error, EPROTO, "a frame torn in its payload");
        return -1;
    }
    *payload = bytes;
    bytes = NULL;
    return 1;
}

int frame_receive(int channel, struct frame_header *header, unsigned char **payload,
                  int descriptors[FRAME_DESCRIPTORS_MAX], size_t *count, struct error *error) {
    *payload = NULL;
    *count = 0;
    int outcome = receive_frame(channel, header, payload, descriptors, count, error);
    if (outcome <= 0) {
        for (size_t i = 0; i < *count; i++)
            close(descriptors[i]);
        *count = 0;
    }
    return outcome;
}
