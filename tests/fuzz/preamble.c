/* Fuzz target: the preamble of native code (compiler/preamble.c). Up to its first NUL the input is
 * the preamble, which is trusted but should not have to be; the rest is the source of a session, of
 * which only names are read. What is taken consists of parts of the preamble, each at most once. */
#include "compiler/preamble.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    const size_t length = end ? (size_t)(end - data) : size;
    const size_t rest = end ? size - length - 1 : 0;
    struct buffer out = buffer_make(SIZE_MAX / 4);
    /* Of their size, so that a step beyond an end shows. */
    char *text = calloc(1, length + 1), *body = malloc(rest + !rest);
    FUZZ_CHECK(text && body, "no memory");
    if (length)
        memcpy(text, data, length);
    if (rest)
        memcpy(body, end + 1, rest);
    struct preamble *preamble = preamble_open(text);
    if (preamble) {
        const bool taken = preamble_take(preamble, body, rest, &out);
        FUZZ_CHECK(taken, "nothing taken");
        /* Each part is followed by a line feed. */
        FUZZ_CHECK(out.length <= 2 * length, "%zu of %zu bytes", out.length, length);
    }
    preamble_free(preamble);
    buffer_free(&out);
    free(text);
    free(body);
    return 0;
}
