/* The cheats of cheats.def and the tests of tests.def as data. */
#ifndef ECLAVE_TESTS_CHEATS_CHEATS_H
#define ECLAVE_TESTS_CHEATS_CHEATS_H

#include "common/buffer.h"
#include <stdbool.h>
#include <stddef.h>

enum control_kind {
    CONTROL_EARNS,
    CONTROL_INHERITS,
    CONTROL_EXITS,
    CONTROL_DISTURBS,
    CONTROL_HANGS,
    CONTROL_FORGES,
    CONTROL_FORKS
};

struct control {
    enum control_kind kind;
    int status; /* CONTROL_EXITS */
};

struct cheat {
    const char *class, *name;
    const char *outcome; /* of its line; NULL: any */
    struct control control;
    const char *code;
};

struct exercise_test {
    const char *name;
    int points;
    const char *code, *kind, *wanted, *more; /* see tests.def */
};

extern const struct exercise_test exercise[];
extern const size_t exercise_count;

/* A variable of the environment, NAME=VALUE, from which the submissions must learn nothing. */
extern const char answer_in_environment[];

/* A submission that knows the answers. */
extern const char neighbour[];

/* Appends what comes before the code of each cheat. */
void cheats_append_functions(struct buffer *source);

/* The whole submission of CHEAT, malloc'd. */
char *cheat_source(const struct cheat *cheat);

/* The cheats of CLASS, which follow each other; *size is their number. */
const struct cheat *cheats_of(const char *class, size_t *size);

#endif
