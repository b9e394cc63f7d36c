/* Lisp code that lies in files beside the tests, for what is too long to stand in a C string. */
#ifndef ECLAVE_TESTS_SUPPORT_LISP_FILE_H
#define ECLAVE_TESTS_SUPPORT_LISP_FILE_H

#include "tests/support/client.h"

/* Evaluates tests/sessions/NAME in SESSION (NULL: the connection's own), as one call. The test
 * fails when that fails. */
void lisp_file_load(struct client *client, const char *session, const char *name);

/* The same for hostile.lisp, with the numbers that it wants from C. */
void lisp_file_load_hostile(struct client *client, const char *session);

#endif
