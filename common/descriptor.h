/* File descriptors: complete writes, and descriptors passed over a socket. */
#ifndef ECLAVE_COMMON_DESCRIPTOR_H
#define ECLAVE_COMMON_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

enum { DESCRIPTORS_MAX = 3 }; /* carried by one message */

/* Writes all SIZE bytes, resuming after interrupts and short writes. False with errno. */
bool write_all(int fd, const void *bytes, size_t size);
/* The same from OFFSET of a file on. */
bool write_all_at(int fd, const void *bytes, size_t size, uint64_t offset);

/* Sends PARTS with COUNT descriptors, which stay the caller's, as one message and without SIGPIPE.
 * Retries after EINTR, and for one second while the kernel refuses because too many descriptors of
 * this user are in flight (ETOOMANYREFS). Returns the bytes sent, or -1 with errno. */
ssize_t descriptors_send(int socket, struct iovec *parts, size_t part_count, const int *descriptors,
                         size_t count);

/* Receives up to SIZE bytes. Appends the descriptors that come with them to the *COUNT entries of
 * DESCRIPTORS; they are close-on-exec and the caller's. Retries after EINTR. Returns the bytes
 * received, 0 at the end, or -1 with errno; EMSGSIZE if there were more descriptors than fit, of
 * which the excess is closed. */
ssize_t descriptors_receive(int socket, void *bytes, size_t size, int descriptors[DESCRIPTORS_MAX],
                            size_t *count);

/* Moves the descriptors of ITEM, an SCM_RIGHTS message, into DESCRIPTORS, which has room for ROOM,
 * and closes the rest. Returns the number in ITEM. */
size_t descriptors_take(struct cmsghdr *item, int *descriptors, size_t room);

/* Raises the soft limit of descriptors to WANTED if it is lower, as far as the hard limit allows.
 * Returns the soft limit then in force; UINT64_MAX if it cannot be read. */
uint64_t descriptors_raise_limit(uint64_t wanted);

/* A file in memory with the SIZE bytes, sealed: nothing can change it any more. It is to be read
 * from its beginning. NAME is for its place in /proc. Returns its descriptor, the caller's and
 * close-on-exec; -1 with errno. */
int descriptor_seal(const char *name, const void *bytes, size_t size);

/* Moves FD to a number of at least MINIMUM, close-on-exec, and closes the old number. Returns the
 * new one, or -1 with errno and FD still open. */
int descriptor_move_above(int fd, int minimum);

#endif
