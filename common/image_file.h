/* The image file: what a booted zygote looked like, so that another process can be made the same.
 *
 *   header | files | areas | runs | padding to a page | the bytes of the runs | inputs
 *
 * An area is one mapping: of nothing (zeros), or of a file that is checked before it is mapped
 * again. A run is a stretch of pages that differ from what their area is by itself; it is mapped
 * privately from the image, so it is loaded when touched and shared between processes. Programs and
 * libraries are in runs as a whole. The inputs (common/image_input.h) are judged by whoever chooses
 * the image. This module calls nothing of the C library: the restorer has none. */
#ifndef ECLAVE_COMMON_IMAGE_FILE_H
#define ECLAVE_COMMON_IMAGE_FILE_H

#include <stddef.h>
#include <stdint.h>

#if defined __x86_64__ && defined __linux__
#define IMAGE_SUPPORTED 1
#else
#define IMAGE_SUPPORTED 0
#endif

#define IMAGE_MAGIC UINT64_C(0x32474d4965766c63)

enum {
    IMAGE_PAGE = 4096,
    IMAGE_FILES_MAX = 64,
    IMAGE_AREAS_MAX = 4096,
    IMAGE_RUNS_MAX = 16384,
    IMAGE_TABLES_MAX = 1 << 20, /* bytes, with the header */
    IMAGE_INPUTS_MAX = 4 << 20, /* bytes */
    IMAGE_PATH_BYTES = 256,
    IMAGE_KEY_BYTES = 16,
    IMAGE_IDENTITY_BYTES = 16,
    IMAGE_NAME_BYTES = 2 * IMAGE_KEY_BYTES + 5, /* of KEY as hexadecimal digits, and ".img" */
    IMAGE_PROCESSOR_WORDS = 10,
    IMAGE_TRIES_MAX = 8 /* layouts that the restorer tries */
};

/* The restorer is linked at an address that nothing else is given. */
#define IMAGE_RESTORER_START UINT64_C(0x10000000000)
#define IMAGE_RESTORER_END   UINT64_C(0x10001000000)
#define IMAGE_ADDRESS_END    UINT64_C(0x800000000000)

/* The descriptors of a starting zygote, besides its channel. */
enum {
    IMAGE_PROGRAM_FD = 4,   /* the worker program, mapped and, where there is no image, executed */
    IMAGE_DIRECTORY_FD = 5, /* where the image is written; may be missing */
    IMAGE_FILE_FD = 6,      /* the rest: of the restorer */
    IMAGE_RESTORER_FD = 7
};

/* Why a zygote booted. Passed to it as its second argument, a letter from 'A' on. */
enum image_reason {
#define IMAGE_REASON(id, text) IMAGE_##id,
#include "common/image_reason.def"
#undef IMAGE_REASON
    IMAGE_REASON_COUNT
};

/* Checked before anything of it is mapped. */
struct image_source {
    char path[IMAGE_PATH_BYTES]; /* empty: the worker program */
    uint64_t size, inode, modified_s, modified_ns;
    uint64_t head; /* image_file_checksum of its first page, which has the build id */
};

enum { IMAGE_ZEROS = -1 };

struct image_area {
    uint64_t start, end, offset;
    int32_t source; /* or IMAGE_ZEROS */
    uint32_t protection;
};

struct image_run {
    uint64_t start, offset;
    uint32_t pages, protection; /* the latter as of its area */
};

struct image_header {
    uint64_t magic;
    uint64_t tables_bytes, bytes; /* of header and tables with padding; of the file */
    uint32_t sources, areas, runs, padding;
    unsigned char key[IMAGE_KEY_BYTES];           /* of what the image was made for */
    unsigned char identity[IMAGE_IDENTITY_BYTES]; /* no other image has the same */
    uint64_t entry, stack, thread;                /* where the restored process begins */
    uint64_t handoff;                             /* address of a struct image_handoff */
    uint64_t stack_limit;                         /* RLIMIT_STACK */
    uint64_t inputs_offset, inputs_bytes, inputs_checksum;
    uint32_t processor[IMAGE_PROCESSOR_WORDS];
    uint64_t checksum; /* of header and tables, with this field as 0 */
};

/* What the restorer tells the restored process. */
struct image_handoff {
    uint64_t vdso;                                                 /* of this process; 0: none */
    uint64_t restorer_start, restorer_end, stack_start, stack_end; /* to be unmapped */
};

uint64_t image_file_checksum(const void *bytes, size_t size);

/* The name of the file of the image of KEY. */
void image_file_name(char name[IMAGE_NAME_BYTES], const unsigned char key[IMAGE_KEY_BYTES]);

/* The features of the processor that code in the image may depend on. */
void image_file_processor(uint32_t words[IMAGE_PROCESSOR_WORDS]);

/* The size of the tables with their padding; 0 if the counts of HEADER are out of range. */
uint64_t image_file_tables_bytes(const struct image_header *header);

/* The area that holds ADDRESS, or NULL. */
const struct image_area *image_area_at(const struct image_header *header, uint64_t address);

/* Do the places of the inputs lie in the file that HEADER describes? */
int image_file_has_inputs(const struct image_header *header);

/* Judges TABLES, of which SIZE bytes were read from a file of FILE_BYTES bytes. The checksum of the
 * header is 0 afterwards. IMAGE_FITS, IMAGE_FOREIGN or IMAGE_DAMAGED. */
enum image_reason image_file_judge(void *tables, uint64_t size, uint64_t file_bytes);

static inline const struct image_source *image_sources(const struct image_header *header) {
    return (const struct image_source *)(const void *)(header + 1);
}

static inline const struct image_area *image_areas(const struct image_header *header) {
    return (const struct image_area *)(const void *)(image_sources(header) + header->sources);
}

static inline const struct image_run *image_runs(const struct image_header *header) {
    return (const struct image_run *)(const void *)(image_areas(header) + header->areas);
}

#endif
