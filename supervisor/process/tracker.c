/* See tracker.h. */
#include "supervisor/process/tracker.h"
#include "common/child.h"
#include "common/track.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    REGIONS_MAX = 512, /* of one question to the kernel */
    PARTS_MAX = 16,    /* pages that are read at once */
    NOTED_MAX = 2 * TRACKER_READ_MAX,
    IDLE_MAX = 6,          /* takes */
    FEW = 40,              /* pages: protecting them takes longer than reading them */
    GAP_BYTES = 16 << 10,  /* the same of what is copied in advance */
    NEAR_BYTES = 64 << 10, /* what is between two pages is protected with them */
    MAPPED_MAX = 1 << 18,  /* pages: the kernel has work with each, also with those never used */
    DEAR_NS = 10000000
};

/* A page that was taken. Many are written by one call after the other, and a fault costs the writer
 * more than it costs to read a page. So a page that was written often or of late is left
 * unprotected, and is read each time: what it has been is known, so that it is taken if it differs.
 */
struct noted {
    uint64_t address;
    unsigned char *bytes; /* that were taken last; shared with that set */
    bool protected;
    unsigned
        idle; /* takes since it was written, as far as is known; 1: it was, for the first time */
};

struct tracker {
    struct tracker_parts parts;
    pid_t pid;
    struct noted *noted; /* in order */
    size_t noted_count;
    bool dear; /* something took longer than the supervisor may be held up */
    struct track_region regions[REGIONS_MAX];
    struct page_runs written;
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

/* --- bytes of pages, which are never changed --- */

struct shared_bytes {
    unsigned char bytes[TRACKER_PAGE_BYTES];
    size_t users;
};

static size_t copies;

size_t page_copies(void) {
    return copies;
}

unsigned char *page_copy(const unsigned char *bytes) {
    struct shared_bytes *shared = malloc(sizeof *shared);
    if (!shared)
        return NULL;
    memcpy(shared->bytes, bytes, sizeof shared->bytes);
    shared->users = 1;
    copies++;
    return shared->bytes;
}

static unsigned char *share_bytes(unsigned char *bytes) {
    ((struct shared_bytes *)bytes)->users++;
    return bytes;
}

static void release_bytes(unsigned char *bytes) {
    struct shared_bytes *shared = (struct shared_bytes *)bytes;
    if (--shared->users > 0)
        return;
    free(shared);
    copies--;
}

static void free_noted(struct noted *noted, size_t count) {
    for (size_t i = 0; i < count; i++)
        release_bytes(noted[i].bytes);
    free(noted);
}

static void forget(struct tracker *tracker) {
    free_noted(tracker->noted, tracker->noted_count);
    tracker->noted = NULL;
    tracker->noted_count = 0;
}

void tracker_free(struct tracker *tracker) {
    if (!tracker)
        return;
    tracker_close_parts(&tracker->parts);
    forget(tracker);
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

/* FLAGS: TRACK_CHECK or 0. */
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
    return true;
}

enum tracked tracker_arm(struct tracker *tracker) {
    forget(tracker);
    if (count_mapped(tracker) > MAPPED_MAX)
        return TRACKED_OTHERWISE;
    const int64_t begun_ns = used_ns();
    errno = 0;
    const bool armed = arm_all(tracker);
    const bool mappings = errno == EPERM;
    tracker->dear = used_ns() - begun_ns > DEAR_NS;
    return armed ? TRACKED : mappings ? TRACKED_MAPPINGS : TRACKED_OTHERWISE;
}

bool tracker_is_dear(const struct tracker *tracker) {
    return tracker->dear;
}

/* --- sets of pages --- */

void page_set_free(struct page_set *set) {
    for (size_t i = 0; i < set->count; i++)
        release_bytes(set->pages[i].bytes);
    free(set->pages);
    *set = (struct page_set){0};
}

/* Adds the pages of OLDER that are not in SET. TAKES: SET has the shares of OLDER from then on, and
 * those of pages that it has already are released. */
static bool merge(struct page_set *set, const struct page_set *older, bool takes) {
    struct page_set both = {.pages = calloc(set->count + older->count + 1, sizeof *both.pages)};
    if (!both.pages)
        return false;
    for (size_t i = 0, j = 0; i < set->count || j < older->count;) {
        const bool newer = i < set->count &&
                           (j == older->count || set->pages[i].address <= older->pages[j].address);
        if (newer && j < older->count && set->pages[i].address == older->pages[j].address) {
            if (takes)
                release_bytes(older->pages[j].bytes);
            j++;
        }
        both.pages[both.count++] = newer ? set->pages[i++] : older->pages[j++];
    }
    free(set->pages);
    *set = both;
    return true;
}

bool page_set_refer(struct page_set *set, const struct page_set *older) {
    return merge(set, older, false);
}

bool page_set_absorb(struct page_set *set, struct page_set *older) {
    if (!merge(set, older, true))
        return false;
    free(older->pages);
    *older = (struct page_set){0};
    return true;
}

/* --- taking --- */

struct taking {
    struct tracker *tracker;
    struct page_set *set;
    struct noted *noted; /* what replaces those of the tracker */
    size_t count, room;
    size_t read; /* pages */
    size_t next; /* of those of the tracker */
    unsigned char bytes[PARTS_MAX * TRACKER_PAGE_BYTES];
};

/* Takes over the share in its bytes; also in case of failure. */
static bool add_noted(struct taking *taking, const struct noted *noted) {
    const bool full = taking->count == taking->room;
    const size_t room = full ? 2 * taking->room + PARTS_MAX : taking->room;
    struct noted *list = full ? reallocarray(taking->noted, room, sizeof *list) : taking->noted;
    if (!list || taking->count == NOTED_MAX) {
        release_bytes(noted->bytes);
        return false;
    }
    taking->noted = list;
    taking->room = room;
    list[taking->count++] = *noted;
    return true;
}

/* Takes the page, which was written or is unprotected. KNOWN: what was noted of it, or NULL. */
static bool add_page(struct taking *taking, uint64_t address, const unsigned char *bytes,
                     const struct noted *known) {
    struct page_set *set = taking->set;
    struct noted noted = {.address = address, .idle = 1};
    const bool same = known && memcmp(known->bytes, bytes, TRACKER_PAGE_BYTES) == 0;
    if (same)
        noted.bytes = share_bytes(known->bytes);
    else if (set->count < TRACKER_PAGES_MAX && (noted.bytes = page_copy(bytes)) != NULL)
        set->pages[set->count++] = (struct page){address, share_bytes(noted.bytes)};
    else
        return false;
    if (known && known->protected)
        noted.idle = known->idle > 1;
    else if (known)
        noted.idle = same ? known->idle + 1 : 0;
    return add_noted(taking, &noted);
}

static bool read_bytes(struct taking *taking, uint64_t address, size_t pages) {
    const size_t bytes = pages * TRACKER_PAGE_BYTES;
    taking->read += pages;
    return taking->read <= TRACKER_READ_MAX && pread(taking->tracker->parts.memory, taking->bytes,
                                                     bytes, (off_t)address) == (ssize_t)bytes;
}

/* A page that the kernel has not listed. If it is unprotected, it may not be there any more. */
static bool pass(struct taking *taking, const struct noted *known) {
    if (!known->protected)
        return read_bytes(taking, known->address, 1) &&
               add_page(taking, known->address, taking->bytes, known);
    struct noted noted = *known;
    if (++noted.idle > IDLE_MAX)
        return true;
    share_bytes(noted.bytes);
    return add_noted(taking, &noted);
}

static bool pass_to(struct taking *taking, uint64_t address) {
    const struct tracker *tracker = taking->tracker;
    while (taking->next < tracker->noted_count && tracker->noted[taking->next].address < address)
        if (!pass(taking, &tracker->noted[taking->next++]))
            return false;
    return true;
}

/* At most PARTS_MAX pages that the kernel has listed. */
static bool take_part(struct taking *taking, uint64_t address, size_t pages) {
    const struct tracker *tracker = taking->tracker;
    if (!pass_to(taking, address) || !read_bytes(taking, address, pages))
        return false;
    for (size_t i = 0; i < pages; i++, address += TRACKER_PAGE_BYTES) {
        const struct noted *known = &tracker->noted[taking->next];
        const bool is_known = taking->next < tracker->noted_count && known->address == address;
        if (!add_page(taking, address, taking->bytes + i * TRACKER_PAGE_BYTES,
                      is_known ? known : NULL))
            return false;
        taking->next += is_known;
    }
    return true;
}

static size_t count_pages(const struct track_region *region) {
    return (region->end - region->start) / TRACKER_PAGE_BYTES;
}

static bool take_region(struct taking *taking, const struct track_region *region) {
    const size_t pages = count_pages(region);
    for (size_t done = 0; done < pages; done += PARTS_MAX) {
        const size_t part = pages - done < PARTS_MAX ? pages - done : PARTS_MAX;
        if (!take_part(taking, region->start + done * TRACKER_PAGE_BYTES, part))
            return false;
    }
    return true;
}

static struct track_scan begin_scan(struct tracker *tracker, const struct tracker_span *span) {
    return (struct track_scan){.size = sizeof(struct track_scan),
                               .flags = TRACK_CHECK,
                               .start = span->start,
                               .end = span->end,
                               .regions = (uint64_t)(uintptr_t)tracker->regions,
                               .regions_length = REGIONS_MAX,
                               .category_mask = TRACK_WRITTEN,
                               .return_mask = TRACK_WRITTEN};
}

/* Lists the next regions of the scan. Returns their number, or -1 with errno. */
static int next_regions(const struct tracker *tracker, struct track_scan *scan) {
    const int found = ioctl(tracker->parts.pagemap, TRACK_SCAN, scan);
    scan->start = scan->walk_end;
    return found;
}

/* False at once if they are too many. */
static bool take_regions(struct taking *taking, const struct track_region *regions, size_t count) {
    size_t pages = 0;
    for (size_t i = 0; i < count; i++)
        pages += count_pages(&regions[i]);
    if (taking->read + pages > TRACKER_READ_MAX)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!take_region(taking, &regions[i]))
            return false;
    return true;
}

