/* A process that inspects others, which the supervisor may not. It finds out how much memory they
 * use: for that the kernel visits every page and every mapping of a process, tens of milliseconds
 * that a hostile worker can cause, and during which the supervisor must continue to serve. And it
 * opens what a worker's memory is tracked with (process/tracker.h). */
#ifndef ECLAVE_SUPERVISOR_PROCESS_WEIGHER_H
#define ECLAVE_SUPERVISOR_PROCESS_WEIGHER_H

#include "common/frame.h"
#include "supervisor/base/loop.h"
#include "supervisor/process/tracker.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Plain data. */
struct weight {
    pid_t pid;
    size_t bytes; /* proportional set size: a page that N processes share counts 1/N */
    bool known;   /* false: the kernel does not report it to this program */
};

/* WEIGHT is valid until the callback returns, which may ask again. */
typedef void (*weigher_callback)(void *context, const struct weight *weight);
/* What was asked for the worker PID is done, or DONE is false. PARTS, whose descriptors are the
 * callback's: of weigher_track; else NULL. It may ask again. */
typedef void (*weigher_tracked)(void *context, pid_t pid, bool done,
                                const struct tracker_parts *parts);

struct weigher {
    struct loop *loop;
    int socket; /* -1: the process does not run */
    struct loop_watch watch;
    pid_t asked; /* who is being inspected; 0: nobody */
    enum { WEIGHER_WEIGHS, WEIGHER_OPENS, WEIGHER_REGISTERS } task;
    unsigned failures;
    bool settled; /* no process is started any more */
    weigher_callback weighed;
    weigher_tracked tracked;
    void *context;
};

/* Starts no process yet; the first question does. */
void weigher_open(struct weigher *weigher, struct loop *loop, weigher_callback weighed,
                  weigher_tracked tracked, void *context);
/* Ends the process, which the caller of wait() reaps. */
void weigher_close(struct weigher *weigher);

/* Starts the process now, for a caller that loses the right to. No other is started afterwards. */
void weigher_settle(struct weigher *weigher);

bool weigher_is_busy(const struct weigher *weigher);
/* Asks for the weight of PID; not while busy. The callback gets it later. False, and no callback,
 * if there is no process to ask. */
bool weigher_ask(struct weigher *weigher, pid_t pid);
/* The same for what PID is tracked with, as SAID by the worker itself. */
bool weigher_track(struct weigher *weigher, pid_t pid, const struct tracked_message *said);
/* The same for the mappings that it has made since: USERFAULT, the caller's, is to track them. */
bool weigher_register(struct weigher *weigher, pid_t pid, const struct tracked_message *said,
                      int userfault);

/* What the process does: measures PID at once. */
struct weight weigh_process(pid_t pid);
/* Opens the parts, the caller's, and registers what is mapped. False if that cannot be had; then
 * there is none. */
bool weigher_open_parts(pid_t pid, const struct tracked_message *said, struct tracker_parts *parts);

#endif
