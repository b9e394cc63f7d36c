/* Lisp code that lies in files beside the tests, for what is too long to stand in a C string. */
#ifndef ECLAVE_TESTS_SUPPORT_LISP_FILE_H
#define ECLAVE_TESTS_SUPPORT_LISP_FILE_H

#include "common/buffer.h"

struct client;

enum { LISP_FILE_MAX = 1 << 20 }; /* bytes of code in one call */

/* Evaluates tests/NAME in SESSION (NULL: the connection's own), as one call. The test fails when
 * that fails. */
void lisp_file_load(struct client *client, const char *session, const char *name);
/* The same for hostile.lisp, with the numbers that it wants from C. */
void lisp_file_load_hostile(struct client *client, const char *session);

/* The parts of these: appends the text of a file, and evaluates what CODE holds. */
void lisp_file_append(struct buffer *code, const char *name);
void lisp_file_append_hostile(struct buffer *code);
void lisp_file_evaluate(struct client *client, const char *session, struct buffer *code);

#endif
