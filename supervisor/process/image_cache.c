/* Finds, checks and names images. */
#include "supervisor/process/image_cache.h"
#include "common/cleanup.h"
#include "common/image_input.h"
#include "supervisor/base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* --- the directory --- */

/* Root's is the system's, whoever's HOME it has. */
static bool find_directory(char directory[PATH_MAX], struct error *error) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;
    if (cache && cache[0] == '/')
        length = snprintf(directory, PATH_MAX, "%s/eclave", cache);
    else if (geteuid() == 0)
        length = snprintf(directory, PATH_MAX, "/var/cache/eclave");
    else if (home && home[0] == '/')
        length = snprintf(directory, PATH_MAX, "%s/.cache/eclave", home);
    else
        return error_set(error, 0, "neither XDG_CACHE_HOME nor HOME is set");
    return (length > 0 && length < PATH_MAX) ||
           error_set(error, 0, "the path of the cache directory is too long");
}

/* Who may replace an entry of a directory may replace all below it. */
static bool is_safe(const char *path, struct error *error) {
    struct stat status;
    if (lstat(path, &status))
        return error_set(error, errno, "cannot inspect the cache directory");
    bool owned = status.st_uid == 0 || status.st_uid == geteuid();
    bool others_write = status.st_mode & (S_IWGRP | S_IWOTH);
    return (S_ISDIR(status.st_mode) && owned && (!others_write || status.st_mode & S_ISVTX)) ||
           error_set(error, 0, "another user may write in the way to the cache directory");
}

/* Makes the directories of PATH that are missing, for their owner only. PATH is changed and
 * restored. A symbolic link on the way is refused. */
static bool make_directories(char *path, struct error *error) {
    for (char *at = path + 1;; at++) {
        if (*at && *at != '/')
            continue;
        char kept = *at;
        *at = 0;
        bool good = (mkdir(path, 0700) == 0 || errno == EEXIST) ||
                    error_set(error, errno, "cannot make the cache directory");
        good = good && is_safe(path, error);
        *at = kept;
        if (!good || !kept)
            return good;
    }
}

static bool is_private(int directory) {
    struct stat status;
    return fstat(directory, &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == geteuid() && (status.st_mode & 07777) == 0700;
}

static int open_directory(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || is_private(fd))
        return fd;
    close(fd);
    return -1;
}

static bool prepare_directory(struct image_cache *cache, struct error *error) {
    struct statvfs flags;
    if (!find_directory(cache->directory, error) || !make_directories(cache->directory, error))
        return false;
    cleanup_fd int fd = open_directory(cache->directory);
    if (fd < 0)
        return error_set(error, 0, "the cache directory is not its user's alone (mode 0700)");
    return (fstatvfs(fd, &flags) == 0 && !(flags.f_flag & ST_NOEXEC)) ||
           error_set(error, 0, "the cache directory is mounted without execution");
}

/* --- the name --- */

/* False if it is empty or cannot be read. */
static bool hash_file(crypto_generichash_state *state, const char *path) {
    char bytes[4096];
    bool some = false;
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got; fd >= 0 && (got = read(fd, bytes, sizeof bytes)) > 0; some = true)
        crypto_generichash_update(state, (const unsigned char *)bytes, (unsigned long long)got);
    return some;
}

/* What a booted image depends on, except the files that it maps, which the restorer checks. One
 * boot of the kernel is enough: another kernel may be another machine, and what was not on the disk
 * at a power cut need not be waited for. */
static bool make_key(struct image_cache *cache, const void *configuration, size_t size) {
    static const char version[] = ECLAVE_VERSION;
    crypto_generichash_state state;
    struct rlimit stack;
    uint32_t processor[IMAGE_PROCESSOR_WORDS];
    image_file_processor(processor);
    if (getrlimit(RLIMIT_STACK, &stack) || sodium_init() < 0 ||
        crypto_generichash_init(&state, NULL, 0, sizeof cache->key))
        return false;
    crypto_generichash_update(&state, (const unsigned char *)version, sizeof version);
    crypto_generichash_update(&state, configuration, size);
    crypto_generichash_update(&state, (const unsigned char *)processor, sizeof processor);
    crypto_generichash_update(&state, (const unsigned char *)&stack.rlim_max,
                              sizeof stack.rlim_max);
    if (!hash_file(&state, "/proc/sys/kernel/random/boot_id"))
        return false;
    hash_file(&state, "/etc/localtime"); /* the C library holds the time zone */
    crypto_generichash_final(&state, cache->key, sizeof cache->key);
    image_file_name(cache->name, cache->key);
    return true;
}

