/* Finds out what of this process an image has to hold. Nothing here allocates. */
#ifndef ECLAVE_WORKER_IMAGE_SCAN_H
#define ECLAVE_WORKER_IMAGE_SCAN_H

#include "common/error.h"
#include "common/image_file.h"

#include <stdbool.h>

enum {
    SCAN_VDSO_FUNCTIONS = 6,
    SCAN_VDSO_BYTES = 64 << 10,
    SCAN_MAPS_BYTES = 256 << 10,
    SCAN_PAGES = 4096,   /* entries of pagemap that are read at a time */
    SCAN_PART_PAGES = 32 /* see scan_place_runs */
};

/* A line of /proc/self/maps. */
struct scan_mapping {
    uint64_t start, end, offset;
    uint32_t protection;
    bool shared;
    char path[IMAGE_PATH_BYTES];
};

/* Reads /proc/self/maps as text. False if it cannot be read as a whole. */
bool scan_read_maps(char maps[SCAN_MAPS_BYTES]);

/* Takes one line from *AT. False at the end, or if it has no such form. */
bool scan_next_mapping(const char **at, struct scan_mapping *mapping);

/* Is PATH the name of a mapping that the kernel made, such as the vDSO? */
bool scan_is_kernels(const char *path);

/* Too large for a stack; in memory that is not part of the image. Workers must not find a path of
 * the host in theirs, so that what is read of the maps is nowhere else. */
struct scan {
    uint64_t forced_start, forced_end; /* pages that change after the scan */
    uint64_t left_out;                 /* an address in a mapping that is left out */
    uint64_t frame;                    /* the stack below it is left out */
    uint64_t vdso_start, vdso_bytes;
    struct image_header header;
    uint32_t source_count, area_count, run_count;
    struct image_source sources[IMAGE_FILES_MAX];
    bool is_program[IMAGE_FILES_MAX]; /* code of the source is mapped */
    struct image_area areas[IMAGE_AREAS_MAX];
    struct image_run runs[IMAGE_RUNS_MAX];
    uint64_t pagemap[SCAN_PAGES];
    unsigned char vdso[SCAN_VDSO_BYTES]; /* its copy */
    char maps[SCAN_MAPS_BYTES];
    struct scan_mapping mapping;
    _Alignas(IMAGE_PAGE) char tables[IMAGE_TABLES_MAX];
};

/* Fills sources, areas and runs, these without offsets. False with *error. */
bool scan_process(struct scan *scan, struct error *error);

/* Gives each run its place in a file from OFFSET on. Returns the end of the last.
 *
 * A read of a page that is not mapped maps all that the file has in memory of the SCAN_PART_PAGES
 * around it. Each such part of the address space is one of the file too, and is written at once, so
 * that the kernel can keep and map it as one large folio. Neighbours in memory are neighbours in
 * the file, so that those of one protection are one mapping: each costs a fork, and the end of its
 * process, more than the pages that it has. */
uint64_t scan_place_runs(struct scan *scan, uint64_t offset);

bool scan_is_zero(const void *page);

/* The addresses of the functions of the vDSO at BASE, 0 if there is none, and their sizes unless
 * SIZES is NULL. */
void scan_vdso_functions(uint64_t base, uint64_t functions[SCAN_VDSO_FUNCTIONS],
                         size_t sizes[SCAN_VDSO_FUNCTIONS]);

#endif
