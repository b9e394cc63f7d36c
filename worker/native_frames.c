#include "worker/native_frames.h"
#include "worker/native.h"

#include <stdint.h>
#include <stdlib.h>
#include <unwind.h>

#ifdef __x86_64__

/* What DWARF says of code whose functions all begin with `push %rbp; mov %rsp,%rbp`. */
struct description {
    uint32_t common_length, common_id;
    char version, augmentation, code_alignment, data_alignment, return_register;
    unsigned char rules[7];
    char common_end[4];
    uint32_t length, common_distance;
    uint64_t start, size;
    uint32_t end;
} __attribute__((packed));

enum {
    FRAME_REGISTER = 6, /* rbp */
    RETURN_REGISTER = 16,
    DEFINE_FRAME = 0x0c,
    SAVED = 0x80, /* a register, at a multiple of data_alignment */
};

static const struct description frames_of_tcc = {
    .common_length = offsetof(struct description, length) - sizeof(uint32_t),
    .version = 1,
    .code_alignment = 1,
    .data_alignment = 0x78, /* -8 */
    .return_register = RETURN_REGISTER,
    .rules = {DEFINE_FRAME, FRAME_REGISTER, 16, SAVED | FRAME_REGISTER, 2, SAVED | RETURN_REGISTER,
              1},
    .length = offsetof(struct description, end) - offsetof(struct description, common_distance),
    .common_distance = offsetof(struct description, common_distance),
};

/* GCC's library declares it nowhere. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming) */
void __register_frame(void *);

bool native_frames_describe(const void *code, size_t size) {
    struct description *description = malloc(sizeof *description);
    if (!description)
        return false;
    *description = frames_of_tcc;
    description->start = (uintptr_t)code;
    description->size = size;
    __register_frame(description);
    return true;
}

/* --- arguments --- */

/* tcc stores the parameters of a function below its frame pointer, and leaves those after the sixth
 * where the caller put them. */
static void take_parameters(const cl_object *frame, size_t count, struct backtrace_call *call) {
    enum { IN_REGISTERS = 6, RETURN_ADDRESS = 2 };
    call->known = true;
    call->count = count;
    for (size_t i = 0; i < count && i < BACKTRACE_ARGUMENTS_MAX; i++)
        call->arguments[i] =
            i < IN_REGISTERS ? frame[-1 - (ptrdiff_t)i] : frame[RETURN_ADDRESS + i - IN_REGISTERS];
}

/* Of a function with `...`, it stores all registers for arguments, with their number first. */
static void take_arguments(const cl_object *frame, struct backtrace_call *call) {
    enum { SAVED_AT = -25, IN_REGISTERS = 5, RETURN_ADDRESS = 2 };
    const cl_object *saved = frame + SAVED_AT + 1;
    const size_t count = (size_t)(uintptr_t)frame[SAVED_AT];
    if (count > ECL_C_ARGUMENTS_LIMIT)
        return; /* they are on ECL's stack */
    call->known = true;
    call->count = count;
    for (size_t i = 0; i < count && i < BACKTRACE_ARGUMENTS_MAX; i++)
        call->arguments[i] = i < IN_REGISTERS ? saved[i] : frame[RETURN_ADDRESS + i - IN_REGISTERS];
}

static void take_call(const cl_object *frame, cl_object function, struct backtrace_call *call) {
    *call = (struct backtrace_call){0};
    if (function->d.t == t_cfunfixed)
        take_parameters(frame, (size_t)function->cfunfixed.narg, call);
    else if (function->d.t == t_cfun)
        take_arguments(frame, call);
}

/* --- the walk --- */

struct walk {
    struct native_frame *frames;
    size_t count, room;
    uintptr_t end;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *argument) {
    struct walk *walk = argument;
    if (_Unwind_GetCFA(context) >= walk->end || walk->count == walk->room)
        return _URC_NORMAL_STOP;
    /* The return address may be that of the next function, if the call does not return. */
    cl_object function = native_function(_Unwind_GetIP(context) - 1);
    if (!function)
        return _URC_NO_REASON;
    struct native_frame *frame = &walk->frames[walk->count++];
    const cl_object *address = (const cl_object *)_Unwind_GetGR(context, FRAME_REGISTER);
    *frame = (struct native_frame){.address = address, .function = function};
    take_call(address, function, &frame->call);
    return _URC_NO_REASON;
}

size_t native_frames_take(struct native_frame *frames, size_t room, const void *end) {
    struct walk walk = {.frames = frames, .room = room, .end = (uintptr_t)end};
    if (native_is_used())
        _Unwind_Backtrace(visit, &walk);
    return walk.count;
}

#else /* native code is built on x86-64 only */

bool native_frames_describe(const void *code, size_t size) {
    (void)code;
    (void)size;
    return true;
}

size_t native_frames_take(struct native_frame *frames, size_t room, const void *end) {
    (void)frames;
    (void)room;
    (void)end;
    return 0;
}

#endif
