/* Frames: the messages between the supervisor and its zygote and workers (doc/design.md). A frame
 * is a fixed header and a payload of at most FRAME_PAYLOAD_MAX bytes, in native byte order since
 * both ends run on one machine. This module is the blocking end, for the zygote and the workers,
 * and for the supervisor's few frames with descriptors; worker_process.c is the supervisor's
 * non-blocking end. Readers treat every frame as hostile. */
#ifndef ECLAVE_COMMON_FRAME_H
#define ECLAVE_COMMON_FRAME_H

#include "common/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum frame_type {
    /* supervisor -> zygote */
    FRAME_CONFIGURE = 1, /* struct worker_configuration and its paths; the first frame, once */
    FRAME_SPAWN,         /* descriptors: channel, stdout and stderr of the new worker */
    /* zygote -> supervisor */
    FRAME_BOOTED, /* struct policy_report; ECL is booted, and FRAME_SPAWN may follow */
    /* zygote or worker -> supervisor */
    FRAME_FAILED, /* an error message; the sender exits, or did not make the process asked for */
    /* supervisor -> worker */
    FRAME_EVALUATE, /* evaluate_message */
    FRAME_FORK,     /* descriptors: the channel of the child and, if it is for another session, its
                       stdout and stderr; none if it is apart: the kernel then puts the channel in
                       its place when the child sets its death signal. The child sends FRAME_READY on
                       its channel; the parent sends nothing, or FRAME_FAILED if there is no
                       child */
    FRAME_OUTPUTS,  /* descriptors: new stdout and stderr; no reply */
    /* worker -> supervisor */
    FRAME_READY,  /* confined; credentials prove the pid; descriptor: the seccomp listener */
    FRAME_RESULT, /* result_message */
    /* supervisor -> worker */
    FRAME_RUN,    /* run_message; the reply is FRAME_RESULT, as to FRAME_EVALUATE */
    FRAME_ANSWER, /* JSON: the client's answer to FRAME_ASK */
    /* worker -> supervisor, only during FRAME_RUN, in any number */
    FRAME_EVENT, /* JSON of at most FRAME_EVENT_MAX bytes */
    FRAME_ASK,   /* JSON of at most FRAME_ASK_MAX bytes; the worker then waits for FRAME_ANSWER */
    /* zygote -> supervisor */
    FRAME_IMAGE, /* before FRAME_BOOTED: a byte, 1 if the image file was written, else 0; then a
                    line for the log about it */
    /* supervisor -> worker */
    FRAME_ADOPT, /* adopt_message; descriptor: the image of a session, to be read from its
                    beginning; for a worker that has evaluated nothing. The reply is FRAME_RESULT: a
                    value of the session that it is now, or a condition if it has changed nothing */
    /* worker -> supervisor, during a call, with native code; one at a time */
    FRAME_COMPILE, /* C source of at most UNIT_TEXT_MAX bytes; the reply is FRAME_OBJECT */
    FRAME_CODE,    /* whole pages, at most UNIT_CODE_MAX bytes; the reply is FRAME_SEALED */
    /* supervisor -> worker */
    FRAME_OBJECT, /* an object; empty: the source does not compile */
    FRAME_SEALED, /* one byte: the worker may map the pages, once; empty: it may not */
    FRAME_TRACK,  /* a byte: the worker makes a userfaultfd, and FRAME_TRACKED says which it is; if
                     the byte is 1, other processes of its user may inspect it from then on. A
                     descriptor number (int32_t): both are over */
    FRAME_PAGES,  /* descriptor: a file with a number (uint64_t), so many addresses of pages
                     (uint64_t) and these pages. The worker puts them there, and waits for the next
                     frame as they say; no reply */
    /* worker -> supervisor */
    FRAME_TRACKED, /* struct tracked_message */
    /* supervisor -> worker */
    FRAME_REFINE, /* between calls: the worker compiles functions that calls have defined. It may
                     send FRAME_COMPILE and FRAME_CODE, as in a call; the reply is FRAME_REFINED */
    /* worker -> supervisor */
    FRAME_REFINED, /* one byte: there are more of them; empty: there are none */
    /* supervisor -> worker */
    FRAME_PREFAULT, /* at most PAGE_RUNS_MAX struct page_run: pages that the next call will probably
                       write. The worker makes its own copies of them; no reply */
    FRAME_TYPE_END
};

enum {
    FRAME_PAYLOAD_MAX = 64 << 20, /* bytes; above any request.max_bytes */
    FRAME_EVENT_MAX = 64 << 10,   /* bytes */
    FRAME_ASK_MAX = 1 << 20,      /* bytes */
    PAGE_RUNS_MAX = 256,          /* of FRAME_PREFAULT */
    FRAME_DESCRIPTORS_MAX = 3,
    FRAME_CHANNEL = 3 /* the descriptor of the channel in a worker */
};

struct frame_header {
    uint16_t type;
    uint16_t flags;  /* reserved; a frame with another value than 0 is refused */
    uint32_t call;   /* number of the call it belongs to; 0 outside calls */
    uint32_t length; /* payload bytes */
};

/* The settings of a zygote and its workers. On the channel strings follow it, each with its
 * terminator, in the order of their numbers here. */
struct worker_configuration {
    uint64_t memory_bytes;    /* heap limit at which Lisp signals STORAGE-EXHAUSTED */
    uint64_t value_max_chars; /* characters kept of one printed value */
    /* As in struct policy (policy/policy.h). */
    uint64_t address_space_bytes;
    uint64_t scratch_bytes;
    uint32_t layers;
    uint32_t required;
    uint32_t degraded;
    uint32_t user;
    uint32_t native;         /* 1: code may be compiled to native code; 2: it is, after each call */
    uint32_t readable_count; /* directories */
    /* Loaded before the first worker is made: names of ASDF systems, and paths of Lisp files. */
    uint32_t systems_count;
    uint32_t preload_count;
    uint32_t environment_count;  /* NAME=VALUE, set while they are loaded */
    uint32_t adopts;             /* workers may get FRAME_ADOPT */
    unsigned char image_key[16]; /* of the image file, if the zygote is to write one */
};

/* The payload of FRAME_TRACKED. */
struct tracked_message {
    int32_t userfault; /* the number of the worker's userfaultfd; -1: there is none */
    uint32_t unused;
    uint64_t start, end; /* stack below the frames that last: of no state */
};

/* Pages of a worker. */
struct page_run {
    uint64_t start; /* address */
    uint64_t pages;
};

/* Sends one frame with COUNT descriptors, which stay the caller's. False with *error. */
bool frame_send(int channel, const struct frame_header *header, const void *payload,
                const int *descriptors, size_t count, struct error *error);

/* Receives one frame: its payload into *payload (from malloc and the caller's; NULL if empty), its
 * descriptors into DESCRIPTORS (close-on-exec and the caller's), their number into *count. Returns
 * 1, 0 at the end of the channel between two frames, or -1 with *error. */
int frame_receive(int channel, struct frame_header *header, unsigned char **payload,
                  int descriptors[FRAME_DESCRIPTORS_MAX], size_t *count, struct error *error);

#endif
