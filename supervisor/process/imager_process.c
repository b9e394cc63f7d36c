/* Reads a parked worker and writes its image. What the worker says of itself counts for nothing:
 * its mappings are as the kernel lists them, and its bytes are copied. */
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "supervisor/process/imager.h"
#include "supervisor/process/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CHUNK_BYTES = 1 << 20, CHUNK_PAGES = CHUNK_BYTES / IMAGE_PAGE };

struct mapped {
    const char *bytes; /* NULL: not mapped */
    size_t size;
};

struct imaging {
    pid_t pid;
    struct mapped image;
    const struct image_header *base;
    void *base_tables;
    uint64_t inode; /* of the base image */
    struct mapped sources[IMAGE_FILES_MAX];
    const char *program;
    int pagemap; /* -1: it cannot be read */
    uint64_t break_end;
    struct session_image_area *areas;
    struct session_image_run *runs;
    uint32_t area_count, run_count;
    uint64_t pages;
    char *theirs;
    uint64_t entries[CHUNK_PAGES]; /* of the pagemap */
    struct imaged *imaged;
};

__attribute__((format(printf, 2, 3))) static bool fail(struct imaging *imaging, const char *format,
                                                       ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(imaging->imaged->why, sizeof imaging->imaged->why, format, arguments);
    va_end(arguments);
    return false;
}

/* --- the base --- */

static bool map_file(struct mapped *mapped, const char *path, struct stat *status) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, status) != 0 || status->st_size <= 0)
        return false;
    void *bytes = mmap(NULL, (size_t)status->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return false;
    *mapped = (struct mapped){bytes, (size_t)status->st_size};
    return true;
}

static void unmap_file(const struct mapped *mapped) {
    if (mapped->bytes)
        munmap((void *)mapped->bytes, mapped->size);
}

/* The tables are judged in a copy, since that changes them. */
static bool open_base(struct imaging *imaging, const char *path) {
    struct stat status;
    if (!map_file(&imaging->image, path, &status))
        return fail(imaging, "the base image is not there");
    imaging->inode = status.st_ino;
    const struct image_header *header = (const void *)imaging->image.bytes;
    if (imaging->image.size < sizeof *header || header->tables_bytes > imaging->image.size)
        return fail(imaging, "the base image is damaged");
    const size_t size = header->tables_bytes;
    imaging->base_tables = malloc(size + 1);
    if (!imaging->base_tables)
        return fail(imaging, "out of memory");
    memcpy(imaging->base_tables, header, size);
    imaging->base = imaging->base_tables;
    return image_file_judge(imaging->base_tables, size, imaging->image.size) == IMAGE_FITS ||
           fail(imaging, "the base image is damaged");
}

static const struct image_run *find_run(const struct image_header *base, uint64_t address) {
    const struct image_run *runs = image_runs(base);
    uint32_t low = 0, high = base->runs;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (runs[middle].start + (uint64_t)runs[middle].pages * IMAGE_PAGE <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < base->runs && runs[low].start <= address ? &runs[low] : NULL;
}

/* The bytes of source INDEX; NULL if it is not what it was. */
static const struct mapped *open_source(struct imaging *imaging, uint32_t index) {
    const struct image_source *source = &image_sources(imaging->base)[index];
    struct mapped *mapped = &imaging->sources[index];
    struct stat status;
    if (!mapped->bytes &&
        (!map_file(mapped, source->path[0] ? source->path : imaging->program, &status) ||
         mapped->size != source->size || status.st_ino != source->inode ||
         (uint64_t)status.st_mtim.tv_sec != source->modified_s ||
         (uint64_t)status.st_mtim.tv_nsec != source->modified_ns))
        return NULL;
    return mapped;
}

/* The page that the base has at ADDRESS. NULL if it has none, or it cannot be read. */
static const char *base_page(struct imaging *imaging, uint64_t address) {
    static const char zeros[IMAGE_PAGE];
    static char last[IMAGE_PAGE]; /* of a file that ends within it */
    const struct image_run *run = find_run(imaging->base, address);
    if (run)
        return imaging->image.bytes + run->offset + (address - run->start);
    const struct image_area *area = image_area_at(imaging->base, address);
    if (!area || area->source == IMAGE_ZEROS)
        return area ? zeros : NULL;
    const struct mapped *source = open_source(imaging, (uint32_t)area->source);
    const uint64_t offset = area->offset + (address - area->start);
    if (!source || offset >= source->size)
        return source ? zeros : NULL;
    if (source->size - offset >= IMAGE_PAGE)
        return source->bytes + offset;
    memset(last, 0, sizeof last);
    memcpy(last, source->bytes + offset, source->size - offset);
    return last;
}

/* --- the worker --- */

// NOLINTNEXTLINE(readability-non-const-parameter): the kernel writes to it
static bool fetch(const struct imaging *imaging, uint64_t at, char *to, size_t size) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const struct iovec own = {to, size}, other = {(void *)at, size};
    return process_vm_readv(imaging->pid, &own, 1, &other, 1, 0) == (ssize_t)size;
}

