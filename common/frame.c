/* The blocking ends of a channel. */
#include "common/frame.h"
#include "common/cleanup.h"
#include "common/descriptor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert((int)FRAME_DESCRIPTORS_MAX == DESCRIPTORS_MAX, "one frame, one message");

/* A sealed worker has no sendmsg, so a frame without descriptors is written: a small one with one
 * call. */
static bool write_frame(int channel, const struct frame_header *header, const void *payload) {
    unsigned char small[512];
    size_t total = sizeof *header + header->length;
    if (total > sizeof small)
        return write_all(channel, header, sizeof *header) &&
               write_all(channel, payload, header->length);
    memcpy(small, header, sizeof *header);
    if (header->length)
        memcpy(small + sizeof *header, payload, header->length);
    return write_all(channel, small, total);
}

/* The descriptors go with the first byte; what the socket does not take at once is written. */
static bool send_frame(int channel, const struct frame_header *header, const void *payload,
                       const int *descriptors, size_t count) {
    struct iovec parts[2] = {{.iov_base = (void *)header, .iov_len = sizeof *header},
                             {.iov_base = (void *)payload, .iov_len = header->length}};
    ssize_t sent = descriptors_send(channel, parts, header->length ? 2 : 1, descriptors, count);
    if (sent < 0)
        return false;
    for (size_t i = 0, done = (size_t)sent; i < 2; i++) {
        size_t size = parts[i].iov_len;
        if (done < size && !write_all(channel, (const char *)parts[i].iov_base + done, size - done))
            return false;
        done = done > size ? done - size : 0;
    }
    return true;
}

bool frame_send(int channel, const struct frame_header *header, const void *payload,
                const int *descriptors, size_t count, struct error *error) {
    if (header->length > FRAME_PAYLOAD_MAX)
        return error_set(error, EMSGSIZE, "cannot send a frame of type %u", header->type);
    bool sent = count ? send_frame(channel, header, payload, descriptors, count)
                      : write_frame(channel, header, payload);
    return sent || error_set(error, errno, "cannot send a frame of type %u", header->type);
}

/* Receives SIZE bytes, or fewer at the end of the channel. Returns their number, or -1 with *error.
 */
static ssize_t receive_bytes(int channel, unsigned char *bytes, size_t size,
                             int descriptors[FRAME_DESCRIPTORS_MAX], size_t *count,
                             struct error *error) {
    size_t have = 0;
    while (have < size) {
        ssize_t got = descriptors_receive(channel, bytes + have, size - have, descriptors, count);
        if (got < 0) {
            error_set(error, errno, "cannot receive a frame");
            return -1;
        }
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

/* As frame_receive, but the caller owns the descriptors received before an error. */
static int receive_frame(int channel, struct frame_header *header, unsigned char **payload,
                         int descriptors[FRAME_DESCRIPTORS_MAX], size_t *count,
                         struct error *error) {
    ssize_t got =
        receive_bytes(channel, (unsigned char *)header, sizeof *header, descriptors, count, error);
    if (got <= 0)
        return (int)got;
    if ((size_t)got < sizeof *header) {
        error_set(error, EPROTO, "cannot receive a frame: truncated header");
        return -1;
    }
    if (header->type == 0 || header->type >= FRAME_TYPE_END || header->flags != 0 ||
        header->length > FRAME_PAYLOAD_MAX) {
        error_set(error, EPROTO, "cannot receive a frame: invalid header");
        return -1;
    }
    if (header->length == 0)
        return 1;
    cleanup_free unsigned char *bytes = malloc(header->length);
    if (!bytes) {
        error_set(error, ENOMEM, "cannot receive a frame of %u bytes", header->length);
        return -1;
    }
    got = receive_bytes(channel, bytes, header->length, descriptors, count, error);
    if (got < 0)
        return -1;
    if ((size_t)got < header->length) {
        error_set(error, EPROTO, "cannot receive a frame: truncated payload");
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
