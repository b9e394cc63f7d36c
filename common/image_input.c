/* Describes files and directories, so that a change shows. */
#include "common/image_input.h"
#include "common/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { READ_BYTES = 16 << 10 };

size_t image_input_bytes(size_t path_bytes) {
    const size_t step = IMAGE_INPUT_ALIGNMENT;
    return (sizeof(struct image_input) + path_bytes + step - 1) / step * step;
}

/* The clock of file systems has steps of some milliseconds: of two changes in one step, the second
 * does not show. */
static bool is_settled(const struct stat *status) {
    enum { SETTLED_S = 2 };
    return time(NULL) > status->st_ctim.tv_sec + SETTLED_S;
}

static void identify(struct image_input *input, const struct stat *status) {
    input->device = status->st_dev;
    input->inode = status->st_ino;
    input->size = (uint64_t)status->st_size;
    input->changed_s = (uint64_t)status->st_ctim.tv_sec;
    input->changed_ns = (uint64_t)status->st_ctim.tv_nsec;
}

static bool digest_file(int fd, unsigned char result[BLAKE2B_BYTES]) {
    unsigned char bytes[READ_BYTES];
    struct blake2b hash;
    ssize_t got;
    blake2b_begin(&hash);
    while ((got = read(fd, bytes, sizeof bytes)) > 0)
        blake2b_add(&hash, bytes, (size_t)got);
    blake2b_end(&hash, result);
    return got == 0;
}

/* In whatever order the names come. */
static bool digest_names(int fd, unsigned char result[BLAKE2B_BYTES]) {
    DIR *directory = fdopendir(fd);
    if (!directory) {
        close(fd);
        return false;
    }
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        unsigned char name[BLAKE2B_BYTES];
        struct blake2b hash;
        blake2b_begin(&hash);
        blake2b_add(&hash, entry->d_name, strlen(entry->d_name));
        blake2b_end(&hash, name);
        for (size_t i = 0; i < BLAKE2B_BYTES; i++)
            result[i] ^= name[i];
    }
    closedir(directory);
    return true;
}

void image_input_describe(const char *path, bool content, struct image_input *input) {
    struct stat status;
    *input = (struct image_input){.kind = IMAGE_INPUT_PRESENT};
    if (stat(path, &status)) {
        input->kind = IMAGE_INPUT_ABSENT;
        return;
    }
    if (!content || (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)))
        return;
    cleanup_fd int fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status))
        return;
    if (is_settled(&status))
        identify(input, &status);
    if (S_ISREG(status.st_mode) && digest_file(fd, input->digest))
        input->kind = IMAGE_INPUT_FILE;
    else if (S_ISDIR(status.st_mode) && digest_names(steal_fd(&fd), input->digest))
        input->kind = IMAGE_INPUT_DIRECTORY;
}

/* Without reading it. */
static bool is_same(const struct image_input *input, const char *path) {
    struct stat status;
    struct image_input now = {0};
    if (!input->inode || stat(path, &status))
        return false;
    identify(&now, &status);
    return now.device == input->device && now.inode == input->inode && now.size == input->size &&
           now.changed_s == input->changed_s && now.changed_ns == input->changed_ns;
}

bool image_input_holds(const struct image_input *input, const char *path) {
    struct image_input now;
    if (is_same(input, path))
        return true;
    image_input_describe(
        path, input->kind == IMAGE_INPUT_FILE || input->kind == IMAGE_INPUT_DIRECTORY, &now);
    return now.kind == input->kind && memcmp(now.digest, input->digest, sizeof now.digest) == 0;
}

const struct image_input *image_input_next(const void *records, size_t size, size_t *offset,
                                           const char **path) {
    if (*offset > size || size - *offset < sizeof(struct image_input))
        return NULL;
    const struct image_input *input = (const void *)((const char *)records + *offset);
    const size_t room = size - *offset;
    *path = (const char *)(input + 1);
    if (input->path_bytes == 0 || input->path_bytes > IMAGE_INPUT_PATH_MAX ||
        image_input_bytes(input->path_bytes) > room || input->kind > IMAGE_INPUT_PRESENT ||
        (*path)[0] != '/' || strnlen(*path, input->path_bytes) != input->path_bytes - 1)
        return NULL;
    *offset += image_input_bytes(input->path_bytes);
    return input;
}