static bool open_cache(struct image_cache *cache, const struct settings *settings,
                       const void *configuration, size_t size, struct error *error) {
    if (settings->image == IMAGE_CHOICE_OFF)
        return error_set(error, 0, "--image off");
    if (!IMAGE_SUPPORTED)
        return error_set(error, 0, "there are no images for this processor");
    if (!prepare_directory(cache, error))
        return false;
    if (!make_key(cache, configuration, size))
        return error_set(error, 0, "cannot name the image");
    cleanup_fd int directory = open_directory(cache->directory);
    if (settings->image == IMAGE_CHOICE_REBUILD && directory >= 0)
        unlinkat(directory, cache->name, 0);
    return true;
}

void image_cache_open(struct image_cache *cache, const struct settings *settings,
                      const void *configuration, size_t size) {
    struct error error = {0};
    *cache = (struct image_cache){0};
    cache->used = open_cache(cache, settings, configuration, size, &error);
    snprintf(cache->why, sizeof cache->why, "%.159s", error.text);
}

/* --- the image --- */

static bool is_old(const struct stat *status) {
    enum { DAY_S = 86400 };
    time_t now = time(NULL);
    return now < status->st_mtime || now - status->st_mtime > (time_t)IMAGE_DAYS_MAX * DAY_S;
}

/* Is everything that was loaded as it was then? */
static enum image_reason judge_inputs(int image, const struct image_header *header) {
    const struct image_input *input;
    const char *path;
    size_t offset = 0;
    const size_t size = header->inputs_bytes;
    if (!image_file_has_inputs(header))
        return IMAGE_DAMAGED;
    cleanup_free void *records = malloc(size + 1);
    if (!records || pread(image, records, size, (off_t)header->inputs_offset) != (ssize_t)size ||
        image_file_checksum(records, size) != header->inputs_checksum)
        return IMAGE_DAMAGED;
    while ((input = image_input_next(records, size, &offset, &path)))
        if (!image_input_holds(input, path))
            return IMAGE_LOADED;
    return offset == size ? IMAGE_FITS : IMAGE_DAMAGED;
}

static enum image_reason judge(int image, const struct image_cache *cache) {
    struct stat status;
    struct image_header header;
    if (fstat(image, &status) || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        status.st_mode & (S_IWGRP | S_IWOTH) || status.st_nlink != 1)
        return IMAGE_UNSAFE;
    if (is_old(&status))
        return IMAGE_OLD;
    if (pread(image, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return IMAGE_DAMAGED;
    if (header.magic != IMAGE_MAGIC || memcmp(header.key, cache->key, sizeof cache->key) != 0)
        return IMAGE_FOREIGN;
    return judge_inputs(image, &header);
}

/* --- removing old images --- */

/* When NAME was written, in nanoseconds; 0 if it is not to be kept. */
static int64_t time_of(int directory, const char *name) {
    struct stat status;
    const char *end = strstr(name, ".img");
    if (!end || fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) || is_old(&status))
        return 0;
    return end[4] ? 0
                  : status.st_mtim.tv_sec * (int64_t)CLOCK_MS_PER_S * CLOCK_NS_PER_MS +
                        status.st_mtim.tv_nsec;
}

static bool is_being_written(int directory, const char *name) {
    enum { WRITING_S = 60 };
    struct stat status;
    const char *end = strstr(name, ".img.");
    return end && fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           time(NULL) - status.st_mtime < WRITING_S;
}

void image_cache_prune(int directory) {
    DIR *names = fdopendir(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int64_t times[IMAGE_KEPT_MAX] = {0}; /* of the newest ones, the newest first */
    const struct dirent *entry;
    if (!names)
        return;
    while ((entry = readdir(names))) {
        int64_t made = time_of(directory, entry->d_name);
        for (size_t i = 0; i < IMAGE_KEPT_MAX; i++)
            if (made > times[i]) {
                memmove(times + i + 1, times + i, (IMAGE_KEPT_MAX - i - 1) * sizeof *times);
                times[i] = made;
                break;
            }
    }
    rewinddir(names);
    while ((entry = readdir(names))) {
        int64_t made = time_of(directory, entry->d_name);
        if (strstr(entry->d_name, ".img") && !is_being_written(directory, entry->d_name) &&
            (!made || made < times[IMAGE_KEPT_MAX - 1]))
            unlinkat(directory, entry->d_name, 0);
    }
    closedir(names);
}

enum image_reason image_cache_take(const struct image_cache *cache, int *directory, int *image) {
    *directory = *image = -1;
    if (!cache->used)
        return IMAGE_OFF;
    *directory = open_directory(cache->directory);
    if (*directory < 0)
        return IMAGE_UNSAFE;
    *image = openat(*directory, cache->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*image < 0) {
        enum image_reason reason = errno == ENOENT ? IMAGE_MISSING : IMAGE_UNSAFE;
        image_cache_prune(*directory);
        return reason;
    }
    enum image_reason reason = judge(*image, cache);
    if (reason != IMAGE_FITS) {
        close(*image);
        *image = -1;
        image_cache_prune(*directory);
    }
    return reason;
}
