/* supervisor/process/tracker: whatever a process does to its memory, what was taken of it is what
 * it has, or is said to be incomplete. The memory is read from /proc besides. */
#include "common/track.h"
#include "supervisor/process/tracker.h"
#include "supervisor/process/weigher.h"
#include "tests/support/obedient.h"
#include "tests/support/process.h"
#include "tests/support/random.h"
#include "tests/support/script.h"
#include "tests/support/skip.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result): a test has few pages */

enum { P = OBEDIENT_PAGE, AREA_PAGES = 1024, FAULT_MAX = 300, RW = PROT_READ | PROT_WRITE };

/* --- a state that is kept --- */

/* One mapping as it was when all was protected, with the pages that were taken since. */
struct kept {
    struct obedient_mapping mapping;
    unsigned char *bytes;
};

struct fixture {
    struct obedient process;
    struct tracker_parts parts; /* the descriptors are the tracker's */
    struct tracker *tracker;
    uint64_t area; /* AREA_PAGES pages that were written */
    struct kept kept[OBEDIENT_MAPPINGS];
    size_t kept_count;
    size_t spare;           /* for each take */
    size_t noted;           /* sets that were whole */
    size_t taken;           /* pages of the last */
    bool lacks[AREA_PAGES]; /* not mapped */
    char fault[FAULT_MAX];  /* the first */
};

__attribute__((format(printf, 2, 3))) static void fault(struct fixture *fixture, const char *format,
                                                        ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!fixture->fault[0])
        vsnprintf(fixture->fault, sizeof fixture->fault, format, arguments);
    va_end(arguments);
}

static bool is_tracked(const struct fixture *fixture, const struct obedient_mapping *mapping) {
    for (size_t i = 0; i < fixture->parts.spans.count; i++)
        if (mapping->start >= fixture->parts.spans.list[i].start &&
            mapping->end <= fixture->parts.spans.list[i].end)
            return true;
    return false;
}

static void forget(struct fixture *fixture) {
    while (fixture->kept_count > 0)
        free(fixture->kept[--fixture->kept_count].bytes);
}

static void add_kept(struct fixture *fixture, const struct obedient_mapping *mapping) {
    struct kept *kept = &fixture->kept[fixture->kept_count++];
    kept->mapping = *mapping;
    kept->bytes = malloc(mapping->end - mapping->start);
    cr_assert(kept->bytes);
    obedient_read(&fixture->process, mapping, kept->bytes);
}

/* Where the page ADDRESS is kept; NULL: nowhere. */
static unsigned char *kept_page(const struct fixture *fixture, uint64_t address) {
    for (size_t i = 0; i < fixture->kept_count; i++) {
        const struct kept *kept = &fixture->kept[i];
        if (address >= kept->mapping.start && address < kept->mapping.end)
            return kept->bytes + (address - kept->mapping.start);
    }
    return NULL;
}

/* The stack may grow; then it has pages that were not there. */
static void extend_stack(struct fixture *fixture, const struct obedient_mapping *mapping) {
    for (size_t i = 0; i < fixture->kept_count; i++) {
        struct kept *kept = &fixture->kept[i];
        const size_t size = mapping->end - mapping->start;
        const size_t had = kept->mapping.end - kept->mapping.start;
        if (!kept->mapping.stack || mapping->start >= kept->mapping.start)
            continue;
        unsigned char *bytes = calloc(1, size);
        cr_assert(bytes);
        memcpy(bytes + size - had, kept->bytes, had);
        free(kept->bytes);
        *kept = (struct kept){*mapping, bytes};
    }
}

static void put(struct fixture *fixture, const struct page_set *set) {
    for (size_t i = 0; i < set->count; i++) {
        unsigned char *to = kept_page(fixture, set->pages[i].address);
        if (i > 0 && set->pages[i].address <= set->pages[i - 1].address)
            fault(fixture, "pages that are not in order");
        if (to)
            memcpy(to, set->pages[i].bytes, P);
        else
            fault(fixture, "page %lx was not there", (unsigned long)set->pages[i].address);
    }
}

static void compare(struct fixture *fixture, const struct obedient_mapping *mapping) {
    unsigned char *bytes = malloc(mapping->end - mapping->start);
    cr_assert(bytes);
    obedient_read(&fixture->process, mapping, bytes);
    for (uint64_t at = mapping->start; at < mapping->end; at += P) {
        const unsigned char *kept = kept_page(fixture, at);
        if (!kept)
            fault(fixture, "%lx is mapped, and was not", (unsigned long)at);
        else if (memcmp(kept, bytes + (at - mapping->start), P) != 0)
            fault(fixture, "page %lx (%ld of the area) has %d, and %d is kept", (unsigned long)at,
                  ((long)at - (long)fixture->area) / P, bytes[at - mapping->start], kept[0]);
    }
    free(bytes);
}

/* Takes, and notes a fault if what is kept then is said to be all and is not. */
static enum tracked take(struct fixture *fixture) {
    struct obedient_mapping mappings[OBEDIENT_MAPPINGS];
    struct page_set set;
    const enum tracked tracked = tracker_take(fixture->tracker, fixture->spare, &set);
    fixture->taken = set.count;
    if (tracked == TRACKED) {
        const size_t count = obedient_mappings(&fixture->process, mappings);
        for (size_t i = 0; i < count; i++)
            if (mappings[i].stack)
                extend_stack(fixture, &mappings[i]);
        put(fixture, &set);
        for (size_t i = 0; i < count; i++)
            if (!mappings[i].reserved)
                compare(fixture, &mappings[i]);
    } else if (set.count != 0 || set.pages) {
        fault(fixture, "an incomplete set is not empty");
    }
    page_set_free(&set);
    return tracked;
}

/* --- the process --- */

static int64_t map_at(struct fixture *fixture, uint64_t address, uint64_t bytes, unsigned flags) {
    struct obedient_order order = {
        .work = OBEDIENT_CALL,
        .number = SYS_mmap,
        .arguments = {address, bytes, RW, MAP_PRIVATE | MAP_ANONYMOUS | flags, UINT64_MAX, 0}};
    return obedient_do(&fixture->process, order);
}

static int64_t call(struct fixture *fixture, long number, uint64_t a, uint64_t b, uint64_t c) {
    return obedient_call(&fixture->process, number, a, b, c, 0, 0);
}

static uint64_t page(const struct fixture *fixture, size_t number) {
    return fixture->area + number * P;
}

static void write_page(struct fixture *fixture, size_t number, int value) {
    obedient_write(&fixture->process, page(fixture, number) + (size_t)value % P, 1, P, value);
}

