/* The table of cursors. The oldest are dropped, so its size is bounded. */
#include "supervisor/mcp/cursor.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CURSOR_RANDOM_BYTES = 16, CURSORS_MAX = 1024, NAME_MAX_BYTES = 256 };

struct cursor {
    struct cursor *next; /* newest first */
    char text[2 * CURSOR_RANDOM_BYTES + 1];
    char last[NAME_MAX_BYTES];
};

static void forget_oldest(struct cursors *cursors) {
    struct cursor **link = &cursors->first;
    while (*link && (*link)->next)
        link = &(*link)->next;
    free(*link);
    *link = NULL;
    cursors->count--;
}

const char *cursor_make(struct cursors *cursors, const char *last) {
    for (const struct cursor *known = cursors->first; known; known = known->next)
        if (strcmp(known->last, last) == 0)
            return known->text;
    unsigned char random[CURSOR_RANDOM_BYTES];
    struct cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return "";
    if (cursors->count == CURSORS_MAX)
        forget_oldest(cursors);
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(cursor->text, sizeof cursor->text, random, sizeof random);
    snprintf(cursor->last, sizeof cursor->last, "%s", last);
    cursor->next = cursors->first;
    cursors->first = cursor;
    cursors->count++;
    return cursor->text;
}

const char *cursor_open(const struct cursors *cursors, const char *text) {
    for (const struct cursor *cursor = cursors->first; cursor; cursor = cursor->next)
        if (strcmp(cursor->text, text) == 0)
            return cursor->last;
    return NULL;
}

void cursors_free(struct cursors *cursors) {
    while (cursors->first) {
        struct cursor *next = cursors->first->next;
        free(cursors->first);
        cursors->first = next;
    }
    cursors->count = 0;
}