static bool take_span(struct taking *taking, const struct tracker_span *span) {
    struct tracker *tracker = taking->tracker;
    struct track_scan scan = begin_scan(tracker, span);
    scan.max_pages = TRACKER_READ_MAX + 1;
    while (scan.start < scan.end) {
        const int found = next_regions(tracker, &scan);
        if (found < 0 || !take_regions(taking, tracker->regions, (size_t)found))
            return false;
    }
    return true;
}

static bool take_spans(struct taking *taking) {
    const struct tracker_spans *spans = &taking->tracker->parts.spans;
    for (size_t i = 0; i < spans->count; i++)
        if (!take_span(taking, &spans->list[i]))
            return false;
    return pass_to(taking, UINT64_MAX);
}

/* How long a page may have been idle to be left unprotected, so that at most SPARE idle ones are.
 */
static unsigned choose_limit(const struct taking *taking, size_t spare) {
    size_t counts[IDLE_MAX + 1] = {0}, idle = 0, sum = 0;
    unsigned limit = 0;
    for (size_t i = 0; i < taking->count; i++) {
        idle += taking->noted[i].idle > 0;
        if (taking->noted[i].idle <= IDLE_MAX)
            counts[taking->noted[i].idle]++;
    }
    if (idle <= FEW)
        return UINT_MAX;
    while (limit < IDLE_MAX && (sum += counts[limit + 1]) <= spare)
        limit++;
    return limit;
}