static bool open_tracker(struct fixture *fixture) {
    struct tracked_message said = {.userfault =
                                       (int32_t)call(fixture, SYS_userfaultfd, TRACK_FLAGS, 0, 0)};
    if (!weigher_open_parts(fixture->process.pid, &said, &fixture->parts))
        return false;
    fixture->tracker = tracker_open(&fixture->parts, fixture->process.pid);
    call(fixture, SYS_close, (uint64_t)said.userfault, 0, 0);
    return fixture->tracker != NULL;
}

/* Another tracker if this one is given up, since a busy machine was too slow. */
static bool arm_tracker(struct fixture *fixture) {
    if (tracker_register(tracker_userfault(fixture->tracker), &fixture->parts.spans) &&
        tracker_arm(fixture->tracker) == TRACKED)
        return true;
    tracker_free(fixture->tracker);
    fixture->tracker = NULL;
    return open_tracker(fixture) && tracker_arm(fixture->tracker) == TRACKED;
}

/* Notes what is mapped, and what is there. */
static bool arm(struct fixture *fixture) {
    struct obedient_mapping mappings[OBEDIENT_MAPPINGS];
    forget(fixture);
    if (!arm_tracker(fixture))
        return false;
    const size_t count = obedient_mappings(&fixture->process, mappings);
    for (size_t i = 0; i < count; i++)
        if (is_tracked(fixture, &mappings[i]))
            add_kept(fixture, &mappings[i]);
        else if (!mappings[i].reserved)
            fault(fixture, "%lx is not tracked", (unsigned long)mappings[i].start);
    return true;
}

/* A process with an area, of which all is noted. */
static void begin(struct fixture *fixture) {
    *fixture = (struct fixture){.process = obedient_start(ECLAVE_TEST_OBEDIENT),
                                .spare = TRACKER_SPARE_MAX};
    enum { HUGE_BYTES = 2 << 20 };
    const uint64_t room = (uint64_t)map_at(fixture, 0, 3 * HUGE_BYTES, 0);
    fixture->area = (room + HUGE_BYTES - 1) & ~(uint64_t)(HUGE_BYTES - 1);
    obedient_write(&fixture->process, fixture->area, AREA_PAGES, P, 1);
    cr_assert(open_tracker(fixture));
    cr_assert(arm(fixture));
}

static void close_all(struct fixture *fixture) {
    tracker_free(fixture->tracker);
    obedient_end(&fixture->process);
    forget(fixture);
}

static void end(struct fixture *fixture) {
    close_all(fixture);
    cr_assert_eq(fixture->fault[0], 0, "%s", fixture->fault);
    cr_assert_eq(page_copies(), 0);
}

/* --- what a process may do to its memory --- */

static void nothing(struct fixture *fixture) {
    (void)fixture;
}

static void map_new(struct fixture *fixture) {
    obedient_write(&fixture->process, (uint64_t)map_at(fixture, 0, P, 0), 1, P, 2);
}

static void map_new_unused(struct fixture *fixture) {
    map_at(fixture, 0, 16 * P, 0);
}

static void map_over(struct fixture *fixture) {
    map_at(fixture, page(fixture, 512), P, MAP_FIXED);
    write_page(fixture, 512, 3);
}

static void map_over_unused(struct fixture *fixture) {
    map_at(fixture, page(fixture, 512), P, MAP_FIXED);
}

static void unmap_and_map(struct fixture *fixture) {
    call(fixture, SYS_munmap, page(fixture, 1), P, 0);
    map_at(fixture, page(fixture, 1), P, MAP_FIXED);
    write_page(fixture, 1, 4);
}

static void unmap(struct fixture *fixture) {
    call(fixture, SYS_munmap, page(fixture, 40), P, 0);
}

static void move(struct fixture *fixture) {
    write_page(fixture, 5, 5);
    const int64_t at = obedient_call(&fixture->process, SYS_mremap, page(fixture, 4), 4 * P,
                                     512 * P, MREMAP_MAYMOVE, 0);
    cr_assert_gt(at, 0);
    obedient_write(&fixture->process, (uint64_t)at, 1, P, 6);
}

static void move_within(struct fixture *fixture) {
    write_page(fixture, 100, 7);
    cr_assert_gt(obedient_call(&fixture->process, SYS_mremap, page(fixture, 100), 4 * P, 4 * P,
                               MREMAP_MAYMOVE | MREMAP_FIXED, page(fixture, 200)),
                 0);
}

static void shrink(struct fixture *fixture) {
    cr_assert_gt(obedient_call(&fixture->process, SYS_mremap, page(fixture, 0), AREA_PAGES * P,
                               64 * P, 0, 0),
                 0);
}

static void zap(struct fixture *fixture) {
    call(fixture, SYS_madvise, page(fixture, 20), P, MADV_DONTNEED);
}

/* All pages of a page table. */
static void zap_table(struct fixture *fixture) {
    call(fixture, SYS_madvise, page(fixture, AREA_PAGES / 2), AREA_PAGES / 2 * P, MADV_DONTNEED);
}

static void zap_and_read(struct fixture *fixture) {
    zap_table(fixture);
    obedient_do(&fixture->process,
                (struct obedient_order){.work = OBEDIENT_READ, .arguments = {page(fixture, 700)}});
}

static void zap_and_write(struct fixture *fixture) {
    call(fixture, SYS_madvise, page(fixture, 30), P, MADV_DONTNEED);
    write_page(fixture, 30, 13);
    zap_table(fixture);
    write_page(fixture, 800, 26);
}

static void free_lazily(struct fixture *fixture) {
    call(fixture, SYS_madvise, page(fixture, 22), P, MADV_FREE);
}

static void free_and_write(struct fixture *fixture) {
    free_lazily(fixture);
    write_page(fixture, 22, 9);
}

static void protect_and_back(struct fixture *fixture) {
    call(fixture, SYS_mprotect, page(fixture, 24), P, PROT_NONE);
    call(fixture, SYS_mprotect, page(fixture, 24), P, RW);
    write_page(fixture, 24, 10);
}

static void protect_written(struct fixture *fixture) {
    call(fixture, SYS_mprotect, page(fixture, 25), P, RW);
    write_page(fixture, 25, 11);
    call(fixture, SYS_mprotect, page(fixture, 25), P, PROT_READ);
}

static void hide_written(struct fixture *fixture) {
    call(fixture, SYS_mprotect, page(fixture, 26), P, RW);
    write_page(fixture, 26, 12);
    call(fixture, SYS_mprotect, page(fixture, 26), P, PROT_NONE);
}

