/* The protocol's revisions, once: what the server says about itself to each. */
#ifndef ECLAVE_SUPERVISOR_MCP_REVISION_H
#define ECLAVE_SUPERVISOR_MCP_REVISION_H

#include "common/buffer.h"
#include <json-c/json.h>
#include <stdbool.h>

struct request;
struct server;

/* The revisions, oldest first. */
enum since { SINCE_2024_11, SINCE_2025_03, SINCE_2025_06, SINCE_2025_11, SINCE_2026_07 };

/* What a revision knows; what it does not know is not sent to it. */
struct revision {
    const char *date;
    enum since since;
    bool modern;       /* stateless: each request names its revision; no `initialize` */
    bool batches;      /* arrays of messages */
    bool annotations;  /* of tools; the message of a progress notification */
    bool titles;       /* of tools and of the server */
    bool descriptions; /* of the server */
};

/* The stateless one. */
extern const struct revision *const revision_modern;

/* The revision that REQUEST is answered in. */
const struct revision *revision_of(const struct request *request);

/* The revision to speak with a client whose `initialize` asks for VERSION (NULL: it names none), or
 * NULL: an older, malformed or ill-typed one. A later date gets the newest that has `initialize`.
 */
const struct revision *revision_negotiate(struct json_object *version);

/* Appends the JSON array of dates, newest first; MODERN_ONLY leaves out those with `initialize`. */
void revision_append_dates(struct buffer *out, bool legacy, bool modern);

/* Appends the JSON object that names the server. */
void revision_append_server_info(struct buffer *out, const struct revision *revision);
/* Appends the JSON object of capabilities, as REVISION has them. */
void revision_append_capabilities(struct buffer *out, const struct server *server,
                                  const struct revision *revision);
/* Appends the JSON string with the instructions, at most 2,048 characters. */
void revision_append_instructions(struct buffer *out, const struct server *server);

#endif
