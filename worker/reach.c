/* A search, nearest objects first. It follows no symbol of a locked package, which is ECL's or the
 * runtime's, and no class, which leads to all others. */
#include "worker/reach.h"
#include "worker/lisp.h"
#include "worker/native.h"
#include "worker/trampoline.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { OBJECTS_MAX = 16000, SLOTS = 1 << 15 /* a power of two above twice as many */ };

/* Addresses. */
struct set {
    const void **slots;
    size_t count;
};

struct search {
    struct set seen, wanted, codes; /* the last: of functions that were found */
    void **objects;                 /* those that were seen, in this order */
    size_t next;                    /* the first whose references were not followed */
    cl_object found;
};

enum { METACLASSES = 4 };
static cl_object metaclasses[METACLASSES]; /* static: roots of the collector */

void reach_initialize(void) {
    static const char *const names[METACLASSES] = {"STANDARD-CLASS", "STRUCTURE-CLASS",
                                                   "BUILT-IN-CLASS", "FUNCALLABLE-STANDARD-CLASS"};
    for (size_t i = 0; i < METACLASSES; i++)
        metaclasses[i] = cl_find_class(1, ecl_make_symbol(names[i], "CLOS"));
}

/* The slot of ADDRESS, or the free one for it. */
static const void **find(const struct set *set, const void *address) {
    const uint64_t spread = UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)((uintptr_t)address * spread >> 40) & (SLOTS - 1);
    while (set->slots[at] && set->slots[at] != address)
        at = (at + 1) & (SLOTS - 1);
    return &set->slots[at];
}

/* False if ADDRESS was there, or the set is full. */
static bool add(struct set *set, const void *address) {
    const void **slot = find(set, address);
    if (*slot || set->count == OBJECTS_MAX)
        return false;
    *slot = address;
    set->count++;
    return true;
}

static bool is_class(cl_object instance) {
    for (size_t i = 0; i < METACLASSES; i++)
        if (instance->instance.clas == metaclasses[i])
            return true;
    return false;
}

static bool has_references(cl_object object) {
    if (!object)
        return false;
    switch (ecl_t_of(object)) {
    case t_list:
        return object != ECL_NIL;
    case t_symbol: /* or the mark of an unbound slot */
        return object != ECL_UNBOUND &&
               (object->symbol.hpack == ECL_NIL || !object->symbol.hpack->pack.locked);
    case t_vector:
    case t_array:
        return object->array.elttype == ecl_aet_object;
    case t_hashtable:
        return object->hash.weak == ecl_htt_not_weak;
    case t_instance:
        return !is_class(object);
    case t_bytecodes:
    case t_bclosure:
    case t_cfun:
    case t_cfunfixed:
    case t_cclosure:
    case t_codeblock:
        return true;
    default:
        return false;
    }
}

static void visit(struct search *search, cl_object object) {
    if (has_references(object) && add(&search->seen, object))
        search->objects[search->seen.count - 1] = object;
}

static void visit_all(struct search *search, const cl_object *objects, size_t count) {
    for (size_t i = 0; i < count; i++)
        visit(search, objects[i]);
}

/* The constants of code that no function was made of yet are no functions. */
static void visit_constants(struct search *search, cl_object code) {
    if (trampoline_is(code)) {
        visit(search, trampoline_native(code));
        return;
    }
    cl_object data = code->bytecodes.data;
    if (ecl_t_of(data) != t_vector || data->vector.elttype != ecl_aet_object)
        return; /* made by SI:BC-JOIN */
    for (cl_index i = 0; i < data->vector.fillp; i++) {
        const cl_object constant = data->vector.self.t[i];
        const cl_type type = constant ? ecl_t_of(constant) : t_start;
        if (type != t_bytecodes && type != t_bclosure)
            visit(search, constant);
    }
}

static void visit_interpreted(struct search *search, cl_object function, cl_object code) {
    if (*find(&search->wanted, code->bytecodes.definition) && !trampoline_is(code) &&
        add(&search->codes, code))
        search->found = ecl_cons(function, search->found);
    visit_constants(search, code);
}

static void visit_native(struct search *search, cl_object block, const void *code) {
    if (native_has(code))
        visit(search, block);
}

static void visit_table(struct search *search, const struct ecl_hashtable *table) {
    for (cl_index i = 0; i < table->size; i++)
        if (table->data[i].key != OBJNULL) {
            visit(search, table->data[i].key);
            visit(search, table->data[i].value);
        }
}

static void follow(struct search *search, cl_object object) {
    switch (ecl_t_of(object)) {
    case t_list:
        visit(search, ECL_CONS_CAR(object));
        visit(search, ECL_CONS_CDR(object));
        break;
    case t_symbol:
        visit(search, ECL_SYM_VAL(ecl_process_env(), object));
        visit(search, object->symbol.gfdef);
        visit(search, object->symbol.plist);
        break;
    case t_vector:
    case t_array:
        visit_all(search, object->array.self.t, object->array.dim);
        break;
    case t_hashtable:
        visit_table(search, &object->hash);
        break;
    case t_instance:
        visit_all(search, object->instance.slots, object->instance.length);
        break;
    case t_bytecodes:
        visit_interpreted(search, object, object);
        break;
    case t_bclosure:
        visit(search, object->bclosure.lex);
        visit_interpreted(search, object, object->bclosure.code);
        break;
    case t_cfun:
        visit_native(search, object->cfun.block, (const void *)object->cfun.entry);
        break;
    case t_cfunfixed:
        visit_native(search, object->cfunfixed.block, (const void *)object->cfunfixed.entry_fixed);
        break;
    case t_cclosure:
        visit(search, object->cclosure.env);
        visit_native(search, object->cclosure.block, (const void *)object->cclosure.entry);
        break;
    default: /* t_codeblock */
        visit_all(search, object->cblock.data, (size_t)object->cblock.data_size);
    }
}

static void run(struct search *search, cl_object root, cl_object definitions) {
    for (; definitions != ECL_NIL; definitions = ECL_CONS_CDR(definitions))
        add(&search->wanted, ECL_CONS_CAR(definitions));
    visit(search, root);
    while (search->next < search->seen.count && search->codes.count < search->wanted.count)
        follow(search, search->objects[search->next++]);
}

cl_object reach_functions(cl_object root, cl_object definitions) {
    struct search search = {
        .seen.slots = calloc(SLOTS, sizeof *search.seen.slots),
        .wanted.slots = calloc(SLOTS, sizeof *search.wanted.slots),
        .codes.slots = calloc(SLOTS, sizeof *search.codes.slots),
        .objects = calloc(OBJECTS_MAX, sizeof(void *)),
        .found = ECL_NIL,
    };
    if (search.seen.slots && search.wanted.slots && search.codes.slots && search.objects)
        run(&search, root, definitions);
    free(search.seen.slots);
    free(search.wanted.slots);
    free(search.codes.slots);
    free(search.objects);
    return search.found;
}
