/* Linux 6.7: which pages a process has written since they were last asked for (userfaultfd with
 * asynchronous write protection, PAGEMAP_SCAN). The headers of Debian 12 lack it. */
#ifndef ECLAVE_COMMON_TRACK_H
#define ECLAVE_COMMON_TRACK_H

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define TRACK_WP_UNPOPULATED (UINT64_C(1) << 13)
#define TRACK_WP_ASYNC       (UINT64_C(1) << 15)

struct track_region {
    uint64_t start, end;
    uint64_t categories;
};

struct track_scan {
    uint64_t size, flags, start, end, walk_end, regions, regions_length, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

enum {
    TRACK_WRITTEN = 1 << 1,
    TRACK_PROTECT = 1 << 0, /* pages found written are protected again */
    TRACK_CHECK = 1 << 1    /* EPERM where a mapping is not registered */
};

#define TRACK_SCAN _IOWR('f', 16, struct track_scan)

/* The flags with which a worker makes its userfaultfd. */
enum { TRACK_FLAGS = O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY };

#endif
