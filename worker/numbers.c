/* ECL writes every address through one function of its library, _ecl_write_addr, which the one here
 * replaces: the dynamic linker binds the library's own calls to the program's definition. Objects
 * do not move, so that their address identifies them while they exist. */
#include "worker/numbers.h"

#include <gc/gc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The objects of one answer. Object N is at N - 1, in one of the two arrays. */
struct numbered {
    cl_object held[NUMBERS_MAX];
    void *hidden[NUMBERS_MAX]; /* from the collector, which clears it when the object is gone */
    size_t count;
};

enum { INDEX_SIZE = 1 << 14 }; /* a power of two above NUMBERS_MAX */

/* Static, so that the collector scans it. */
static struct numbered answers[2];
static struct numbered *current = &answers[0], *last = &answers[1];
static uint16_t numbers[INDEX_SIZE]; /* of the current answer, by address; 0: free */
static bool code_runs;
static bool frozen; /* no object gets a number */

static cl_object object_at(const struct numbered *answer, size_t at) {
    void *hidden = answer->hidden[at];
    return hidden ? (cl_object)GC_REVEAL_POINTER(hidden) : answer->held[at];
}

/* --- numbering --- */

static size_t slot_of(const void *object) {
    enum { ALIGNMENT_BITS = 4 };
    const uint64_t spread = UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(((uintptr_t)object >> ALIGNMENT_BITS) * spread >> 32) & (INDEX_SIZE - 1);
}

/* Enters OBJECT as the next one. False when out of memory. */
static bool enter(struct numbered *answer, cl_object object) {
    const size_t at = answer->count;
    void *start = code_runs ? GC_base(object) : NULL; /* NULL: not of the heap, so it stays */
    if (start) {
        answer->hidden[at] = (void *)GC_HIDE_POINTER(object);
        if (GC_general_register_disappearing_link(&answer->hidden[at], start) == GC_NO_MEMORY) {
            answer->hidden[at] = NULL;
            return false;
        }
    } else {
        answer->held[at] = object;
    }
    answer->count++;
    return true;
}

/* The number of OBJECT in the current answer, or 0: there are too many. */
static size_t number_of(cl_object object) {
    size_t slot = slot_of(object);
    for (; numbers[slot]; slot = (slot + 1) & (INDEX_SIZE - 1))
        if (object_at(current, numbers[slot] - 1U) == object)
            return numbers[slot];
    if (frozen || current->count == (code_runs ? NUMBERS_CODE_MAX : NUMBERS_MAX) ||
        !enter(current, object))
        return 0;
    numbers[slot] = (uint16_t)current->count;
    return current->count;
}

/* ECL's name; the type of the object is that of its own declaration. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
 */
void _ecl_write_addr(void *object, cl_object stream);

__attribute__((visibility("default"))) void _ecl_write_addr(void *object, cl_object stream) {
    /* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
     */
    char text[24] = "@...";
    const size_t number = number_of(object);
    if (number)
        snprintf(text, sizeof text, "@%zu", number);
    for (const char *character = text; *character; character++)
        ecl_write_char((ecl_character)*character, stream);
}

/* --- answers --- */

/* Holds the objects of ANSWER that still exist. */
static void hold(struct numbered *answer) {
    for (size_t at = 0; at < answer->count; at++) {
        cl_object object = object_at(answer, at);
        if (answer->hidden[at])
            GC_unregister_disappearing_link(&answer->hidden[at]);
        answer->hidden[at] = NULL;
        answer->held[at] = object;
    }
}

static void release(struct numbered *answer) {
    hold(answer);
    while (answer->count)
        answer->held[--answer->count] = NULL;
}

void numbers_freeze(void) {
    frozen = true;
}

void numbers_begin(void) {
    frozen = false;
    struct numbered *ended = current;
    release(last);
    if (ended->count)
        memset(numbers, 0, sizeof numbers);
    hold(ended);
    current = last;
    last = ended;
    code_runs = true;
}

void numbers_settle(void) {
    code_runs = false;
    hold(current);
    release(last);
}

void numbers_forget(void) {
    numbers_begin();
    numbers_settle();
}

cl_object numbers_find(cl_object number) {
    const cl_env_ptr env = ecl_process_env();
    const struct numbered *answer = code_runs ? last : current;
    cl_object object = NULL;
    if (ECL_FIXNUMP(number) && ecl_fixnum(number) >= 1 &&
        (size_t)ecl_fixnum(number) <= answer->count)
        object = object_at(answer, (size_t)ecl_fixnum(number) - 1);
    ecl_return2(env, object ? object : ECL_NIL, object ? ECL_T : ECL_NIL);
}
