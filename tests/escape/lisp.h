/* The attacks of lisp.def as data, and their outcomes in an unconfined ECL. */
#ifndef ECLAVE_TESTS_ESCAPE_LISP_H
#define ECLAVE_TESTS_ESCAPE_LISP_H

#include <stdbool.h>
#include <stddef.h>

/* The state of a session after its attack. */
enum sequel {
    SEQUEL_KEPT,        /* as the attack set it */
    SEQUEL_ROLLED_BACK, /* as before the attack; the answer says so */
    SEQUEL_LIES         /* anything; as before the attack after a rollback */
};

/* The end of a call, as a client sees it. */
struct ending {
    const char *marker; /* the value, or the first line of the text; NULL: any */
    const char *part;   /* another part of the answer; NULL: none */
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

/* Evaluates CODE unconfined (unconfined.h): "=> VALUE", "[ERROR] TYPE" or "status N", malloc'd. The
 * test fails when ECL does not reach CODE. */
char *attack_unconfined(const char *code);

#endif
