/* See tracker.h. */
#include "supervisor/process/tracker.h"
#include "common/child.h"
#include "common/track.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    REGIONS_MAX = 512,     /* of one question to the kernel */
    PARTS_MAX = 64,        /* pages that are read at once */
    TAKES_TO_PROTECT = 16, /* all pages, also those that are written each time */
    NEAR_BYTES = 64 << 10, /* what is between two pages is protected with them */
    MAPPED_MAX = 1 << 18,  /* pages: the kernel has work with each, also with those never used */
    DEAR_NS = 8000000
};

struct tracker {
    struct tracker_parts parts;
    pid_t pid;
    /* What was taken last, in order. A page that is written twice in a row is not protected again,
     * since it will be written again: it is taken each time, and its writer has no fault. */
    uint64_t last[TRACKER_PAGES_MAX];
    size_t last_count;
    unsigned takes; /* since all was protected */
    bool dear;      /* something took longer than the supervisor may be held up */
    struct track_region regions[REGIONS_MAX];
};

void tracker_leave_out(struct tracker_spans *spans, uint64_t start, uint64_t end) {
    if (start >= end || start % TRACKER_PAGE_BYTES || end % TRACKER_PAGE_BYTES ||
        spans->count == TRACKER_SPANS_MAX)
        return;
    for (size_t i = 0; i < spans->count; i++) {
        struct tracker_span *span = &spans->list[i];
        if (span->start >= start || end >= span->end)
            continue;
        memmove(span + 2, span + 1, (spans->count - i - 1) * sizeof *span);
        spans->count++;
        span[1] = (struct tracker_span){end, span->end};
        span->end = start;
        return;
    }
}

bool tracker_prepare(int userfault) {
    struct uffdio_api api = {.api = UFFD_API,
                             .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | TRACK_WP_ASYNC |
                                         TRACK_WP_UNPOPULATED};
    return ioctl(userfault, UFFDIO_API, &api) == 0;
}

/* A span with nothing in it has nothing to be registered, and what is registered remains so. */
bool tracker_register(int userfault, const struct tracker_spans *spans) {
    for (size_t i = 0; i < spans->count; i++) {
        const struct tracker_span *span = &spans->list[i];
        struct uffdio_register registration = {
            .range = {.start = span->start, .len = span->end - span->start},
            .mode = UFFDIO_REGISTER_MODE_WP};
        if (ioctl(userfault, UFFDIO_REGISTER, &registration) != 0 && errno != EINVAL)
            return false;
    }
    return true;
}

void tracker_close_parts(const struct tracker_parts *parts) {
    const int descriptors[] = {parts->userfault, parts->pagemap, parts->memory};
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
}

struct tracker *tracker_open(const struct tracker_parts *parts, pid_t pid) {
    struct tracker *tracker = calloc(1, sizeof *tracker);
    if (tracker) {
        tracker->parts = *parts;
        tracker->pid = pid;
        return tracker;
    }
    tracker_close_parts(parts);
    return NULL;
}

int tracker_userfault(const struct tracker *tracker) {
    return tracker->parts.userfault;
}

void tracker_free(struct tracker *tracker) {
    if (!tracker)
        return;
    tracker_close_parts(&tracker->parts);
    free(tracker);
}

/* --- asking the kernel --- */

/* Pages that are mapped in the spans, or nearly so. */
static size_t count_mapped(const struct tracker *tracker) {
    char text[128];
    size_t pages = 0;
    if (read_process_file(tracker->pid, "statm", text, sizeof text) > 0)
        pages = (size_t)strtoull(text, NULL, 10);
    return pages ? pages : SIZE_MAX;
}

/* Without a list. FLAGS: TRACK_CHECK or 0. */
static bool protect(const struct tracker *tracker, uint64_t start, uint64_t end, uint64_t flags) {
    struct track_scan scan = {.size = sizeof scan,
                              .flags = TRACK_PROTECT | flags,
                              .start = start,
                              .end = end,
                              .category_mask = TRACK_WRITTEN};
    return ioctl(tracker->parts.pagemap, TRACK_SCAN, &scan) >= 0;
}

/* Processor time of this thread. */
static int64_t used_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static bool arm_all(struct tracker *tracker) {
    const struct tracker_spans *spans = &tracker->parts.spans;
    for (size_t i = 0; i < spans->count; i++)
        if (!protect(tracker, spans->list[i].start, spans->list[i].end, TRACK_CHECK))
            return false;
    tracker->last_count = 0;
    tracker->takes = 0;
    return true;
}

enum tracked tracker_arm(struct tracker *tracker) {
    if (tracker->dear || count_mapped(tracker) > MAPPED_MAX)
        return TRACKED_OTHERWISE;
    const int64_t begun_ns = used_ns();
    errno = 0;
    const bool armed = arm_all(tracker);
    const bool mappings = errno == EPERM;
    tracker->dear = used_ns() - begun_ns > DEAR_NS;
    return armed ? TRACKED : mappings ? TRACKED_MAPPINGS : TRACKED_OTHERWISE;
}

/* --- sets of pages --- */

void page_set_free(struct page_set *set) {
    for (size_t i = 0; i < set->count; i++)
        free(set->pages[i].bytes);
    free(set->pages);
    *set = (struct page_set){0};
}

