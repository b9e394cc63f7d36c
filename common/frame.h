/* Frames: what travels on a channel between the supervisor and one other process (DESIGN.md).
 * A frame is a fixed header and a payload of at most FRAME_PAYLOAD_MAX bytes; both ends are on
 * one machine, so the header is in native byte order. Nobody else touches bytes on a channel.
 * A reader treats each frame as hostile. */
#ifndef ECLAVE_COMMON_FRAME_H
#define ECLAVE_COMMON_FRAME_H

#include "common/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum frame_type {
    /* supervisor -> zygote */
    FRAME_CONFIGURE = 1, /* payload: struct worker_configuration and its paths; first frame, once */
    FRAME_SPAWN,         /* descriptors: channel, stdout, stderr of the new worker */
    /* zygote -> supervisor */
    FRAME_BOOTED, /* payload: struct policy_report; ECL is up, spawns may follow */
    /* zygote or worker -> supervisor */
    FRAME_FAILED, /* payload: one sentence; the sender ends itself, or the spawn came to nothing */
    /* supervisor -> worker */
    FRAME_EVALUATE, /* payload: evaluate_message */
    FRAME_FORK,     /* descriptors: the channel of the fork, and, for another session, its stdout
                       and stderr. The child sends FRAME_READY on that channel and waits there; the
                       parent goes on waiting, or sends FRAME_FAILED when there is no child */
    /* worker -> supervisor */
    FRAME_READY,  /* confined; credentials prove the pid; descriptor: the seccomp listener */
    FRAME_RESULT, /* payload: result_message */
    /* supervisor -> worker */
    FRAME_RUN,    /* payload: run_message; answered as FRAME_EVALUATE is */
    FRAME_ANSWER, /* payload: JSON; only to a worker that has sent FRAME_ASK and waits for it */
    /* worker -> supervisor */
    FRAME_EVENT, /* payload: JSON of at most FRAME_EVENT_MAX bytes; only while a FRAME_RUN is worked
                    on, any number of times */
    FRAME_ASK,   /* payload: JSON of at most FRAME_ASK_MAX bytes; likewise; the worker then waits
                    for FRAME_ANSWER */
    FRAME_TYPE_END
};

enum {
    FRAME_PAYLOAD_MAX = 64 << 20, /* bytes; above any request.max_bytes */
    FRAME_EVENT_MAX = 64 << 10,   /* bytes */
    FRAME_ASK_MAX = 1 << 20,
    FRAME_DESCRIPTORS_MAX = 3
};

struct frame_header {
    uint16_t type;
    uint16_t flags;  /* zero; kept for later use, refused when not zero */
    uint32_t call;   /* which call this belongs to; 0 outside calls */
    uint32_t length; /* payload bytes */
};

/* What the zygote and each worker need to know; fixed for the life of the zygote. On the channel
 * the paths stand behind it, each with its zero byte: those to read, then those to load. */
struct worker_configuration {
    uint64_t memory_bytes;    /* heap limit at which Lisp signals STORAGE-EXHAUSTED */
    uint64_t value_max_chars; /* characters kept of one printed value */
    /* The rest is policy/policy.h's: struct policy, by the names it has there. */
    uint64_t address_space_bytes;
    uint64_t scratch_bytes;
    uint32_t layers;
    uint32_t required;
    uint32_t degraded;
    uint32_t user;
    uint32_t readable_count;
    uint32_t preload_count; /* files of trusted Lisp to load before any worker is made */
};

/* Blocking ends, for the zygote and the worker. */

/* Sends one frame with COUNT descriptors (which stay the caller's). False with *error on failure.
 */
bool frame_send(int channel, const struct frame_header *header, const void *payload,
                const int *descriptors, size_t count, struct error *error);

/* Receives one frame: the payload into *payload (malloc, the caller's, NULL when empty), the
 * descriptors into DESCRIPTORS (close-on-exec, the caller's) and their number into *count.
 * Returns 1, 0 at the end of the channel between frames, -1 with *error. */
int frame_receive(int channel, struct frame_header *header, unsigned char **payload,
                  int descriptors[FRAME_DESCRIPTORS_MAX], size_t *count, struct error *error);

#endif