static bool add_page(struct imaging *imaging, uint64_t address) {
    struct session_image_run *last =
        imaging->run_count ? &imaging->runs[imaging->run_count - 1] : NULL;
    const struct session_image_area *area = &imaging->areas[imaging->area_count - 1];
    if (++imaging->pages > SESSION_IMAGE_PAGES_MAX)
        return fail(imaging, "it has changed more than %d MiB",
                    SESSION_IMAGE_PAGES_MAX / 1024 * IMAGE_PAGE / 1024);
    if (last && last->start >= area->start && last->start + last->pages * IMAGE_PAGE == address) {
        last->pages++;
        return true;
    }
    if (!imaging->runs || imaging->run_count == SESSION_IMAGE_RUNS_MAX)
        return fail(imaging, "its changes are too scattered");
    imaging->runs[imaging->run_count++] = (struct session_image_run){address, 1};
    return true;
}

/* Whether the pagemap tells that the page of ENTRY is as it is without the worker. */
static bool is_untouched(uint64_t entry, bool of_base) {
    const bool there = entry >> 63 || (entry >> 62 & 1), of_file = entry >> 61 & 1;
    return !there || (of_base && of_file);
}

/* Compares the COUNT pages at ADDRESS, in the last area. */
static bool compare(struct imaging *imaging, uint64_t address, size_t count, bool of_base) {
    static const char zeros[IMAGE_PAGE];
    const size_t bytes = count * sizeof *imaging->entries;
    const bool known =
        imaging->pagemap >= 0 &&
        pread(imaging->pagemap, imaging->entries, bytes,
              (off_t)(address / IMAGE_PAGE * sizeof *imaging->entries)) == (ssize_t)bytes;
    size_t touched = 0;
    for (size_t i = 0; i < count; i++)
        touched += !known || !is_untouched(imaging->entries[i], of_base);
    if (!touched)
        return true;
    if (!fetch(imaging, address, imaging->theirs, count * IMAGE_PAGE))
        return fail(imaging, "its memory cannot be read: %s", strerror(errno));
    for (size_t i = 0; i < count; i++) {
        const uint64_t at = address + i * IMAGE_PAGE;
        if (known && is_untouched(imaging->entries[i], of_base))
            continue;
        const char *page = of_base ? base_page(imaging, at) : zeros;
        if (!page)
            return fail(imaging, "the base image has nothing at %#lx", (unsigned long)at);
        if (memcmp(imaging->theirs + i * IMAGE_PAGE, page, IMAGE_PAGE) != 0 &&
            !add_page(imaging, at))
            return false;
    }
    return true;
}

static bool add_area(struct imaging *imaging, const struct maps_line *line, bool of_base) {
    const uint32_t both = PROT_READ | PROT_WRITE;
    if (line->protection != PROT_NONE && line->protection != PROT_READ && line->protection != both)
        return fail(imaging, "its memory has an unusual protection");
    if (imaging->area_count == SESSION_IMAGE_AREAS_MAX)
        return fail(imaging, "it has too many mappings");
    imaging->areas[imaging->area_count++] =
        (struct session_image_area){line->start, line->end, line->protection, of_base};
    if (line->protection == PROT_NONE)
        return true;
    for (uint64_t at = line->start; at < line->end; at += CHUNK_BYTES) {
        const uint64_t left = (line->end - at) / IMAGE_PAGE;
        if (!compare(imaging, at, left < CHUNK_PAGES ? (size_t)left : CHUNK_PAGES, of_base))
            return false;
    }
    return true;
}

/* A part of the base that cannot be written is as the base has it, or cannot be shown. */
static bool stays(const struct imaging *imaging, const struct maps_line *line) {
    for (uint64_t at = line->start; at < line->end;) {
        const struct image_area *area = image_area_at(imaging->base, at);
        if (!area || area->protection & PROT_WRITE)
            return false;
        at = area->end;
    }
    return true;
}

static bool add_line(struct imaging *imaging, const struct maps_line *line) {
    if (line->of == MAPS_OF_KERNEL)
        return true;
    if (line->protection & PROT_EXEC)
        return stays(imaging, line) || fail(imaging, "it has native code of its own");
    if (line->shared)
        return fail(imaging, "it has shared memory");
    if (line->of == MAPS_OF_BREAK)
        imaging->break_end = line->end;
    if (line->of != MAPS_OF_FILE)
        return add_area(imaging, line, false);
    if (line->protection & PROT_WRITE)
        return add_area(imaging, line, true);
    return stays(imaging, line) || fail(imaging, "a part of its memory can no longer be written");
}

