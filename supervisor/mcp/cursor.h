/* Cursors of paged lists. A cursor stands for the last entry of the page before, so that a walk
 * goes on where it was when the list has changed meanwhile; it is a random word that only this
 * process can have given out. */
#ifndef ECLAVE_SUPERVISOR_MCP_CURSOR_H
#define ECLAVE_SUPERVISOR_MCP_CURSOR_H

#include <stddef.h>

struct cursor;

struct cursors {
    struct cursor *first;
    size_t count;
};

/* The cursor behind the entry LAST, the same one each time. Owned by the table. "" without memory.
 */
const char *cursor_make(struct cursors *cursors, const char *last);
/* The entry that TEXT was given out for, or NULL. */
const char *cursor_open(const struct cursors *cursors, const char *text);
void cursors_free(struct cursors *cursors);

#endif
