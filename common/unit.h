/* Units of native code: what passes between a worker, the supervisor and the process that compiles
 * one unit. The worker sends C source (FRAME_COMPILE); the supervisor passes it to that process and
 * its object back (FRAME_OBJECT); the worker links the object and sends whole pages (FRAME_CODE);
 * the supervisor seals them in a file in memory and lets the worker map that once. The supervisor
 * looks into none of it. */
#ifndef ECLAVE_COMMON_UNIT_H
#define ECLAVE_COMMON_UNIT_H

#include <stdint.h>

enum {
    UNIT_TEXT_MAX = 1 << 20,   /* bytes of C source, without the preamble */
    UNIT_OBJECT_MAX = 1 << 20, /* bytes */
    UNIT_CODE_MAX = 1 << 20,   /* bytes of pages that are executed */
    UNIT_PAGE_BYTES = 4096,    /* code is sealed in units of this; a larger page is refused */
    UNIT_CODE_FD = 4,          /* where the worker finds the descriptor; policy/syscalls.def */
    UNITS_MAX = 4096,          /* of a worker and those that it is a fork of, over all calls */
    UNITS_BYTES_MAX = 16 << 20 /* the same */
};

/* The first message on the channel of the compiler, a SOCK_SEQPACKET at descriptor 3. Each later
 * message is one byte and has a descriptor: the SOCK_STREAM channel of one unit. */
struct compiler_configuration {
    uint32_t layers, required, user; /* as in struct policy */
};

/* Its answer to the first message. */
struct compiler_answer {
    char failure[256]; /* why it cannot compile; empty if it can */
};

/* On the channel of a unit: before the source, and before the object. */
struct unit_header {
    uint32_t length; /* bytes that follow; 0: the source does not compile */
};

#endif
