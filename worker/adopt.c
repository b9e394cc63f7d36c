/* Undoes what this process has changed of the base and reads in what the session had changed. The
 * bytes are foreign; the process is confined, as any that runs a session, so that they can do
 * nothing that Lisp code could not. While memory is replaced, nothing of it is used but the code
 * and the constants, which stay: the tables and the stack are in memory of their own, where nothing
 * of a session can be. */
#include "worker/adopt.h"
#include "common/cleanup.h"
#include "common/direct_call.h"
#include "common/session_image.h"
#include "worker/image.h"
#include "worker/image_scan.h"
#include "worker/image_write.h"
#include "worker/park.h"

#include <fcntl.h>
#include <gc/gc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#if IMAGE_SUPPORTED

enum { PRESENT_MAX = 4096, STACK_BYTES = 64 << 10, PART_BYTES = 64 << 10, EXIT_DAMAGED = 3 };

/* What the zygote had when it began to fork; its workers have little more. */
static struct session_image_present present[PRESENT_MAX];
static size_t present_count;

/* --- the list --- */

struct list {
    struct scan_mapping mapping;
    char text[SCAN_MAPS_BYTES];
};

static enum session_image_kind kind_of(const struct scan_mapping *mapping) {
    if (mapping->protection & PROT_EXEC || mapping->shared || scan_is_kernels(mapping->path))
        return SESSION_IMAGE_FIXED;
    if (mapping->path[0] != '/')
        return SESSION_IMAGE_OTHER;
    return mapping->protection & PROT_WRITE ? SESSION_IMAGE_OF_BASE : SESSION_IMAGE_FIXED;
}

static bool read_list(struct list *list, int fd) {
    size_t have = 0;
    ssize_t got;
    while (have < sizeof list->text - 1 &&
           (got = read(fd, list->text + have, sizeof list->text - 1 - have)) > 0)
        have += (size_t)got;
    const char *at = list->text;
    for (present_count = 0; scan_next_mapping(&at, &list->mapping);) {
        const struct scan_mapping *mapping = &list->mapping;
        if (mapping->start <= (uint64_t)list && (uint64_t)list < mapping->end)
            continue;
        if (present_count == PRESENT_MAX)
            return false;
        present[present_count++] =
            (struct session_image_present){mapping->start, mapping->end, kind_of(mapping)};
    }
    return have > 0 && have < sizeof list->text - 1 && !*at;
}

void adopt_hide_from_collector(void) {
    GC_exclude_static_roots(&parked, &parked + 1);
    GC_exclude_static_roots(present, present + PRESENT_MAX);
}

int adopt_open_list(void) {
    return image_identity() ? open("/proc/self/maps", O_RDONLY | O_CLOEXEC) : -1;
}