static void grow_break(struct fixture *fixture) {
    const uint64_t now = (uint64_t)call(fixture, SYS_brk, 0, 0, 0);
    cr_assert_gt(call(fixture, SYS_brk, now + 16 * P, 0, 0), (int64_t)now);
    obedient_write(&fixture->process, now + 8 * P, 1, P, 14);
}

static void grow_stack(struct fixture *fixture) {
    obedient_do(&fixture->process,
                (struct obedient_order){.work = OBEDIENT_STACK, .arguments = {600000, 15}});
}

/* The header of the program, which was read only. */
static void write_program(struct fixture *fixture) {
    struct obedient_mapping mappings[OBEDIENT_MAPPINGS];
    cr_assert_gt(obedient_mappings(&fixture->process, mappings), 0);
    cr_assert(mappings[0].file);
    cr_assert_eq(call(fixture, SYS_mprotect, mappings[0].start, P, RW), 0);
    obedient_write(&fixture->process, mappings[0].start + 64, 1, P, 16);
}

static void fork_and_write(struct fixture *fixture) {
    cr_assert_gt(obedient_do(&fixture->process, (struct obedient_order){.work = OBEDIENT_FORK}), 0);
    write_page(fixture, 60, 18);
}

static void write_and_fork(struct fixture *fixture) {
    write_page(fixture, 61, 19);
    cr_assert_gt(obedient_do(&fixture->process, (struct obedient_order){.work = OBEDIENT_FORK}), 0);
}

/* Writes by the kernel. */
static void receive(struct fixture *fixture) {
    cr_assert_eq(call(fixture, SYS_getrandom, page(fixture, 300) + 5, 3 * P, 0), 3 * P);
}

static void write_sparsely(struct fixture *fixture) {
    obedient_write(&fixture->process, page(fixture, 1), AREA_PAGES / 2, 2 * P, 20);
}

static void write_all_pages(struct fixture *fixture) {
    obedient_write(&fixture->process, page(fixture, 0), AREA_PAGES - 40, P, 21);
}

/* Neighbours with other flags are mappings of their own. */
static void split(struct fixture *fixture) {
    for (size_t i = 0; i < 200; i += 2)
        call(fixture, SYS_mprotect, page(fixture, i), P, PROT_READ);
    write_page(fixture, 1, 22);
}

static void make_huge(struct fixture *fixture) {
    call(fixture, SYS_madvise, page(fixture, 0), AREA_PAGES * P, MADV_DONTNEED);
    call(fixture, SYS_madvise, page(fixture, 0), AREA_PAGES * P, MADV_HUGEPAGE);
    write_page(fixture, 0, 23);
    write_page(fixture, 1000, 24);
}

static void collapse(struct fixture *fixture) {
    enum { COLLAPSE = 25 }; /* MADV_COLLAPSE, Linux 6.1 */
    write_page(fixture, 7, 25);
    call(fixture, SYS_madvise, page(fixture, 0), AREA_PAGES * P, COLLAPSE);
}

static const struct deed {
    const char *name;
    void (*does)(struct fixture *fixture);
    bool noted; /* it must be: else each such call would cost a fork */
} deeds[] = {
    {"nothing", nothing, true},
    {"a new mapping", map_new, false},
    {"a new mapping that is not used", map_new_unused, false},
    {"a mapping over another", map_over, false},
    {"a mapping over another that is not used", map_over_unused, false},
    {"a mapping in the place of another", unmap_and_map, false},
    {"a mapping that goes", unmap, false},
    {"a mapping that moves and grows", move, false},
    {"a mapping that moves over another", move_within, false},
    {"a mapping that shrinks", shrink, false},
    {"a page that is forgotten", zap, true},
    {"tables that are forgotten", zap_table, true},
    {"tables that are forgotten, and a page that is read", zap_and_read, true},
    {"tables that are forgotten, and pages that are written", zap_and_write, true},
    {"a page that may be forgotten", free_lazily, true},
    {"a page that may be forgotten and is written", free_and_write, true},
    {"a page that could not be accessed for a while", protect_and_back, true},
    {"a page that can be read only from now on", protect_written, true},
    {"a page that cannot be read from now on", hide_written, true},
    {"a growing heap of the C library", grow_break, false},
    {"a growing stack", grow_stack, true},
    {"a page of the program", write_program, false},
    {"a write after a fork", fork_and_write, true},
    {"a write before a fork", write_and_fork, true},
    {"bytes of the kernel", receive, true},
    {"each second page", write_sparsely, true},
    {"nearly each page", write_all_pages, true},
    {"many mappings", split, false},
    {"huge pages", make_huge, false},
    {"a page that becomes huge", collapse, false},
};

enum { DEEDS = sizeof deeds / sizeof *deeds };

/* Once, and again when it has been noted or all has been protected again. */
static void try(const struct deed *deed) {
    enum { TIMES = 3 };
    struct fixture fixture;
    begin(&fixture);
    bool noted = true;
    for (int i = 0; i < TIMES; i++) {
        if (i == 0 || deed->noted)
            deed->does(&fixture);
        if (take(&fixture) == TRACKED)
            continue;
        noted = false;
        cr_assert(arm(&fixture), "%s: nothing is noted any more", deed->name);
    }
    if (deed->noted && !noted)
        fault(&fixture, "it is not noted");
    close_all(&fixture);
    cr_assert_eq(fixture.fault[0], 0, "%s: %s", deed->name, fixture.fault);
}

Test(tracker, notes_whatever_a_process_does_to_its_memory_or_says_that_it_cannot) {
    skip_without_tracking();
    for (size_t i = 0; i < DEEDS; i++)
        try(&deeds[i]);
}

Test(tracker, finds_huge_pages_that_were_there_before) {
    skip_without_tracking();
    struct fixture fixture;
    begin(&fixture);
    make_huge(&fixture);
    obedient_write(&fixture.process, fixture.area, AREA_PAGES, P, 9);
    cr_assert(arm(&fixture));
    write_page(&fixture, 5, 1);
    cr_assert_eq(take(&fixture), TRACKED);
    zap(&fixture);
    cr_assert_eq(take(&fixture), TRACKED);
    call(&fixture, SYS_madvise, page(&fixture, 0), AREA_PAGES / 2 * P, MADV_DONTNEED);
    take(&fixture);
    end(&fixture);
}

/* --- what is copied --- */

enum { OWN_PAGES = 24 }; /* at most, of which the process itself writes with each order */

static size_t count_taken(struct fixture *fixture) {
    cr_assert_eq(take(fixture), TRACKED);
    return fixture->taken;
}

