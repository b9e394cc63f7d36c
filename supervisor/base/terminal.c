/* Output that a terminal may show. */
#include "supervisor/base/terminal.h"
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 16 };

static const struct {
    uint32_t from, to;
} hidden[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},       {0x61C, 0x61C},
    {0x200B, 0x200B}, {0x200E, 0x200F}, {0x2028, 0x202E},   {0x2060, 0x2069},
    {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
};

static bool is_hidden(uint32_t code, enum shown_as as) {
    if ((code == '\n' || code == '\t') && as == SHOWN_AS_LINES)
        return false;
    if (code == '\\')
        return as == SHOWN_AS_NAME;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (code >= hidden[i].from && code <= hidden[i].to)
            return true;
    return false;
}

/* One character and its output. */
struct piece {
    size_t taken; /* bytes of the input */
    int length;
    char bytes[PIECE_BYTES];
};

static struct piece escape(uint32_t code, size_t taken) {
    struct piece piece = {.taken = taken};
    uint32_t beyond = code - 0x10000;
    piece.length = code < 0x10000 ? snprintf(piece.bytes, PIECE_BYTES, "\\u%04X", (unsigned)code)
                                  : snprintf(piece.bytes, PIECE_BYTES, "\\u%04X\\u%04X",
                                             (unsigned)(0xD800 + (beyond >> 10)),
                                             (unsigned)(0xDC00 + (beyond & 0x3FF)));
    return piece;
}

/* The first character of TEXT, which is not empty. */
static struct piece first_of(struct span text, enum shown_as as) {
    size_t taken = utf8_sequence_length(text.bytes, text.length);
    uint32_t code = taken ? utf8_decode(text.bytes) : 0;
    struct piece piece = {.taken = taken ? taken : 1, .length = (int)taken};
    if (!taken)
        piece.length = snprintf(piece.bytes, PIECE_BYTES, "\\x%02x", text.bytes[0]);
    else if (is_hidden(code, as))
        return escape(code, taken);
    else
        memcpy(piece.bytes, text.bytes, taken);
    return piece;
}

static void skip(struct span *text, size_t count) {
    text->bytes += count;
    text->length -= count;
}

bool shown_append(struct buffer *out, struct span text, enum shown_as as) {
    while (text.length) {
        const struct piece piece = first_of(text, as);
        if (!buffer_append(out, piece.bytes, (size_t)piece.length))
            return false;
        skip(&text, piece.taken);
    }
    return true;
}

void shown_print(FILE *out, struct span text, const char *indent) {
    while (text.length && text.bytes[text.length - 1] == '\n')
        text.length--;
    while (text.length) {
        const struct piece piece = first_of(text, SHOWN_AS_LINE);
        if (text.bytes[0] == '\n')
            fprintf(out, "\n%s", indent);
        else
            fwrite(piece.bytes, 1, (size_t)piece.length, out);
        skip(&text, piece.taken);
    }
}

void shown_print_text(FILE *out, const char *text) {
    shown_print(out, (struct span){(const unsigned char *)text, strlen(text)}, "");
}

void shown_complain(const char *text) {
    fputs("eclave: ", stderr);
    shown_print_text(stderr, text);
    putc('\n', stderr);
}

bool shown_write(FILE *out, struct span text) {
    if (text.length && !isatty(fileno(out)))
        return fwrite(text.bytes, 1, text.length, out) == text.length;
    while (text.length) {
        const struct piece piece = first_of(text, SHOWN_AS_LINES);
        if (fwrite(piece.bytes, 1, (size_t)piece.length, out) != (size_t)piece.length)
            return false;
        skip(&text, piece.taken);
    }
    return true;
}

struct colours colours_of(FILE *out) {
    const char *unwanted = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if ((unwanted && *unwanted) || (terminal && strcmp(terminal, "dumb") == 0) ||
        !isatty(fileno(out)))
        return (struct colours){"", "", "", "", ""};
    return (struct colours){"\033[32m", "\033[31m", "\033[33m", "\033[2m", "\033[0m"};
}
