/* Splits the preamble into parts, each a macro or a declaration, and finds out which names each
 * part declares and which it mentions. What a translation unit needs are the parts that declare a
 * name in it, and so on. A part too many costs time only; a part too few is an error of the
 * compiler, and the function stays bytecode. */
#include "compiler/preamble.h"
#include "common/cleanup.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 1 << 14, PARTS_MAX = 8192 };

struct list {
    int *items;
    int count, room;
};

struct name {
    const char *text;
    size_t length;
    struct list parts; /* that declare it */
};

struct part {
    const char *text;
    size_t length;
    struct list needs; /* parts */
};

struct preamble {
    struct name names[NAMES_MAX]; /* a hash table */
    size_t name_count;
    struct part parts[PARTS_MAX];
    int part_count;
};

static bool add(struct list *list, int item) {
    for (int i = 0; i < list->count; i++)
        if (list->items[i] == item)
            return true;
    if (list->count == list->room) {
        int room = list->room ? 2 * list->room : 4;
        int *items = realloc(list->items, (size_t)room * sizeof *items);
        if (!items)
            return false;
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = item;
    return true;
}

static bool begins_name(char byte) {
    return isalpha((unsigned char)byte) || byte == '_';
}

static bool continues_name(char byte) {
    return isalnum((unsigned char)byte) || byte == '_';
}

/* Words that name nothing. */
static bool is_keyword(const char *text, size_t length) {
    static const char *const keywords[] = {
        "typedef",  "struct", "union",  "enum",    "extern", "static",   "inline",   "const",
        "volatile", "void",   "int",    "long",    "short",  "char",     "unsigned", "signed",
        "float",    "double", "return", "if",      "else",   "while",    "do",       "for",
        "goto",     "switch", "case",   "default", "break",  "continue", "sizeof",   "define"};
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strlen(keywords[i]) == length && memcmp(keywords[i], text, length) == 0)
            return true;
    return false;
}

static size_t hash(const char *text, size_t length) {
    size_t value = 5381;
    for (size_t i = 0; i < length; i++)
        value = value * 33 + (unsigned char)text[i];
    return value;
}

/* The place of a name, or the free place where it would be. */
static size_t place_of(const struct preamble *preamble, const char *text, size_t length) {
    size_t at = hash(text, length) % NAMES_MAX;
    while (preamble->names[at].text && (preamble->names[at].length != length ||
                                        memcmp(preamble->names[at].text, text, length) != 0))
        at = (at + 1) % NAMES_MAX;
    return at;
}

/* NULL if there are too many. */
static struct name *make_name(struct preamble *preamble, const char *text, size_t length) {
    struct name *name = &preamble->names[place_of(preamble, text, length)];
    if (!name->text) {
        if (preamble->name_count == NAMES_MAX - 1)
            return NULL;
        preamble->name_count++;
        name->text = text;
        name->length = length;
    }
    return name;
}

/* --- splitting --- */

