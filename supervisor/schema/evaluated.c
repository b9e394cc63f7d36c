/* A set of bits, one an element of an array or a slot of an object's table. */
#include "supervisor/schema/evaluated.h"

#include <stdlib.h>

enum { WORD_BITS = 64 };

static size_t count_bits(struct json_object *value) {
    switch (json_object_get_type(value)) {
    case json_type_array:
        return json_object_array_length(value);
    case json_type_object:
        return (size_t)json_object_get_object(value)->size;
    default:
        return 0;
    }
}

size_t evaluated_cost(struct json_object *value) {
    return 1 + count_bits(value) / WORD_BITS;
}

bool evaluated_open(struct evaluated *evaluated, struct json_object *value) {
    bool has_members = json_object_is_type(value, json_type_object);
    *evaluated = (struct evaluated){.members = has_members ? json_object_get_object(value) : NULL,
                                    .count = count_bits(value)};
    if (evaluated->count <= WORD_BITS)
        return true;
    evaluated->many = calloc(1 + evaluated->count / WORD_BITS, sizeof *evaluated->many);
    return evaluated->many;
}

void evaluated_close(struct evaluated *evaluated) {
    free(evaluated->many);
}

void evaluated_mark(struct evaluated *evaluated, size_t index) {
    if (!evaluated || index >= evaluated->count)
        return;
    uint64_t *words = evaluated->many ? evaluated->many : &evaluated->few;
    words[index / WORD_BITS] |= UINT64_C(1) << index % WORD_BITS;
}

bool evaluated_has(const struct evaluated *evaluated, size_t index) {
    if (!evaluated || index >= evaluated->count)
        return false;
    const uint64_t *words = evaluated->many ? evaluated->many : &evaluated->few;
    return words[index / WORD_BITS] >> index % WORD_BITS & 1;
}

void evaluated_mark_member(struct evaluated *evaluated, const struct lh_entry *member) {
    if (evaluated)
        evaluated_mark(evaluated, (size_t)(member - evaluated->members->table));
}

bool evaluated_has_member(const struct evaluated *evaluated, const struct lh_entry *member) {
    return evaluated && evaluated_has(evaluated, (size_t)(member - evaluated->members->table));
}

void evaluated_merge(struct evaluated *evaluated, const struct evaluated *other) {
    if (!evaluated)
        return;
    evaluated->few |= other->few;
    for (size_t i = 0; evaluated->many && i <= evaluated->count / WORD_BITS; i++)
        evaluated->many[i] |= other->many[i];
}
