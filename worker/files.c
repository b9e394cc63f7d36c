/* Lines of code in terms of the files that it came from. */
#include "worker/files.h"

#include <stdint.h>
#include <string.h>

/* Takes the row at the start of *FILES. False at the end, or if it is malformed. */
static bool take_row(struct span *files, size_t *first, struct span *name) {
    const unsigned char *bytes = files->bytes;
    const unsigned char *end = files->length ? memchr(bytes, '\n', files->length) : NULL;
    const size_t length = end ? (size_t)(end - bytes) : files->length;
    size_t at = 0;
    for (*first = 0; at < length && bytes[at] >= '0' && bytes[at] <= '9'; at++) {
        if (*first > SIZE_MAX / 10 - 1)
            return false;
        *first = 10 * *first + (size_t)(bytes[at] - '0');
    }
    if (*first == 0 || at + 1 >= length || bytes[at] != ' ')
        return false;
    *name = (struct span){bytes + at + 1, length - at - 1};
    *files = (struct span){bytes + length + (end != NULL), files->length - length - (end != NULL)};
    return true;
}

struct span files_of_line(struct span files, size_t *line) {
    struct span found = {(const unsigned char *)"", 0}, name;
    size_t begin = 1, first;
    while (take_row(&files, &first, &name) && first <= *line) {
        found = name;
        begin = first;
    }
    *line -= begin - 1;
    return found;
}
