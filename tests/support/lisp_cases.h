/* Random Lisp code that fails with a known condition type, or succeeds with a known value. The
 * table covers every family of conditions; each entry was checked against plain ECL. */
#ifndef ECLAVE_TESTS_SUPPORT_LISP_CASES_H
#define ECLAVE_TESTS_SUPPORT_LISP_CASES_H

#include "tests/support/random.h"
#include <stdbool.h>

struct lisp_failure {
    char *code;        /* malloc'd */
    const char *types; /* the possible types, separated by '|' */
};

/* Code that fails, often wrapped in other forms. Release with free(failure.code). */
struct lisp_failure lisp_failure_make(struct random *random);

/* Number of entries in the table, and the one with this index, unwrapped. */
size_t lisp_failure_count(void);
struct lisp_failure lisp_failure_at(struct random *random, size_t index);

/* Code that succeeds and prints nothing; *value (malloc'd) is its value as printed. */
char *lisp_success_make(struct random *random, char **value);

/* True when TYPE is one of TYPES. */
bool lisp_type_matches(const char *types, const char *type);

#endif
