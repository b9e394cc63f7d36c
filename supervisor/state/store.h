/* The directory of the saved sessions: a key, and a directory for each session, in which its
 * journal is. A session that is open here is locked: another process cannot open it. Everything
 * here blocks for as long as the disk does. */
#ifndef ECLAVE_SUPERVISOR_STATE_STORE_H
#define ECLAVE_SUPERVISOR_STATE_STORE_H

#include "common/session_image.h"
#include "supervisor/state/journal.h"
#include "supervisor/state/record.h"

enum {
    STORE_NAME_CHARS = 64,
    STORE_NAME_BYTES,
    STORE_SESSIONS_MAX = 4096 /* more are not listed */
};

struct store {
    int fd; /* -1: not open */
    unsigned char key[JOURNAL_KEY_BYTES];
};

/* Opens the directory PATH, which it creates with its key if CREATE. It must belong to this user
 * and be closed to others. False with *error. */
bool store_open(struct store *store, const char *path, bool create, struct error *error);
void store_close(struct store *store);

/* Plain data. */
struct store_entry {
    char name[STORE_NAME_BYTES]; /* any bytes but null characters */
    bool unnamed;                /* its client did not choose the name */
    uint64_t bytes;              /* of all its files */
    int64_t used_ns;             /* when its journal was last written; since 1970 */
};
/* The sessions, in no order, *count of them. The caller frees the result. NULL with *error. */
struct store_entry *store_list(const struct store *store, size_t *count, struct error *error);

/* Calls VISIT with each record of the session NAME, also while another process has it, and changes
 * nothing. False with *error at what cannot be read. */
typedef void (*store_visitor)(void *context, const struct journal_record *record);
bool store_visit(const struct store *store, const char *name, store_visitor visit, void *context,
                 struct error *error);
/* Whether a process has the session open. */
bool store_is_locked(const struct store *store, const struct store_entry *entry);

/* Where a call that is in force begins. */
struct saved_call {
    uint64_t offset;
    unsigned char seal[JOURNAL_SEAL_BYTES]; /* of what is before it */
};

/* The image of the state after the first `number` calls. */
struct saved_image {
    uint64_t number; /* 0: there is none */
    struct adopt_message facts;
};

/* An open session. */
struct saved {
    const struct store *store;
    char name[STORE_NAME_BYTES];
    bool unnamed;
    bool created;      /* it was not there before */
    uint64_t left_out; /* bytes that were no good records when it was opened, and were set aside */
    int directory;     /* locked */
    struct journal journal;
    struct saved_call *calls; /* in force */
    size_t count, capacity;
    struct saved_image image;
    bool torn;    /* what was written in part could not be removed */
    bool renamed; /* since the last saved_sync: its directory must be on disk too */
};

enum store_end { STORE_DONE, STORE_LOCKED, STORE_FAILED };

/* Opens and locks the session NAME, which is made if it is not there and CREATE. The caller closes
 * *saved. STORE_LOCKED: another process has it. *error says what is wrong. */
enum store_end saved_open(const struct store *store, const char *name, bool unnamed, bool create,
                          struct saved **saved, struct error *error);
/* Unlocks and frees it. SAVED may be NULL. */
void saved_close(struct saved *saved);

/* Makes the empty file of an image, which saved_keep_image puts in place. The caller closes it. -1
 * with *error. */
int saved_make_image(const struct saved *saved, struct error *error);
/* Puts it in place, whole and on disk, as IMAGE, and removes the one before. False with *error, and
 * it is removed. */
bool saved_keep_image(struct saved *saved, const struct saved_image *image, struct error *error);
/* Opens the image to read it. The caller closes it. -1 with *error. */
int saved_open_image(const struct saved *saved, struct error *error);
/* Removes the file of saved_make_image. */
void saved_drop_new_image(const struct saved *saved);
/* Removes the image, which only takes room. */
void saved_drop_image(struct saved *saved);

/* Appends a record and does what it says to the list of calls. If it fails, nothing has changed. */
bool saved_append(struct saved *saved, struct span record, struct error *error);
/* Undoes the last saved_append, before which the journal was BEFORE and had COUNT calls. */
void saved_take_back(struct saved *saved, const struct journal *before, size_t count);
/* Reads the call with this index into RECORD. */
bool saved_read(const struct saved *saved, size_t index, struct buffer *record,
                struct error *error);
/* Only the first COUNT calls are in force, on disk if SYNC. If it fails, nothing has changed. */
bool saved_return(struct saved *saved, size_t count, bool sync, struct error *error);
/* Writes the journal anew with the first COUNT calls only. */
bool saved_shorten(struct saved *saved, size_t count, struct error *error);
/* A new session NAME with the first COUNT calls of SAVED, open and locked. NULL with *error. */
struct saved *saved_copy(const struct saved *saved, size_t count, const char *name,
                         struct error *error);
/* Its client has named the session. */
bool saved_keep(struct saved *saved, struct error *error);
/* What was written is on disk when it returns. */
bool saved_sync(struct saved *saved, struct error *error);
/* Removes the session NAME, which no process has open but the caller: SAVED, or NULL. If SYNC, it
 * is there as before where the disk cannot be told. */
enum store_end store_remove(const struct store *store, const char *name, struct saved *saved,
                            bool sync, struct error *error);

#endif
