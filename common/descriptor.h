/* Small things with descriptors that more than one process does. */
#ifndef ECLAVE_COMMON_DESCRIPTOR_H
#define ECLAVE_COMMON_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes all SIZE bytes, over interrupts and short writes. False with errno set. */
bool write_all(int fd, const void *bytes, size_t size);

/* Moves FD to a number of at least MINIMUM with close-on-exec and closes the old one. The new
 * number, or -1 with errno (FD stays open then). */
int descriptor_move_above(int fd, int minimum);

#endif
