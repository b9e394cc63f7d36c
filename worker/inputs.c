/* Defines the functions of the C library by which ECL opens and looks for files; the dynamic linker
 * binds the library's own calls to the program's definitions. They make the same system calls. */
#include "worker/inputs.h"
#include "common/image_file.h"
#include "common/image_input.h"

#include <assert.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { SLOTS = 1 << 16 }; /* of the index; more than there can be records */

/* In memory of its own. */
struct recording {
    uint32_t index[SLOTS]; /* by path: the offset of a record and 1; 0: free */
    size_t bytes;
    bool full;
    _Alignas(IMAGE_INPUT_ALIGNMENT) unsigned char records[IMAGE_INPUTS_MAX];
};

static_assert(IMAGE_INPUTS_MAX / (sizeof(struct image_input) + IMAGE_INPUT_ALIGNMENT) < SLOTS,
              "the index is too small");

static struct recording *recording;

static bool is_kernels(const char *path) {
    return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0 ||
           strncmp(path, "/dev/", 5) == 0;
}

/* The slot of PATH, or the free one where it belongs. */
static uint32_t *find_slot(const char *path) {
    uint32_t hash = 5381;
    for (const char *byte = path; *byte; byte++)
        hash = hash * 33 ^ (unsigned char)*byte;
    for (;; hash++) {
        uint32_t *slot = &recording->index[hash % SLOTS];
        const char *known =
            (const char *)recording->records + *slot - 1 + sizeof(struct image_input);
        if (!*slot || strcmp(known, path) == 0)
            return slot;
    }
}

/* A path that was only looked for may be read later. */
static void record(const char *path, bool content) {
    char absolute[IMAGE_INPUT_PATH_MAX];
    if (!recording || recording->full || is_kernels(path))
        return;
    /* The zygote's directory is the root. */
    int length = snprintf(absolute, sizeof absolute, "%s%s", path[0] == '/' ? "" : "/", path);
    if (length <= 0 || (size_t)length >= sizeof absolute)
        return; /* the kernel refuses it, too */
    uint32_t *slot = find_slot(absolute);
    const size_t bytes = image_input_bytes((size_t)length + 1);
    struct image_input input;
    if (*slot) {
        unsigned char *known = recording->records + *slot - 1;
        memcpy(&input, known, sizeof input);
        const uint32_t path_bytes = input.path_bytes;
        if (content && input.kind == IMAGE_INPUT_PRESENT) {
            image_input_describe(absolute, true, &input);
            input.path_bytes = path_bytes;
            memcpy(known, &input, sizeof input);
        }
        return;
    }
    if (bytes > sizeof recording->records - recording->bytes) {
        recording->full = true;
        return;
    }
    image_input_describe(absolute, content, &input);
    input.path_bytes = (uint32_t)length + 1;
    unsigned char *to = recording->records + recording->bytes;
    memcpy(to, &input, sizeof input);
    memcpy(to + sizeof input, absolute, (size_t)length + 1);
    *slot = (uint32_t)recording->bytes + 1;
    recording->bytes += bytes;
}

/* Records PATH and leaves errno alone. */
static void note(const char *path, bool content) {
    if (recording) {
        const int kept = errno;
        record(path, content);
        errno = kept;
    }
}

bool inputs_begin(struct error *error) {
    void *memory = mmap(NULL, sizeof *recording, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return error_set(error, errno, "cannot map memory for the names of files");
    recording = memory;
    return true;
}

static bool all_hold(const struct recording *done) {
    const struct image_input *input;
    const char *path;
    for (size_t offset = 0;
         (input = image_input_next(done->records, done->bytes, &offset, &path)) != NULL;)
        if (!image_input_holds(input, path))
            return false;
    return true;
}

bool inputs_end(struct inputs *inputs, struct error *error) {
    struct recording *done = recording;
    *inputs = (struct inputs){0};
    recording = NULL;
    if (!done)
        return true;
    *inputs = (struct inputs){.memory = done,
                              .records = done->records,
                              .memory_bytes = sizeof *done,
                              .bytes = done->bytes};
    if (done->full)
        return error_set(error, 0, "too many files were loaded");
    return all_hold(done) || error_set(error, 0, "a file that was loaded has changed meanwhile");
}

void inputs_free(struct inputs *inputs) {
    if (inputs->memory)
        munmap(inputs->memory, inputs->memory_bytes);
    *inputs = (struct inputs){0};
}

/* --- the functions of the C library --- */

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)

int open64(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (__OPEN_NEEDS_MODE(flags)) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    if ((flags & O_ACCMODE) != O_WRONLY)
        note(path, true);
    return openat(AT_FDCWD, path, flags, mode);
}

FILE *fopen64(const char *restrict path, const char *restrict mode) {
    if (mode[0] == 'r')
        note(path, true);
    return fopen(path, mode);
}

int stat64(const char *restrict path, struct stat64 *restrict status) {
    note(path, false);
    return fstatat64(AT_FDCWD, path, status, 0);
}

int lstat64(const char *restrict path, struct stat64 *restrict status) {
    note(path, false);
    return fstatat64(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

DIR *opendir(const char *path) {
    DIR *(*function)(const char *) = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
    note(path, true);
    return function(path);
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