static const char *skip_blanks(const char *at) {
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

static const char *end_of_name(const char *at) {
    while (continues_name(*at))
        at++;
    return at;
}

/* The character after the literal that begins at AT with its quote. */
static const char *end_of_literal(const char *at) {
    char quote = *at++;
    while (*at && *at != quote)
        at += *at == '\\' && at[1] ? 2 : 1;
    return *at ? at + 1 : at;
}

/* Returns the end of the line; NULL when out of memory. */
static const char *split_macro(struct preamble *preamble, const char *at, int part) {
    static const char *const directives[] = {"#define ", "#undef "};
    const char *end = at + strcspn(at, "\n");
    for (size_t i = 0; i < sizeof directives / sizeof directives[0]; i++) {
        const size_t length = strlen(directives[i]);
        if (strncmp(at, directives[i], length) != 0)
            continue;
        at += length;
        struct name *name = make_name(preamble, at, (size_t)(end_of_name(at) - at));
        return name && add(&name->parts, part) ? end : NULL;
    }
    return end;
}

/* A declaration that is being read. */
struct declaration {
    int braces, parentheses;
    bool is_function; /* parentheses were closed outside of braces: a body may follow */
    bool is_enum;
    bool after_tag_word; /* the last word was struct, union or enum */
    const char *tag;     /* the last word after one of these */
    size_t tag_length;
    char before, before_that; /* the last characters that are not blank */
};

/* NAME, in declaration DECLARED, is declared by it: it stands outside of braces and parentheses, is
 * a pointer to a function, or is an enumerator. A word that an earlier part declares is a type
 * there, unless parentheses follow. */
static bool declares(const struct declaration *declared, const struct name *name, const char *end) {
    bool pointer = declared->before == '*' && declared->before_that == '(';
    bool outside = !declared->braces && (!declared->parentheses || pointer);
    bool enumerator = declared->braces && declared->is_enum && !declared->parentheses;
    if (!outside && !enumerator)
        return false;
    return !name->parts.count ||
           (!declared->braces && !declared->parentheses && *skip_blanks(end) == '(');
}

static const char *read_word(struct preamble *preamble, struct declaration *declared,
                             const char *at, int part) {
    const char *end = end_of_name(at);
    const size_t length = (size_t)(end - at);
    bool tag_word = (length == 6 && memcmp(at, "struct", 6) == 0) ||
                    (length == 5 && memcmp(at, "union", 5) == 0) ||
                    (length == 4 && memcmp(at, "enum", 4) == 0);
    if (!is_keyword(at, length)) {
        struct name *name = make_name(preamble, at, length);
        if (!name || (declares(declared, name, end) && !add(&name->parts, part)))
            return NULL;
        if (declared->after_tag_word) {
            declared->tag = at;
            declared->tag_length = length;
        }
    }
    if (tag_word && *at == 'e' && !declared->braces)
        declared->is_enum = true;
    declared->after_tag_word = tag_word;
    declared->before_that = length > 1 ? end[-2] : declared->before;
    declared->before = end[-1];
    return end;
}

/* A brace that opens right after a tag declares the tag. */
static bool open_brace(struct preamble *preamble, struct declaration *declared, const char *at,
                       int part) {
    const char *end_of_tag = declared->tag ? declared->tag + declared->tag_length : NULL;
    if (!declared->braces && end_of_tag && skip_blanks(end_of_tag) == at) {
        struct name *name = make_name(preamble, declared->tag, declared->tag_length);
        if (!name || !add(&name->parts, part))
            return false;
    }
    if (!declared->braces++ && declared->before != ')')
        declared->is_function = false;
    return true;
}

/* Returns the end of the declaration at AT; NULL when out of memory. */
static const char *split_declaration(struct preamble *preamble, const char *at, int part) {
    struct declaration declared = {.before = ' ', .before_that = ' '};
    while (*at) {
        const char byte = *at;
        if (begins_name(byte)) {
            at = read_word(preamble, &declared, at, part);
            if (!at)
                return NULL;
            continue;
        }
        if (byte == '"' || byte == '\'') {
            at = end_of_literal(at);
            continue;
        }
        if (byte == '{' && !open_brace(preamble, &declared, at, part))
            return NULL;
        declared.parentheses += (byte == '(') - (byte == ')');
        if (byte == ')' && !declared.braces && !declared.parentheses)
            declared.is_function = true;
        declared.braces -= byte == '}';
        at++;
        if (!declared.braces &&
            ((byte == '}' && declared.is_function) || (byte == ';' && !declared.parentheses)))
            return at;
        if (!isspace((unsigned char)byte)) {
            declared.before_that = declared.before;
            declared.before = byte;
        }
    }
    return at;
}

static bool split(struct preamble *preamble, const char *text) {
    for (const char *at = skip_blanks(text); *at; at = skip_blanks(at)) {
        if (preamble->part_count == PARTS_MAX)
            return false;
        const char *end = *at == '#' ? split_macro(preamble, at, preamble->part_count)
                                     : split_declaration(preamble, at, preamble->part_count);
        if (!end)
            return false;
        preamble->parts[preamble->part_count++] =
            (struct part){.text = at, .length = (size_t)(end - at)};
        at = end;
    }
    return true;
}

/* --- needs --- */

/* Calls VISIT for each part that declares a name in TEXT. False if VISIT returned false. */
static bool for_each_need(const struct preamble *preamble, const char *text, size_t length,
                          bool (*visit)(void *context, int part), void *context) {
    const char *end = text + length;
    for (const char *at = text; at < end; at++) {
        if (!continues_name(*at))
            continue;
        const char *from = at;
        while (at < end && continues_name(*at))
            at++;
        if (!begins_name(*from))
            continue; /* a number and its suffix */
        const struct name *name = &preamble->names[place_of(preamble, from, (size_t)(at - from))];
        for (int i = 0; i < name->parts.count; i++)
            if (!visit(context, name->parts.items[i]))
                return false;
    }
    return true;
}

static bool note_need(void *context, int part) {
    return add(context, part);
}

struct preamble *preamble_open(const char *text) {
    struct preamble *preamble = calloc(1, sizeof *preamble);
    bool good = preamble && split(preamble, text);
    for (int i = 0; good && i < preamble->part_count; i++) {
        struct part *part = &preamble->parts[i];
        good = for_each_need(preamble, part->text, part->length, note_need, &part->needs);
    }
    if (good)
        return preamble;
    preamble_free(preamble);
    return NULL;
}

void preamble_free(struct preamble *preamble) {
    if (!preamble)
        return;
    for (size_t i = 0; i < NAMES_MAX; i++)
        free(preamble->names[i].parts.items);
    for (int i = 0; i < preamble->part_count; i++)
        free(preamble->parts[i].needs.items);
    free(preamble);
}

/* --- taking --- */

/* The parts that are taken, and those of them whose needs are not followed yet. */
struct taking {
    bool taken[PARTS_MAX];
    int open[PARTS_MAX];
    size_t open_count;
};

static bool take(void *context, int part) {
    struct taking *taking = context;
    if (!taking->taken[part]) {
        taking->taken[part] = true;
        taking->open[taking->open_count++] = part;
    }
    return true;
}

bool preamble_take(const struct preamble *preamble, const char *body, size_t length,
                   struct buffer *out) {
    cleanup_free struct taking *taking = calloc(1, sizeof *taking);
    if (!taking)
        return false;
    for_each_need(preamble, body, length, take, taking);
    while (taking->open_count) {
        const struct list needs = preamble->parts[taking->open[--taking->open_count]].needs;
        for (int i = 0; i < needs.count; i++)
            take(taking, needs.items[i]);
    }
    for (int i = 0; i < preamble->part_count; i++)
        if (taking->taken[i] &&
            (!buffer_append(out, preamble->parts[i].text, preamble->parts[i].length) ||
             !buffer_append(out, "\n", 1)))
            return false;
    return true;
}
