/* Small things with descriptors that more than one process does. */
#ifndef ECLAVE_COMMON_DESCRIPTOR_H
#define ECLAVE_COMMON_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Writes all SIZE bytes, over interrupts and short writes. False with errno set. */
bool write_all(int fd, const void *bytes, size_t size);

/* sendmsg without SIGPIPE, over interrupts, and over the moments in which the kernel counts too
 * many descriptors of the user as under way between all its processes. -1 with errno. */
ssize_t send_message(int socket, const struct msghdr *message);

/* Moves FD to a number of at least MINIMUM with close-on-exec and closes the old one. The new
 * number, or -1 with errno (FD stays open then). */
int descriptor_move_above(int fd, int minimum);

#endif
