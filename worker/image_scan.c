/* Reads the maps of this process, and by /proc/self/pagemap which pages are its own. */
#include "worker/image_scan.h"
#include "common/cleanup.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum {
    GAP_PAGES = 2,         /* of a file between two runs that are joined, to have fewer mappings */
    HOLE_PAGES = 64,       /* the same of zeros, which take no room in the image */
    STACK_MAX = 64 << 20,  /* bytes */
    GUARD_BYTES = 1 << 20, /* below the stack */
    FRAME_BYTES = 8192     /* below the frame, for its own variables */
};

/* --- the vDSO --- */

static const char *const vdso_names[SCAN_VDSO_FUNCTIONS] = {
    "__vdso_clock_gettime", "__vdso_gettimeofday", "__vdso_time",
    "__vdso_getcpu",        "__vdso_clock_getres", "__vdso_getrandom"};

void scan_vdso_functions(uint64_t base, uint64_t functions[SCAN_VDSO_FUNCTIONS],
                         size_t sizes[SCAN_VDSO_FUNCTIONS]) {
    // NOLINTBEGIN(performance-no-int-to-ptr)
    const Elf64_Ehdr *elf = (const void *)base;
    const Elf64_Phdr *parts = (const void *)(base + elf->e_phoff);
    const Elf64_Dyn *dynamic = NULL;
    const Elf64_Sym *symbol = NULL;
    const char *strings = NULL;
    uint64_t slide = base;
    memset(functions, 0, SCAN_VDSO_FUNCTIONS * sizeof *functions);
    for (int i = 0; i < elf->e_phnum; i++) {
        if (parts[i].p_type == PT_LOAD)
            slide = base + parts[i].p_offset - parts[i].p_vaddr;
        if (parts[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(base + parts[i].p_offset);
    }
    for (; dynamic && dynamic->d_tag; dynamic++) {
        if (dynamic->d_tag == DT_SYMTAB)
            symbol = (const void *)(slide + dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_STRTAB)
            strings = (const void *)(slide + dynamic->d_un.d_ptr);
    }
    // NOLINTEND(performance-no-int-to-ptr)
    for (; symbol && (const char *)symbol < strings; symbol++)
        for (size_t i = 0; i < SCAN_VDSO_FUNCTIONS; i++)
            if (symbol->st_value && strcmp(strings + symbol->st_name, vdso_names[i]) == 0) {
                functions[i] = slide + symbol->st_value;
                if (sizes)
                    sizes[i] = symbol->st_size;
            }
}

/* --- the maps --- */

bool scan_read_maps(char maps[SCAN_MAPS_BYTES]) {
    cleanup_fd int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t have = 0;
    ssize_t got;
    while (fd >= 0 && have < SCAN_MAPS_BYTES - 1 &&
           (got = read(fd, maps + have, SCAN_MAPS_BYTES - 1 - have)) > 0)
        have += (size_t)got;
    maps[have] = 0;
    return have > 0 && have < SCAN_MAPS_BYTES - 1;
}

bool scan_next_mapping(const char **at, struct scan_mapping *mapping) {
    char *rest;
    const char *end = strchr(*at, '\n');
    if (!end)
        return false;
    mapping->start = strtoull(*at, &rest, 16);
    mapping->end = strtoull(rest + 1, &rest, 16);
    if (end - rest < 6)
        return false;
    mapping->protection = (rest[1] == 'r' ? PROT_READ : 0U) | (rest[2] == 'w' ? PROT_WRITE : 0U) |
                          (rest[3] == 'x' ? PROT_EXEC : 0U);
    mapping->shared = rest[4] == 's';
    mapping->offset = strtoull(rest + 5, &rest, 16);
    for (int blanks = 0; blanks < 3 && rest < end; rest++) /* device, inode */
        blanks += *rest == ' ';
    rest += strspn(rest, " ");
    size_t length = rest < end ? (size_t)(end - rest) : 0;
    if (length >= sizeof mapping->path)
        return false;
    memcpy(mapping->path, rest, length);
    mapping->path[length] = 0;
    *at = end + 1;
    return true;
}

/* --- sources, areas and runs --- */

static bool describe_source(struct image_source *source, int fd) {
    struct stat status;
    _Alignas(uint64_t) char head[IMAGE_PAGE] = {0};
    if (fd < 0 || fstat(fd, &status) || pread(fd, head, sizeof head, 0) <= 0)
        return false;
    source->size = (uint64_t)status.st_size;
    source->inode = status.st_ino;
    source->modified_s = (uint64_t)status.st_mtim.tv_sec;
    source->modified_ns = (uint64_t)status.st_mtim.tv_nsec;
    source->head = image_file_checksum(head, sizeof head);
    return true;
}

/* The index of the file at PATH, or -1. The worker program is given as a descriptor: a path of the
 * host must not be in the memory of workers. */
static int32_t source_index(struct scan *scan, const char *path) {
    struct stat program, named;
    bool own = fstat(IMAGE_PROGRAM_FD, &program) == 0 && stat(path, &named) == 0 &&
               program.st_ino == named.st_ino && program.st_dev == named.st_dev;
    const char *name = own ? "" : path;
    for (uint32_t i = 0; i < scan->source_count; i++)
        if (strcmp(scan->sources[i].path, name) == 0)
            return (int32_t)i;
    if (scan->source_count == IMAGE_FILES_MAX)
        return -1;
    struct image_source *source = &scan->sources[scan->source_count];
    cleanup_fd int opened = own ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (!describe_source(source, own ? IMAGE_PROGRAM_FD : opened))
        return -1;
    snprintf(source->path, sizeof source->path, "%s", name);
    return (int32_t)scan->source_count++;
}

static bool add_area(struct scan *scan, const struct image_area *area) {
    struct image_area *last = scan->area_count ? &scan->areas[scan->area_count - 1] : NULL;
    if (last && last->end == area->start && last->source == IMAGE_ZEROS &&
        area->source == IMAGE_ZEROS && last->protection == area->protection) {
        last->end = area->end;
        return true;
    }
    if (scan->area_count == IMAGE_AREAS_MAX)
        return false;
    scan->areas[scan->area_count++] = *area;
    return true;
}

static uint64_t run_end(const struct image_run *run) {
    return run->start + (uint64_t)run->pages * IMAGE_PAGE;
}

/* Adds a page of the last area. */
static bool add_page(struct scan *scan, uint64_t address, uint32_t protection) {
    const struct image_area *area = &scan->areas[scan->area_count - 1];
    struct image_run *last = scan->run_count ? &scan->runs[scan->run_count - 1] : NULL;
    const uint64_t gap = area->source == IMAGE_ZEROS ? HOLE_PAGES : GAP_PAGES;
    if (last && last->start >= area->start && last->protection == protection) {
        const uint64_t end = run_end(last);
        if (address - end <= gap * IMAGE_PAGE) {
            last->pages += (uint32_t)((address - end) / IMAGE_PAGE) + 1;
            return true;
        }
    }
    if (scan->run_count == IMAGE_RUNS_MAX)
        return false;
    scan->runs[scan->run_count++] =
        (struct image_run){.start = address, .pages = 1, .protection = protection};
    return true;
}

bool scan_is_zero(const void *page) {
    const uint64_t *words = page;
    for (size_t i = 0; i < IMAGE_PAGE / sizeof *words; i++)
        if (words[i])
            return false;
    return true;
}

static bool is_forced(const struct scan *scan, uint64_t address) {
    return address + IMAGE_PAGE > scan->forced_start && address < scan->forced_end;
}

/* Is the page of ENTRY, of pagemap, to be in the image? Programs and libraries are copied as a
 * whole: of the image the kernel maps parts at once, and of them it has single pages. */
static bool is_wanted(const struct scan *scan, uint64_t address, uint64_t entry) {
    const uint64_t there = entry >> 63 | (entry >> 62 & 1), file_page = entry >> 61 & 1;
    const int32_t source = scan->areas[scan->area_count - 1].source;
    if (is_forced(scan, address))
        return true;
    if (source != IMAGE_ZEROS)
        return scan->is_program[source] || (there && !file_page);
    return there && !scan_is_zero((const void *)address); // NOLINT(performance-no-int-to-ptr)
}

/* Adds those pages of the last area, which is that of MAPPING, that it needs. From START on, since
 * the stack below it is left out. */
static bool add_pages(struct scan *scan, int pagemap, uint64_t start,
                      const struct scan_mapping *mapping) {
    if (!(mapping->protection & PROT_READ))
        return true;
    for (uint64_t at = start; at < mapping->end;) {
        uint64_t pages = (mapping->end - at) / IMAGE_PAGE;
        if (pages > SCAN_PAGES)
            pages = SCAN_PAGES;
        const size_t bytes = pages * sizeof *scan->pagemap;
        if (pread(pagemap, scan->pagemap, bytes,
                  (off_t)(at / IMAGE_PAGE * sizeof *scan->pagemap)) != (ssize_t)bytes)
            return false;
        for (uint64_t i = 0; i < pages; i++, at += IMAGE_PAGE)
            if (is_wanted(scan, at, scan->pagemap[i]) && !add_page(scan, at, mapping->protection))
                return false;
    }
    return true;
}

/* The stack becomes an area of its full size, since only the kernel's own grows. */
static bool add_stack(struct scan *scan, int pagemap, const struct scan_mapping *stack,
                      uint64_t previous_end) {
    struct rlimit limit = {0};
    getrlimit(RLIMIT_STACK, &limit);
    uint64_t size = limit.rlim_cur > STACK_MAX ? STACK_MAX : limit.rlim_cur;
    uint64_t start = (stack->end - size) / IMAGE_PAGE * IMAGE_PAGE;
    if (start < previous_end + GUARD_BYTES)
        return false;
    const struct image_area guard = {
        .start = start - GUARD_BYTES, .end = start, .source = IMAGE_ZEROS};
    const struct image_area area = {
        .start = start, .end = stack->end, .source = IMAGE_ZEROS, .protection = stack->protection};
    uint64_t used = (scan->frame - FRAME_BYTES) / IMAGE_PAGE * IMAGE_PAGE;
    return add_area(scan, &guard) && add_area(scan, &area) &&
           add_pages(scan, pagemap, used > stack->start ? used : stack->start, stack);
}

static bool add_vdso(struct scan *scan, const struct scan_mapping *vdso) {
    const struct image_area area = {.start = vdso->start,
                                    .end = vdso->end,
                                    .source = IMAGE_ZEROS,
                                    .protection = PROT_READ | PROT_EXEC};
    scan->vdso_start = vdso->start;
    scan->vdso_bytes = vdso->end - vdso->start;
    if (!add_area(scan, &area))
        return false;
    for (uint64_t at = vdso->start; at < vdso->end; at += IMAGE_PAGE)
        if (!add_page(scan, at, area.protection))
            return false;
    return true;
}

bool scan_is_kernels(const char *path) {
    return path[0] == '[' && strcmp(path, "[heap]") != 0 && strcmp(path, "[stack]") != 0 &&
           strncmp(path, "[anon", 5) != 0;
}

static bool add_mapping(struct scan *scan, int pagemap, const struct scan_mapping *mapping,
                        uint64_t previous_end, struct error *error) {
    const uint64_t here = (uint64_t)scan;
    bool good;
    if ((mapping->start <= here && here < mapping->end) ||
        (mapping->start <= scan->left_out && scan->left_out < mapping->end))
        return true;
    if (strcmp(mapping->path, "[vdso]") == 0)
        good = add_vdso(scan, mapping);
    else if (scan_is_kernels(mapping->path))
        good = true;
    /* One that nothing writes to, as the character sets of the C library, may be private as well.
     */
    else if (mapping->shared && (mapping->protection & PROT_WRITE || mapping->path[0] != '/'))
        return error_set(error, 0, "it has shared memory");
    else if (mapping->start <= scan->frame && scan->frame < mapping->end)
        good = add_stack(scan, pagemap, mapping, previous_end);
    else {
        bool of_file = mapping->path[0] == '/';
        const struct image_area area = {.start = mapping->start,
                                        .end = mapping->end,
                                        .offset = of_file ? mapping->offset : 0,
                                        .source = of_file ? source_index(scan, mapping->path)
                                                          : IMAGE_ZEROS,
                                        .protection = mapping->protection};
        good = (!of_file || area.source >= 0) && add_area(scan, &area) &&
               add_pages(scan, pagemap, mapping->start, mapping);
    }
    return good || error_set(error, 0, "its memory at %s cannot be described", mapping->path);
}

/* Notes the files of which code is mapped. */
static bool find_programs(struct scan *scan, struct error *error) {
    const char *at = scan->maps;
    const struct scan_mapping *mapping = &scan->mapping;
    while (scan_next_mapping(&at, &scan->mapping)) {
        if (mapping->path[0] != '/' || !(mapping->protection & PROT_EXEC))
            continue;
        const int32_t source = source_index(scan, mapping->path);
        if (source < 0)
            return error_set(error, 0, "the file %s cannot be described", mapping->path);
        scan->is_program[source] = true;
    }
    return true;
}

bool scan_process(struct scan *scan, struct error *error) {
    cleanup_fd int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pagemap < 0 || !scan_read_maps(scan->maps))
        return error_set(error, errno, "cannot read its maps");
    if (!find_programs(scan, error))
        return false;
    const char *at = scan->maps;
    struct scan_mapping *mapping = &scan->mapping;
    uint64_t previous_end = 0;
    while (scan_next_mapping(&at, mapping)) {
        if (!add_mapping(scan, pagemap, mapping, previous_end, error))
            return false;
        previous_end = mapping->end;
    }
    if (*at)
        return error_set(error, 0, "its maps have an unknown form");
    return true;
}

uint64_t scan_place_runs(struct scan *scan, uint64_t offset) {
    const uint64_t part = (uint64_t)SCAN_PART_PAGES * IMAGE_PAGE;
    for (uint32_t i = 0; i < scan->run_count; i++) {
        struct image_run *run = &scan->runs[i];
        run->offset = offset + (run->start - offset) % part;
        offset = run->offset + (uint64_t)run->pages * IMAGE_PAGE;
    }
    return offset;
}
