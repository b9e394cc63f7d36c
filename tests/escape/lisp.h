/* The attacks of lisp.def as data, and what an ECL that nothing confines makes of one. */
#ifndef ECLAVE_TESTS_ESCAPE_LISP_H
#define ECLAVE_TESTS_ESCAPE_LISP_H

#include <stdbool.h>
#include <stddef.h>

/* What is in a session when its attack is over. */
enum sequel {
    SEQUEL_KEPT,        /* what the attack set before */
    SEQUEL_ROLLED_BACK, /* what was there before the attack; the answer says so */
    SEQUEL_LIES         /* whatever the attacker says; what was there before, after a rollback */
};

/* How a call ends, as a client sees it. */
struct ending {
    const char *marker; /* the value, or the first line of the text; NULL: any */
    const char *part;   /* something else that is in the text; NULL: nothing */
    int code;           /* of the JSON-RPC error, or 0 */
    int exit_code;      /* -1: none */
    enum sequel sequel;
    double timeout_s; /* of the call; 0: the default */
};

enum control_kind { CONTROL_GIVES, CONTROL_DIFFERS, CONTROL_SAME, CONTROL_UNTRIED };

struct control {
    enum control_kind kind;
    const char *text; /* CONTROL_GIVES: the outcome; CONTROL_UNTRIED: why */
};

struct attack {
    const char *class, *name;
    struct ending confined;
    struct control control;
    const char *code;
};

/* The secret in the server's environment, and in that of an unconfined ECL. */
#define ATTACK_SECRET_NAME  "SECRET_OF_THE_OPERATOR"
#define ATTACK_SECRET_VALUE "quicksilver-4711"

/* False where an unconfined ECL cannot have the namespaces that protect everybody else from it. */
bool attack_unconfined_is_possible(void);

/* Evaluates CODE unconfined, as nobody and in namespaces of its own: "=> VALUE", "[ERROR] TYPE" or
 * "status N", malloc'd. The test fails when ECL did not come as far as CODE. */
char *attack_unconfined(const char *code);

#endif
