/* Text hygiene. Never grows a text. */
#include "worker/tidy.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static const char stream_word[] = " stream";
static const char stream_text[] = "a stream";

/* The length of an address at the start of TEXT, with the blank before it; 0 when there is none.
 */
static size_t address_length(const unsigned char *text, size_t length) {
    if (length < 5 || memcmp(text, " 0x", 3) != 0)
        return 0;
    size_t at = 3;
    while (at < length && isxdigit(text[at]))
        at++;
    return at > 3 && at < length && text[at] == '>' ? at : 0;
}

/* The length of an unreadable stream object at the start of TEXT; 0 when there is none. It ends at
 * the first ">" that is not in a string, and its class name comes before anything else. */
static size_t stream_length(const unsigned char *text, size_t length) {
    if (length < 2 || text[0] != '#' || text[1] != '<')
        return 0;
    const size_t word = sizeof stream_word - 1;
    bool is_stream = false;
    bool quoted = false;
    for (size_t at = 2; at < length && text[at] != '\n'; at++) {
        if (text[at] == '"')
            quoted = !quoted;
        if (quoted)
            continue;
        if (text[at] == '>')
            return is_stream ? at + 1 : 0;
        if (text[at] == '<')
            return 0;
        if (length - at > word && memcmp(text + at, stream_word, word) == 0 &&
            (text[at + word] == ' ' || text[at + word] == '>'))
            is_stream = true;
    }
    return 0;
}

size_t tidy_text(unsigned char *text, size_t length) {
    size_t kept = 0;
    for (size_t at = 0; at < length;) {
        size_t size = stream_length(text + at, length - at);
        if (size) {
            memcpy(text + kept, stream_text, sizeof stream_text - 1);
            kept += sizeof stream_text - 1;
            at += size;
            continue;
        }
        at += address_length(text + at, length - at);
        if (at < length)
            text[kept++] = text[at++];
    }
    return kept;
}

void tidy_line(unsigned char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ')
            text[i] = ' ';
}
