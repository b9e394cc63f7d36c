/* See script.h. */
#include "tests/support/script.h"
#include <stdlib.h>
#include <string.h>

void script_free(struct script *script) {
    for (size_t i = 0; i < script->count; i++)
        free((char *)script->lines[i].bytes);
    free(script->lines);
    *script = (struct script){0};
}

void script_add(struct script *script, const void *bytes, size_t length) {
    if (script->count == script->capacity) {
        script->capacity = script->capacity ? 2 * script->capacity : 16;
        script->lines = realloc(script->lines, script->capacity * sizeof *script->lines);
        if (!script->lines)
            abort();
    }
    char *copy = malloc(length + 1);
    if (!copy)
        abort();
    if (length)
        memcpy(copy, bytes, length);
    copy[length] = '\0';
    script->lines[script->count++] = (struct text){copy, length};
}

void script_add_line(struct script *script, const char *line) {
    script_add(script, line, strlen(line));
}

struct script script_copy(const struct script *script) {
    struct script copy = {0};
    for (size_t i = 0; i < script->count; i++)
        script_add(&copy, script->lines[i].bytes, script->lines[i].length);
    return copy;
}

/* As part of a printf format in single quotes. */
static void print_line(FILE *file, struct text line) {
    for (size_t i = 0; i < line.length; i++) {
        char byte = line.bytes[i];
        if (byte < ' ' || byte > '~' || byte == '\'')
            fprintf(file, "\\%03o", (unsigned)(unsigned char)byte);
        else if (byte == '\\' || byte == '%')
            fprintf(file, "%c%c", byte, byte);
        else
            fputc(byte, file);
    }
}

void script_print(FILE *file, const struct script *script) {
    fputs("printf '", file);
    for (size_t i = 0; i < script->count; i++) {
        print_line(file, script->lines[i]);
        fputs(i + 1 < script->count ? "\\n'\\\n'" : "\\n' | eclave\n", file);
    }
}

static struct script without_lines(const struct script *script, size_t from, size_t count) {
    struct script shorter = {0};
    for (size_t i = 0; i < script->count; i++)
        if (i < from || i >= from + count)
            script_add(&shorter, script->lines[i].bytes, script->lines[i].length);
    return shorter;
}

size_t script_shrink(struct script *script, script_fails *fails, void *context, size_t attempts) {
    size_t tried = 0, size = (script->count + 1) / 2;
    bool removed = true;
    while (size > 1 || removed) {
        removed = false;
        for (size_t from = 0; from < script->count && script->count > size;) {
            if (tried == attempts)
                return tried;
            struct script shorter = without_lines(script, from, size);
            tried++;
            bool failed = fails(&shorter, context);
            script_free(failed ? script : &shorter);
            if (failed)
                *script = shorter;
            else
                from += size;
            removed = removed || failed;
        }
        size = size > 1 ? size / 2 : 1;
    }
    return tried;
}
