/* What a worker writes, as the kernel knows it. Nothing is asked of the worker but a userfaultfd,
 * once; it is of no use to the worker, which may not ioctl. What code does to its memory by other
 * means than writing, such as moving a mapping, ends in TRACKED_MAPPINGS. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_TRACKER_H
#define ECLAVE_SUPERVISOR_PROCESS_TRACKER_H

#include "common/frame.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    TRACKER_PAGE_BYTES = 4096,
    TRACKER_SPANS_MAX = 16,
    TRACKER_PAGES_MAX = 1024, /* that are copied at once: a fork holds others up for less time */
    TRACKER_READ_MAX = 2048,  /* with those that turn out to be as they were */
    TRACKER_SPARE_MAX = 1024
};

/* Where the memory of a worker can be tracked: what lies between the spans is of the kernel,
 * shared, reserved, or of no state. */
struct tracker_spans {
    struct tracker_span {
        uint64_t start, end;
    } list[TRACKER_SPANS_MAX];
    size_t count;
};

struct page_runs {
    struct page_run list[PAGE_RUNS_MAX]; /* in order */
    size_t count;
    uint64_t pages; /* of all of them */
};

/* What the weigher (process/weigher.h) opens of a worker. */
struct tracker_parts {
    int userfault, pagemap, memory; /* descriptors */
    struct tracker_spans spans;
};

/* Pages in the order of their addresses, each of TRACKER_PAGE_BYTES, which the set has a share of.
 */
struct page_set {
    struct page {
        uint64_t address;
        unsigned char *bytes;
    } * pages;
    size_t count;
};

/* In the weigher. Takes what lies from START to END, multiples of TRACKER_PAGE_BYTES, out of the
 * spans. Does nothing if that is not within one of them, or there would be too many. */
void tracker_leave_out(struct tracker_spans *spans, uint64_t start, uint64_t end);
/* In the weigher, since each mapping costs time. Prepares USERFAULT for its first use. False if the
 * kernel is too old. */
bool tracker_prepare(int userfault);
/* Has the kernel track all that is mapped in the spans now. False if it cannot. */
bool tracker_register(int userfault, const struct tracker_spans *spans);

struct tracker;

/* Closes the descriptors that are not -1. */
void tracker_close_parts(const struct tracker_parts *parts);
/* Takes over the descriptors of PARTS, whose spans are registered; also in case of failure. NULL
 * when out of memory. PID is that of the worker. */
struct tracker *tracker_open(const struct tracker_parts *parts, pid_t pid);
void tracker_free(struct tracker *tracker); /* NULL: nothing */
/* Its userfaultfd, for tracker_register. */
int tracker_userfault(const struct tracker *tracker);

enum tracked {
    TRACKED,           /* *SET, the caller's, has what differs since it was armed, or last asked */
    TRACKED_OTHERWISE, /* too much was written, or there is no memory for it */
    TRACKED_MAPPINGS   /* it has mappings that are not registered */
};

/* TRACKED: from now on what the worker writes is noted. TRACKED_OTHERWISE: it has too much memory.
 */
enum tracked tracker_arm(struct tracker *tracker);
/* The worker waits for a frame, and continues to be tracked. Otherwise it must be armed again.
 * SPARE: how many pages may be read at the next take although they may not be written any more, at
 * most TRACKER_SPARE_MAX. The more there are, the fewer faults the worker has, and the longer the
 * take lasts. */
enum tracked tracker_take(struct tracker *tracker, size_t spare, struct page_set *set);

/* Notes what the worker has written since it was armed, or last asked, as far as there is room,
 * with what little lies between. */
void tracker_note_written(struct tracker *tracker);
/* What was noted last, the tracker's. */
const struct page_runs *tracker_written(const struct tracker *tracker);
/* An ask took longer than the supervisor may be held up. */
bool tracker_is_dear(const struct tracker *tracker);

/* A share in a copy of BYTES, for a set; NULL when out of memory. */
unsigned char *page_copy(const unsigned char *bytes);
/* The number of copies that there are, in all sets and trackers. */
size_t page_copies(void);
void page_set_free(struct page_set *set);
/* Adds the pages of OLDER that are not in SET, which only refers to them. False, with SET
 * unchanged, when out of memory. */
bool page_set_refer(struct page_set *set, const struct page_set *older);
/* Adds the pages of OLDER that are not in SET, and empties it. False, with both unchanged, when out
 * of memory. */
bool page_set_absorb(struct page_set *set, struct page_set *older);

#endif
