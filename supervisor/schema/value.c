/* JSON values as JSON Schema compares them: 1 equals 1.0, numbers are compared exactly, and the
 * order of members does not matter. */
#include "supervisor/schema/schema_internal.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

static_assert(LDBL_MANT_DIG >= 64, "integers of 64 bits are compared as long double");

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
        [json_type_double] = SCHEMA_NUMBER, [json_type_int] = SCHEMA_NUMBER | SCHEMA_INTEGER,
        [json_type_object] = SCHEMA_OBJECT, [json_type_array] = SCHEMA_ARRAY,
        [json_type_string] = SCHEMA_STRING,
    };
    enum json_type type = json_object_get_type(value);
    if (type != json_type_double)
        return types[type];
    double number = json_object_get_double(value);
    return SCHEMA_NUMBER | (isfinite(number) && floor(number) == number ? SCHEMA_INTEGER : 0U);
}

schema_number schema_number_of(struct json_object *number) {
    if (json_object_is_type(number, json_type_double))
        return json_object_get_double(number);
    int64_t value = json_object_get_int64(number);
    if (value == INT64_MAX) /* json-c returns this for greater numbers too */
        return (schema_number)json_object_get_uint64(number);
    return (schema_number)value;
}

/* --- multiples --- */

/* digits * 10^power */
struct decimal {
    uint64_t digits;
    int power;
};

static struct decimal integer_decimal(struct json_object *number) {
    int64_t value = json_object_get_int64(number);
    uint64_t digits = value < 0 ? 0 - (uint64_t)value : json_object_get_uint64(number);
    return (struct decimal){digits, 0};
}

/* Finds the decimal of at most 15 digits that reads as NUMBER. There is at most one, because both
 * the digits and the power of ten are exact as doubles. False if there is none. */
static bool short_decimal(double number, struct decimal *decimal) {
    static const double limit = 1e15;
    double unit = 1;
    for (int power = 0; power >= -15; power--) {
        double digits = nearbyint(number * unit);
        if (!(digits < limit))
            return false;
        if (digits / unit == number) {
            *decimal = (struct decimal){(uint64_t)digits, power};
            return true;
        }
        unit *= 10;
    }
    return false;
}

static struct decimal read_decimal(const char *text) {
    struct decimal decimal = {0, 0};
    bool in_fraction = false;
    const char *at = text;
    for (; *at && *at != 'e'; at++)
        if (*at >= '0' && *at <= '9') {
            decimal.digits = decimal.digits * 10 + (uint64_t)(*at - '0');
            decimal.power -= in_fraction;
        } else {
            in_fraction = true;
        }
    decimal.power += *at ? (int)strtol(at + 1, NULL, 10) : 0;
    return decimal;
}

/* The shortest decimal that reads as NUMBER, which is finite; without its sign. */
static struct decimal double_decimal(double number, size_t *work) {
    enum { COST = 300 }; /* of an attempt */
    char text[40];
    struct decimal decimal;
    number = fabs(number);
    if (short_decimal(number, &decimal))
        return decimal;
    /* With 15 digits, a shorter decimal is found too, with zeros at its end, except where the
     * double is subnormal and has fewer digits itself. */
    for (int precision = number < DBL_MIN ? 1 : DBL_DIG; precision <= DBL_DECIMAL_DIG;
         precision++) {
        schema_spend(work, COST);
        snprintf(text, sizeof text, "%.*e", precision - 1, number);
        if (strtod(text, NULL) == number)
            break;
    }
    return read_decimal(text);
}

static struct decimal decimal_of(struct json_object *number, size_t *work) {
    struct decimal decimal = json_object_is_type(number, json_type_int)
                                 ? integer_decimal(number)
                                 : double_decimal(json_object_get_double(number), work);
    for (; decimal.digits && decimal.digits % 10 == 0; decimal.power++)
        decimal.digits /= 10;
    return decimal;
}

static uint64_t multiply(uint64_t left, uint64_t right, uint64_t modulus) {
    return (uint64_t)((unsigned __int128)left * right % modulus);
}

/* 10^POWER modulo MODULUS. */
static uint64_t power_of_ten(int power, uint64_t modulus) {
    uint64_t result = 1 % modulus, factor = 10 % modulus;
    for (; power; power >>= 1) {
        if (power & 1)
            result = multiply(result, factor, modulus);
        factor = multiply(factor, factor, modulus);
    }
    return result;
}

bool schema_is_multiple(struct json_object *number, struct json_object *unit, size_t *work) {
    enum { COST = 32, FAR_COST = 80 };
    schema_spend(work, COST);
    if (!isfinite(schema_number_of(number)))
        return false;
    struct decimal value = decimal_of(number, work), step = decimal_of(unit, work);
    if (!value.digits)
        return true;
    /* The value's digits do not end in 0, so it is not a multiple of a greater power of ten. */
    if (!step.digits || step.power > value.power)
        return false;
    uint64_t rest = value.digits % step.digits;
    if (value.power == step.power || !rest)
        return rest == 0;
    schema_spend(work, FAR_COST);
    return multiply(rest, power_of_ten(value.power - step.power, step.digits), step.digits) == 0;
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

static bool is_number(struct json_object *value) {
    return json_object_is_type(value, json_type_int) ||
           json_object_is_type(value, json_type_double);
}

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
    if (is_number(left) && is_number(right))
        return schema_number_of(left) == schema_number_of(right);
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

/* Equal values have equal hashes. NOLINTNEXTLINE(misc-no-recursion): COMPARE_DEPTH_MAX deep */
static uint64_t hash_value(struct json_object *value, size_t depth, size_t *work) {
    if (!schema_spend(work, depth < COMPARE_DEPTH_MAX ? COST_OF_VALUE : SCHEMA_WORK_MAX))
        return 0;
    enum json_type type = json_object_get_type(value);
    uint64_t hash = mix(type, 2);
    if (is_number(value)) {
        double number = (double)schema_number_of(value);
        uint64_t bits = 0;
        if (number != 0) /* 0 equals -0 */
            memcpy(&bits, &number, sizeof bits);
        return mix(bits, 3);
    }
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