/* Protects the pages that have been idle for longer than LIMIT. */
static bool protect_idle(struct taking *taking, unsigned limit) {
    uint64_t start = 0, end = 0;
    for (size_t i = 0; i < taking->count; i++) {
        struct noted *noted = &taking->noted[i];
        const bool stays = !noted->protected && noted->idle <= limit;
        if (start != end && (stays || noted->address - end > NEAR_BYTES)) {
            if (!protect(taking->tracker, start, end, 0))
                return false;
            start = end;
        }
        if (stays || noted->protected)
            continue;
        if (start == end)
            start = noted->address;
        end = noted->address + TRACKER_PAGE_BYTES;
        noted->protected = true;
    }
    return start == end || protect(taking->tracker, start, end, 0);
}

/* If it fails, its writer has a fault. */
static void unprotect(const struct tracker *tracker, uint64_t start, uint64_t end) {
    struct uffdio_writeprotect pages = {.range = {.start = start, .len = end - start}};
    if (start != end)
        ioctl(tracker->parts.userfault, UFFDIO_WRITEPROTECT, &pages);
}

/* The others will probably be written. */
static void unprotect_others(struct taking *taking, unsigned limit) {
    uint64_t start = 0, end = 0;
    for (size_t i = 0; i < taking->count; i++) {
        struct noted *noted = &taking->noted[i];
        if (!noted->protected || noted->idle > limit)
            continue;
        if (noted->address != end) {
            unprotect(taking->tracker, start, end);
            start = noted->address;
        }
        end = noted->address + TRACKER_PAGE_BYTES;
        noted->protected = false;
    }
    unprotect(taking->tracker, start, end);
}

