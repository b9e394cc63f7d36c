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
