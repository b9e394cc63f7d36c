/* Numbers. What a comparison needs is found once, when a number is made. */
#include "supervisor/json/json_number.h"

#include <inttypes.h>
#include <json-c/printbuf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A number that is not a json_type_int. */
struct number {
    bool negative;
    bool is_plain;               /* neither fraction nor exponent */
    bool is_integer;             /* as json_number_is_integer */
    size_t length, first, count; /* of the text; of the first significant digit; as in a decimal */
    int64_t scale;
    char text[]; /* terminated */
};

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

static int64_t read_exponent(const char *text) {
    static const int64_t limit = INT64_C(100000000000000000);
    bool negative = *text == '-';
    int64_t exponent = 0;
    for (text += *text == '-' || *text == '+'; is_digit(*text) && exponent < limit; text++)
        exponent = exponent * 10 + (*text - '0');
    return negative ? -exponent : exponent;
}

static void read_text(struct number *number) {
    const char *at = number->text + number->negative;
    size_t digits = 0, point = SIZE_MAX, last = 0;
    for (; *at && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            point = digits;
            continue;
        }
        digits++;
        if (*at == '0')
            continue;
        if (!number->count) {
            number->first = (size_t)(at - number->text);
            number->scale = 1 - (int64_t)digits;
            number->count = digits;
        }
        last = digits;
    }
    if (!number->count)
        return;
    number->scale +=
        (int64_t)(point == SIZE_MAX ? digits : point) + (*at ? read_exponent(at + 1) : 0);
    number->count = last - number->count + 1;
}

static int write_text(struct json_object *value, struct printbuf *out, int level, int flags) {
    (void)level, (void)flags;
    const struct number *number = json_object_get_userdata(value);
    return printbuf_memappend(out, number->text, (int)number->length);
}

static void free_number(struct json_object *value, void *number) {
    (void)value;
    free(number);
}

static struct number *number_from(struct span text) {
    struct number *number = calloc(1, sizeof *number + text.length + 1);
    if (!number)
        return NULL;
    memcpy(number->text, text.bytes, text.length);
    number->length = text.length;
    number->negative = number->text[0] == '-';
    number->is_plain = !strpbrk(number->text, ".eE");
    read_text(number);
    return number;
}

