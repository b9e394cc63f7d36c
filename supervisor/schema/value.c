/* JSON values as JSON Schema compares them: 1 equals 1.0, numbers are compared exactly, and the
 * order of members does not matter. */
#include "supervisor/json/json_number.h"
#include "supervisor/schema/schema_internal.h"

#include <assert.h>
#include <stdlib.h>

const char *const schema_type_names[] = {"null",   "boolean", "integer", "number",
                                         "string", "array",   "object",  NULL};

unsigned schema_type_named(const char *name) {
    for (unsigned i = 0; schema_type_names[i]; i++)
        if (strcmp(schema_type_names[i], name) == 0)
            return 1U << i;
    return 0;
}

unsigned schema_types_of(struct json_object *value) {
    static const unsigned types[] = {
        [json_type_null] = SCHEMA_NULL,     [json_type_boolean] = SCHEMA_BOOLEAN,
        [json_type_double] = SCHEMA_NUMBER, [json_type_int] = SCHEMA_NUMBER,
        [json_type_object] = SCHEMA_OBJECT, [json_type_array] = SCHEMA_ARRAY,
        [json_type_string] = SCHEMA_STRING,
    };
    return types[json_object_get_type(value)] |
           (json_number_is_integer(value) ? SCHEMA_INTEGER : 0U);
}

int schema_compare(struct json_object *left, struct json_object *right, size_t *work) {
    schema_spend(work, json_digit_count(left) + json_digit_count(right));
    return json_number_compare(left, right);
}

/* --- multiples --- */

static uint64_t multiply(uint64_t left, uint64_t right, uint64_t modulus) {
    return (uint64_t)((unsigned __int128)left * right % modulus);
}

/* 10^POWER modulo MODULUS. */
static uint64_t power_of_ten(uint64_t power, uint64_t modulus) {
    uint64_t result = 1 % modulus, factor = 10 % modulus;
    for (; power; power >>= 1) {
        if (power & 1)
            result = multiply(result, factor, modulus);
        factor = multiply(factor, factor, modulus);
    }
    return result;
}

enum { WORD_DIGITS = 18 }; /* fit 64 bits, with room for a digit more */

/* At most WORD_DIGITS of the next digits, as a number. */
static uint64_t next_word(const char **digits, size_t count) {
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++)
        word = word * 10 + json_next_digit(digits);
    return word;
}

/* Are VALUE's digits, followed by ZEROS zeros, a multiple of STEP's, which are few? */
static bool divides_word(const struct json_decimal *value, const struct json_decimal *step,
                         uint64_t zeros, size_t *work) {
    enum { COST_OF_WORD = 40, COST_OF_POWER = 80 };
    const char *at = step->digits;
    const uint64_t modulus = next_word(&at, step->count);
    assert(modulus); /* a unit is positive */
    size_t left = value->count, taken = left % WORD_DIGITS ? left % WORD_DIGITS : WORD_DIGITS;
    at = value->digits;
    uint64_t rest = next_word(&at, taken) % modulus, shift = 0;
    left -= taken;
    if (left) {
        schema_spend(work, COST_OF_POWER + left / WORD_DIGITS * COST_OF_WORD);
        shift = power_of_ten(WORD_DIGITS, modulus);
    }
    for (; left && *work; left -= WORD_DIGITS)
        rest = (multiply(rest, shift, modulus) + next_word(&at, WORD_DIGITS) % modulus) % modulus;
    if (!rest || !zeros)
        return rest == 0;
    schema_spend(work, COST_OF_POWER);
    return multiply(rest, power_of_ten(zeros, modulus), modulus) == 0;
}

/* Subtracts the COUNT digits of STEP from those of REST as often as they fit. REST has a digit more
 * in front, and is less than ten times STEP. */
static void reduce(unsigned char *rest, const unsigned char *step, size_t count, size_t *work) {
    while (schema_spend(work, count) && (rest[0] || memcmp(rest + 1, step, count) >= 0)) {
        unsigned borrow = 0;
        for (size_t i = count; i > 0; i--) {
            unsigned digit = 10U + rest[i] - step[i - 1] - borrow;
            rest[i] = (unsigned char)(digit % 10);
            borrow = digit < 10;
        }
        rest[0] = (unsigned char)(rest[0] - borrow);
    }
}

/* The same for any STEP: the division that is taught at school, which needs a number of steps that
 * grows with the product of the lengths. */
