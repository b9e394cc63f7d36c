/* The frames of native code on the C stack. Native code records nothing when it is called: what it
 * was called with is where tcc puts parameters, and a description of all its frames lets the
 * unwinder of GCC pass them. */
#ifndef ECLAVE_WORKER_NATIVE_FRAMES_H
#define ECLAVE_WORKER_NATIVE_FRAMES_H

#include "worker/backtrace.h"

#include <ecl/ecl.h>
#include <stddef.h>

struct native_frame {
    const void *address; /* of the frame on the C stack */
    cl_object function;
    struct backtrace_call call;
};

/* Describes the frames of the native code of SIZE bytes at CODE, which is never freed. False when
 * out of memory. */
bool native_frames_describe(const void *code, size_t size);

/* Takes the innermost frames of functions that native_function knows, at most ROOM and below END on
 * the C stack, and returns their number. */
size_t native_frames_take(struct native_frame *frames, size_t room, const void *end);

#endif
