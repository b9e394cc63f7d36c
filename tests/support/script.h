/* A script is the lines that a test sends: making, printing and shrinking it. */
#ifndef ECLAVE_TESTS_SUPPORT_SCRIPT_H
#define ECLAVE_TESTS_SUPPORT_SCRIPT_H

#include "tests/support/json.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct script {
    struct text *lines; /* without newlines; malloc'd, owned by the script */
    size_t count, capacity;
};

void script_free(struct script *script);
void script_add(struct script *script, const void *bytes, size_t length); /* copies */
void script_add_line(struct script *script, const char *line);
struct script script_copy(const struct script *script);

/* Prints SCRIPT as a command that can be pasted into any shell: printf 'line\n' … | eclave */
void script_print(FILE *file, const struct script *script);

/* Whether SCRIPT shows the failure; the same answer for the same script. */
typedef bool script_fails(const struct script *script, void *context);

/* Reduces SCRIPT, which fails, to one that still fails but not without any one of its lines. Calls
 * FAILS at most ATTEMPTS times and returns how often it did. */
size_t script_shrink(struct script *script, script_fails *fails, void *context, size_t attempts);

#endif
