/* A journal: the file that a saved session is. After a header come records, each of which a keyed
 * hash seals together with all that is before it, so that damage, a record of another file and a
 * changed order are found where they begin. What follows the last good record is not read.
 *
 * The key protects from accidents and foreign files, not from who can read the directory. */
#ifndef ECLAVE_SUPERVISOR_STATE_JOURNAL_H
#define ECLAVE_SUPERVISOR_STATE_JOURNAL_H

#include "common/buffer.h"
#include "common/error.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    JOURNAL_KEY_BYTES = 32,
    JOURNAL_SEAL_BYTES = 16,
    JOURNAL_RECORD_MAX = 80 << 20 /* bytes; above any payload of a frame and what is kept with it */
};

struct journal {
    int fd; /* the caller's */
    const unsigned char *key;
    unsigned char seal[JOURNAL_SEAL_BYTES]; /* of what is before `end` */
    uint64_t end;                           /* offset after the last good record */
};

/* Begins a journal in the empty file FD, with a header of its own. KEY stays the caller's and
 * valid. False with *error. */
bool journal_begin(struct journal *journal, int fd, const unsigned char *key, struct error *error);

/* Opens the journal in FD, to read its first record. False with *error if it has no header of this
 * version. */
bool journal_open(struct journal *journal, int fd, const unsigned char *key, struct error *error);

/* Reads the next record into RECORD, which may hold JOURNAL_RECORD_MAX bytes. Returns 1, 0 at the
 * end of the file, or -1 if what follows is no whole good record, with *error. */
int journal_next(struct journal *journal, struct buffer *record, struct error *error);

/* Appends a record at `end`. If it cannot be written whole, what was written is removed again, and
 * the journal is as before; false with *error. *torn: that failed too. */
bool journal_append(struct journal *journal, struct span record, bool *torn, struct error *error);

/* The number of bytes that a record takes. */
uint64_t journal_bytes(struct span record);

/* Undoes appends: JOURNAL is again what BEFORE was. False if the file cannot be cut. */
bool journal_return(struct journal *journal, const struct journal *before);

#endif
