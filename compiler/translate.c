/* C source to an object, by tcc. */
#include "compiler/translate.h"
#include "common/buffer.h"
#include "common/cleanup.h"
#include "compiler/preamble.h"

#include <fcntl.h>
#include <libtcc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 8 << 20, /* with the preamble */ OBJECT_FD = 1 << 20 };

/* preamble_text, terminated. */
__asm__(".pushsection .rodata\n"
        "preamble_text: .incbin \"" PREAMBLE_FILE "\"\n"
        ".byte 0\n"
        ".popsection");
extern const char preamble_text[] __attribute__((visibility("hidden")));

static struct preamble *preamble;

bool translate_prepare(void) {
    preamble = preamble_open(preamble_text);
    return preamble != NULL;
}

/* tcc gives an object out by writing a file. This name, which it unlinks, opens and writes, is a
 * stream in memory. */
static const char object_name[] = "object";
static struct {
    char *bytes;
    size_t size;
} written;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming): the linker
 * gives these names. */
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
FILE *__real_fdopen(int fd, const char *mode);
FILE *__wrap_fdopen(int fd, const char *mode);
int __real_unlink(const char *path);
int __wrap_unlink(const char *path);

int __wrap_open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return strcmp(path, object_name) == 0 ? OBJECT_FD : __real_open(path, flags, mode);
}

FILE *__wrap_fdopen(int fd, const char *mode) {
    return fd == OBJECT_FD ? open_memstream(&written.bytes, &written.size)
                           : __real_fdopen(fd, mode);
}

int __wrap_unlink(const char *path) {
    return strcmp(path, object_name) == 0 ? 0 : __real_unlink(path);
}

/* NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming) */

static void ignore_message(void *context, const char *message) {
    (void)context;
    (void)message;
}

bool translate(const char *text, size_t length, unsigned char **object, size_t *size) {
    cleanup_buffer struct buffer all = buffer_make(TEXT_MAX);
    if (memchr(text, 0, length) || !preamble_take(preamble, text, length, &all) ||
        !buffer_append(&all, text, length) || !buffer_append(&all, "", 1))
        return false;
    TCCState *state = tcc_new();
    if (!state)
        return false;
    tcc_set_error_func(state, NULL, ignore_message);
    tcc_set_options(state, "-nostdlib -nostdinc -w");
    tcc_set_output_type(state, TCC_OUTPUT_OBJ);
    bool good = tcc_compile_string(state, (const char *)all.data) == 0 &&
                tcc_output_file(state, object_name) == 0 && written.size > 0;
    tcc_delete(state);
    if (!good)
        return false;
    *object = (unsigned char *)written.bytes;
    *size = written.size;
    return true;
}
