/* Reads a file in steps and checks at the end that it did not change meanwhile. */
#include "supervisor/registry/file.h"
#include "common/cleanup.h"
#include "common/utf8.h"
#include "supervisor/registry/beneath.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The coarsest time stamps of a file system in use are two seconds apart. */
static const int64_t settled_ns = INT64_C(3000000000);

static int64_t nanoseconds(struct timespec time) {
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

struct file_stamp file_stamp_of(const struct stat *status) {
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age_ns = nanoseconds(now) - nanoseconds(status->st_ctim);
    return (struct file_stamp){.device = status->st_dev,
                               .inode = status->st_ino,
                               .size = (uint64_t)status->st_size,
                               .modified_ns = nanoseconds(status->st_mtim),
                               .changed_ns = nanoseconds(status->st_ctim),
                               .settled = age_ns > settled_ns};
}

static bool same_file(const struct file_stamp *left, const struct file_stamp *right) {
    return left->device == right->device && left->inode == right->inode &&
           left->size == right->size && left->modified_ns == right->modified_ns &&
           left->changed_ns == right->changed_ns;
}

bool file_is_unchanged(const struct file_stamp *before, const struct file_stamp *now) {
    bool nothing = !before->changed_ns && !now->changed_ns;
    return nothing || (before->settled && same_file(before, now));
}

void file_content_free(struct file_content *content) {
    free(content->bytes);
    *content = (struct file_content){0};
}

void file_reader_drop(struct file_reader *reader) {
    if (reader->fd >= 0)
        close(reader->fd);
    reader->fd = -1;
    file_content_free(&reader->content);
    reader->length = reader->checked = 0;
}

void file_reader_begin(struct file_reader *reader, int root, const char *path, size_t maximum,
                       const struct digest_key *key) {
    *reader =
        (struct file_reader){.root = root, .path = path, .maximum = maximum, .key = key, .fd = -1};
}

static enum file_progress refuse(struct file_reader *reader) {
    file_reader_drop(reader);
    return FILE_REFUSED;
}

static bool open_file(struct file_reader *reader, struct error *error) {
    struct stat status;
    reader->fd = beneath_open_file(reader->root, reader->path, error);
    if (reader->fd < 0)
        return false;
    if (fstat(reader->fd, &status) != 0)
        return error_set(error, errno, "cannot be examined");
    struct file_content *content = &reader->content;
    content->stamp = file_stamp_of(&status);
    content->size = (size_t)status.st_size;
    content->is_text = true;
    reader->unsized = content->size == 0;
    if (content->size > reader->maximum)
        return error_set(error, 0, "has %zu bytes; the maximum is %zu", content->size,
                         reader->maximum);
    content->bytes = malloc(content->size + 1);
    reader->digester = digest_begin(reader->key);
    return content->bytes || error_set(error, ENOMEM, "cannot be loaded");
}

/* Checks the bytes read since the last time, whose last character may be incomplete. */
static void check_text(struct file_reader *reader) {
    struct file_content *content = &reader->content;
    if (!content->is_text)
        return;
    size_t left = reader->length - reader->checked;
    size_t valid = utf8_valid_prefix(content->bytes + reader->checked, left);
    reader->checked += valid;
    bool ended = reader->length == content->size && !reader->unsized;
    if (left - valid > 3 || (ended && valid < left))
        content->is_text = false;
}

/* The bytes that json_write_bytes adds. */
static size_t count_escapes(const unsigned char *bytes, size_t size) {
    static const unsigned char more[UINT8_MAX + 1] = {
        5, 5, 5, 5, 5, 5, 5, 5, 1, 1, 1, 5, 1, 1, 5, 5,         5,
        5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, ['"'] = 1, ['\\'] = 1};
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += more[bytes[i]];
    return count;
}

/* Makes room for what the next step reads: a byte more than the maximum shows that there is more.
 */
static bool extend(struct file_reader *reader, struct error *error) {
    struct file_content *content = &reader->content;
    if (reader->length > reader->maximum)
        return error_set(error, 0, "has more than the maximum of %zu bytes", reader->maximum);
    size_t most = reader->maximum - reader->length;
    size_t size = reader->length + (most < FILE_STEP_BYTES ? most + 1 : FILE_STEP_BYTES);
    unsigned char *bytes = realloc(content->bytes, size + 1);
    if (!bytes)
        return error_set(error, ENOMEM, "cannot be loaded");
    content->bytes = bytes;
    content->size = size;
    return true;
}

/* Such a file states nothing by which a change could be noticed: it is read in every scan. */
static void end_unsized(struct file_reader *reader) {
    struct file_content *content = &reader->content;
    unsigned char *bytes = realloc(content->bytes, reader->length + 1);
    if (bytes)
        content->bytes = bytes;
    content->size = reader->length;
    content->stamp.settled = content->stamp.settled && !reader->length;
    reader->unsized = false;
    check_text(reader);
}

static bool is_unchanged(const struct file_reader *reader) {
    struct stat status;
    if (reader->length != reader->content.size || fstat(reader->fd, &status) != 0)
        return false;
    const struct file_stamp now = file_stamp_of(&status);
    return same_file(&reader->content.stamp, &now);
}

static enum file_progress finish(struct file_reader *reader, struct file_content *content,
                                 struct error *error) {
    if (!is_unchanged(reader)) {
        bool failed = reader->again;
        error_set(error, 0, "changed while it was read");
        error->code = EAGAIN; /* and no phrase of the system's for it */
        file_reader_drop(reader);
        reader->again = true;
        return failed ? FILE_REFUSED : FILE_MORE;
    }
    reader->content.bytes[reader->content.size] = 0;
    reader->content.digest = digest_end(&reader->digester);
    *content = reader->content;
    reader->content = (struct file_content){0};
    file_reader_drop(reader);
    return FILE_DONE;
}

enum file_progress file_reader_step(struct file_reader *reader, struct file_content *content,
                                    struct error *error) {
    if ((reader->fd < 0 && !open_file(reader, error)) ||
        (reader->unsized && !extend(reader, error)))
        return refuse(reader);
    size_t wanted = reader->content.size - reader->length;
    if (wanted > FILE_STEP_BYTES)
        wanted = FILE_STEP_BYTES;
    unsigned char *end = reader->content.bytes + reader->length;
    ssize_t got = read(reader->fd, end, wanted);
    if (got < 0 && errno == EINTR)
        return FILE_MORE;
    if (got < 0) {
        error_set(error, errno, "cannot be read");
        return refuse(reader);
    }
    digest_add(&reader->digester, end, (size_t)got);
    reader->content.escapes += count_escapes(end, (size_t)got);
    reader->length += (size_t)got;
    check_text(reader);
    if (reader->unsized && got == 0)
        end_unsized(reader);
    else if (reader->unsized)
        return FILE_MORE;
    return got > 0 && reader->length < reader->content.size ? FILE_MORE
                                                            : finish(reader, content, error);
}
