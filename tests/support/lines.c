/* See lines.h. */
#include "tests/support/lines.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *formatted(const char *format, ...) {
    static char *kept[16];
    static size_t next;
    char **place = &kept[next++ % COUNT_OF(kept)];
    free(*place);
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(place, format, arguments) < 0)
        abort();
    va_end(arguments);
    return *place;
}

char *nested(const char *opening, size_t count, const char *middle, const char *closing) {
    char *text = malloc(count * (strlen(opening) + strlen(closing)) + strlen(middle) + 1);
    if (!text)
        abort();
    char *at = text;
    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, opening);
    at = stpcpy(at, middle);
    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, closing);
    return text;
}