Test(tracker, copies_a_page_once_for_each_time_that_it_is_written) {
    skip_without_tracking();
    struct fixture fixture;
    begin(&fixture);
    cr_assert_leq(count_taken(&fixture), OWN_PAGES, "what was there before is not copied");
    for (int i = 0; i < 3; i++) {
        obedient_write(&fixture.process, page(&fixture, (size_t)i * 200), 200, P, i + 5);
        cr_assert_geq(count_taken(&fixture), 200);
        cr_assert_leq(fixture.taken, 200 + OWN_PAGES);
        cr_assert_leq(count_taken(&fixture), OWN_PAGES);
    }
    end(&fixture);
}

/* The page faults of COUNT pages that are written from page FIRST on, at least. */
static long count_faults(struct fixture *fixture, size_t first, size_t count, int value) {
    const long before = process_faults(fixture->process.pid);
    obedient_write(&fixture->process, page(fixture, first), count, P, value);
    return process_faults(fixture->process.pid) - before;
}

Test(tracker, lets_pages_be_written_that_are_written_each_time) {
    skip_without_tracking();
    struct fixture fixture;
    begin(&fixture);
    fixture.spare = 0;
    for (int i = 0; i < 6; i++) {
        const long faults = count_faults(&fixture, 0, 100, i + 5);
        cr_assert(i < 2 ? faults >= 100 : faults <= OWN_PAGES, "time %d: %ld", i, faults);
        cr_assert_geq(count_taken(&fixture), 100);
    }
    end(&fixture);
}

/* It is read, since it is not protected, and is found to be the same. */
Test(tracker, copies_nothing_that_is_as_it_was) {
    skip_without_tracking();
    struct fixture fixture;
    begin(&fixture);
    for (int i = 0; i < 4; i++)
        obedient_write(&fixture.process, page(&fixture, 0), 100, P, i), take(&fixture);
    for (int i = 0; i < 5; i++) {
        if (i % 2 == 0)
            obedient_write(&fixture.process, page(&fixture, 0), 100, P, 3);
        cr_assert_leq(count_taken(&fixture), OWN_PAGES);
    }
    obedient_write(&fixture.process, page(&fixture, 0), 100, P, 4);
    cr_assert_geq(count_taken(&fixture), 100);
    end(&fixture);
}

/* Three parts are written in turn, as by a collector that gives each call other memory. */
Test(tracker, lets_pages_be_written_that_were_written_of_late) {
    skip_without_tracking();
    enum { PART = 100, TURNS = 12 };
    struct fixture fixture;
    begin(&fixture);
    for (int i = 0; i < TURNS; i++) {
        const long faults = count_faults(&fixture, (size_t)(i % 3) * PART, PART, i);
        cr_assert(i < 3 ? faults >= PART : faults <= OWN_PAGES, "turn %d: %ld", i, faults);
        cr_assert_geq(count_taken(&fixture), PART);
        cr_assert_leq(fixture.taken, PART + OWN_PAGES);
    }
    end(&fixture);
}

Test(tracker, protects_what_is_no_longer_written) {
    skip_without_tracking();
    enum { LONG = 20 };
    struct fixture fixture;
    begin(&fixture);
    for (int i = 0; i < 4; i++)
        obedient_write(&fixture.process, page(&fixture, 0), 100, P, i), take(&fixture);
    for (int i = 0; i < LONG; i++)
        take(&fixture);
    cr_assert_geq(count_faults(&fixture, 0, 100, 9), 100);
    cr_assert_geq(count_taken(&fixture), 100);
    end(&fixture);
}

Test(tracker, lets_few_pages_be_written_whenever_they_were) {
    skip_without_tracking();
    enum { LONG = 20, COUNT = 10 };
    struct fixture fixture;
    begin(&fixture);
    fixture.spare = 0;
    for (int i = 0; i < 2; i++)
        obedient_write(&fixture.process, page(&fixture, 0), COUNT, P, i), take(&fixture);
    for (int i = 0; i < LONG; i++)
        cr_assert_leq(count_taken(&fixture), OWN_PAGES);
    cr_assert_lt(count_faults(&fixture, 0, COUNT, 9), COUNT);
    cr_assert_geq(count_taken(&fixture), COUNT);
    end(&fixture);
}

/* Pages that were written of late are unprotected again as soon as there may be more of them. */
Test(tracker, has_as_many_idle_pages_unprotected_as_it_may) {
    skip_without_tracking();
    struct fixture fixture;
    begin(&fixture);
    fixture.spare = 150;
    count_faults(&fixture, 0, 100, 1);
    take(&fixture);
    count_faults(&fixture, 300, 100, 2);
    take(&fixture); /* those are 200, and only these may stay */
    cr_assert_leq(count_faults(&fixture, 300, 100, 3), OWN_PAGES);
    take(&fixture);
    fixture.spare = 0;
    take(&fixture);
    cr_assert_geq(count_faults(&fixture, 0, 100, 4), 100);
    cr_assert_geq(count_taken(&fixture), 100);
    cr_assert_geq(count_faults(&fixture, 300, 100, 5), 100);
    fixture.spare = TRACKER_SPARE_MAX;
    cr_assert_geq(count_taken(&fixture), 100);
    cr_assert_leq(count_faults(&fixture, 0, 400, 6), 200 + OWN_PAGES);
    cr_assert_geq(count_taken(&fixture), 400);
    end(&fixture);
}

/* What is compared is what the states since then have, and not those before. */
Test(tracker, forgets_what_it_knew_before_it_was_armed) {
    skip_without_tracking();
    struct fixture fixture;
    begin(&fixture);
    for (int i = 0; i < 3; i++)
        obedient_write(&fixture.process, page(&fixture, 0), 100, P, 1), take(&fixture);
    obedient_write(&fixture.process, page(&fixture, 0), 100, P, 2);
    cr_assert(arm(&fixture));
    obedient_write(&fixture.process, page(&fixture, 0), 100, P, 1);
    cr_assert_geq(count_taken(&fixture), 100);
    end(&fixture);
}

