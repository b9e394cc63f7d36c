/* Scope-bound ownership: a variable declared with one of these attributes releases its memory or
 * descriptor when it goes out of scope. */
#ifndef ECLAVE_COMMON_CLEANUP_H
#define ECLAVE_COMMON_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_value(void *slot) {
    free(*(void **)slot);
}

static inline void cleanup_fd_value(const int *fd) {
    if (*fd >= 0)
        close(*fd);
}

#define cleanup_free __attribute__((cleanup(cleanup_free_value)))
#define cleanup_fd   __attribute__((cleanup(cleanup_fd_value)))

/* Transfers ownership of *slot to the caller; the cleanup of *slot then does nothing. */
static inline int steal_fd(int *slot) {
    int fd = *slot;
    *slot = -1;
    return fd;
}

#endif