/* Shared memory is a mapping of its own. No path of the host may remain in memory. */
void adopt_learn(int fd) {
    cleanup_fd int own = fd;
    struct list *list = own < 0 ? MAP_FAILED
                                : mmap(NULL, sizeof *list, PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (list == MAP_FAILED)
        return;
    if (!read_list(list, own))
        present_count = 0;
    munmap(list, sizeof *list);
}

/* --- the replacement --- */

/* At IMAGE_RESTORER_START, where no image has anything. */
struct adoption {
    int fd;
    uint32_t call;
    uint64_t break_end;
    size_t kept_bytes, present_count;
    struct session_image_present present[PRESENT_MAX];
    char kept[IMAGE_KEPT_MAX];
    char part[PART_BYTES];
    _Alignas(IMAGE_PAGE) union {
        struct session_image_header header;
        char bytes[SESSION_IMAGE_TABLES_MAX];
    } tables;
};

enum { ROOM_BYTES = IMAGE_RESTORER_END - IMAGE_RESTORER_START };
_Static_assert(sizeof(struct adoption) + STACK_BYTES <= ROOM_BYTES, "room for the tables");

static struct adoption *room(void) {
    return (struct adoption *)IMAGE_RESTORER_START; // NOLINT(performance-no-int-to-ptr)
}

/* There is no way back. */
static _Noreturn void leave(void) {
    for (;;)
        DIRECT_CALL(SYS_exit_group, EXIT_DAMAGED, 0, 0, 0, 0, 0);
}

/* Unmaps what this process has and the session does not. Both lists are sorted. */
static void unmap_others(const struct adoption *adoption) {
    const struct session_image_header *header = &adoption->tables.header;
    const struct session_image_area *areas = session_image_areas(header);
    uint32_t next = 0;
    for (size_t i = 0; i < adoption->present_count; i++) {
        const struct session_image_present *mapping = &adoption->present[i];
        uint64_t at = mapping->start;
        while (mapping->kind != SESSION_IMAGE_FIXED && at < mapping->end) {
            while (next < header->areas && areas[next].end <= at)
                next++;
            const bool meets = next < header->areas && areas[next].start < mapping->end;
            const uint64_t end = meets ? areas[next].start : mapping->end;
            if (end > at && DIRECT_CALL(SYS_munmap, at, end - at, 0, 0, 0, 0) < 0)
                leave();
            at = meets ? areas[next].end : mapping->end;
        }
    }
}

static void make_areas(const struct session_image_header *header) {
    const struct session_image_area *areas = session_image_areas(header);
    for (uint32_t i = 0; i < header->areas; i++) {
        const struct session_image_area *area = &areas[i];
        const uint64_t bytes = area->end - area->start;
        const long protection = area->protection == PROT_NONE ? PROT_NONE : PROT_READ | PROT_WRITE;
        if (area->of_base ? DIRECT_CALL(SYS_madvise, area->start, bytes, MADV_DONTNEED, 0, 0, 0) < 0
                          : DIRECT_CALL(SYS_mmap, area->start, bytes, protection,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
                                        0) != (long)area->start)
            leave();
    }
}

/* The digest is that of what was read: the kernel writes to the pages of a thread whenever it moves
 * it to another processor (rseq). */
static void read_pages(struct adoption *adoption) {
    const struct session_image_header *header = &adoption->tables.header;
    const struct session_image_run *runs = session_image_runs(header);
    unsigned char digest[BLAKE2B_BYTES];
    struct blake2b hash;
    blake2b_begin(&hash);
    for (uint32_t i = 0; i < header->runs; i++) {
        char *to = (char *)runs[i].start; // NOLINT(performance-no-int-to-ptr)
        for (uint64_t rest = runs[i].pages * IMAGE_PAGE; rest > 0;) {
            const uint64_t wanted = rest < PART_BYTES ? rest : PART_BYTES;
            const long got = DIRECT_CALL(SYS_read, adoption->fd, adoption->part, wanted, 0, 0, 0);
            if (got <= 0)
                leave();
            blake2b_add(&hash, adoption->part, (size_t)got);
            memcpy(to, adoption->part, (size_t)got);
            to += got;
            rest -= (uint64_t)got;
        }
    }
    blake2b_end(&hash, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        if (digest[i] != header->pages_digest[i])
            leave();
}

static void protect_areas(const struct session_image_header *header) {
    const struct session_image_area *areas = session_image_areas(header);
    for (uint32_t i = 0; i < header->areas; i++)
        if (areas[i].protection == PROT_READ &&
            DIRECT_CALL(SYS_mprotect, areas[i].start, areas[i].end - areas[i].start, PROT_READ, 0,
                        0, 0) < 0)
            leave();
}

/* On the stack in the room. The heap of the C library ends where the session's did, or its next
 * growth would be taken for that of another program. */
static _Noreturn void become(void *argument) {
    struct adoption *adoption = argument;
    const struct session_image_header *header = &adoption->tables.header;
    DIRECT_CALL(SYS_brk, adoption->break_end, 0, 0, 0, 0, 0);
    unmap_others(adoption);
    make_areas(header);
    read_pages(adoption);
    protect_areas(header);
    DIRECT_CALL(SYS_close, adoption->fd, 0, 0, 0, 0, 0);
    image_restore_kept(adoption->kept);
    longjmp(parked.registers, PARKED_ADOPTED);
}

static bool read_whole(int fd, void *bytes, size_t size) {
    for (size_t have = 0; have < size;) {
        ssize_t got = read(fd, (char *)bytes + have, size - have);
        if (got <= 0)
            return false;
        have += (size_t)got;
    }
    return true;
}

static const char *read_tables(struct adoption *adoption, const struct adopt_message *message) {
    static const char cut_off[] = "is cut off";
    struct session_image_header *header = &adoption->tables.header;
    unsigned char digest[BLAKE2B_BYTES];
    struct blake2b hash;
    if (!read_whole(adoption->fd, header, sizeof *header))
        return cut_off;
    const uint64_t size = header->tables_bytes;
    if (size < sizeof *header || size > sizeof adoption->tables)
        return "is damaged";
    if (!read_whole(adoption->fd, header + 1, size - sizeof *header))
        return cut_off;
    blake2b_begin(&hash);
    blake2b_add(&hash, header, size);
    blake2b_end(&hash, digest);
    if (memcmp(digest, message->digest, sizeof digest) != 0)
        return "is not the one that was saved";
    return session_image_judge(header, size, message->bytes, image_identity(), adoption->present,
                               adoption->present_count);
}

const char *adopt_session(int fd, uint32_t call, const struct adopt_message *message) {
    if (!image_identity())
        return "needs a server that started from an image, and this one booted Lisp";
    if (!present_count)
        return "does not fit: the mappings of the process are unknown";
    void *place = mmap(room(), ROOM_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED)
        return "does not fit: there is no memory for its tables";
    struct adoption *adoption = room();
    const char *why = "does not fit: the place for its tables is taken";
    if (place == adoption) {
        adoption->fd = fd;
        adoption->call = call;
        adoption->present_count = present_count;
        memcpy(adoption->present, present, present_count * sizeof *present);
        why = read_tables(adoption, message);
    }
    if (!why) {
        const uint64_t break_end = adoption->tables.header.break_end;
        adoption->break_end = break_end ? break_end : image_break();
        image_save_kept(adoption->kept);
        direct_continue(become, adoption, IMAGE_RESTORER_END - 64);
    }
    munmap(place, ROOM_BYTES);
    return why;
}

uint32_t adopt_finish(void) {
    const uint32_t call = room()->call;
    munmap(room(), ROOM_BYTES);
    image_adopted();
    return call;
}

#else

void adopt_hide_from_collector(void) {
    GC_exclude_static_roots(&parked, &parked + 1);
}

int adopt_open_list(void) {
    return -1;
}

void adopt_learn(int fd) {
    (void)fd;
}

const char *adopt_session(int fd, uint32_t call, const struct adopt_message *message) {
    (void)fd, (void)call, (void)message;
    return "cannot be used on this processor";
}

uint32_t adopt_finish(void) {
    return 0;
}

#endif
