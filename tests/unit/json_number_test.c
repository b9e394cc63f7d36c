/* supervisor/json/json_number: numbers of any length are kept, compared and recognised exactly. */
#include "supervisor/json/json_number.h"
#include "supervisor/json/json_tree.h"
#include "tests/support/random.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct json_object *number(const char *text) {
    struct json_object *value = json_number_make(string_span(text));
    cr_assert(json_is_number(value), "%s", text);
    return value;
}

static int sign_of(int value) {
    return (value > 0) - (value < 0);
}

static int compare(const char *left, const char *right) {
    cleanup_json struct json_object *one = number(left), *other = number(right);
    int result = sign_of(json_number_compare(one, other));
    cr_expect_eq(sign_of(json_number_compare(other, one)), -result, "%s and %s", left, right);
    return result;
}

/* In ascending order; those of a row are equal. */
static const char *const ascending[][8] = {
    {"-1e99999999999999999999999"},
    {"-1e400", "-10e399"},
    {"-123456789012345678901234567891"},
    {"-123456789012345678901234567890", "-123456789012345678901234567890.0",
     "-12345678901234567890123456789e1"},
    {"-9223372036854775809"},
    {"-9223372036854775808", "-9223372036854775808.0", "-9.223372036854775808e18"},
    {"-9223372036854775807"},
    {"-1", "-1.0", "-1e0", "-10e-1", "-0.1e1", "-1.000e-0"},
    {"-0.1000000000000000055511151231257827"},
    {"-0.1"},
    {"-1e-400"},
    {"0", "-0", "0.0", "-0.00", "0e5", "0e-5", "0E+400", "-0e99999999999999999999"},
    {"1e-99999999999999999999999"},
    {"1e-400", "0.1e-399", "10e-401"},
    {"0.1", "0.10", "1e-1", "1E-1", "0.01e1", "100e-3"},
    {"0.1000000000000000055511151231257827"},
    {"0.2"},
    {"1", "1.0", "1e0", "1E+0", "0.1e1", "10e-1", "1.00000"},
    {"3", "3.0", "3e0", "300e-2", "0.03E2"},
    {"99.99"},
    {"100", "1e2", "1E2", "1.0e+2", "100.000", "0.001e5"},
    {"100.00000000000000000000000000000001"},
    {"9007199254740992"},
    {"9007199254740993", "9007199254740993.0"},
    {"9223372036854775807", "9223372036854775807e0"},
    {"9223372036854775808", "9223372036854775808.0"},
    {"18446744073709551615"},
    {"18446744073709551616", "1844674407370955161.6e1"},
    {"123456789012345678901234567890", "1.2345678901234567890123456789e29"},
    {"123456789012345678901234567890.5"},
    {"123456789012345678901234567891"},
    {"1e400", "10e399", "0.1e401"},
    {"1e400000"},
};
enum {
    ROWS = sizeof ascending / sizeof *ascending,
    COLUMNS = sizeof *ascending / sizeof **ascending
};

static void compare_rows(size_t one, size_t other) {
    for (size_t i = 0; i < COLUMNS && ascending[one][i]; i++)
        for (size_t j = 0; j < COLUMNS && ascending[other][j]; j++)
            cr_expect_eq(compare(ascending[one][i], ascending[other][j]),
                         (one > other) - (one < other), "%s and %s", ascending[one][i],
                         ascending[other][j]);
}

Test(json_number, numbers_are_compared_by_value) {
    for (size_t one = 0; one < ROWS; one++)
        for (size_t other = 0; other < ROWS; other++)
            compare_rows(one, other);
}

static const struct {
    const char *text;
    const char *integer; /* that it is; NULL: none */
    const char *fits;    /* NULL: it does not fit 64 bits */
} rows[] = {
    {"0", "0", "0"},
    {"-0", "-0", "0"},
    {"-0.0", "0", "0"},
    {"0e99999", "0", "0"},
    {"3", "3", "3"},
    {"3.0", "3", "3"},
    {"-3.000", "-3", "-3"},
    {"1e2", "100", "100"},
    {"1.0e0", "1", "1"},
    {"1.5e1", "15", "15"},
    {"1200e-2", "12", "12"},
    {"0.5", NULL, NULL},
    {"1e-1", NULL, NULL},
    {"1.5", NULL, NULL},
    {"12e-2", NULL, NULL},
    {"9223372036854775807", "9223372036854775807", "9223372036854775807"},
    {"9223372036854775807.0", "9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808e0", "-9223372036854775808", "-9223372036854775808"},
    {"9223372036854775808", "9223372036854775808", NULL},
    {"9223372036854775808.0", "9223372036854775808", NULL},
    {"-9223372036854775809", "-9223372036854775809", NULL},
    {"1e20", "100000000000000000000", NULL},
    {"123456789012345678901234567890.0", "123456789012345678901234567890", NULL},
    {"123456789012345678901234567890.5", NULL, NULL},
    {"1e400", NULL, NULL}, /* no double has it */
    {"1e-400", NULL, NULL},
    {"1e99999999999999999999999", NULL, NULL},
};

Test(json_number, integers_are_recognised_however_they_are_written) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cleanup_json struct json_object *value = number(rows[i].text);
        int64_t integer;
        cr_expect_eq(json_number_is_integer(value), rows[i].integer != NULL, "%s", rows[i].text);
        bool fits = json_get_integer(value, &integer);
        cr_expect_eq(fits, rows[i].fits != NULL, "%s", rows[i].text);
        if (fits && rows[i].fits)
            cr_expect_eq(integer, strtoll(rows[i].fits, NULL, 10), "%s", rows[i].text);
        json_number_drop_fraction(value);
        const char *left = rows[i].integer ? rows[i].integer : rows[i].text;
        cr_expect_str_eq(json_object_to_json_string(value), left, "%s", rows[i].text);
        cr_expect_eq(json_number_is_integer(value), rows[i].integer != NULL, "%s", rows[i].text);
    }
}

static const char *random_digits(struct random *random, char *text, size_t count) {
    size_t used = 0;
    if (random_below(random, 2))
        text[used++] = '-';
    text[used++] = (char)('1' + random_below(random, 9));
    for (size_t i = 1; i < count; i++)
        text[used++] = (char)('0' + random_below(random, 10));
    text[used] = 0;
    return text;
}

/* As numbers without leading zeros are compared. */
static int compare_texts(const char *left, const char *right) {
    int sign = *left == '-' ? -1 : 1;
    if ((*left == '-') != (*right == '-'))
        return sign;
    size_t one = strlen(left), other = strlen(right);
    return sign * (one == other ? sign_of(strcmp(left, right)) : one < other ? -1 : 1);
}

Test(json_number, random_integers_keep_their_digits_and_their_order) {
    struct random random = random_for("integers");
    for (size_t trial = 0; trial < random_trials(5000, 200000); trial++) {
        char left[100], right[100];
        random_digits(&random, left, 1 + random_below(&random, 60));
        random_digits(&random, right, 1 + random_below(&random, 60));
        if (random_below(&random, 2)) { /* near to each other */
            memcpy(right, left, sizeof right);
            right[strlen(right) - 1] = (char)('0' + random_below(&random, 10));
        }
        cleanup_json struct json_object *value = json_tree_parse(string_span(left));
        cr_assert_str_eq(json_object_to_json_string(value), left);
        if (strcmp(right, "-0") != 0)
            cr_expect_eq(compare(left, right), compare_texts(left, right), "%s %s", left, right);
    }
}
