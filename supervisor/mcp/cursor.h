/* Cursors of paged lists. A cursor names the last entry of the previous page, so that paging
 * continues at the right place after the list has changed. It is a random string, so clients cannot
 * forge one. */
#ifndef ECLAVE_SUPERVISOR_MCP_CURSOR_H
#define ECLAVE_SUPERVISOR_MCP_CURSOR_H

#include <stddef.h>

struct cursor;

struct cursors {
    struct cursor *first;
    size_t count;
};

/* The cursor that continues after the entry LAST; the same entry always has the same one. Owned by
 * the table. "" when out of memory. */
const char *cursor_make(struct cursors *cursors, const char *last);
/* The entry that the cursor TEXT stands for, or NULL. */
const char *cursor_open(const struct cursors *cursors, const char *text);
void cursors_free(struct cursors *cursors);

#endif
