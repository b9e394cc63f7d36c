/* What an earlier run has finished, by the keys in its output: ids, and numbers of lines that have
 * none. A line of the input whose key is there is left out; of equal keys, as many lines as were
 * finished. */
#ifndef ECLAVE_SUPERVISOR_BATCH_DONE_H
#define ECLAVE_SUPERVISOR_BATCH_DONE_H

#include "common/buffer.h"
#include "common/error.h"
#include "supervisor/batch/record.h"
#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct done_line;

struct done {
    /* So that nobody can choose keys that collide. */
    unsigned char hash_key[crypto_shorthash_KEYBYTES];
    struct done_line *lines; /* sorted by hash once all are read */
    size_t count, capacity, left;
    off_t whole_bytes; /* of the file, up to its last newline; what follows is a torn line */
    struct stat file;
};

/* Reads the output PATH of an earlier run, telling VISIT each of its lines in turn. Takes 16 bytes
 * of memory for each. False with *error when it cannot be read, or is no such output. */
bool done_read(struct done *done, const char *path,
               void (*visit)(void *context, const struct record *record, struct span text),
               void *context, struct error *error);
void done_free(struct done *done);

/* Was a line with this key finished? One of them is taken from then on. */
bool done_take(struct done *done, struct span key);

#endif
