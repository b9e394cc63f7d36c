/* A path that was looked at while the operator's files were loaded, and what was there. An image is
 * good only as long as the same is there. */
#ifndef ECLAVE_COMMON_IMAGE_INPUT_H
#define ECLAVE_COMMON_IMAGE_INPUT_H

#include "common/blake2b.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum image_input_kind {
    IMAGE_INPUT_ABSENT,
    IMAGE_INPUT_FILE,      /* a regular file: its bytes */
    IMAGE_INPUT_DIRECTORY, /* its names */
    IMAGE_INPUT_PRESENT    /* whatever is there */
};

enum {
    IMAGE_INPUT_PATH_MAX = 4096, /* bytes, with the end */
    IMAGE_INPUT_ALIGNMENT = 8
};

/* Followed by PATH_BYTES bytes of the path with its end, and zeros up to the alignment. */
struct image_input {
    /* If these are the same, so is the content. All 0: unknown, since it has changed so shortly
     * before that another change might not show. */
    uint64_t device, inode, size, changed_s, changed_ns;
    unsigned char digest[BLAKE2B_BYTES];
    uint32_t kind, path_bytes;
};

/* What is at PATH now; all but path_bytes. Without CONTENT, only whether there is something. */
void image_input_describe(const char *path, bool content, struct image_input *input);

/* Is what INPUT says of PATH still so? */
bool image_input_holds(const struct image_input *input, const char *path);

/* Takes one record from RECORDS, of SIZE bytes, which is trusted no more than to be readable. NULL
 * at the end and where there is no record. *offset is where it begins and, afterwards, where the
 * next one does. */
const struct image_input *image_input_next(const void *records, size_t size, size_t *offset,
                                           const char **path);

/* The bytes that a record with a path of PATH_BYTES bytes takes. */
size_t image_input_bytes(size_t path_bytes);

#endif