/* Adds the pages of OLDER that are not in SET, and calls REPLACED with the bytes of the others. */
static bool merge(struct page_set *set, const struct page_set *older, void (*replaced)(void *)) {
    struct page_set both = {.pages = calloc(set->count + older->count + 1, sizeof *both.pages)};
    if (!both.pages)
        return false;
    for (size_t i = 0, j = 0; i < set->count || j < older->count;) {
        const bool newer = i < set->count &&
                           (j == older->count || set->pages[i].address <= older->pages[j].address);
        if (newer && j < older->count && set->pages[i].address == older->pages[j].address)
            replaced(older->pages[j++].bytes);
        both.pages[both.count++] = newer ? set->pages[i++] : older->pages[j++];
    }
    free(set->pages);
    *set = both;
    return true;
}

static void keep(void *bytes) {
    (void)bytes;
}

bool page_set_refer(struct page_set *set, const struct page_set *older) {
    return merge(set, older, keep);
}

bool page_set_absorb(struct page_set *set, struct page_set *older) {
    if (!merge(set, older, free))
        return false;
    free(older->pages);
    *older = (struct page_set){0};
    return true;
}

/* Adds COUNT pages from ADDRESS on, at most PARTS_MAX. */
static bool read_pages(const struct tracker *tracker, struct page_set *set, uint64_t address,
                       size_t count) {
    struct iovec parts[PARTS_MAX];
    for (size_t i = 0; i < count; i++) {
        struct page page = {address + i * TRACKER_PAGE_BYTES, malloc(TRACKER_PAGE_BYTES)};
        if (!page.bytes)
            return false;
        set->pages[set->count++] = page;
        parts[i] = (struct iovec){page.bytes, TRACKER_PAGE_BYTES};
    }
    const ssize_t got = preadv(tracker->parts.memory, parts, (int)count, (off_t)address);
    return got == (ssize_t)(count * TRACKER_PAGE_BYTES);
}

/* Also false if it would be more than TRACKER_PAGES_MAX. */
static bool read_region(const struct tracker *tracker, struct page_set *set,
                        const struct track_region *region) {
    const size_t pages = (region->end - region->start) / TRACKER_PAGE_BYTES;
    if (pages > TRACKER_PAGES_MAX - set->count)
        return false;
    for (size_t done = 0; done < pages; done += PARTS_MAX) {
        const size_t part = pages - done < PARTS_MAX ? pages - done : PARTS_MAX;
        if (!read_pages(tracker, set, region->start + done * TRACKER_PAGE_BYTES, part))
            return false;
    }
    return true;
}

static bool take_span(struct tracker *tracker, const struct tracker_span *span, bool protects,
                      struct page_set *set) {
    struct track_scan scan = {.size = sizeof scan,
                              .flags = TRACK_CHECK | (protects ? TRACK_PROTECT : 0),
                              .start = span->start,
                              .end = span->end,
                              .regions = (uint64_t)(uintptr_t)tracker->regions,
                              .regions_length = REGIONS_MAX,
                              .category_mask = TRACK_WRITTEN,
                              .return_mask = TRACK_WRITTEN};
    while (scan.start < scan.end) {
        scan.max_pages = TRACKER_PAGES_MAX + 1 - set->count;
        const int found = ioctl(tracker->parts.pagemap, TRACK_SCAN, &scan);
        if (found < 0)
            return false;
        for (int i = 0; i < found; i++)
            if (!read_region(tracker, set, &tracker->regions[i]))
                return false;
        scan.start = scan.walk_end;
    }
    return true;
}

/* Protects the pages of SET that were not taken last, and remembers SET. */
static bool protect_new(struct tracker *tracker, const struct page_set *set) {
    uint64_t start = 0, end = 0;
    bool good = true;
    for (size_t i = 0, j = 0; i < set->count; i++) {
        const uint64_t address = set->pages[i].address;
        while (j < tracker->last_count && tracker->last[j] < address)
            j++;
        if (j < tracker->last_count && tracker->last[j] == address)
            continue;
        if (address - end > NEAR_BYTES) {
            good = good && (start == end || protect(tracker, start, end, 0));
            start = address;
        }
        end = address + TRACKER_PAGE_BYTES;
    }
    return good && (start == end || protect(tracker, start, end, 0));
}

static void remember(struct tracker *tracker, const struct page_set *set) {
    for (size_t i = 0; i < set->count; i++)
        tracker->last[i] = set->pages[i].address;
    tracker->last_count = set->count;
}

static bool take_all(struct tracker *tracker, struct page_set *set) {
    const bool protects = tracker->takes % TAKES_TO_PROTECT == 0;
    for (size_t i = 0; i < tracker->parts.spans.count; i++)
        if (!take_span(tracker, &tracker->parts.spans.list[i], protects, set))
            return false;
    if (!protects && !protect_new(tracker, set))
        return false;
    remember(tracker, set);
    tracker->takes++;
    return true;
}

enum tracked tracker_take(struct tracker *tracker, struct page_set *set) {
    const int64_t begun_ns = used_ns();
    *set = (struct page_set){.pages = malloc(TRACKER_PAGES_MAX * sizeof *set->pages)};
    errno = 0;
    const bool whole = set->pages && take_all(tracker, set);
    const bool mappings = errno == EPERM;
    tracker->dear = used_ns() - begun_ns > DEAR_NS;
    struct page *pages = whole ? realloc(set->pages, (set->count + 1) * sizeof *pages) : NULL;
    if (pages) {
        set->pages = pages;
        return TRACKED;
    }
    page_set_free(set);
    return mappings ? TRACKED_MAPPINGS : TRACKED_OTHERWISE;
}
