/* Spans of the product and the strings that tests write for them. */
#ifndef ECLAVE_TESTS_SUPPORT_SPAN_H
#define ECLAVE_TESTS_SUPPORT_SPAN_H

#include "common/buffer.h"
#include <string.h>

static inline struct span span_of(const char *string) {
    return (struct span){(const unsigned char *)string, strlen(string)};
}

static inline bool span_is(struct span span, const char *string) {
    return span.bytes && span.length == strlen(string) &&
           memcmp(span.bytes, string, span.length) == 0;
}

static inline bool span_has(struct span span, const char *string) {
    return memmem(span.bytes, span.length, string, strlen(string)) != NULL;
}

#endif
