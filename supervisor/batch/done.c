/* Finished lines. Never takes a torn last line for a finished one. */
#include "supervisor/batch/done.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct done_line {
    uint64_t hash;
    bool taken;
};

static uint64_t hash_of(const struct done *done, struct span key) {
    unsigned char bytes[crypto_shorthash_BYTES];
    uint64_t hash;
    crypto_shorthash(bytes, key.bytes, key.length, done->hash_key);
    memcpy(&hash, bytes, sizeof hash);
    return hash;
}

static bool add(struct done *done, struct span key) {
    if (done->count == done->capacity) {
        size_t capacity = done->capacity ? 2 * done->capacity : 1024;
        struct done_line *lines = reallocarray(done->lines, capacity, sizeof *lines);
        if (!lines)
            return false;
        done->lines = lines;
        done->capacity = capacity;
    }
    done->lines[done->count++] = (struct done_line){.hash = hash_of(done, key)};
    return true;
}

static int compare(const void *left, const void *right) {
    const struct done_line *one = left, *other = right;
    return (one->hash > other->hash) - (one->hash < other->hash);
}

/* One line with its newline. False with *error. */
static bool take_line(struct done *done, struct span text,
                      void (*visit)(void *context, const struct record *record, struct span text),
                      void *context, struct error *error) {
    struct record record;
    text.length--;
    if (!record_read(&record, text))
        return error_set(error, 0, "line %zu is none that eclave batch wrote", done->count + 1);
    bool added = add(done, record.key);
    if (added)
        visit(context, &record, text);
    record_free(&record);
    return added || error_set(error, ENOMEM, "reading it");
}

static bool read_lines(struct done *done, FILE *file,
                       void (*visit)(void *context, const struct record *record, struct span text),
                       void *context, struct error *error) {
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    bool good = true;
    while (good && (length = getline(&line, &size, file)) > 0 && line[length - 1] == '\n') {
        const struct span text = {(const unsigned char *)line, (size_t)length};
        good = take_line(done, text, visit, context, error);
        done->whole_bytes += length;
    }
    free(line);
    return good && (!ferror(file) || error_set(error, errno, "reading it"));
}

bool done_read(struct done *done, const char *path,
               void (*visit)(void *context, const struct record *record, struct span text),
               void *context, struct error *error) {
    struct error why;
    *done = (struct done){0};
    FILE *file = fopen(path, "re");
    if (!file || fstat(fileno(file), &done->file) != 0) {
        error_set(error, errno, "--skip-done %.100s", path);
        if (file)
            fclose(file);
        return false;
    }
    randombytes_buf(done->hash_key, sizeof done->hash_key);
    bool good = read_lines(done, file, visit, context, &why);
    fclose(file);
    if (!good)
        return error_set(error, 0, "--skip-done %.100s: %.100s", path, why.text);
    done->left = done->count;
    if (done->count)
        qsort(done->lines, done->count, sizeof *done->lines, compare);
    return true;
}

void done_free(struct done *done) {
    free(done->lines);
    *done = (struct done){0};
}

bool done_take(struct done *done, struct span key) {
    if (done->left == 0)
        return false;
    const uint64_t hash = hash_of(done, key);
    size_t low = 0, high = done->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (done->lines[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < done->count && done->lines[low].hash == hash && done->lines[low].taken)
        low++;
    if (low == done->count || done->lines[low].hash != hash)
        return false;
    done->lines[low].taken = true;
    done->left--;
    return true;
}
