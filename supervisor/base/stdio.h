/* The client's pipes, taken out of harm's way. The first thing the server does is to move stdin
 * and stdout to private descriptors, point 0 at the null device and 1 at stderr, so that no
 * library and no child can touch the wire. */
#ifndef ECLAVE_SUPERVISOR_BASE_STDIO_H
#define ECLAVE_SUPERVISOR_BASE_STDIO_H

#include "common/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* One end of a stream that is never allowed to block. */
struct stream {
    int fd;
    bool is_socket; /* use MSG_DONTWAIT, so that the other holders of the socket are left alone */
    int restore_flags; /* file status flags to put back at the end, -1 when none were changed */
};

/* Opens FD (0, 1 or 2) as a private non-blocking stream. Where the kernel allows it the pipe is
 * opened anew, so that the flag is not shared with whoever else holds it. */
bool stream_open(struct stream *stream, int fd, bool writing, struct error *error);
/* Puts the flags back and closes. */
void stream_close(struct stream *stream);

/* As read(2) and write(2), never blocking and never raising SIGPIPE (which the server ignores). */
ssize_t stream_read(const struct stream *stream, void *bytes, size_t size);
ssize_t stream_write(const struct stream *stream, const void *bytes, size_t size);

/* Makes sure that descriptors 0, 1 and 2 are open (on the null device if need be). */
bool stdio_fill(struct error *error);
/* Points 0 at the null device and 1 at stderr. */
bool stdio_detach(struct error *error);

#endif
