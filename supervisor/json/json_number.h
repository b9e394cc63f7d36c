/* JSON numbers with all their digits. An integer that fits 64 bits is a json_type_int. Any other
 * number is a json_type_double: json-c has the nearest double, and the text is kept beside it.
 * Every json_type_double of this program is made here. */
#ifndef ECLAVE_SUPERVISOR_JSON_JSON_NUMBER_H
#define ECLAVE_SUPERVISOR_JSON_JSON_NUMBER_H

#include "common/buffer.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number TEXT, which json_inspect accepted. The caller owns it; NULL when out of memory. */
struct json_object *json_number_make(struct span text);

/* The text of a json_type_double, borrowed. */
struct span json_number_text(struct json_object *value);

bool json_is_number(struct json_object *value);

/* True for a number without a fraction, also if it is written 3.0 or 3e0. A decimal that no double
 * holds (1e400) is not one. Takes constant time. */
bool json_number_is_integer(struct json_object *value);

/* Sets *integer if VALUE is an integer that fits. */
bool json_get_integer(struct json_object *value, int64_t *integer);

/* Replaces 3.0 by 3, in place, and returns the length of the new text. Does nothing, and returns 0,
 * for a number that is written so or is not an integer, and when out of memory. */
size_t json_number_drop_fraction(struct json_object *value);

/* A number as 0.DIGITS * 10^scale. The digits have no zero at either end; zero has none. */
struct json_decimal {
    bool negative;
    size_t count;       /* of digits */
    int64_t scale;      /* at most 10^18 in size, whatever the exponent is */
    const char *digits; /* may have a point between them; borrowed, or in `small` */
    char small[24];
};
/* *decimal must not be moved. */
void json_number_read(struct json_object *value, struct json_decimal *decimal);
/* The next digit, from 0 to 9. */
unsigned json_next_digit(const char **digits);

/* The number of digits that a comparison reads, at most. */
size_t json_digit_count(struct json_object *value);

/* Less than, equal to or greater than 0, as strcmp. Takes about a nanosecond per digit. */
int json_number_compare(struct json_object *left, struct json_object *right);

#endif
