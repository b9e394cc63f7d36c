/* Decides whether there are colours. Prints nothing. */
#include "supervisor/base/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct colours colours_of(FILE *out) {
    const char *unwanted = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if ((unwanted && *unwanted) || (terminal && strcmp(terminal, "dumb") == 0) ||
        !isatty(fileno(out)))
        return (struct colours){"", "", "", ""};
    return (struct colours){"\033[32m", "\033[31m", "\033[33m", "\033[0m"};
}
