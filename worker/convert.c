/* Conversion between Lisp objects and C's bytes. */
#include "worker/convert.h"
#include "common/utf8.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool convert_string_to_utf8(struct buffer *utf8, cl_object string) {
    enum { CHARACTER_BYTES_MAX = 4 };
    cl_index length = string->base_string.fillp;
    for (cl_index i = 0; i < length; i++) {
        unsigned char *room = buffer_reserve(utf8, CHARACTER_BYTES_MAX);
        if (!room)
            return false;
        utf8->length += utf8_encode((uint32_t)ecl_char(string, i), room);
    }
    return true;
}

cl_object convert_utf8_to_string(struct span utf8) {
    size_t count = utf8_count(utf8.bytes, utf8.length);
    if (count == utf8.length) { /* ASCII */
        cl_object string = ecl_alloc_simple_base_string(utf8.length);
        memcpy(string->base_string.self, utf8.bytes, utf8.length);
        return string;
    }
    cl_object string = ecl_alloc_simple_extended_string(count);
    const unsigned char *at = utf8.bytes;
    for (size_t i = 0; i < count; i++) {
        string->string.self[i] = (ecl_character)utf8_decode(at);
        at += utf8_sequence_length(at, utf8.length - (size_t)(at - utf8.bytes));
    }
    return string;
}

cl_object convert_parse_double(cl_object text) {
    fenv_t traps;
    feholdexcept(&traps);
    char stack[64];
    cl_index length = text->base_string.fillp;
    char *copy = length < sizeof stack ? stack : malloc(length + 1);
    double number = INFINITY;
    if (copy) {
        memcpy(copy, text->base_string.self, length);
        copy[length] = 0;
        number = strtod(copy, NULL);
    }
    if (copy != stack)
        free(copy);
    fesetenv(&traps);
    return isfinite(number) ? ecl_make_double_float(number) : ECL_NIL;
}

/* Writes NUMBER with as few digits as distinguish it from all others of its type. */
static void print_shortest(char *text, size_t size, double number, bool is_single) {
    int most = is_single ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG;
    for (int digits = is_single ? FLT_DIG : DBL_DIG; digits <= most; digits++) {
        snprintf(text, size, "%.*g", digits, number);
        if (is_single ? (double)strtof(text, NULL) == number : strtod(text, NULL) == number)
            break;
    }
    if (!strpbrk(text, ".e")) /* it must not read as an integer */
        strncat(text, ".0", size - strlen(text) - 1);
}

cl_object convert_double_text(cl_object number) {
    bool is_single = ECL_SINGLE_FLOAT_P(number);
    double value = is_single ? (double)ecl_single_float(number) : ecl_to_double(number);
    if (!isfinite(value))
        return ECL_NIL;
    char text[40];
    fenv_t traps;
    feholdexcept(&traps);
    print_shortest(text, sizeof text, value, is_single);
    fesetenv(&traps);
    return ecl_make_simple_base_string(text, -1);
}