/* An integer of 64 bits. False if TEXT is another number. */
static bool read_integer(struct span text, int64_t *integer) {
    bool negative = text.bytes[0] == '-';
    int64_t value = 0;
    if (text.length > 20)
        return false;
    for (size_t i = negative; i < text.length; i++) {
        int digit = text.bytes[i] - '0';
        if (!is_digit((char)text.bytes[i]) || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return false;
    }
    *integer = value;
    return value || !negative; /* -0 keeps its sign */
}

struct json_object *json_number_make(struct span text) {
    int64_t integer;
    if (read_integer(text, &integer))
        return json_object_new_int64(integer);
    struct number *number = number_from(text);
    if (!number)
        return NULL;
    double nearest = strtod(number->text, NULL);
    bool whole = !number->count || number->scale >= (int64_t)number->count;
    number->is_integer = whole && (isfinite(nearest) || number->is_plain);
    struct json_object *value = json_object_new_double(nearest);
    if (value)
        json_object_set_serializer(value, write_text, number, free_number);
    else
        free(number);
    return value;
}

struct span json_number_text(struct json_object *value) {
    const struct number *number = json_object_get_userdata(value);
    return (struct span){(const unsigned char *)number->text, number->length};
}

bool json_is_number(struct json_object *value) {
    return json_object_is_type(value, json_type_int) ||
           json_object_is_type(value, json_type_double);
}

bool json_number_is_integer(struct json_object *value) {
    if (!json_object_is_type(value, json_type_double))
        return json_object_is_type(value, json_type_int);
    return ((const struct number *)json_object_get_userdata(value))->is_integer;
}

/* The digit number INDEX, from 0, of a whole number. *at moves along its digits. */
static unsigned whole_digit(const struct json_decimal *decimal, size_t index, const char **at) {
    return index < decimal->count ? json_next_digit(at) : 0;
}

bool json_get_integer(struct json_object *value, int64_t *integer) {
    struct json_decimal decimal;
    if (!json_number_is_integer(value))
        return false;
    if (json_object_is_type(value, json_type_int)) {
        *integer = json_object_get_int64(value);
        return true;
    }
    json_number_read(value, &decimal);
    *integer = 0;
    for (size_t i = 0; i < (size_t)decimal.scale; i++) {
        int digit = (int)whole_digit(&decimal, i, &decimal.digits);
        if (__builtin_mul_overflow(*integer, 10, integer) ||
            __builtin_add_overflow(*integer, decimal.negative ? -digit : digit, integer))
            return false;
    }
    return true;
}

size_t json_number_drop_fraction(struct json_object *value) {
    struct json_decimal decimal;
    if (!json_object_is_type(value, json_type_double))
        return 0;
    const struct number *old = json_object_get_userdata(value);
    if (old->is_plain || !old->is_integer)
        return 0;
    json_number_read(value, &decimal);
    const size_t digits = decimal.count ? (size_t)decimal.scale : 1,
                 length = digits + decimal.negative;
    char *text = malloc(length);
    if (!text)
        return 0;
    text[0] = '-';
    for (size_t i = 0; i < digits; i++)
        text[decimal.negative + i] = (char)('0' + whole_digit(&decimal, i, &decimal.digits));
    struct number *number = number_from((struct span){(const unsigned char *)text, length});
    free(text);
    if (!number)
        return 0;
    number->is_integer = true;
    json_object_set_userdata(value, number, free_number);
    return length;
}

void json_number_read(struct json_object *value, struct json_decimal *decimal) {
    *decimal = (struct json_decimal){0};
    if (json_object_is_type(value, json_type_double)) {
        const struct number *number = json_object_get_userdata(value);
        decimal->negative = number->negative && number->count;
        decimal->count = number->count;
        decimal->scale = number->scale;
        decimal->digits = number->text + number->first;
        return;
    }
    int64_t integer = json_object_get_int64(value);
    if (!integer)
        return;
    decimal->negative = integer < 0;
    decimal->digits = decimal->small + decimal->negative;
    decimal->count = (size_t)snprintf(decimal->small, sizeof decimal->small, "%" PRId64, integer) -
                     decimal->negative;
    decimal->scale = (int64_t)decimal->count;
    while (decimal->digits[decimal->count - 1] == '0')
        decimal->count--;
}

size_t json_digit_count(struct json_object *value) {
    if (!json_object_is_type(value, json_type_double))
        return 0;
    return ((const struct number *)json_object_get_userdata(value))->count;
}

unsigned json_next_digit(const char **digits) {
    if (**digits == '.')
        ++*digits;
    return (unsigned)(*(*digits)++ - '0');
}

/* Compares sizes, without the signs. Neither is zero. */
static int compare_sizes(const struct json_decimal *left, const struct json_decimal *right) {
    const char *left_at = left->digits, *right_at = right->digits;
    if (left->scale != right->scale)
        return left->scale < right->scale ? -1 : 1;
    for (size_t i = 0; i < left->count && i < right->count; i++) {
        int difference = (int)json_next_digit(&left_at) - (int)json_next_digit(&right_at);
        if (difference)
            return difference;
    }
    return (left->count > right->count) - (left->count < right->count);
}

static int sign_of(const struct json_decimal *decimal) {
    return decimal->count ? decimal->negative ? -1 : 1 : 0;
}

int json_number_compare(struct json_object *left, struct json_object *right) {
    if (json_object_is_type(left, json_type_int) && json_object_is_type(right, json_type_int)) {
        int64_t one = json_object_get_int64(left), other = json_object_get_int64(right);
        return (one > other) - (one < other);
    }
    struct json_decimal one, other;
    json_number_read(left, &one);
    json_number_read(right, &other);
    int sign = sign_of(&one);
    if (sign != sign_of(&other) || !sign)
        return sign - sign_of(&other);
    return sign * compare_sizes(&one, &other);
}
