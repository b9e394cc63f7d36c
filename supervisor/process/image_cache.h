/* The directory of images, and which image a zygote is started from. An image is code that runs
 * unconfined, so it is trusted by its owner and by who may write to its directory. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_IMAGE_CACHE_H
#define ECLAVE_SUPERVISOR_PROCESS_IMAGE_CACHE_H

#include "common/error.h"
#include "common/image_file.h"
#include "supervisor/settings/settings.h"
#include <limits.h>
#include <stdbool.h>

enum {
    IMAGE_DAYS_MAX = 7, /* the age at which an image is made anew, with another layout */
    IMAGE_KEPT_MAX = 16 /* images in a directory, besides one that is being made */
};

struct image_cache {
    bool used;
    char why[160]; /* if not used */
    char directory[PATH_MAX];
    char name[IMAGE_NAME_BYTES];
    unsigned char key[IMAGE_KEY_BYTES];
};

/* Decides whether zygotes with CONFIGURATION, of SIZE bytes, start from an image, and makes the
 * directory. With --image rebuild, removes the image. Called before the process is confined. */
void image_cache_open(struct image_cache *cache, const struct settings *settings,
                      const void *configuration, size_t size);

/* Opens the directory and the image, close-on-exec. Each is -1 if it may not be used. Returns
 * IMAGE_FITS, or why there is no image. */
enum image_reason image_cache_take(const struct image_cache *cache, int *directory, int *image);

/* Removes images that are old or more than IMAGE_KEPT_MAX, and what a writer that died has left. */
void image_cache_prune(int directory);

#endif
