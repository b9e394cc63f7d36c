/* Input lines as literals, so that a test shows what goes over the wire, and two assertions about
 * text. IDs and PARAMS are JSON text. Nothing here sends anything. */
#ifndef ECLAVE_TESTS_SUPPORT_LINES_H
#define ECLAVE_TESTS_SUPPORT_LINES_H

#include <criterion/criterion.h>
#include <string.h>

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

#define REQUEST(id, method) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\"}"
#define REQUEST_WITH(id, method, params)                                                           \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define NOTIFICATION(method) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\"}"
#define NOTIFICATION_WITH(method, params)                                                          \
    "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params "}"

#define PING(id) REQUEST(id, "ping")
/* A call of evaluate-lisp; ARGUMENTS is a JSON object. */
#define CALL(id, arguments)                                                                        \
    REQUEST_WITH(id, "tools/call", "{\"name\":\"evaluate-lisp\",\"arguments\":" arguments "}")
/* CODE is already escaped for JSON. */
#define EVALUATE(id, code) CALL(id, "{\"code\":\"" code "\"}")
#define CANCEL(id)         NOTIFICATION_WITH("notifications/cancelled", "{\"requestId\":" id "}")
#define INITIALIZE(id, version)                                                                    \
    REQUEST_WITH(id, "initialize",                                                                 \
                 "{\"protocolVersion\":" version ",\"capabilities\":{},"                           \
                 "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}")

#define ENDLESS "(loop)"

#define expect_contains(text, part)                                                                \
    cr_assert(strstr((text), (part)), "\"%s\" is not in: %s", (part), (text))
#define expect_lacks(text, part)                                                                   \
    cr_assert(!strstr((text), (part)), "\"%s\" is in: %s", (part), (text))

#endif
