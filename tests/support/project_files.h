/* A project directory of a test's own, filled file by file, and servers that serve it. The folders
 * are those of the user as whom servers run (user.h), the files the test's own, readable by
 * anybody. */
#ifndef ECLAVE_TESTS_SUPPORT_PROJECT_FILES_H
#define ECLAVE_TESTS_SUPPORT_PROJECT_FILES_H

#include "tests/support/eras.h"

/* Makes the directory with its four folders. One at a time; end with project_files_end. */
void project_files_begin(void);
void project_files_end(void);
const char *project_files_path(void);

/* Puts a file there in one step, as an editor does that writes beside and renames. */
void project_files_write(const char *name, const char *text);
__attribute__((format(printf, 2, 3))) void project_files_format(const char *name,
                                                                const char *format, ...);
void project_files_remove(const char *name);
/* From now on none but the test's own user may read it. */
void project_files_hide(const char *name);

/* Starts a server on the directory; ARGUMENTS (ends with NULL) may be NULL. */
struct client *project_files_serve(const char *const *arguments);
/* The same, ready for requests of ERA. */
struct client *project_files_serve_in(const struct era *era, const char *const *arguments);
/* The same to a client that, where it is a legacy one, declares CAPABILITIES (JSON text). */
struct client *project_files_serve_able(const struct era *era, const char *capabilities,
                                        const char *const *arguments);

/* Runs the body with a `client` of a server on the directory, in ERA, in every revision, or in the
 * newest legacy and the modern one. ARGUMENTS may be NULL. */
// NOLINTBEGIN(bugprone-macro-parentheses): a declared name stands bare
#define SERVED(era, arguments)                                                                     \
    for (struct client *client = project_files_serve_in(era, arguments); client;                   \
         client_finish(client), client = NULL)
#define EACH_ERA_SERVED(era, arguments)  EACH_ERA(era) SERVED(era, arguments)
#define EACH_KIND_SERVED(era, arguments) EACH_KIND(era) SERVED(era, arguments)
// NOLINTEND(bugprone-macro-parentheses)

/* A request, and a part of its answer that is there from the revision eras[SINCE] on. */
struct project_answer {
    const char *method, *members, *part; /* as in era_request */
    size_t since;
};
/* Wants those of each revision from a server of the directory. */
void project_files_expect(const struct project_answer *answers, size_t count);

#endif
