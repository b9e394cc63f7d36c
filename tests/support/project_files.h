/* A temporary project directory and servers that serve it. The folders belong to the user of the
 * servers (user.h), the files to the test's user, readable by everyone. */
#ifndef ECLAVE_TESTS_SUPPORT_PROJECT_FILES_H
#define ECLAVE_TESTS_SUPPORT_PROJECT_FILES_H

#include "tests/support/eras.h"

/* Makes the directory with its four folders. End with project_files_end. */
void project_files_begin(void);
void project_files_end(void);
const char *project_files_path(void);

/* Writes a file atomically, by renaming, as editors do. */
void project_files_write(const char *name, const char *text);
__attribute__((format(printf, 2, 3))) void project_files_format(const char *name,
                                                                const char *format, ...);
void project_files_remove(const char *name);
/* Makes the file readable by the test's user only. */
void project_files_hide(const char *name);

/* Starts a server on the directory; ARGUMENTS ends with NULL, or is NULL. */
struct client *project_files_serve(const char *const *arguments);
/* The same, ready for requests of ERA. */
struct client *project_files_serve_in(const struct era *era, const char *const *arguments);
/* The same; a legacy client declares CAPABILITIES, a JSON object. */
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

/* A request, and a part of its answer from the revision eras[SINCE] on. */
struct project_answer {
    const char *method, *members, *part; /* as in era_request */
    size_t since;
};
/* Checks the answers in each revision. */
void project_files_expect(const struct project_answer *answers, size_t count);

#endif
