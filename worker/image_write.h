/* Writes this process to an image file, from which eclave-restore makes it again. */
#ifndef ECLAVE_WORKER_IMAGE_WRITE_H
#define ECLAVE_WORKER_IMAGE_WRITE_H

#include "common/error.h"
#include "common/image_file.h"
#include "worker/inputs.h"

#include <stdbool.h>

enum image_moment {
    IMAGE_MOMENT_WRITTEN,  /* this process continues, and the file is in its place */
    IMAGE_MOMENT_FAILED,   /* this process continues; *error */
    IMAGE_MOMENT_RESTORED, /* another process, made of the file */
};

/* Writes the file NAME in DIRECTORY, made for KEY and INPUTS. Returns once in this process, and
 * once in each process that is made of the file, with the registers, signals and memory of this
 * one, but with its own descriptors, ids and limits. Must be called with one thread, and no
 * descriptor open that Lisp uses. Allocates nothing: what is being written must not change. */
enum image_moment image_write(int directory, const char *name,
                              const unsigned char key[IMAGE_KEY_BYTES], const struct inputs *inputs,
                              struct error *error);

/* The identity of the image that this process was made of, IMAGE_IDENTITY_BYTES bytes; NULL: it
 * booted. */
const unsigned char *image_identity(void);

enum { IMAGE_KEPT_MAX = 64 << 10 };

/* What of the memory of this process is for this boot of the kernel and must outlive the adoption
 * of a session's image. */
void image_save_kept(char to[IMAGE_KEPT_MAX]);
void image_restore_kept(const char from[IMAGE_KEPT_MAX]);

/* The end of the C library's heap, as it was when the image was written. */
uint64_t image_break(void);

#endif