/* An unprotected page is read whether the kernel lists it or not. */
Test(tracker, notices_that_unprotected_pages_are_forgotten) {
    skip_without_tracking();
    struct fixture fixture;
    begin(&fixture);
    for (int i = 0; i < 3; i++)
        obedient_write(&fixture.process, page(&fixture, 0), 100, P, i + 1), take(&fixture);
    call(&fixture, SYS_madvise, page(&fixture, 10), 50 * P, MADV_DONTNEED);
    cr_assert_geq(count_taken(&fixture), 50);
    obedient_do(&fixture.process,
                (struct obedient_order){.work = OBEDIENT_READ, .arguments = {page(&fixture, 20)}});
    cr_assert_leq(count_taken(&fixture), OWN_PAGES);
    call(&fixture, SYS_madvise, page(&fixture, 0), AREA_PAGES / 2 * P, MADV_DONTNEED);
    cr_assert_eq(take(&fixture), TRACKED);
    cr_assert_eq(call(&fixture, SYS_munmap, page(&fixture, 50), P, 0), 0);
    cr_assert_eq(take(&fixture), TRACKED_OTHERWISE, "it was to be read");
    end(&fixture);
}

/* Between two pages that are written is one that is not tracked. */
Test(tracker, copies_the_neighbours_of_shared_memory) {
    skip_without_tracking();
    struct fixture fixture;
    begin(&fixture);
    const struct obedient_order share = {.work = OBEDIENT_CALL,
                                         .number = SYS_mmap,
                                         .arguments = {page(&fixture, 101), P, RW,
                                                       MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED,
                                                       UINT64_MAX, 0}};
    obedient_do(&fixture.process, share);
    tracker_free(fixture.tracker);
    cr_assert(open_tracker(&fixture));
    cr_assert(arm(&fixture));
    for (int i = 0; i < 3; i++) {
        obedient_write(&fixture.process, page(&fixture, 100 - (size_t)i), 2 + (size_t)i, 2 * P, i);
        cr_assert_geq(count_taken(&fixture), 1);
    }
    end(&fixture);
}

Test(tracker, does_not_copy_what_was_never_used) {
    skip_without_tracking();
    struct fixture fixture;
    begin(&fixture);
    const uint64_t more = (uint64_t)map_at(&fixture, 0, AREA_PAGES * P, 0);
    cr_assert(arm(&fixture));
    obedient_write(&fixture.process, more, 10, 100 * P, 3);
    cr_assert_geq(count_taken(&fixture), 10);
    cr_assert_leq(fixture.taken, 10 + OWN_PAGES);
    end(&fixture);
}

/* --- limits --- */

Test(tracker, copies_a_limited_number_of_pages) {
    skip_without_tracking();
    enum { FEW = 64 }; /* more than the process needs for itself */
    struct fixture fixture;
    begin(&fixture);
    const uint64_t more = (uint64_t)map_at(&fixture, 0, (TRACKER_PAGES_MAX + 1) * P, 0);
    cr_assert(arm(&fixture));
    obedient_write(&fixture.process, more, TRACKER_PAGES_MAX - FEW, P, 1);
    cr_assert_eq(take(&fixture), TRACKED);
    cr_assert_geq(page_copies(), TRACKER_PAGES_MAX - FEW);
    obedient_write(&fixture.process, more, TRACKER_PAGES_MAX + 1, P, 2);
    cr_assert_eq(take(&fixture), TRACKED_OTHERWISE);
    cr_assert_eq(page_copies(), 0);
    cr_assert(arm(&fixture));
    cr_assert_eq(take(&fixture), TRACKED);
    end(&fixture);
}

/* More may be read than copied. */
Test(tracker, reads_a_limited_number_of_pages) {
    skip_without_tracking();
    enum { FEW = 64, MANY = TRACKER_PAGES_MAX - FEW, REST = MANY / 2 };
    struct fixture fixture;
    begin(&fixture);
    const uint64_t more = (uint64_t)map_at(&fixture, 0, 2 * (uint64_t)MANY * P, 0);
    cr_assert(arm(&fixture));
    for (int i = 0; i < 2; i++) {
        obedient_write(&fixture.process, more, MANY, P, i + 1);
        cr_assert_eq(take(&fixture), TRACKED);
    }
    obedient_write(&fixture.process, more + MANY * P, REST, P, 1);
    cr_assert_eq(take(&fixture), TRACKED);
    cr_assert_leq(fixture.taken, REST + OWN_PAGES);
    for (int i = 0; i < 2; i++)
        obedient_write(&fixture.process, more + (uint64_t)i * MANY * P, MANY, P, 7);
    cr_assert_eq(take(&fixture), TRACKED_OTHERWISE);
    cr_assert(arm(&fixture));
    cr_assert_eq(take(&fixture), TRACKED);
    end(&fixture);
}

/* --- what is written too much to be taken --- */

static bool is_listed(const struct page_runs *runs, uint64_t address) {
    for (size_t i = 0; i < runs->count; i++)
        if (address >= runs->list[i].start &&
            address < runs->list[i].start + runs->list[i].pages * P)
            return true;
    return false;
}

static const struct page_runs *note(struct fixture *fixture) {
    tracker_note_written(fixture->tracker);
    const struct page_runs *runs = tracker_written(fixture->tracker);
    uint64_t pages = 0, last = 0;
    for (size_t i = 0; i < runs->count; i++) {
        cr_assert_gt(runs->list[i].pages, 0);
        cr_assert_gt(runs->list[i].start, last);
        last = runs->list[i].start + (runs->list[i].pages - 1) * P;
        pages += runs->list[i].pages;
    }
    cr_assert_eq(runs->pages, pages);
    return runs;
}

Test(tracker, lists_what_was_written_with_what_little_lies_between) {
    skip_without_tracking();
    struct fixture fixture;
    begin(&fixture);
    take(&fixture);
    obedient_write(&fixture.process, page(&fixture, 0), 100, P, 1);
    obedient_write(&fixture.process, page(&fixture, 103), 7, P, 2);
    obedient_write(&fixture.process, page(&fixture, 300), 1, P, 3);
    for (int i = 0; i < 2; i++) {
        const struct page_runs *runs = note(&fixture);
        cr_assert_geq(runs->pages, 111);
        cr_assert_leq(runs->pages, 111 + 3 * OWN_PAGES);
        for (size_t j = 0; j < 110; j++)
            cr_assert(is_listed(runs, page(&fixture, j)), "page %zu", j);
        cr_assert(is_listed(runs, page(&fixture, 300)));
        cr_assert_not(is_listed(runs, page(&fixture, 110)));
        cr_assert_not(is_listed(runs, page(&fixture, 299)));
        cr_assert_not(is_listed(runs, page(&fixture, 301)));
    }
    cr_assert_geq(count_taken(&fixture), 108, "what is listed is still to be taken");
    end(&fixture);
}

