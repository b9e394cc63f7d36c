/* Colours of words on a terminal. Where nobody sees colours there are none: then all of these are
 * empty, and what is printed is the same to the byte as without them. */
#ifndef ECLAVE_SUPERVISOR_BASE_COLOUR_H
#define ECLAVE_SUPERVISOR_BASE_COLOUR_H

#include <stdio.h>

struct colours {
    const char *good, *bad, *odd; /* what begins each */
    const char *end;
};

/* For what goes to OUT: none unless that is a terminal and NO_COLOR is not set (no-color.org: an
 * empty one counts as not set). */
struct colours colours_of(FILE *out);

#endif
