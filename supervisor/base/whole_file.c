/* See whole_file.h. Never gives part of a file for the whole. */
#include "supervisor/base/whole_file.h"

#include <stdio.h>
#include <string.h>

enum { READ_BYTES = 65536 };

/* Reads up to the end, or until OUT is full. False with *code. */
static bool fill(FILE *in, struct buffer *out, int *code) {
    while (out->length < out->maximum) {
        size_t left = out->maximum - out->length;
        size_t wanted = left < READ_BYTES ? left : READ_BYTES;
        unsigned char *room = buffer_reserve(out, wanted);
        size_t got = room ? fread(room, 1, wanted, in) : 0;
        *code = room ? errno : ENOMEM;
        out->length += got;
        if (got < wanted)
            return room && !ferror(in);
    }
    return true;
}

/* False with *code: an errno value, or 0 when there is more than fits. */
static bool read_all(FILE *in, struct buffer *out, int *code) {
    if (!fill(in, out, code))
        return false;
    bool ended = feof(in) || getc(in) == EOF;
    *code = ferror(in) ? errno : 0;
    return ended && !ferror(in);
}

bool whole_file_read(const char *file, struct buffer *out, struct error *error) {
    int code;
    FILE *in = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
    if (!in)
        return error_set(error, errno, "%.100s", file);
    bool read = read_all(in, out, &code);
    if (in != stdin)
        fclose(in);
    if (read || code)
        return read || error_set(error, code, "%.100s", file);
    return error_set(error, 0, "%.100s is longer than request.max_bytes (%zu)", file, out->maximum);
}
