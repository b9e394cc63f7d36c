/* compiler/preamble: a text gets what it needs of the preamble, in order, and nothing else. */
#include "compiler/preamble.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char preamble_text[] =
    "typedef unsigned long size_t;\n"
    "typedef struct node *list;\n"
    "enum kind { K_ONE, K_TWO = 5 };\n"
    "struct node { enum kind kind; union { long number; list next; } value; };\n"
    "#define NEXT(x) ((x)->value.next)\n"
    "#define NUMBER(x) ((x)->value.number)\n"
    "#undef OTHER\n"
    "extern list make(size_t size, const char *text);\n"
    "typedef list (*maker)(size_t);\n"
    "static inline size_t twice(size_t n) { return 2 * n; }\n"
    "struct unused { char bytes[8]; };\n"
    "extern struct unused *unused_function(void);\n"
    "extern list table[];\n"
    "#define QUOTES \"};\\\"\" '}'\n"
    "extern void after(void) ;\n"
    "#define LIMIT 1\n"
    "#undef LIMIT\n"
    "#define LIMIT 2\n";

static char *taken(const char *body) {
    struct preamble *preamble = preamble_open(preamble_text);
    struct buffer out = buffer_make(1 << 20);
    cr_assert_not_null(preamble);
    cr_assert(preamble_take(preamble, body, strlen(body), &out) && buffer_append(&out, "", 1));
    preamble_free(preamble);
    return (char *)out.data;
}

static void expect_taken(const char *body, const char *wanted) {
    char *text = taken(body);
    cr_expect_str_eq(text, wanted, "for %s: %s", body, text);
    free(text);
}

Test(preamble, gives_nothing_to_a_text_that_needs_nothing) {
    expect_taken("", "");
    expect_taken("int x = 1; /* not_there */", "");
    expect_taken("12size_t 0xafter", "");
}

Test(preamble, gives_what_is_named_and_what_that_needs) {
    expect_taken("twice(1)", "typedef unsigned long size_t;\n"
                             "static inline size_t twice(size_t n) { return 2 * n; }\n");
    expect_taken("maker m;", "typedef unsigned long size_t;\n"
                             "typedef struct node *list;\n"
                             "enum kind { K_ONE, K_TWO = 5 };\n"
                             "struct node { enum kind kind; union { long number; list next; } "
                             "value; };\n"
                             "typedef list (*maker)(size_t);\n");
    expect_taken("K_TWO", "enum kind { K_ONE, K_TWO = 5 };\n");
    expect_taken("after();", "extern void after(void) ;\n");
    expect_taken("LIMIT", "#define LIMIT 1\n#undef LIMIT\n#define LIMIT 2\n");
    expect_taken("QUOTES", "#define QUOTES \"};\\\"\" '}'\n");
}

Test(preamble, finds_functions_variables_tags_and_macros) {
    static const char *const names[] = {"make", "table", "NEXT", "NUMBER", "struct node"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text = taken(names[i]);
        cr_expect(strstr(text, strchr(names[i], ' ') ? "struct node {" : names[i]), "%s: %s",
                  names[i], text);
        cr_expect_not(strstr(text, "unused"), "%s", text);
        free(text);
    }
    char *text = taken("unused_function");
    cr_expect(strstr(text, "struct unused { char bytes[8]; };\nextern struct unused *"), "%s",
              text);
    free(text);
}

/* Every name in what is taken is declared there, before it is used: taking again adds nothing. */
Test(preamble, what_is_taken_needs_no_more) {
    char *once = taken("make(2, 0), table, NEXT(x)");
    char *again = taken(once);
    cr_expect_str_eq(once, again);
    free(once);
    free(again);
}
