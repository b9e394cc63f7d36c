/* See maps.h. */
#include "supervisor/process/maps.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096 };

bool maps_parse(const char *text, struct maps_line *line) {
    char *rest;
    *line = (struct maps_line){.start = strtoull(text, &rest, 16)};
    if (*rest++ != '-')
        return false;
    line->end = strtoull(rest, &rest, 16);
    if (strlen(rest) < sizeof " rwxp ")
        return false;
    line->protection = (rest[1] == 'r' ? PROT_READ : 0U) | (rest[2] == 'w' ? PROT_WRITE : 0U) |
                       (rest[3] == 'x' ? PROT_EXEC : 0U);
    line->shared = rest[4] == 's';
    strtoull(rest + 5, &rest, 16); /* offset */
    rest += strspn(rest, " ");
    rest += strcspn(rest, " "); /* device */
    line->inode = strtoull(rest, &rest, 10);
    rest += strspn(rest, " ");
    if (rest[0] == '/')
        line->of = MAPS_OF_FILE;
    else if (strncmp(rest, "[heap]", 6) == 0)
        line->of = MAPS_OF_BREAK;
    else if (rest[0] == '[' && strncmp(rest, "[stack]", 7) != 0 && strncmp(rest, "[anon", 5) != 0)
        line->of = MAPS_OF_KERNEL;
    return line->start < line->end && line->start % PAGE_BYTES == 0;
}
