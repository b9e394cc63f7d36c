/* See cheats.h. */
#include "common/buffer.h"
#include "common/cleanup.h"
#include "tests/cheats/cheats.h"
#include "tests/support/lines.h"
#include "tests/support/lisp_file.h"
#include <criterion/criterion.h>
#include <string.h>

#define ANY NULL
#define EARNS                                                                                      \
    { CONTROL_EARNS, 0 }
#define INHERITS                                                                                   \
    { CONTROL_INHERITS, 0 }
#define EXITS(n)                                                                                   \
    { CONTROL_EXITS, n }
#define DISTURBS                                                                                   \
    { CONTROL_DISTURBS, 0 }
#define HANGS                                                                                      \
    { CONTROL_HANGS, 0 }
#define FORGES                                                                                     \
    { CONTROL_FORGES, 0 }
#define FORKS                                                                                      \
    { CONTROL_FORKS, 0 }

#define CHEAT(class, name, outcome, control, code) {#class, #name, outcome, control, code},
static const struct cheat cheats[] = {
#include "tests/cheats/cheats.def"
};

const struct exercise_test exercise[] = {
#define TEST(name, points, code, kind, wanted, more) {name, points, code, #kind, wanted, more},
#include "tests/cheats/tests.def"
};
const size_t exercise_count = COUNT_OF(exercise);

const char answer_in_environment[] = "CHEATS_ANSWER=plum-7319";

const char neighbour[] =
    "(defun hear (it) 1)"
    " (defun solve (n) (ecase n (1 (concatenate 'string \"plum-\" \"7319\")) (2 \"fig-0573\")"
    " (3 (list \"lime-9021\" 4)) (4 42) (5 6021) (6 \"kiwi-8817\")))"
    " (defun tell (n) (princ \"pear-2846\"))"
    " (defun slow () 7)"
    " (defun refuse () (error 'memory-limit))";

void cheats_append_functions(struct buffer *source) {
    lisp_file_append_hostile(source);
    lisp_file_append(source, "escape/attack.lisp");
    lisp_file_append(source, "cheats/cheats.lisp");
    buffer_append_text(source, "\n");
}

char *cheat_source(const struct cheat *cheat) {
    cleanup_buffer struct buffer source = buffer_make(LISP_FILE_MAX);
    cheats_append_functions(&source);
    buffer_append_text(&source, cheat->code);
    buffer_append(&source, "", 1);
    cr_assert_not(source.failed);
    return strdup((const char *)source.data);
}

const struct cheat *cheats_of(const char *class, size_t *size) {
    size_t first = 0;
    while (first < COUNT_OF(cheats) && strcmp(cheats[first].class, class) != 0)
        first++;
    for (*size = 0;
         first + *size < COUNT_OF(cheats) && strcmp(cheats[first + *size].class, class) == 0;)
        ++*size;
    cr_assert_gt(*size, 0);
    return &cheats[first];
}
