/* The descriptions in tools/list and the instructions, which a model reads. They depend on the era
 * and on the settings. All of them are in describe.c, so that they agree. */
#ifndef ECLAVE_SUPERVISOR_SERVER_DESCRIBE_H
#define ECLAVE_SUPERVISOR_SERVER_DESCRIBE_H

#include "common/buffer.h"
#include "supervisor/server/tools.h"
#include "supervisor/settings/settings.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct request;
struct server;

/* What the texts depend on. Borrows from the server. */
struct surroundings {
    const struct settings *settings;
    const char *implicit; /* session of the calls that name none; NULL: each runs in a new one */
    bool undoes;          /* a call that ends its process changes nothing */
    bool rolls_back;      /* earlier states are kept */
    bool copies;          /* a session can be copied */
};

/* IMPLICIT as in struct surroundings, borrowed. */
struct surroundings describe_settings(const struct settings *settings, const char *implicit);
/* For a client that sent REQUEST. */
struct surroundings describe_surroundings(const struct server *server,
                                          const struct request *request);

/* Is TOOL, or its ARGUMENT unless that is NULL, of any use here? If not, it is not listed. */
bool describe_offers(const struct surroundings *here, const struct tool *tool,
                     const struct tool_argument *argument);
/* The same for a CHOICE of an argument. */
bool describe_offers_choice(const struct surroundings *here, const char *choice);
/* Does a call of TOOL fail without ARGUMENT? */
bool describe_requires(const struct surroundings *here, const struct tool *tool,
                       const struct tool_argument *argument);
/* Appends the description of TOOL, or of its ARGUMENT unless that is NULL. */
void describe_append(struct buffer *text, const struct surroundings *here, const struct tool *tool,
                     const struct tool_argument *argument);
/* Appends the default of ARGUMENT as JSON. False: it has none that could be named. */
bool describe_default(struct buffer *json, const struct surroundings *here,
                      const struct tool_argument *argument);

/* Appends the instructions, plain text of at most 2,048 characters. */
void describe_instructions(struct buffer *text, const struct server *server,
                           const struct request *request);

/* Parts of the texts, for the guide. Each is one or more sentences, without a blank at its ends. */
void describe_version(struct buffer *text);
void describe_libraries(struct buffer *text, const struct settings *settings, size_t most);
void describe_files(struct buffer *text, const struct settings *settings, size_t most);
/* "10 MiB" */
void describe_size(struct buffer *text, int64_t bytes);

#endif
