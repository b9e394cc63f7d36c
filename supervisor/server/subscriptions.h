/* Streams of notifications that a client of the modern era opens. */
#ifndef ECLAVE_SUPERVISOR_SERVER_SUBSCRIPTIONS_H
#define ECLAVE_SUPERVISOR_SERVER_SUBSCRIPTIONS_H

#include <json-c/json.h>

struct request;
struct server;

/* Serves `subscriptions/listen`: keeps REQUEST open until it is cancelled or the server ends. */
void subscriptions_listen(struct server *server, struct request *request,
                          struct json_object *params);

#endif