static bool divides_digits(const struct json_decimal *value, const struct json_decimal *step,
                           uint64_t zeros, size_t *work) {
    unsigned char rest[SCHEMA_UNIT_DIGITS_MAX + 1] = {0}, digits[SCHEMA_UNIT_DIGITS_MAX];
    const size_t count = step->count;
    const char *at = step->digits;
    for (size_t i = 0; i < count; i++)
        digits[i] = (unsigned char)json_next_digit(&at);
    at = value->digits;
    bool is_zero = false;
    for (uint64_t i = 0; i < value->count + zeros && *work; i++) {
        memmove(rest, rest + 1, count);
        rest[count] = (unsigned char)(i < value->count ? json_next_digit(&at) : 0);
        reduce(rest, digits, count, work);
        is_zero = i + 1 >= value->count && !rest[count] && !memcmp(rest, rest + 1, count);
        if (is_zero)
            break;
    }
    return is_zero;
}

bool schema_is_multiple(struct json_object *number, struct json_object *unit, size_t *work) {
    enum { COST = 32 };
    struct json_decimal value, step;
    schema_spend(work, COST);
    json_number_read(number, &value);
    json_number_read(unit, &step);
    if (!value.count)
        return true;
    const int64_t zeros = value.scale - (int64_t)value.count - (step.scale - (int64_t)step.count);
    /* The value's digits do not end in 0, so it is not a multiple of a greater power of ten. */
    if (zeros < 0)
        return false;
    return step.count <= WORD_DIGITS ? divides_word(&value, &step, (uint64_t)zeros, work)
                                     : divides_digits(&value, &step, (uint64_t)zeros, work);
}

/* --- equality --- */

enum {
    COMPARE_DEPTH_MAX = SCHEMA_CHECK_DEPTH_MAX + SCHEMA_DEPTH_MAX,
    COST_OF_VALUE = 4,     /* to compare or hash a value */
    COST_OF_CONTENTS = 44, /* more for an array or an object */
    COST_OF_MEMBER = 36,   /* to find a name in another object */
    COST_OF_SLOT = 10      /* to read a slot that is not in the processor's cache */
};

/* NOLINTBEGIN(misc-no-recursion): COMPARE_DEPTH_MAX deep at most */

static bool equal(struct json_object *left, struct json_object *right, size_t depth, size_t *work);

static bool equal_strings(struct json_object *left, struct json_object *right, size_t *work) {
    size_t size = (size_t)json_object_get_string_len(left);
    return size == (size_t)json_object_get_string_len(right) && schema_spend(work, 1 + size / 32) &&
           memcmp(json_object_get_string(left), json_object_get_string(right), size) == 0;
}

static bool equal_arrays(struct json_object *left, struct json_object *right, size_t depth,
                         size_t *work) {
    size_t count = json_object_array_length(left);
    if (!schema_spend(work, COST_OF_CONTENTS) || count != json_object_array_length(right))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!equal(json_object_array_get_idx(left, i), json_object_array_get_idx(right, i), depth,
                   work))
            return false;
    return true;
}

static bool equal_objects(struct json_object *left, struct json_object *right, size_t depth,
                          size_t *work) {
    struct json_object *other;
    if (!schema_spend(work, COST_OF_CONTENTS) ||
        json_object_object_length(left) != json_object_object_length(right))
        return false;
    json_object_object_foreach(left, name, member) {
        if (!schema_spend(work, COST_OF_MEMBER + strlen(name) / 4) ||
            !json_object_object_get_ex(right, name, &other) || !equal(member, other, depth, work))
            return false;
    }
    return true;
}

static bool equal(struct json_object *left, struct json_object *right, size_t depth, size_t *work) {
    if (!schema_spend(work, depth < COMPARE_DEPTH_MAX ? COST_OF_VALUE : SCHEMA_WORK_MAX))
        return false;
    if (json_is_number(left) && json_is_number(right))
        return schema_compare(left, right, work) == 0;
    if (json_object_get_type(left) != json_object_get_type(right))
        return false;
    switch (json_object_get_type(left)) {
    case json_type_boolean:
        return json_object_get_boolean(left) == json_object_get_boolean(right);
    case json_type_string:
        return equal_strings(left, right, work);
    case json_type_array:
        return equal_arrays(left, right, depth + 1, work);
    case json_type_object:
        return equal_objects(left, right, depth + 1, work);
    default:
        return true;
    }
}

/* NOLINTEND(misc-no-recursion) */

bool schema_equal(struct json_object *left, struct json_object *right, size_t *work) {
    return equal(left, right, 0, work);
}

/* --- sets: hashing lets uniqueItems and enum take 90,000 strings within SCHEMA_WORK_MAX --- */

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

static uint64_t hash_bytes(const char *bytes, size_t size, size_t *work) {
    uint64_t hash = mix(size, 1);
    schema_spend(work, 1 + size / 2);
    for (size_t i = 0; i < size && *work; i++)
        hash = mix(hash, (unsigned char)bytes[i]);
    return hash;
}

