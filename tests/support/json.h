/* A strict JSON reader for the tests, written from RFC 8259 independently of the product. It checks
 * a string and finds members in place, so that ids can be compared digit by digit. */
#ifndef ECLAVE_TESTS_SUPPORT_JSON_H
#define ECLAVE_TESTS_SUPPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* A part of a string that belongs to someone else; not terminated. */
struct text {
    const char *bytes;
    size_t length;
};

struct text text_of(const char *string);
bool text_is(struct text text, const char *string);

/* True when TEXT is well-formed UTF-8 (RFC 3629). */
bool json_utf8_valid(struct text text);

/* NULL when TEXT is exactly one JSON value in UTF-8 that nests at most DEPTH levels (a scalar 0,
 * `[]` 1), else the fault. */
const char *json_fault(struct text text, size_t depth);

/* Everything below requires text that json_fault accepts. */

enum value_kind {
    VALUE_NULL,
    VALUE_BOOLEAN,
    VALUE_NUMBER,
    VALUE_STRING,
    VALUE_ARRAY,
    VALUE_OBJECT
};

enum value_kind json_kind(struct text value);

/* VALUE without the blanks around it. */
struct text json_without_blanks(struct text text);

/* A number written without fraction and exponent. */
bool json_is_integer(struct text value);

/* The number of members of OBJECT called NAME, the last one in *value. */
size_t json_members_named(struct text object, const char *name, struct text *value);
bool json_member(struct text object, const char *name, struct text *value);

/* The value at the end of a path of member names, which ends with NULL; false when there is none.
 */
bool json_at(struct text object, struct text *value, ...);

/* True when a member name occurs twice in OBJECT itself (not further down). */
bool json_has_twins(struct text object);

/* Calls for each member or element in order; NAME is the raw string with quotes, empty in an
 * array. WHOLE covers name, colon and value. Stops when VISIT returns false. */
typedef bool json_visit(struct text whole, struct text name, struct text value, void *context);
void json_walk(struct text container, json_visit *visit, void *context);
size_t json_count(struct text container);
bool json_element(struct text array, size_t index, struct text *value);

/* The decoded string, malloc'd and terminated, which may contain zero bytes; *length, which may be
 * NULL, is its length. A lone surrogate becomes U+FFFD. */
char *json_decode(struct text string, size_t *length);

/* True when a member name in VALUE, at any depth, contains a zero byte when decoded. */
bool json_has_zero_name(struct text value);

/* True when STRING, decoded, contains an escape of a surrogate without its partner. */
bool json_has_lone_surrogate(struct text value);

/* Whether two ids have the same type and value: the same digits or the same characters. */
bool json_same_id(struct text one, struct text other);

/* BYTES as a JSON string with its quotes, malloc'd. Bytes from 0x80 on are passed through. */
char *json_quote(const char *bytes, size_t length);

#endif