/* Hands every mapping to VISIT, until that is false. False with a reason. */
static bool visit_lines(struct imaging *imaging, FILE *maps,
                        bool (*visit)(struct imaging *imaging, const struct maps_line *line)) {
    char text[MAPS_LINE_BYTES];
    struct maps_line line;
    rewind(maps);
    while (fgets(text, sizeof text, maps)) {
        if (!strchr(text, '\n') || !maps_parse(text, &line))
            return fail(imaging, "its mappings are odd");
        if (!visit(imaging, &line))
            return false;
    }
    return !ferror(maps) || fail(imaging, "its mappings cannot be read");
}

/* False at a mapping of the base image. */
static bool is_not_of_base(struct imaging *imaging, const struct maps_line *line) {
    return line->of != MAPS_OF_FILE || line->inode != imaging->inode;
}

static bool read_worker(struct imaging *imaging) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", imaging->pid);
    FILE *maps = fopen(path, "re");
    if (!maps)
        return fail(imaging, "its mappings cannot be read: %s", strerror(errno));
    snprintf(path, sizeof path, "/proc/%d/pagemap", imaging->pid);
    imaging->pagemap = open(path, O_RDONLY | O_CLOEXEC);
    /* What else a worker of a server that booted has is no reason of its own. */
    const bool booted = visit_lines(imaging, maps, is_not_of_base);
    const bool good = booted
                          ? fail(imaging, "the server booted Lisp and did not start from an image")
                          : visit_lines(imaging, maps, add_line);
    fclose(maps);
    return good;
}

/* --- the file --- */

static bool write_pages(struct imaging *imaging, int fd, uint64_t offset,
                        unsigned char digest[BLAKE2B_BYTES]) {
    struct blake2b hash;
    blake2b_begin(&hash);
    for (uint32_t i = 0; i < imaging->run_count; i++) {
        const struct session_image_run *run = &imaging->runs[i];
        for (uint64_t done = 0; done < run->pages; done += CHUNK_PAGES) {
            const uint64_t left = run->pages - done;
            const size_t bytes = (left < CHUNK_PAGES ? (size_t)left : CHUNK_PAGES) * IMAGE_PAGE;
            if (!fetch(imaging, run->start + done * IMAGE_PAGE, imaging->theirs, bytes))
                return fail(imaging, "its memory cannot be read: %s", strerror(errno));
            blake2b_add(&hash, imaging->theirs, bytes);
            if (!write_all_at(fd, imaging->theirs, bytes, offset))
                return fail(imaging, "its file cannot be written: %s", strerror(errno));
            offset += bytes;
        }
    }
    blake2b_end(&hash, digest);
    return true;
}

static bool write_file(struct imaging *imaging, int fd) {
    struct session_image_header header = {.magic = SESSION_IMAGE_MAGIC,
                                          .areas = imaging->area_count,
                                          .runs = imaging->run_count,
                                          .break_end = imaging->break_end};
    struct blake2b hash;
    memcpy(header.base, imaging->base->identity, sizeof header.base);
    header.tables_bytes = session_image_tables_bytes(&header);
    header.bytes = header.tables_bytes + imaging->pages * IMAGE_PAGE;
    if (!write_pages(imaging, fd, header.tables_bytes, header.pages_digest))
        return false;
    cleanup_free char *tables = calloc(1, header.tables_bytes);
    if (!tables)
        return fail(imaging, "out of memory");
    const size_t areas = imaging->area_count * sizeof *imaging->areas;
    memcpy(tables, &header, sizeof header);
    memcpy(tables + sizeof header, imaging->areas, areas);
    memcpy(tables + sizeof header + areas, imaging->runs,
           imaging->run_count * sizeof *imaging->runs);
    blake2b_begin(&hash);
    blake2b_add(&hash, tables, header.tables_bytes);
    blake2b_end(&hash, imaging->imaged->facts.digest);
    imaging->imaged->facts.bytes = header.bytes;
    return (write_all_at(fd, tables, header.tables_bytes, 0) && fdatasync(fd) == 0) ||
           fail(imaging, "its file cannot be written: %s", strerror(errno));
}

bool imager_write(const struct imager_base *base, pid_t pid, int fd, struct imaged *imaged) {
    struct imaging imaging = {
        .pid = pid, .program = base->program, .pagemap = -1, .imaged = imaged};
    imaging.areas = calloc(SESSION_IMAGE_AREAS_MAX, sizeof *imaging.areas);
    imaging.runs = calloc(SESSION_IMAGE_RUNS_MAX, sizeof *imaging.runs);
    imaging.theirs = malloc(CHUNK_BYTES);
    bool good = false;
    if (pid > 1 && imaging.areas && imaging.runs && imaging.theirs)
        good =
            open_base(&imaging, base->image) && read_worker(&imaging) && write_file(&imaging, fd);
    else
        fail(&imaging, "out of memory");
    if (imaging.pagemap >= 0)
        close(imaging.pagemap);
    for (size_t i = 0; i < IMAGE_FILES_MAX; i++)
        unmap_file(&imaging.sources[i]);
    unmap_file(&imaging.image);
    free(imaging.base_tables);
    free(imaging.areas);
    free(imaging.runs);
    free(imaging.theirs);
    return good;
}
