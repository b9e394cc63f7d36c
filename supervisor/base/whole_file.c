/* Files read whole. */
#include "supervisor/base/whole_file.h"

#include <string.h>

enum { READ_BYTES = 16384 };

bool whole_file_append(FILE *in, struct buffer *out, int *code) {
    unsigned char bytes[READ_BYTES];
    size_t got;
    /* A terminal would be read again after its end, so that Ctrl-D had to be pressed twice. */
    while (!feof(in) && (got = fread(bytes, 1, sizeof bytes, in)) > 0)
        if (!buffer_append(out, bytes, got)) {
            *code = got > out->maximum - out->length ? 0 : ENOMEM;
            return false;
        }
    *code = errno;
    return !ferror(in);
}

bool whole_file_read(const char *file, struct buffer *out, struct error *error) {
    int code;
    FILE *in = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
    if (!in)
        return error_set(error, errno, "%.100s", file);
    bool read = whole_file_append(in, out, &code);
    if (in != stdin)
        fclose(in);
    if (read || code)
        return read || error_set(error, code, "%.100s", file);
    return error_set(error, 0, "%.100s is longer than request.max_bytes (%zu)", file, out->maximum);
}
