/* Lisp code in files of the tests, for code that is too long for a C string. */
#ifndef ECLAVE_TESTS_SUPPORT_LISP_FILE_H
#define ECLAVE_TESTS_SUPPORT_LISP_FILE_H

#include "common/buffer.h"

struct client;

enum { LISP_FILE_MAX = 1 << 20 }; /* bytes of code in one call */

/* Evaluates tests/NAME in SESSION (NULL: the connection's own) in one call, which must succeed. */
void lisp_file_load(struct client *client, const char *session, const char *name);
/* The same for hostile.lisp, with the numbers that it needs from C. */
void lisp_file_load_hostile(struct client *client, const char *session);

/* Their parts: appends the contents of a file; evaluates CODE. */
void lisp_file_append(struct buffer *code, const char *name);
void lisp_file_append_hostile(struct buffer *code);
/* TEXT as a string of Lisp. */
void lisp_file_append_string(struct buffer *code, const char *text);
/* Hostile.lisp and CODE after it, terminated; valid until the next call. */
const char *lisp_file_hostile(const char *code);
void lisp_file_evaluate(struct client *client, const char *session, struct buffer *code);

/* A function F and its macro, which does DEED when it is expanded again: *ARMED* is 1 then. */
#define LISP_TRAP(deed)                                                                            \
    "(defvar *armed* nil) (defmacro trap () (when *armed* " deed ") 1) (defun f () (trap)) "       \
    "(setf *armed* 1) "

#endif
