/* A script is what a test sends: a run of lines. Here it is made, printed and shrunk. The shrinker
 * knows lines and JSON but not what is tested; it must never return a script that does not fail. */
#ifndef ECLAVE_TESTS_SUPPORT_SCRIPT_H
#define ECLAVE_TESTS_SUPPORT_SCRIPT_H

#include "tests/support/json.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct script {
    struct text *lines; /* without newlines; each malloc'd and the script's */
    size_t count, capacity;
};

void script_free(struct script *script);
void script_add(struct script *script, const void *bytes, size_t length); /* copies */
void script_add_line(struct script *script, const char *line);
struct script script_copy(const struct script *script);

/* Prints SCRIPT as a command that can be pasted into any shell: printf 'line\n' … | eclave */
void script_print(FILE *file, const struct script *script);

/* Does SCRIPT show the failure? Must give the same answer for the same script. */
typedef bool script_fails(const struct script *script, void *context);

/* Reduces SCRIPT, which fails, to one that still fails and of which no part can be left out or made
 * simpler by one step: lines are removed, members and elements are removed, values are replaced by
 * simpler ones, numbers and strings are shortened, other bytes are removed. Asks FAILS at most
 * ATTEMPTS times and returns how often it did. */
size_t script_shrink(struct script *script, script_fails *fails, void *context, size_t attempts);

#endif
