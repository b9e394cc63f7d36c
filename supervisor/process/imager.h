/* The imager: a process that writes the images of sessions (common/session_image.h). It reads the
 * memory of a parked worker from outside, so that nothing is asked of the worker, and compares it
 * with the base image. As root it retains the capability to inspect processes; it opens files to
 * read them only, and is given the one that it writes. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_IMAGER_H
#define ECLAVE_SUPERVISOR_PROCESS_IMAGER_H

#include "common/session_image.h"
#include "supervisor/base/loop.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* What became of a request. Plain data. */
struct imaged {
    pid_t pid;
    bool written; /* to disk, and whole */
    struct adopt_message facts;
    char why[120]; /* not WRITTEN: a sentence without its beginning and its full stop */
};

/* IMAGED is valid until the callback returns, which may ask again. */
typedef void (*imager_callback)(void *context, const struct imaged *imaged);

struct imager {
    struct loop *loop;
    int socket; /* -1: there is no process */
    struct loop_watch watch;
    pid_t asked; /* 0: nobody */
    imager_callback done;
    void *context;
};

/* The files of the base that the imager compares with. */
struct imager_base {
    char image[PATH_MAX]; /* of the zygote */
    char program[PATH_MAX];
};

/* Starts the process, before the caller is confined. Where that fails, no images are made, and
 * imager_ask returns false. */
void imager_start(struct imager *imager, struct loop *loop, const struct imager_base *base,
                  imager_callback done, void *context);
/* Ends the process, which the caller of wait() reaps. Does nothing to a zeroed struct. */
void imager_close(struct imager *imager);

bool imager_is_busy(const struct imager *imager);
/* Asks for the image of the worker PID, which is stopped, into the empty file FD, which stays the
 * caller's. Not while busy. The callback gets what became of it. False, and no callback, if nobody
 * can be asked. */
bool imager_ask(struct imager *imager, pid_t pid, int fd);

/* What the process does. Returns whether it is written, and *imaged says more. */
bool imager_write(const struct imager_base *base, pid_t pid, int fd, struct imaged *imaged);

#endif
