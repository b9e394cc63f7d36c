/* A lexical scan of Lisp source, which may be of any length and unbalanced. */
#include "common/source.h"
#include "common/utf8.h"

#include <string.h>

/* An open list and the number of prefixes (quotes and dispatching macros) before it; the reader
 * recurses for each of them. */
struct level {
    size_t offset;
    size_t prefixes;
};

struct scanner {
    struct span source;
    size_t at;
    size_t prefixes; /* before the next datum */
    size_t prefix_at;
    size_t depth; /* lists and prefixes */
    size_t lists;
    size_t data;     /* that have ended or begun so far, those in lists included */
    size_t features; /* expressions after #+ and #-, outside lists */
    struct source_scan result;
};

static struct level levels[SOURCE_DEPTH_MAX];

static bool more(const struct scanner *scanner) {
    return scanner->at < scanner->source.length;
}

static unsigned char byte_at(const struct scanner *scanner, size_t ahead) {
    size_t at = scanner->at + ahead;
    return at < scanner->source.length ? scanner->source.bytes[at] : 0;
}

static bool ends_token(unsigned char byte) {
    return source_is_blank(byte) || memchr("()\"';`,", byte, 7);
}

static void cut_off(struct scanner *scanner, enum source_open open, size_t at) {
    scanner->result.open = open;
    scanner->result.at = at;
}

/* A datum begins: the prefixes before it are complete. */
static void take_datum(struct scanner *scanner) {
    scanner->depth -= scanner->prefixes;
    scanner->prefixes = 0;
    scanner->data++;
}

/* From an opening character, skips past the next CLOSER that no backslash escapes. */
static void skip_quoted(struct scanner *scanner, unsigned char closer, enum source_open open) {
    size_t start = scanner->at++;
    while (more(scanner)) {
        unsigned char byte = byte_at(scanner, 0);
        scanner->at += byte == '\\' ? 2 : 1;
        if (byte == closer)
            return;
    }
    scanner->at = scanner->source.length;
    cut_off(scanner, open, start);
}

static void skip_line(struct scanner *scanner) {
    const unsigned char *rest = scanner->source.bytes + scanner->at;
    const unsigned char *end = memchr(rest, '\n', scanner->source.length - scanner->at);
    scanner->at = end ? (size_t)(end + 1 - scanner->source.bytes) : scanner->source.length;
}

/* A #|...|#, which may contain others. */
static void skip_comment(struct scanner *scanner) {
    size_t start = scanner->at;
    size_t nested = 0;
    while (more(scanner)) {
        unsigned char byte = byte_at(scanner, 0);
        unsigned char next = byte_at(scanner, 1);
        if (byte == '#' && next == '|') {
            nested++;
            scanner->at += 2;
        } else if (byte == '|' && next == '#') {
            scanner->at += 2;
            if (--nested == 0)
                return;
        } else {
            scanner->at++;
        }
    }
    cut_off(scanner, SOURCE_COMMENT, start);
}

/* A symbol or a number, with escapes. */
static void skip_token(struct scanner *scanner) {
    take_datum(scanner);
    while (more(scanner) && scanner->result.open == SOURCE_NOTHING) {
        unsigned char byte = byte_at(scanner, 0);
        if (byte == '|') {
            skip_quoted(scanner, '|', SOURCE_SYMBOL);
        } else if (byte == '\\') {
            scanner->at += 2;
        } else if (ends_token(byte)) {
            return;
        } else {
            scanner->at++;
        }
    }
    if (scanner->at > scanner->source.length)
        scanner->at = scanner->source.length;
}

static void prefix(struct scanner *scanner, size_t bytes) {
    if (scanner->prefixes++ == 0)
        scanner->prefix_at = scanner->at;
    scanner->depth++;
    scanner->at += bytes;
}

static void open_list(struct scanner *scanner) {
    scanner->depth++;
    if (scanner->lists < SOURCE_DEPTH_MAX)
        levels[scanner->lists] = (struct level){scanner->at, scanner->prefixes};
    scanner->lists++;
    scanner->prefixes = 0;
    scanner->at++;
}

static void close_list(struct scanner *scanner) {
    take_datum(scanner);
    scanner->at++;
    if (scanner->lists == 0)
        return; /* the reader reports it */
    scanner->lists--;
    scanner->depth -= 1 + levels[scanner->lists].prefixes;
}

