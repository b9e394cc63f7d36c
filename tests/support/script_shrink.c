/* See script.h: reducing a failing script. Every candidate is the script with one edit; the first
 * that still fails replaces it, and the search goes on from there until no edit fails any more. */
#include "tests/support/script.h"
#include <stdlib.h>
#include <string.h>

struct search {
    struct script *script; /* fails */
    script_fails *fails;
    void *context;
    size_t attempts, maximum;
};

static bool still_fails(struct search *search, const struct script *candidate) {
    if (search->attempts == search->maximum)
        return false;
    search->attempts++;
    return search->fails(candidate, search->context);
}

/* Takes CANDIDATE (owned) for the script when it fails; else frees it. */
static bool take(struct search *search, struct script candidate) {
    bool fails = still_fails(search, &candidate);
    if (fails) {
        struct script old = *search->script;
        *search->script = candidate;
        candidate = old;
    }
    script_free(&candidate);
    return fails;
}

/* Lines. */

static struct script without_lines(const struct script *script, size_t from, size_t count) {
    struct script shorter = {0};
    for (size_t i = 0; i < script->count; i++)
        if (i < from || i >= from + count)
            script_add(&shorter, script->lines[i].bytes, script->lines[i].length);
    return shorter;
}

static bool remove_lines(struct search *search) {
    bool progress = false;
    for (size_t size = search->script->count / 2 + 1; size > 0; size /= 2)
        for (size_t from = 0; from < search->script->count;) {
            if (search->script->count > size &&
                take(search, without_lines(search->script, from, size)))
                progress = true;
            else
                from += size;
        }
    return progress;
}

/* Edits within a line: the bytes from START to END become their own first KEEP bytes and TAIL. */
struct edit {
    size_t start, end, keep;
    const char *tail;
};

struct edits {
    const char *line;
    struct edit *list;
    size_t count, capacity;
};

static void add_edit(struct edits *edits, struct text piece, size_t keep, const char *tail) {
    if (edits->count == edits->capacity) {
        edits->capacity = edits->capacity ? 2 * edits->capacity : 32;
        edits->list = realloc(edits->list, edits->capacity * sizeof *edits->list);
        if (!edits->list)
            abort();
    }
    size_t start = (size_t)(piece.bytes - edits->line);
    edits->list[edits->count++] = (struct edit){start, start + piece.length, keep, tail};
}

static struct script with_edit(const struct script *script, size_t index, struct edit edit) {
    struct script changed = script_copy(script);
    struct text *line = &changed.lines[index];
    size_t tail = strlen(edit.tail), length = edit.start + edit.keep + tail;
    char *bytes = malloc(line->length + tail + 1);
    if (!bytes)
        abort();
    memcpy(bytes, line->bytes, edit.start + edit.keep);
    memcpy(bytes + edit.start + edit.keep, edit.tail, tail);
    memcpy(bytes + length, line->bytes + edit.end, line->length - edit.end);
    length += line->length - edit.end;
    bytes[length] = '\0';
    free((char *)line->bytes);
    *line = (struct text){bytes, length};
    return changed;
}

/* What makes a value simpler, the boldest first. */
static void simplify_value(struct edits *edits, struct text value) {
    switch (json_kind(value)) {
    case VALUE_OBJECT:
    case VALUE_ARRAY:
        if (json_count(value))
            add_edit(edits, value, 0, value.bytes[0] == '{' ? "{}" : "[]");
        break;
    case VALUE_STRING:
        if (value.length > 2)
            add_edit(edits, value, 0, "\"\"");
        if (value.length > 3) {
            add_edit(edits, value, value.length / 2, "\"");
            add_edit(edits, (struct text){value.bytes + 1, value.length / 2 - 1}, 0, "");
            add_edit(edits, value, value.length - 2, "\"");
            add_edit(edits, (struct text){value.bytes + 1, 1}, 0, "");
        }
        break;
    case VALUE_NUMBER:
        if (value.length > 1) {
            add_edit(edits, value, 0, "0");
            add_edit(edits, value, value.length / 2, "");
            add_edit(edits, value, value.length - 1, "");
        }
        break;
    case VALUE_BOOLEAN:
    case VALUE_NULL:
        break;
    }
}

