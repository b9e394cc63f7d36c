/* What a worker writes, as the kernel knows it. Nothing is asked of the worker but a userfaultfd,
 * once; it is of no use to the worker, which may not ioctl. What code does to its memory by other
 * means than writing, such as moving a mapping, ends in TRACKED_OTHERWISE. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_TRACKER_H
#define ECLAVE_SUPERVISOR_PROCESS_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    TRACKER_PAGE_BYTES = 4096,
    TRACKER_SPANS_MAX = 16,
    TRACKER_PAGES_MAX = 2048 /* that are copied at once: a fork is cheaper than more */
};

/* What the weigher (process/weigher.h) opens of a worker, and where its memory can be tracked: what
 * lies between the spans is of the kernel, shared, or reserved. */
struct tracker_parts {
    int userfault, pagemap, memory; /* descriptors */
    struct tracker_span {
        uint64_t start, end;
    } spans[TRACKER_SPANS_MAX];
    size_t span_count;
};

/* Pages in the order of their addresses, each of TRACKER_PAGE_BYTES from malloc. */
struct page_set {
    struct page {
        uint64_t address;
        unsigned char *bytes;
    } * pages;
    size_t count;
};

/* Takes what lies from START to END, multiples of TRACKER_PAGE_BYTES, out of the spans. Does nothing
 * if that is not in one of them, or there would be too many. */
void tracker_leave_out(struct tracker_parts *parts, uint64_t start, uint64_t end);

struct tracker;

/* Takes over the descriptors of PARTS; also in case of failure, which is that of an older kernel or
 * no memory. NULL then. */
struct tracker *tracker_open(const struct tracker_parts *parts, pid_t pid);
void tracker_free(struct tracker *tracker); /* NULL: nothing */

/* From now on what the worker writes is noted. False if that is not possible, or too dear for what
 * it has mapped. */
bool tracker_arm(struct tracker *tracker);

enum tracked {
    TRACKED,          /* *SET, the caller's, has what was written since it was armed, or last asked */
    TRACKED_OTHERWISE /* its mappings have changed, too much was written, or there is no memory for
                         it; it must be armed again */
};

/* The worker waits for a frame, and continues to be tracked. */
enum tracked tracker_take(struct tracker *tracker, struct page_set *set);

void page_set_free(struct page_set *set);
/* Adds the pages of OLDER that are not in SET, and empties it. False, with both unchanged, when out
 * of memory. */
bool page_set_absorb(struct page_set *set, struct page_set *older);

#endif