/* A # at the start of a token. */
static void dispatch(struct scanner *scanner) {
    size_t digits = 1;
    while (byte_at(scanner, digits) >= '0' && byte_at(scanner, digits) <= '9')
        digits++;
    unsigned char kind = byte_at(scanner, digits);
    if (kind == '|') {
        skip_comment(scanner);
    } else if (kind == '\\') {
        scanner->at += digits + 2; /* the character after #\ opens nothing */
        skip_token(scanner);
    } else if (kind == '(' || kind == '"') {
        scanner->at += digits;
    } else {
        scanner->features += scanner->lists == 0 && (kind == '+' || kind == '-');
        prefix(scanner, digits + 1);
    }
}

/* Takes one element: a parenthesis, a prefix, a comment, a blank, a token or a string. */
static void step(struct scanner *scanner) {
    unsigned char byte = byte_at(scanner, 0);
    switch (byte) {
    case '(':
        open_list(scanner);
        return;
    case ')':
        close_list(scanner);
        return;
    case '\'':
    case '`':
        prefix(scanner, 1);
        return;
    case ',':
        prefix(scanner, byte_at(scanner, 1) == '@' || byte_at(scanner, 1) == '.' ? 2 : 1);
        return;
    case '#':
        dispatch(scanner);
        return;
    case ';':
        skip_line(scanner);
        return;
    case '"':
        take_datum(scanner);
        skip_quoted(scanner, '"', SOURCE_STRING);
        return;
    default:
        if (source_is_blank(byte)) {
            scanner->at++;
            return;
        }
        skip_token(scanner);
    }
}

struct source_scan source_scan(struct span source, size_t start) {
    struct scanner scanner = {.source = source, .at = start};
    while (more(&scanner) && scanner.result.open == SOURCE_NOTHING) {
        size_t at = scanner.at;
        step(&scanner);
        if (scanner.depth > SOURCE_DEPTH_MAX) {
            scanner.result.too_deep = true;
            scanner.result.at = at;
            return scanner.result;
        }
    }
    scanner.result.lists = scanner.lists;
    if (scanner.lists) {
        scanner.result.first_list = levels[0].offset;
        if (scanner.result.open == SOURCE_NOTHING)
            cut_off(&scanner, SOURCE_LIST, levels[scanner.lists - 1].offset);
    } else if (scanner.prefixes && scanner.result.open == SOURCE_NOTHING) {
        cut_off(&scanner, SOURCE_DATUM, scanner.prefix_at);
    }
    return scanner.result;
}

size_t source_form(struct span source, size_t start) {
    struct scanner scanner = {.source = source, .at = start};
    while (more(&scanner)) {
        unsigned char byte = byte_at(&scanner, 0);
        if (source_is_blank(byte))
            scanner.at++;
        else if (byte == ';')
            skip_line(&scanner);
        else if (byte == '#' && byte_at(&scanner, 1) == '|')
            skip_comment(&scanner);
        else
            break;
    }
    return scanner.at;
}

enum source_rest source_next(struct span source, size_t *at, struct span *form) {
    const size_t start = source_form(source, *at);
    struct scanner scanner = {.source = source, .at = *at};
    size_t ended = 0; /* data outside lists */
    while (more(&scanner) && scanner.result.open == SOURCE_NOTHING && ended <= scanner.features) {
        const size_t before = scanner.data;
        step(&scanner);
        ended += scanner.data > before && scanner.lists == 0;
        if (scanner.depth > SOURCE_DEPTH_MAX) { /* the reader refuses it */
            scanner.at = source.length;
            ended = scanner.features + 1;
        }
    }
    if (scanner.result.open == SOURCE_NOTHING && ended > scanner.features) {
        *form = (struct span){source.bytes + start, scanner.at - start};
        *at = scanner.at;
        return SOURCE_WHOLE;
    }
    bool cut = scanner.result.open != SOURCE_NOTHING || scanner.lists || scanner.prefixes || ended;
    return cut ? SOURCE_CUT : SOURCE_EMPTY;
}

struct source_place source_place(struct span source, size_t offset) {
    struct source_place place = {.line = 1};
    const unsigned char *line = source.bytes;
    const unsigned char *end = source.bytes + offset;
    for (const unsigned char *next;
         line < end && (next = memchr(line, '\n', (size_t)(end - line))) != NULL; line = next + 1)
        place.line++;
    place.column = 1 + utf8_count(line, (size_t)(end - line));
    return place;
}
