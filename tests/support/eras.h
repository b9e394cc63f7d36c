/* Both eras of the protocol through one set of calls, so that one test covers every revision: in a
 * legacy session, or statelessly with the envelope in each request. */
#ifndef ECLAVE_TESTS_SUPPORT_ERAS_H
#define ECLAVE_TESTS_SUPPORT_ERAS_H

#include "tests/support/client.h"
#include "tests/support/lines.h"

#define MODERN_REVISION "2026-07-28"
#define KEY_VERSION     "io.modelcontextprotocol/protocolVersion"
#define KEY_CLIENT      "io.modelcontextprotocol/clientCapabilities"
#define KEY_LOG_LEVEL   "io.modelcontextprotocol/logLevel"
#define KEY_SUBSCRIBED  "io.modelcontextprotocol/subscriptionId"

/* The envelope of a modern request; MEMBERS are further members of `_meta` and end with a comma. */
#define ENVELOPE_WITH(members)                                                                     \
    "\"_meta\":{" members "\"" KEY_VERSION "\":\"" MODERN_REVISION "\",\"" KEY_CLIENT "\":{}}"
#define ENVELOPE ENVELOPE_WITH("")
/* The same of a client with CAPABILITIES, a JSON object. */
#define ENVELOPE_ABLE(capabilities)                                                                \
    "\"_meta\":{\"" KEY_VERSION "\":\"" MODERN_REVISION "\",\"" KEY_CLIENT "\":" capabilities "}"

/* Modern requests as literals; MEMBERS of `params` end with a comma. */
#define MODERN_WITH(id, method, members) REQUEST_WITH(id, method, "{" members ENVELOPE "}")
#define MODERN(id, method)               MODERN_WITH(id, method, "")
#define MODERN_CALL(id, arguments)                                                                 \
    MODERN_WITH(id, "tools/call", "\"name\":\"evaluate-lisp\",\"arguments\":" arguments ",")
#define MODERN_EVALUATE(id, code) MODERN_CALL(id, "{\"code\":\"" code "\"}")
#define LISTEN(id, filter)        MODERN_WITH(id, "subscriptions/listen", "\"notifications\":" filter ",")

struct era {
    const char *revision;
    bool modern;
};

/* Every revision, oldest first; the last is the modern one. */
enum { ERA_COUNT = 5 };
extern const struct era eras[ERA_COUNT];
extern const struct era *const era_modern, *const era_legacy; /* the newest of each kind */

// NOLINTBEGIN(bugprone-macro-parentheses): a declared name cannot be in parentheses
#define EACH_ERA(era)  for (const struct era *era = eras; era < eras + ERA_COUNT; era++)
#define EACH_KIND(era) for (const struct era *era = era_legacy; era < eras + ERA_COUNT; era++)

/* Runs the body with a `client` that is ready for requests of ERA: in every revision, or in the
 * newest of each kind. ARGUMENTS (ends with NULL) may be NULL. */
#define ERA_STARTED(era, arguments)                                                                \
    for (struct client *client = era_start(era, arguments); client;                                \
         client_finish(client), client = NULL)
#define EACH_ERA_STARTED(era, arguments)  EACH_ERA(era) ERA_STARTED(era, arguments)
#define EACH_KIND_STARTED(era, arguments) EACH_KIND(era) ERA_STARTED(era, arguments)
// NOLINTEND(bugprone-macro-parentheses)

/* Starts a server with ARGUMENTS (ends with NULL; NULL: none) that is ready for requests of ERA. */
struct client *era_start(const struct era *era, const char *const *arguments);
/* Calls BODY with a server of each era that is ready, and with one before any request. Fails when
 * BODY leaves a line unread. */
void era_in_every_state(void (*body)(struct client *client));

/* Sends a request; MEMBERS is the inside of `params` as JSON text, or NULL. */
void era_send(struct client *client, const struct era *era, const char *id, const char *method,
              const char *members);
/* The same, and waits for the response. */
const char *era_request(struct client *client, const struct era *era, const char *id,
                        const char *method, const char *members);
/* The same; fails unless the response is an error with CODE. Returns the line. */
const char *era_refused(struct client *client, const struct era *era, int code, const char *id,
                        const char *method, const char *members);

/* era_send with META, members of `_meta` as JSON, beside those of the envelope. */
void era_send_meta(struct client *client, const struct era *era, const char *id, const char *method,
                   const char *members, const char *meta);

/* Calls the tool; ARGUMENTS is the text of a JSON object. */
void era_call_send(struct client *client, const struct era *era, const char *id, const char *tool,
                   const char *arguments);
struct evaluation era_call(struct client *client, const struct era *era, const char *tool,
                           const char *arguments);
/* Evaluates CODE, in SESSION unless that is NULL. */
struct evaluation era_evaluate(struct client *client, const struct era *era, const char *session,
                               const char *code);

/* The number of sessions that are listed. */
size_t era_session_count(struct client *client, const struct era *era);

/* The handle of the session in a modern answer; kept by the client. Fails when the last line of the
 * text and `_meta` do not agree on it. */
const char *era_handle(struct client *client, const struct evaluation *evaluation);
/* The text without the line that names the session; kept by the client. */
const char *era_text(struct client *client, const struct evaluation *evaluation);

/* Fails unless LINE has at the path of names, which ends with NULL, exactly the JSON text WANTED;
 * NULL: nothing. */
void expect_member(const char *line, const char *wanted, ...);

#endif
