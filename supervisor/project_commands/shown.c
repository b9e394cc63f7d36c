/* Escapes what a terminal would obey. Never lets a control character through but its own newlines.
 */
#include "supervisor/project_commands/shown.h"
#include "common/utf8.h"

static const struct {
    uint32_t from, to;
} hidden[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},       {0x61C, 0x61C},
    {0x200B, 0x200B}, {0x200E, 0x200F}, {0x2028, 0x202E},   {0x2060, 0x2069},
    {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
};

static bool is_hidden(uint32_t code) {
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (code >= hidden[i].from && code <= hidden[i].to)
            return true;
    return false;
}

void shown_print(FILE *out, struct span text, const char *indent) {
    while (text.length && text.bytes[text.length - 1] == '\n')
        text.length--;
    for (size_t at = 0, length; at < text.length; at += length) {
        length = utf8_sequence_length(text.bytes + at, text.length - at);
        uint32_t code = length ? utf8_decode(text.bytes + at) : 0xFFFD;
        if (!length)
            length = 1;
        if (code == '\n')
            fprintf(out, "\n%s", indent);
        else if (code == 0xFFFD || is_hidden(code))
            fprintf(out, "\\u%04X", (unsigned)code);
        else
            fwrite(text.bytes + at, 1, length, out);
    }
}
