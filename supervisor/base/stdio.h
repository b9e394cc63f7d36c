/* The standard streams, kept from other processes. The server moves stdin and stdout to private
 * descriptors and points 0 at /dev/null and 1 at stderr, so that no library and no child can write
 * to the client's pipes. */
#ifndef ECLAVE_SUPERVISOR_BASE_STDIO_H
#define ECLAVE_SUPERVISOR_BASE_STDIO_H

#include "common/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* One end of a stream that never blocks. */
struct stream {
    int fd;
    bool is_socket;    /* uses MSG_DONTWAIT, which leaves other holders of the socket alone */
    int restore_flags; /* the file status flags before O_NONBLOCK was set; -1: they are unchanged */
};

/* Opens FD (0, 1 or 2) as a private non-blocking stream. Where the kernel allows it, reopens the
 * pipe, so that other holders do not share the flag. */
bool stream_open(struct stream *stream, int fd, bool writing, struct error *error);
/* Restores the flags and closes. */
void stream_close(struct stream *stream);

/* As read(2) and write(2), without blocking. A socket never raises SIGPIPE; the server ignores it
 * for pipes. */
ssize_t stream_read(const struct stream *stream, void *bytes, size_t size);
ssize_t stream_write(const struct stream *stream, const void *bytes, size_t size);

/* Replaces closed descriptors among 0, 1 and 2, whose numbers other files would take otherwise.
 * What replaces them reads as empty and fails to be written, so that lost output is noticed. */
bool stdio_fill(struct error *error);
/* Points 0 at an empty stream and 1 at stderr. */
bool stdio_detach(struct error *error);
/* Flushes and closes stdout. False with *error if any of the output was lost. */
bool stdio_finish(struct error *error);

#endif