/* Equal numbers have the same digits, however they are written. */
static uint64_t hash_number(struct json_object *number, size_t *work) {
    int64_t integer;
    struct json_decimal decimal;
    if (json_get_integer(number, &integer))
        return mix((uint64_t)integer, 3);
    json_number_read(number, &decimal);
    uint64_t hash = mix((uint64_t)decimal.scale, decimal.negative);
    schema_spend(work, decimal.count);
    for (size_t i = 0; i < decimal.count && *work; i++)
        hash = mix(hash, json_next_digit(&decimal.digits));
    return hash;
}

/* Equal values have equal hashes. NOLINTNEXTLINE(misc-no-recursion): COMPARE_DEPTH_MAX deep */
static uint64_t hash_value(struct json_object *value, size_t depth, size_t *work) {
    if (!schema_spend(work, depth < COMPARE_DEPTH_MAX ? COST_OF_VALUE : SCHEMA_WORK_MAX))
        return 0;
    enum json_type type = json_object_get_type(value);
    uint64_t hash = mix(type, 2);
    if (json_is_number(value))
        return hash_number(value, work);
    switch (type) {
    case json_type_boolean:
        return mix(hash, (uint64_t)json_object_get_boolean(value));
    case json_type_string:
        return hash_bytes(json_object_get_string(value), (size_t)json_object_get_string_len(value),
                          work);
    case json_type_array:
        schema_spend(work, COST_OF_CONTENTS);
        for (size_t i = 0; i < json_object_array_length(value) && *work; i++)
            hash = mix(hash, hash_value(json_object_array_get_idx(value, i), depth + 1, work));
        return hash;
    case json_type_object: {
        uint64_t members = 0;
        schema_spend(work, COST_OF_CONTENTS);
        json_object_object_foreach(value, name, member) members +=
            mix(hash_bytes(name, strlen(name), work), hash_value(member, depth + 1, work));
        return mix(hash, members);
    }
    default:
        return hash;
    }
}

/* The slot of a value that equals VALUE, else a free slot. With no work left, any slot. */
static struct schema_slot *find_slot(const struct schema_set *set, struct json_object *value,
                                     uint64_t hash, size_t *work) {
    for (size_t at = hash & set->mask;; at = (at + 1) & set->mask) {
        struct schema_slot *slot = &set->slots[at];
        if (!schema_spend(work, COST_OF_SLOT) || !slot->number)
            return slot;
        if (slot->hash == (uint32_t)(hash >> 32) &&
            schema_equal(json_object_array_get_idx(set->list, slot->number - 1), value, work))
            return slot;
    }
}

/* Mixes the hash, so that both its halves depend on all of VALUE. */
static uint64_t spread_hash(struct json_object *value, size_t *work) {
    uint64_t hash = hash_value(value, 0, work);
    return mix(mix(hash, hash >> 32), 4);
}

bool schema_set_open(struct schema_set *set, struct json_object *list) {
    size_t count = json_object_array_length(list), size = 16;
    while (size < 2 * count)
        size *= 2;
    *set = (struct schema_set){.list = list, .mask = size - 1};
    if (count < UINT32_MAX)
        set->slots = calloc(size, sizeof *set->slots);
    return set->slots;
}

void schema_set_close(struct schema_set *set) {
    free(set->slots);
    *set = (struct schema_set){0};
}

size_t schema_set_bytes(const struct schema_set *set) {
    return set->slots ? (set->mask + 1) * sizeof *set->slots : 0;
}

size_t schema_set_add(struct schema_set *set, size_t index, size_t *work) {
    struct json_object *value = json_object_array_get_idx(set->list, index);
    uint64_t hash = spread_hash(value, work);
    struct schema_slot *slot = find_slot(set, value, hash, work);
    if (slot->number)
        return slot->number - 1;
    *slot = (struct schema_slot){(uint32_t)(hash >> 32), (uint32_t)index + 1};
    set->types |= schema_types_of(value);
    return index;
}

bool schema_set_has(const struct schema_set *set, struct json_object *value, size_t *work) {
    return (set->types & schema_types_of(value)) &&
           find_slot(set, value, spread_hash(value, work), work)->number;
}

bool schema_find_twins(struct json_object *array, size_t *first, size_t *second, size_t *work,
                       bool *failed) {
    struct schema_set set;
    size_t count = json_object_array_length(array);
    bool found = false;
    *failed = !schema_set_open(&set, array);
    for (size_t i = 0; i < count && *work && !found && !*failed; i++) {
        *first = schema_set_add(&set, i, work);
        *second = i;
        found = *first != i;
    }
    schema_set_close(&set);
    return found;
}
