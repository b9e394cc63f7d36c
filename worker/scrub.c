/* Overwrites what booting and loading the operator's files leave in memory. Freed memory of the C
 * library is overwritten when it is freed; that of Lisp after a collection, by its mark bits. */
#include "worker/scrub.h"

#include <ecl/ecl.h>
#include <gc/gc.h>
#include <gc/gc_mark.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FREED = 0xA5,           /* the byte of freed memory */
    BLOCK_BYTES = 4096,     /* of the collector */
    SMALL_BYTES = 512,      /* above the largest object that the collector keeps in free lists */
    GRANULE_BYTES = 16,     /* the difference of two sizes of objects */
    STACK_BYTES = 256 << 10 /* below the caller: what loading has used, but a deep recursion */
};

void scrub_begin(void) {
#ifdef M_PERTURB
    mallopt(M_PERTURB, FREED);
#endif
}

/* The buffers in which the reader collects tokens and strings. */
static void clear_reader(void) {
    const cl_env_ptr env = ecl_process_env();
    for (cl_object rest = env->string_pool; ECL_CONSP(rest); rest = ECL_CONS_CDR(rest)) {
        cl_object string = ECL_CONS_CAR(rest);
        size_t width = ECL_BASE_STRING_P(string) ? 1 : sizeof(ecl_character);
        memset(string->base_string.self, 0, string->base_string.dim * width);
    }
    for (size_t i = 0; i < ECL_MULTIPLE_VALUES_LIMIT; i++)
        env->values[i] = ECL_NIL;
}

/* The C library does not overwrite the freed memory that it keeps in a thread's cache. */
static void clear_cache(void) {
    enum { LARGEST_BYTES = 1032, CHUNKS = 7 };
    void *chunks[CHUNKS];
    for (size_t size = 8; size <= LARGEST_BYTES; size += GRANULE_BYTES) {
        for (size_t i = 0; i < CHUNKS; i++) {
            chunks[i] = malloc(size);
            if (chunks[i])
                explicit_bzero(chunks[i], size);
        }
        for (size_t i = 0; i < CHUNKS; i++)
            free(chunks[i]);
    }
}

/* The collector takes a thread's free lists for live objects, so they are used up. */
static void clear_free_lists(void) {
    for (size_t size = GRANULE_BYTES; size <= SMALL_BYTES; size += GRANULE_BYTES)
        for (size_t used = 0; used < (size_t)4 * BLOCK_BYTES; used += size)
            memset(GC_malloc_atomic(size), 0, size);
}

__attribute__((noinline)) static void clear_stack(void) {
    char below[STACK_BYTES];
    explicit_bzero(below, sizeof below);
}

/* Does not write to pages that are clear, which may not exist yet. */
static void clear(char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            bytes[i] = 0;
}

/* Clears the dead objects between START and END, except their first words, which may be links of a
 * free list. */
static void clear_garbage(char *start, const char *end) {
    while (start < end) {
        char *object = GC_base(start);
        size_t size = object ? GC_size(object) : 0;
        if (size) {
            if (!GC_is_marked(object))
                clear(object + sizeof(void *), size - sizeof(void *));
            start = object + size;
        } else {
            start += BLOCK_BYTES - (uintptr_t)start % BLOCK_BYTES;
        }
    }
}

/* Free blocks have no mark bits. Takes each for one object, until the heap would have to grow. */
static void clear_free_blocks(void) {
    const size_t heap = GC_get_heap_size();
    GC_disable();
    while (GC_get_free_bytes() >= BLOCK_BYTES && GC_get_heap_size() == heap) {
        char *object = GC_malloc_atomic(BLOCK_BYTES - 2 * GRANULE_BYTES);
        if (!object)
            break;
        clear(object, BLOCK_BYTES - (uintptr_t)object % BLOCK_BYTES);
    }
    GC_enable();
}

/* Nothing is allocated in Lisp since the last collection: new objects have no mark. */
static void clear_heap(void) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    while (maps && fgets(line, sizeof line, maps)) {
        char *rest;
        uintptr_t start = strtoull(line, &rest, 16);
        uintptr_t end = *rest == '-' ? strtoull(rest + 1, &rest, 16) : 0;
        if (strncmp(rest, " rw-p ", 6) == 0)
            clear_garbage((char *)start, (const char *)end);
    }
    if (maps)
        fclose(maps);
}

void scrub_lisp(void) {
    int on_demand = GC_get_finalize_on_demand();
    clear_reader();
    clear_stack();
    clear_free_lists();
    GC_gcollect(); /* runs the finalizers, which allocate */
    clear_stack();
    GC_set_finalize_on_demand(1);
    GC_gcollect();
    clear_heap();
    clear_free_blocks();
    GC_gcollect();
    GC_set_finalize_on_demand(on_demand);
}

void scrub_end(void) {
    clear_cache();
    clear_stack();
#ifdef M_PERTURB
    mallopt(M_PERTURB, 0);
#endif
}
