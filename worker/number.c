/* Numbers by way of the C library, whose locale is "C" in a worker. Never traps. */
#include "worker/number.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cl_object number_parse_double(cl_object text) {
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

/* Writes NUMBER with as few digits as tell it from all others of its type. */
static void print_shortest(char *text, size_t size, double number, bool is_single) {
    int most = is_single ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG;
    for (int digits = is_single ? FLT_DIG : DBL_DIG; digits <= most; digits++) {
        snprintf(text, size, "%.*g", digits, number);
        if (is_single ? (double)strtof(text, NULL) == number : strtod(text, NULL) == number)
            break;
    }
    if (!strpbrk(text, ".e"))
        strncat(text, ".0", size - strlen(text) - 1); /* it stays a float for who reads it */
}

cl_object number_double_text(cl_object number) {
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