Test(tracker, lists_a_limited_number_of_runs) {
    skip_without_tracking();
    enum { APART = 16, RUNS = PAGE_RUNS_MAX + 20 };
    struct fixture fixture;
    begin(&fixture);
    const uint64_t more = (uint64_t)map_at(&fixture, 0, (uint64_t)RUNS * APART * P, 0);
    cr_assert(arm(&fixture));
    obedient_write(&fixture.process, more, RUNS, APART * P, 1);
    cr_assert_eq(note(&fixture)->count, PAGE_RUNS_MAX);
    end(&fixture);
}

Test(tracker, of_a_process_that_has_ended_lists_nothing) {
    skip_without_tracking();
    struct fixture fixture;
    begin(&fixture);
    obedient_write(&fixture.process, page(&fixture, 0), 100, P, 1);
    obedient_end(&fixture.process);
    cr_assert_eq(note(&fixture)->count, 0);
    tracker_free(fixture.tracker);
    forget(&fixture);
}

Test(tracker, does_not_arm_what_has_too_much_mapped) {
    skip_without_tracking();
    struct fixture fixture;
    begin(&fixture);
    const uint64_t bytes = UINT64_C(1) << 30;
    const uint64_t more = (uint64_t)map_at(&fixture, 0, bytes, MAP_NORESERVE);
    cr_assert_neq(tracker_arm(fixture.tracker), TRACKED);
    call(&fixture, SYS_munmap, more, bytes, 0);
    cr_assert(arm(&fixture));
    cr_assert_eq(take(&fixture), TRACKED);
    end(&fixture);
}

/* Pages far from each other are as many regions as there can be. */
Test(tracker, copies_pages_that_lie_apart) {
    skip_without_tracking();
    enum { APART = 2 << 20, COUNT = 100 };
    struct fixture fixture;
    begin(&fixture);
    const uint64_t more = (uint64_t)map_at(&fixture, 0, (uint64_t)COUNT * APART, MAP_NORESERVE);
    cr_assert(arm(&fixture));
    for (int i = 1; i <= 3; i++) {
        obedient_write(&fixture.process, more, COUNT, APART, i);
        write_sparsely(&fixture);
        cr_assert_eq(take(&fixture), TRACKED);
    }
    end(&fixture);
}

Test(tracker, of_a_process_that_has_ended_takes_nothing) {
    skip_without_tracking();
    struct fixture fixture;
    begin(&fixture);
    kill(fixture.process.pid, SIGKILL);
    while (!process_is_zombie(fixture.process.pid))
        usleep(1000);
    cr_assert_neq(take(&fixture), TRACKED);
    cr_assert_neq(tracker_arm(fixture.tracker), TRACKED);
    end(&fixture);
}

/* --- descriptors and memory --- */

static int descriptors(void) {
    return process_descriptors(getpid());
}

Test(tracker, frees_what_it_was_given) {
    skip_without_tracking();
    const int before = descriptors();
    struct fixture fixture;
    size_t used = 0;
    for (int i = 0; i < 6; i++) {
        begin(&fixture);
        write_sparsely(&fixture);
        take(&fixture);
        map_new(&fixture);
        cr_assert_eq(take(&fixture), TRACKED_MAPPINGS);
        end(&fixture);
        cr_assert_eq(descriptors(), before);
        if (i == 2)
            used = mallinfo2().uordblks;
    }
    cr_assert_leq(mallinfo2().uordblks, used + P);
}

/* One that is no userfaultfd, that is not open, and one that has a tracker already. */
Test(tracker, is_not_made_of_other_descriptors) {
    skip_without_tracking();
    static const int32_t numbers[] = {-1, 0, 1, 77, 1 << 20, INT32_MAX, INT32_MIN};
    struct fixture fixture;
    struct tracker_parts parts;
    begin(&fixture);
    const int before = descriptors();
    const pid_t pid = fixture.process.pid;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cr_assert_not(
            weigher_open_parts(pid, &(struct tracked_message){.userfault = numbers[i]}, &parts),
            "%d", numbers[i]);
    struct tracked_message said = {.userfault =
                                       (int32_t)call(&fixture, SYS_userfaultfd, TRACK_FLAGS, 0, 0)};
    cr_assert_not(weigher_open_parts(pid, &said, &parts), "its memory is another's");
    tracker_free(fixture.tracker);
    fixture.tracker = NULL;
    cr_assert(open_tracker(&fixture));
    cr_assert_not(weigher_open_parts(pid, &said, &parts), "its memory is another's");
    cr_assert_eq(descriptors(), before);
    cr_assert(arm(&fixture));
    end(&fixture);
}

/* What a worker says of its stack may be anything. */
Test(tracker, is_made_whatever_is_said_to_be_unused) {
    skip_without_tracking();
    static const uint64_t ends[] = {0,         1,          P,
                                    P + 1,     0x7ffff000, UINT64_C(0x7ffffffff000),
                                    INT64_MAX, UINT64_MAX, UINT64_MAX & ~(uint64_t)(P - 1)};
    enum { ENDS = sizeof ends / sizeof *ends };
    struct fixture fixture;
    begin(&fixture);
    const int before = descriptors();
    for (size_t i = 0; i < ENDS * ENDS; i++) {
        tracker_free(fixture.tracker);
        struct tracked_message said = {
            .userfault = (int32_t)call(&fixture, SYS_userfaultfd, TRACK_FLAGS, 0, 0),
            .start = ends[i / ENDS],
            .end = ends[i % ENDS]};
        cr_assert(weigher_open_parts(fixture.process.pid, &said, &fixture.parts));
        fixture.tracker = tracker_open(&fixture.parts, fixture.process.pid);
        call(&fixture, SYS_close, (uint64_t)said.userfault, 0, 0);
        write_page(&fixture, 3, (int)i);
        cr_assert(fixture.tracker && tracker_arm(fixture.tracker) == TRACKED, "from %lx to %lx",
                  (unsigned long)said.start, (unsigned long)said.end);
        cr_assert_eq(descriptors(), before);
    }
    cr_assert(arm(&fixture));
    write_page(&fixture, 3, 1);
    cr_assert_eq(take(&fixture), TRACKED);
    end(&fixture);
}

Test(tracker, has_no_parts_of_a_process_that_is_gone) {
    const struct tracked_message said = {.userfault = 5};
    struct tracker_parts parts;
    const int before = descriptors();
    cr_assert_not(weigher_open_parts(0, &said, &parts));
    cr_assert_not(weigher_open_parts(-1, &said, &parts));
    cr_assert_not(weigher_open_parts(INT32_MAX, &said, &parts));
    cr_assert_eq(descriptors(), before);
}

/* --- spans --- */