struct children {
    struct text *whole, *value;
    size_t count;
};

static bool visit_child(struct text whole, struct text name, struct text value, void *context) {
    (void)name;
    struct children *children = context;
    children->whole[children->count] = whole;
    children->value[children->count++] = value;
    return true;
}

static const char *end_of(struct text text) {
    return text.bytes + text.length;
}

/* Child INDEX with the comma that goes with it. */
static struct text with_comma(const struct children *children, size_t index) {
    const struct text *whole = children->whole;
    const char *start = whole[index].bytes, *end = end_of(whole[index]);
    if (index + 1 < children->count)
        end = whole[index + 1].bytes;
    else if (index > 0)
        start = end_of(whole[index - 1]);
    return (struct text){start, (size_t)(end - start)};
}

static void find_edits(struct edits *edits, struct text value) {
    size_t count = json_count(value);
    simplify_value(edits, value);
    if (count == 0)
        return;
    struct children children = {.whole = calloc(count, sizeof(struct text)),
                                .value = calloc(count, sizeof(struct text))};
    if (!children.whole || !children.value)
        abort();
    json_walk(value, visit_child, &children);
    for (size_t i = 0; i < count; i++)
        add_edit(edits, with_comma(&children, i), 0, "");
    for (size_t i = 0; i < count; i++)
        find_edits(edits, children.value[i]);
    free(children.whole);
    free(children.value);
}

/* Blanks between the tokens of JSON. */
static void find_blanks(struct edits *edits, struct text line) {
    bool inside = false; /* a string */
    for (size_t i = 0; i < line.length; i++) {
        char byte = line.bytes[i];
        if (inside && byte == '\\')
            i++;
        else if (byte == '"')
            inside = !inside;
        else if (!inside && (byte == ' ' || byte == '\t' || byte == '\r'))
            add_edit(edits, (struct text){line.bytes + i, 1}, 0, "");
    }
}

/* Text that is not JSON only gets shorter, by ever smaller pieces. */
static void find_cuts(struct edits *edits, struct text line) {
    for (size_t size = (line.length + 1) / 2; size > 0; size /= 2)
        for (size_t from = 0; from + size <= line.length; from += size)
            add_edit(edits, (struct text){line.bytes + from, size}, 0, "");
}

static bool is_json(struct text line) {
    enum { DEPTH_MAX = 1000 };
    return json_fault(line, DEPTH_MAX) == NULL;
}

/* Tries the edits of one line; true when one was taken. */
static bool simplify_line(struct search *search, size_t index) {
    struct text line = search->script->lines[index];
    bool json = is_json(line), taken = false;
    struct edits edits = {.line = line.bytes};
    if (json) {
        find_edits(&edits, line);
        find_blanks(&edits, line);
    } else {
        find_cuts(&edits, line);
    }
    for (size_t i = 0; i < edits.count && !taken; i++) {
        struct script candidate = with_edit(search->script, index, edits.list[i]);
        if (json && !is_json(candidate.lines[index]))
            script_free(&candidate); /* an edit that cut an escape or a number in two */
        else
            taken = take(search, candidate);
    }
    free(edits.list);
    return taken;
}

size_t script_shrink(struct script *script, script_fails *fails, void *context, size_t attempts) {
    struct search search = {
        .script = script, .fails = fails, .context = context, .maximum = attempts};
    bool progress = true;
    while (progress && search.attempts < attempts) {
        progress = remove_lines(&search);
        for (size_t i = 0; i < script->count; i++)
            while (simplify_line(&search, i))
                progress = true;
    }
    return search.attempts;
}