/* What the kernel does to a page may fail or be undone by the worker, since what it lists is read
 * in any case, and what is unprotected according to the notes too. */
static bool protect_as_noted(struct taking *taking, size_t spare) {
    const unsigned limit = choose_limit(taking, spare);
    if (!protect_idle(taking, limit))
        return false;
    unprotect_others(taking, limit);
    return true;
}

static bool take_all(struct taking *taking, size_t spare) {
    struct tracker *tracker = taking->tracker;
    if (!taking->set->pages || !take_spans(taking) || !protect_as_noted(taking, spare))
        return false;
    forget(tracker);
    struct noted *noted = reallocarray(taking->noted, taking->count + 1, sizeof *noted);
    tracker->noted = noted ? noted : taking->noted;
    tracker->noted_count = taking->count;
    return true;
}

enum tracked tracker_take(struct tracker *tracker, size_t spare, struct page_set *set) {
    const int64_t begun_ns = used_ns();
    *set = (struct page_set){.pages = malloc(TRACKER_PAGES_MAX * sizeof *set->pages)};
    struct taking taking = {.tracker = tracker, .set = set};
    errno = 0;
    const bool whole = take_all(&taking, spare);
    const bool mappings = errno == EPERM;
    if (!whole) {
        free_noted(taking.noted, taking.count);
        forget(tracker);
    }
    tracker->dear = used_ns() - begun_ns > DEAR_NS;
    struct page *pages = whole ? realloc(set->pages, (set->count + 1) * sizeof *pages) : NULL;
    if (pages) {
        set->pages = pages;
        return TRACKED;
    }
    page_set_free(set);
    return mappings ? TRACKED_MAPPINGS : TRACKED_OTHERWISE;
}

/* --- what was written --- */

/* False if there is no room for it. */
static bool add_run(struct page_runs *runs, const struct track_region *region) {
    struct page_run *last = runs->count ? &runs->list[runs->count - 1] : NULL;
    const uint64_t end = last ? last->start + last->pages * TRACKER_PAGE_BYTES : 0;
    const bool near = last && region->start - end <= GAP_BYTES;
    const uint64_t start = near ? end : region->start;
    const uint64_t pages = (region->end - start) / TRACKER_PAGE_BYTES;
    if (near)
        last->pages += pages;
    else if (runs->count < PAGE_RUNS_MAX)
        runs->list[runs->count++] = (struct page_run){start, pages};
    else
        return false;
    runs->pages += pages;
    return true;
}

/* False if the kernel refuses it, or there is no room for all. */
static bool note_span(struct tracker *tracker, const struct tracker_span *span) {
    struct track_scan scan = begin_scan(tracker, span);
    while (scan.start < scan.end) {
        const int found = next_regions(tracker, &scan);
        for (int i = 0; i < found; i++)
            if (!add_run(&tracker->written, &tracker->regions[i]))
                return false;
        if (found < 0)
            return false;
    }
    return true;
}

void tracker_note_written(struct tracker *tracker) {
    const struct tracker_spans *spans = &tracker->parts.spans;
    tracker->written.count = tracker->written.pages = 0;
    for (size_t i = 0; i < spans->count && note_span(tracker, &spans->list[i]);)
        i++;
}

const struct page_runs *tracker_written(const struct tracker *tracker) {
    return &tracker->written;
}