static void expect_spans(const struct tracker_spans *spans, const struct tracker_span *wanted,
                         size_t count) {
    cr_assert_eq(spans->count, count);
    for (size_t i = 0; i < count; i++)
        cr_assert(spans->list[i].start == wanted[i].start && spans->list[i].end == wanted[i].end,
                  "span %zu is %lx to %lx", i, (unsigned long)spans->list[i].start,
                  (unsigned long)spans->list[i].end);
}

Test(tracker, leaves_out_what_is_within_a_span) {
    const struct tracker_spans whole = {.list = {{0x10000, 0x20000}, {0x30000, 0x50000}},
                                        .count = 2};
    static const struct {
        uint64_t start, end;
    } odd[] = {{0x30000, 0x40000},
               {0x40000, 0x50000},
               {0x30000, 0x50000},
               {0x28000, 0x38000},
               {0x40000, 0x40000},
               {0x41000, 0x40000},
               {0x40001, 0x42000},
               {0x40000, 0x42001},
               {0, UINT64_MAX},
               {0, 0},
               {0x20000, 0x30000},
               {0x60000, 0x70000},
               {0, 0x1000},
               {0x18000, 0x48000},
               {0x40000, ~UINT64_C(0xfff)}};
    struct tracker_spans spans = whole;
    tracker_leave_out(&spans, 0x38000, 0x40000);
    expect_spans(
        &spans, (struct tracker_span[]){{0x10000, 0x20000}, {0x30000, 0x38000}, {0x40000, 0x50000}},
        3);
    tracker_leave_out(&spans, 0x11000, 0x12000);
    expect_spans(
        &spans,
        (struct tracker_span[]){
            {0x10000, 0x11000}, {0x12000, 0x20000}, {0x30000, 0x38000}, {0x40000, 0x50000}},
        4);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        spans = whole;
        tracker_leave_out(&spans, odd[i].start, odd[i].end);
        expect_spans(&spans, whole.list, whole.count);
    }
    spans = whole;
    for (uint64_t at = 0x31000; at < 0x50000; at += 0x2000)
        tracker_leave_out(&spans, at, at + 0x1000);
    cr_assert_leq(spans.count, TRACKER_SPANS_MAX);
}

/* --- sets --- */

/* The same in a table. */
enum { MODEL_PAGES = 40 };

static struct page_set random_set(struct random *random, int model[MODEL_PAGES], unsigned percent) {
    struct page_set set = {.pages = calloc(MODEL_PAGES, sizeof *set.pages)};
    cr_assert(set.pages);
    for (size_t i = 0; i < MODEL_PAGES; i++) {
        model[i] = -1;
        if (!random_percent(random, percent))
            continue;
        model[i] = (int)random_below(random, 256);
        struct page *made = &set.pages[set.count++];
        unsigned char bytes[P];
        memset(bytes, model[i], P);
        *made = (struct page){.address = (i + 1) * P, .bytes = page_copy(bytes)};
        cr_assert(made->bytes);
    }
    return set;
}

static void expect_pages(const struct page_set *set, const int newer[MODEL_PAGES],
                         const int older[MODEL_PAGES]) {
    size_t at = 0;
    for (size_t i = 0; i < MODEL_PAGES; i++) {
        const int wanted = newer[i] >= 0 ? newer[i] : older[i];
        if (wanted < 0)
            continue;
        cr_assert_lt(at, set->count);
        cr_assert_eq(set->pages[at].address, (i + 1) * P);
        cr_assert_eq(set->pages[at++].bytes[P - 1], wanted);
    }
    cr_assert_eq(at, set->count);
}

Test(page_set, refers_to_and_absorbs_the_pages_that_it_has_not) {
    enum { TRIALS = 300, TRIALS_THOROUGH = 20000 };
    struct random random = random_for("absorb");
    for (size_t trial = random_trials(TRIALS, TRIALS_THOROUGH); trial > 0; trial--) {
        int newer[MODEL_PAGES], older[MODEL_PAGES];
        struct page_set set = random_set(&random, newer, (unsigned)random_below(&random, 101));
        struct page_set other = random_set(&random, older, (unsigned)random_below(&random, 101));
        struct page_set all = {0};
        cr_assert(page_set_refer(&all, &set) && page_set_refer(&all, &other));
        expect_pages(&all, newer, older);
        free(all.pages);
        cr_assert_eq(page_copies(), set.count + other.count);
        cr_assert(page_set_absorb(&set, &other));
        cr_assert(other.count == 0 && !other.pages);
        expect_pages(&set, newer, older);
        cr_assert_eq(page_copies(), set.count);
        page_set_free(&set);
        page_set_free(&set);
        cr_assert_eq(page_copies(), 0);
    }
}

/* --- at random --- */

enum { SPOT_MAX = 24, HOT_PAGES = 16, LINES = 300, SCRIPTS = 4, SCRIPTS_THOROUGH = 200 };

/* Pages of the area. What is not mapped can only be mapped. */
struct spot {
    size_t first, count;
    int value;
    bool mapped;
};

static void at_spot_write(struct fixture *fixture, const struct spot *spot) {
    obedient_write(&fixture->process, page(fixture, spot->first) + (size_t)spot->value, spot->count,
                   P, spot->value);
}

static void at_spot_read(struct fixture *fixture, const struct spot *spot) {
    obedient_do(
        &fixture->process,
        (struct obedient_order){.work = OBEDIENT_READ, .arguments = {page(fixture, spot->first)}});
}

static void at_spot_zap(struct fixture *fixture, const struct spot *spot) {
    call(fixture, SYS_madvise, page(fixture, spot->first), spot->count * P, MADV_DONTNEED);
}

static void at_spot_free(struct fixture *fixture, const struct spot *spot) {
    call(fixture, SYS_madvise, page(fixture, spot->first), spot->count * P, MADV_FREE);
}

static void at_spot_shield(struct fixture *fixture, const struct spot *spot) {
    call(fixture, SYS_mprotect, page(fixture, spot->first), spot->count * P, PROT_NONE);
    call(fixture, SYS_mprotect, page(fixture, spot->first), spot->count * P, RW);
}

static void at_spot_receive(struct fixture *fixture, const struct spot *spot) {
    call(fixture, SYS_getrandom, page(fixture, spot->first), spot->count * P, 0);
}

static void at_spot_map(struct fixture *fixture, const struct spot *spot) {
    map_at(fixture, page(fixture, spot->first), spot->count * P, MAP_FIXED);
    memset(fixture->lacks + spot->first, false, spot->count);
}

static void at_spot_unmap(struct fixture *fixture, const struct spot *spot) {
    call(fixture, SYS_munmap, page(fixture, spot->first), spot->count * P, 0);
    memset(fixture->lacks + spot->first, true, spot->count);
}

