/* The keeper: a process that has the state directory, so that neither the supervisor's loop nor its
 * confinement depends on a disk. It is a fork of this program, answers requests in order, and ends
 * with the supervisor. Those that wait while it works are taken together, and go to disk together.
 *
 * A session is known by a number that the supervisor gives it, and is open, and locked, from
 * KEEPER_OPEN until KEEPER_REMOVE or the end. */
#ifndef ECLAVE_SUPERVISOR_STATE_KEEPER_H
#define ECLAVE_SUPERVISOR_STATE_KEEPER_H

#include "supervisor/base/loop.h"
#include "supervisor/state/store.h"

enum keeper_operation {
    KEEPER_OPEN = 1,   /* BYTES: the name; makes the session if it is not there */
    KEEPER_READ,       /* the call with the index NUMBER */
    KEEPER_APPEND,     /* BYTES: a record */
    KEEPER_SHORTEN,    /* only the first NUMBER calls remain; writes the journal anew */
    KEEPER_COPY,       /* BYTES: the name of OTHER, which begins with the first NUMBER calls */
    KEEPER_REMOVE,     /* BYTES: the name; the session need not be open */
    KEEPER_MAKE_IMAGE, /* the empty file of an image */
    KEEPER_DROP_IMAGE, /* removes that file */
    KEEPER_KEEP_IMAGE, /* BYTES: a saved_image, which that file is now, on disk */
    KEEPER_OPEN_IMAGE, /* the image that is kept */
    KEEPER_OPERATIONS
};

enum { KEEPER_TOGETHER_MAX = 64 }; /* requests that are taken together */

struct keeper_request {
    enum keeper_operation operation;
    uint64_t session, other; /* numbers of sessions */
    uint64_t number;
    bool unnamed; /* the client has not named the session yet */
    struct span bytes;
};

/* Valid until the callback returns. */
struct keeper_reply {
    const char *failure; /* a sentence without its full stop; NULL: done */
    bool locked;         /* the failure: another process has the session */
    bool created;        /* KEEPER_OPEN */
    uint64_t count;      /* calls in force, of KEEPER_OPEN */
    uint64_t left_out;   /* bytes that were set aside, of KEEPER_OPEN */
    struct span record;  /* KEEPER_READ; KEEPER_OPEN: a saved_image, or nothing */
    int fd; /* KEEPER_MAKE_IMAGE, KEEPER_OPEN_IMAGE; closed after the callback, unless that has
               taken it and left -1 */
};

/* May ask again. */
typedef void (*keeper_done)(void *context, struct keeper_reply *reply);

struct keeper_pending;

struct keeper {
    struct loop *loop;
    int socket; /* -1: no keeper */
    struct loop_watch watch;
    struct buffer out, in;
    size_t sent;                       /* of `out` */
    int received[KEEPER_TOGETHER_MAX]; /* descriptors of replies to come */
    size_t received_count;
    TAILQ_HEAD(, keeper_pending) pending; /* in the order of the requests */
};

/* Starts the process, before the caller is confined. STORE becomes the keeper's, and is closed
 * here. PATH is that of STORE. SYNC: an answer means that the disk has it. LIMIT_BYTES: of all
 * sessions. False with *error. */
bool keeper_start(struct keeper *keeper, struct loop *loop, struct store *store, const char *path,
                  bool sync, uint64_t limit_bytes, struct error *error);
/* Does nothing to a zeroed struct. The caller of wait() reaps the process. No callback is called.
 */
void keeper_close(struct keeper *keeper);
bool keeper_is_there(const struct keeper *keeper);

/* DONE may be NULL. If the keeper has ended, or memory is out, the loop fails. */
void keeper_ask(struct keeper *keeper, const struct keeper_request *request, keeper_done done,
                void *context);
/* Calls no callback with CONTEXT any more. */
void keeper_forget(struct keeper *keeper, const void *context);

#endif
