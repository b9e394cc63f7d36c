/* The revisions of MCP, and what the server says about itself in each. */
#ifndef ECLAVE_SUPERVISOR_MCP_REVISION_H
#define ECLAVE_SUPERVISOR_MCP_REVISION_H

#include "common/buffer.h"
#include <json-c/json.h>
#include <stdbool.h>

struct request;
struct server;

/* The revisions, oldest first. */
enum since { SINCE_2024_11, SINCE_2025_03, SINCE_2025_06, SINCE_2025_11, SINCE_2026_07 };

/* Features of a revision. A feature that it does not have is not sent to its clients. */
struct revision {
    const char *date;
    enum since since;
    bool modern;      /* stateless: each request names its revision, and there is no `initialize` */
    bool batches;     /* arrays of messages */
    bool annotations; /* of tools; the message of a progress notification */
    bool titles;      /* of tools and of the server */
    bool descriptions; /* of the server */
};

/* The stateless revision. */
extern const struct revision *const revision_modern;

/* The revision in which REQUEST is answered. */
const struct revision *revision_of(const struct request *request);

/* The revision for a client whose `initialize` asks for VERSION. NULL when that is older than all,
 * malformed or not a string. A later date gets the newest revision that has
 * `initialize`. */
const struct revision *revision_negotiate(struct json_object *version);

/* Appends a JSON array of dates, newest first: of the revisions that have `initialize` (LEGACY), of
 * the one that has not (MODERN), or of both. */
void revision_append_dates(struct buffer *out, bool legacy, bool modern);

/* Appends the JSON object that identifies the server. */
void revision_append_server_info(struct buffer *out, const struct revision *revision);
/* Appends the JSON object of capabilities, in the form of REVISION. */
void revision_append_capabilities(struct buffer *out, const struct server *server,
                                  const struct revision *revision);

#endif
