/* The lines that an earlier run finished. A key in its output, an id or the number of a line
 * without one, stands for as many lines of the input as it occurs times. */
#include "common/utf8.h"
#include "supervisor/batch/batch_internal.h"

#include <stdlib.h>

struct finished_line {
    uint64_t hash;
    bool taken;
};

static uint64_t hash_of(const struct finished *finished, struct span key) {
    unsigned char bytes[crypto_shorthash_BYTES];
    uint64_t hash;
    crypto_shorthash(bytes, key.bytes, key.length, finished->hash_key);
    memcpy(&hash, bytes, sizeof hash);
    return hash;
}

static bool add(struct finished *finished, struct span key) {
    if (finished->count == finished->capacity) {
        size_t capacity = finished->capacity ? 2 * finished->capacity : 1024;
        struct finished_line *lines = reallocarray(finished->lines, capacity, sizeof *lines);
        if (!lines)
            return false;
        finished->lines = lines;
        finished->capacity = capacity;
    }
    finished->lines[finished->count++] = (struct finished_line){.hash = hash_of(finished, key)};
    return true;
}

static int compare(const void *left, const void *right) {
    const struct finished_line *one = left, *other = right;
    return (one->hash > other->hash) - (one->hash < other->hash);
}

static bool take_line(struct finished *finished, struct span text,
                      void (*visit)(void *context, const struct record *record), void *context,
                      struct error *error) {
    struct record record;
    if (!record_read(&record, utf8_without_mark(text)))
        return error_set(error, 0, "line %zu was not written by eclave batch", finished->count + 1);
    bool added = add(finished, record.key);
    if (added)
        visit(context, &record);
    record_free(&record);
    return added || error_set(error, ENOMEM, "reading it");
}

/* Reads up to an incomplete last line. */
static bool read_lines(struct finished *finished, FILE *file,
                       void (*visit)(void *context, const struct record *record), void *context,
                       struct error *error) {
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    bool good = true;
    while (good && (length = getline(&line, &size, file)) > 0 && line[length - 1] == '\n') {
        const struct span text = {(const unsigned char *)line, (size_t)length - 1};
        good = take_line(finished, text, visit, context, error);
        finished->whole_bytes += length;
    }
    free(line);
    return good && (!ferror(file) || error_set(error, errno, "reading it"));
}

bool finished_read(struct finished *finished, const char *path,
                   void (*visit)(void *context, const struct record *record), void *context,
                   struct error *error) {
    struct error why;
    *finished = (struct finished){0};
    FILE *file = fopen(path, "re");
    if (!file || fstat(fileno(file), &finished->file) != 0) {
        error_set(error, errno, "--skip-done %.100s", path);
        if (file)
            fclose(file);
        return false;
    }
    randombytes_buf(finished->hash_key, sizeof finished->hash_key);
    bool good = read_lines(finished, file, visit, context, &why);
    fclose(file);
    if (!good)
        return error_set(error, 0, "--skip-done %.100s: %.100s", path, why.text);
    finished->left = finished->count;
    if (finished->count)
        qsort(finished->lines, finished->count, sizeof *finished->lines, compare);
    return true;
}

void finished_free(struct finished *finished) {
    free(finished->lines);
    *finished = (struct finished){0};
}

bool finished_take(struct finished *finished, struct span key) {
    if (finished->left == 0)
        return false;
    const uint64_t hash = hash_of(finished, key);
    size_t low = 0, high = finished->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (finished->lines[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < finished->count && finished->lines[low].hash == hash && finished->lines[low].taken)
        low++;
    if (low == finished->count || finished->lines[low].hash != hash)
        return false;
    finished->lines[low].taken = true;
    finished->left--;
    return true;
}
