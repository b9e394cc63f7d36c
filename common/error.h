/* The error type of functions that other modules call: an errno value (0 for a failure without
 * one) and a message. */
#ifndef ECLAVE_COMMON_ERROR_H
#define ECLAVE_COMMON_ERROR_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { ERROR_TEXT_BYTES = 480 };

struct error {
    int code;
    char text[ERROR_TEXT_BYTES];
};

/* Sets *ERROR, unless it is NULL, to the formatted message and, if CODE is not 0, ": " and
 * strerror(CODE). Returns false, for `return error_set(error, errno, "cannot open %s", name);`. */
__attribute__((format(printf, 3, 4))) static inline bool error_set(struct error *error, int code,
                                                                   const char *format, ...) {
    if (!error)
        return false;
    error->code = code;
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    if (code && used >= 0 && (size_t)used < sizeof error->text)
        snprintf(error->text + used, sizeof error->text - (size_t)used, ": %s", strerror(code));
    return false;
}

#endif
