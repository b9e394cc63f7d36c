/* The image of a session: how the memory of a parked worker differs from the base image of its
 * zygote (common/image_file.h), so that a worker that was forked from the same base can become the
 * same.
 *
 *   header | areas | runs | padding to a page | the bytes of the runs, in order
 *
 * An area is a mapping that can be written or was made since: of nothing (zeros), or what the base
 * has there. What lies in no area, is not executable and is not a read-only part of the base, is
 * not mapped. A run is a stretch of pages that differ from what their area is by itself.
 *
 * Its bytes are those of a hostile process. They go into a confined worker only, after the one
 * function here has judged all of the tables. Nothing here calls the C library but memcmp. */
#ifndef ECLAVE_COMMON_SESSION_IMAGE_H
#define ECLAVE_COMMON_SESSION_IMAGE_H

#include "common/blake2b.h"
#include "common/image_file.h"

#define SESSION_IMAGE_MAGIC UINT64_C(0x3153534965766c63)

enum {
    SESSION_IMAGE_AREAS_MAX = 16384,
    SESSION_IMAGE_RUNS_MAX = 262144,
    SESSION_IMAGE_TABLES_MAX = 8 << 20, /* bytes, with the header */
    SESSION_IMAGE_PAGES_MAX = 262144    /* 1 GiB */
};

struct session_image_header {
    uint64_t magic;
    uint64_t tables_bytes, bytes; /* of header and tables with padding; of the file */
    uint32_t areas, runs;
    unsigned char base[IMAGE_IDENTITY_BYTES];
    uint64_t break_end; /* of the C library's heap; 0: that of the base */
    unsigned char pages_digest[BLAKE2B_BYTES];
};

struct session_image_area {
    uint64_t start, end;
    uint32_t protection; /* of PROT_READ and PROT_WRITE, if it is of the base: both */
    uint32_t of_base;    /* 0 or 1 */
};

struct session_image_run {
    uint64_t start, pages;
};

/* The payload of FRAME_ADOPT: what the file must be. */
struct adopt_message {
    uint64_t bytes;
    unsigned char digest[BLAKE2B_BYTES]; /* of its tables, which have that of its pages */
};

/* A mapping that the judging process has. */
struct session_image_present {
    uint64_t start, end;
    enum session_image_kind {
        SESSION_IMAGE_FIXED,   /* it must stay as it is */
        SESSION_IMAGE_OF_BASE, /* of the base, and can be written */
        SESSION_IMAGE_OTHER
    } kind;
};

/* The size of the tables with their padding; 0 if the counts of HEADER are out of range. */
uint64_t session_image_tables_bytes(const struct session_image_header *header);

/* Judges TABLES, of which SIZE bytes were read from a file of FILE_BYTES bytes, for a process whose
 * base is BASE and that has the COUNT mappings PRESENT, sorted and disjoint. NULL: they fit.
 * Otherwise what is wrong, which ends a sentence that begins with "it". */
const char *session_image_judge(const void *tables, uint64_t size, uint64_t file_bytes,
                                const unsigned char base[IMAGE_IDENTITY_BYTES],
                                const struct session_image_present *present, size_t count);

static inline const struct session_image_area *
session_image_areas(const struct session_image_header *header) {
    return (const struct session_image_area *)(const void *)(header + 1);
}

static inline const struct session_image_run *
session_image_runs(const struct session_image_header *header) {
    return (const struct session_image_run *)(const void *)(session_image_areas(header) +
                                                            header->areas);
}

#endif
