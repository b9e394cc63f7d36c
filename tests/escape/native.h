/* The probes of native.def as data. */
#ifndef ECLAVE_TESTS_ESCAPE_NATIVE_H
#define ECLAVE_TESTS_ESCAPE_NATIVE_H

#include <stddef.h>

enum end_kind { END_SUCCESS, END_ERROR, END_KILLED, END_SIGNAL };

struct expectation {
    enum end_kind kind;
    int number;       /* errno value or signal */
    const char *call; /* with END_KILLED */
};

enum control { CONTROL_SUCCEEDS, CONTROL_DIFFERS, CONTROL_SAME, CONTROL_UNTRIED };

struct probe {
    const char *name;
    struct expectation confined;
    enum control control;
    long (*attempt)(void); /* negative with errno on failure */
};

/* The probes in the order of native.def, *count of them. */
const struct probe *native_probes(size_t *count);

#endif