static void at_spot_move(struct fixture *fixture, const struct spot *spot) {
    if (spot->first < spot->count)
        return;
    obedient_call(&fixture->process, SYS_mremap, page(fixture, spot->first), spot->count * P,
                  spot->count * P, MREMAP_MAYMOVE | MREMAP_FIXED,
                  page(fixture, spot->first - spot->count));
    memset(fixture->lacks + spot->first - spot->count, false, spot->count);
    memset(fixture->lacks + spot->first, true, spot->count);
}

static void at_spot_fork(struct fixture *fixture, const struct spot *spot) {
    (void)spot;
    obedient_do(&fixture->process, (struct obedient_order){.work = OBEDIENT_FORK});
}

static void at_spot_break(struct fixture *fixture, const struct spot *spot) {
    (void)spot;
    grow_break(fixture);
}

static void at_spot_stack(struct fixture *fixture, const struct spot *spot) {
    obedient_do(&fixture->process, (struct obedient_order){.work = OBEDIENT_STACK,
                                                           .arguments = {64 + spot->count * 10000,
                                                                         (uint64_t)spot->value}});
}

/* Takes; HOT_PAGES are written before each time. */
static void at_spot_take(struct fixture *fixture, const struct spot *spot) {
    static const size_t spares[] = {0, 8, 64, TRACKER_SPARE_MAX};
    fixture->spare = spares[(size_t)spot->value % (sizeof spares / sizeof *spares)];
    for (size_t i = 0; i < HOT_PAGES; i++)
        if (!fixture->lacks[i * AREA_PAGES / HOT_PAGES])
            write_page(fixture, i * AREA_PAGES / HOT_PAGES, spot->value);
    if (take(fixture) == TRACKED)
        fixture->noted++;
    else if (!arm(fixture))
        fault(fixture, "nothing is noted any more");
}

/* How often of a hundred. */
static const struct word {
    const char *name;
    void (*does)(struct fixture *fixture, const struct spot *spot);
    unsigned percent;
} words[] = {
    {"write", at_spot_write, 34}, {"take", at_spot_take, 30},      {"read", at_spot_read, 8},
    {"zap", at_spot_zap, 7},      {"free", at_spot_free, 4},       {"shield", at_spot_shield, 4},
    {"fork", at_spot_fork, 3},    {"receive", at_spot_receive, 4}, {"stack", at_spot_stack, 2},
    {"map", at_spot_map, 1},      {"unmap", at_spot_unmap, 1},     {"move", at_spot_move, 1},
    {"break", at_spot_break, 1},
};

enum { WORDS = sizeof words / sizeof *words };

/* LINE: a word, the first page, how many, a value. */
static void obey(struct fixture *fixture, struct text line) {
    char name[16] = "";
    unsigned first = 0, count = 0, value = 0;
    // NOLINTNEXTLINE(cert-err34-c): the numbers are our own
    sscanf(line.bytes, "%15s %u %u %u", name, &first, &count, &value);
    struct spot spot = {.first = first % AREA_PAGES, .value = (int)(value % 256), .mapped = true};
    const size_t left = AREA_PAGES - spot.first;
    spot.count = 1 + count % (left < SPOT_MAX ? left : SPOT_MAX);
    for (size_t i = 0; i < spot.count; i++)
        spot.mapped = spot.mapped && !fixture->lacks[spot.first + i];
    for (size_t i = 0; i < WORDS; i++)
        if (strcmp(words[i].name, name) == 0 && (spot.mapped || words[i].does == at_spot_map))
            words[i].does(fixture, &spot);
}

/* What was wrong, the caller's; NULL: nothing. Adds to *NOTED the sets that were whole. */
static char *play(const struct script *script, size_t *noted) {
    struct fixture fixture;
    begin(&fixture);
    for (size_t i = 0; i < script->count && !fixture.fault[0]; i++)
        obey(&fixture, script->lines[i]);
    *noted += fixture.noted;
    close_all(&fixture);
    return fixture.fault[0] ? strdup(fixture.fault) : NULL;
}

static bool fails(const struct script *script, void *context) {
    char *wrong = play(script, context);
    free(wrong);
    return wrong != NULL;
}

static struct script make_script(struct random *random) {
    struct script script = {0};
    for (size_t i = 0; i < LINES; i++) {
        char text[80];
        size_t word = 0, dice = random_below(random, 100);
        while (dice >= words[word].percent)
            dice -= words[word++].percent;
        snprintf(text, sizeof text, "%s %zu %zu %zu", words[word].name,
                 random_below(random, AREA_PAGES), random_below(random, SPOT_MAX),
                 random_below(random, 256));
        script_add_line(&script, text);
    }
    return script;
}

static void report(struct script *script, const char *wrong) {
    enum { ATTEMPTS = 300 };
    size_t noted;
    fprintf(stderr, "failed: %s\nshrinking...\n", wrong);
    script_shrink(script, fails, &noted, ATTEMPTS);
    for (size_t i = 0; i < script->count; i++)
        fprintf(stderr, "%.*s\n", (int)script->lines[i].length, script->lines[i].bytes);
    char *last = play(script, &noted);
    cr_assert_fail("%s", last ? last : wrong);
}

Test(tracker, agrees_with_the_memory_after_random_deeds) {
    skip_without_tracking();
    struct random random = random_for("tracker");
    size_t noted = 0;
    const size_t scripts = random_trials(SCRIPTS, SCRIPTS_THOROUGH);
    for (size_t i = 0; i < scripts; i++) {
        struct script script = make_script(&random);
        char *wrong = play(&script, &noted);
        if (wrong)
            report(&script, wrong);
        script_free(&script);
    }
    cr_assert_gt(noted, scripts * LINES / 10, "it has noted only %zu states", noted);
}

/* Longer than a page is left unprotected that is not written. */
Test(tracker, notes_pages_that_are_written_each_time_and_others) {
    skip_without_tracking();
    enum { TAKES = 110 };
    struct random random = random_for("hot");
    struct fixture fixture;
    begin(&fixture);
    for (int i = 0; i < TAKES; i++) {
        const struct spot spot = {.first = random_below(&random, AREA_PAGES - SPOT_MAX),
                                  .count = 1 + random_below(&random, SPOT_MAX),
                                  .value = i};
        if (random_percent(&random, 70))
            at_spot_write(&fixture, &spot);
        at_spot_take(&fixture, &spot);
    }
    cr_assert_eq(fixture.noted, TAKES);
    end(&fixture);
}

/* NOLINTEND(bugprone-implicit-widening-of-multiplication-result) */
