/* JSON values as JSON Schema compares them: 1 is 1.0, members have no order. Never rounds a number
 * before it is compared, and never compares more than the work that is left allows. */
#include "supervisor/schema_parts.h"

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
    if (value == INT64_MAX) /* or beyond */
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

/* The shortest decimal that reads as NUMBER, which is finite; without its sign. */
static struct decimal double_decimal(double number) {
    char text[40];
    for (int precision = 1; precision <= DBL_DECIMAL_DIG; precision++) {
        snprintf(text, sizeof text, "%.*e", precision - 1, fabs(number));
        if (strtod(text, NULL) == fabs(number))
            break;
    }
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

static struct decimal decimal_of(struct json_object *number) {
    struct decimal decimal = json_object_is_type(number, json_type_int)
                                 ? integer_decimal(number)
                                 : double_decimal(json_object_get_double(number));
    for (; decimal.digits && decimal.digits % 10 == 0; decimal.power++)
        decimal.digits /= 10;
    return decimal;
}

bool schema_is_multiple(struct json_object *number, struct json_object *unit) {
    if (!isfinite(schema_number_of(number)))
        return false;
    struct decimal value = decimal_of(number), step = decimal_of(unit);
    if (!value.digits)
        return true;
    /* The last digit of the value is none of a multiple of 10. */
    if (!step.digits || step.power > value.power)
        return false;
    unsigned __int128 rest = value.digits % step.digits;
    for (int power = value.power; power > step.power && rest; power--)
        rest = rest * 10 % step.digits;
    return rest == 0;
}

/* --- equality --- */

enum { COMPARE_DEPTH_MAX = SCHEMA_CHECK_DEPTH_MAX + SCHEMA_DEPTH_MAX };

/* NOLINTBEGIN(misc-no-recursion): COMPARE_DEPTH_MAX deep at most */

static bool equal(struct json_object *left, struct json_object *right, size_t depth, size_t *work);

static bool is_number(struct json_object *value) {
    return json_object_is_type(value, json_type_int) ||
           json_object_is_type(value, json_type_double);
}

static bool equal_strings(struct json_object *left, struct json_object *right, size_t *work) {
    size_t size = (size_t)json_object_get_string_len(left);
    return size == (size_t)json_object_get_string_len(right) && schema_spend(work, 1 + size / 64) &&
           memcmp(json_object_get_string(left), json_object_get_string(right), size) == 0;
}

static bool equal_arrays(struct json_object *left, struct json_object *right, size_t depth,
                         size_t *work) {
    size_t count = json_object_array_length(left);
    if (count != json_object_array_length(right))
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
    if (json_object_object_length(left) != json_object_object_length(right))
        return false;
    json_object_object_foreach(left, name, member) {
        if (!schema_spend(work, 1 + strlen(name) / 16) ||
            !json_object_object_get_ex(right, name, &other) || !equal(member, other, depth, work))
            return false;
    }
    return true;
}

static bool equal(struct json_object *left, struct json_object *right, size_t depth, size_t *work) {
    if (!schema_spend(work, depth < COMPARE_DEPTH_MAX ? 1 : SCHEMA_WORK_MAX))
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

/* --- twins --- */

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

static uint64_t hash_bytes(const char *bytes, size_t size, size_t *work) {
    uint64_t hash = mix(size, 1);
    schema_spend(work, 1 + size / 4);
    for (size_t i = 0; i < size && *work; i++)
        hash = mix(hash, (unsigned char)bytes[i]);
    return hash;
}

/* Equal values have equal hashes. NOLINTNEXTLINE(misc-no-recursion): COMPARE_DEPTH_MAX deep */
static uint64_t hash_value(struct json_object *value, size_t depth, size_t *work) {
    if (!schema_spend(work, depth < COMPARE_DEPTH_MAX ? 1 : SCHEMA_WORK_MAX))
        return 0;
    enum json_type type = json_object_get_type(value);
    uint64_t hash = mix(type, 2);
    if (is_number(value)) {
        double number = (double)schema_number_of(value);
        uint64_t bits = 0;
        if (number != 0) /* which has two signs */
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
        for (size_t i = 0; i < json_object_array_length(value) && *work; i++)
            hash = mix(hash, hash_value(json_object_array_get_idx(value, i), depth + 1, work));
        return hash;
    case json_type_object: {
        uint64_t members = 0;
        json_object_object_foreach(value, name, member) members +=
            mix(hash_bytes(name, strlen(name), work), hash_value(member, depth + 1, work));
        return mix(hash, members);
    }
    default:
        return hash;
    }
}

struct hashed {
    uint64_t hash;
    size_t index;
};

static int compare_hashed(const void *left, const void *right) {
    const struct hashed *one = left, *other = right;
    if (one->hash != other->hash)
        return one->hash < other->hash ? -1 : 1;
    return one->index < other->index ? -1 : one->index > other->index;
}

/* Is one of those with the same hash behind I equal to it? */
static bool has_twin(struct json_object *array, const struct hashed *hashed, size_t count, size_t i,
                     size_t *twin, size_t *work) {
    for (*twin = i + 1; *twin < count && hashed[*twin].hash == hashed[i].hash && *work; ++*twin)
        if (schema_equal(json_object_array_get_idx(array, hashed[i].index),
                         json_object_array_get_idx(array, hashed[*twin].index), work))
            return true;
    return false;
}

bool schema_find_twins(struct json_object *array, size_t *first, size_t *second, size_t *work,
                       bool *failed) {
    size_t count = json_object_array_length(array), twin;
    struct hashed *hashed = calloc(count + 1, sizeof *hashed);
    *failed = !hashed;
    if (!hashed)
        return false;
    for (size_t i = 0; i < count && *work; i++)
        hashed[i] = (struct hashed){hash_value(json_object_array_get_idx(array, i), 0, work), i};
    bool found = false;
    if (schema_spend(work, 8 * count))
        qsort(hashed, count, sizeof *hashed, compare_hashed);
    for (size_t i = 0; i < count && *work && !found; i++)
        if (has_twin(array, hashed, count, i, &twin, work)) {
            *first = hashed[i].index;
            *second = hashed[twin].index;
            found = true;
        }
    free(hashed);
    return found;
}
