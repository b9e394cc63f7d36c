/* The encoder. Never runs Lisp. */
#include "worker/text.h"
#include "common/utf8.h"

enum { CHARACTER_BYTES_MAX = 4 };

static bool append_character(struct buffer *text, ecl_character code) {
    unsigned char *room = buffer_reserve(text, CHARACTER_BYTES_MAX);
    if (!room)
        return false;
    text->length += utf8_encode((uint32_t)code, room);
    return true;
}

bool text_append(struct buffer *text, cl_object string) {
    cl_index length = string->base_string.fillp;
    for (cl_index i = 0; i < length; i++)
        if (!append_character(text, ecl_char(string, i)))
            return false;
    return true;
}
