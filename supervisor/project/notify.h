/* Who is told of changes: the legacy client, and the streams of the modern one. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_NOTIFY_H
#define ECLAVE_SUPERVISOR_PROJECT_NOTIFY_H

#include "supervisor/registry/registry.h"
#include <json-c/json.h>

struct project;
struct run_event;

/* Of a refresh: one list_changed for each list that shows something else now, at once, and one
 * resources/updated for each resource that somebody subscribed to and that is another now, in
 * slices between the loop's other work. */
void notify_refresh(struct project *project, const struct registry_change *change);

/* What is still to be told of refreshes is not told any more. */
void notify_stop(struct project *project);

/* What a definition says has changed: a RUN_CHANGE. */
void notify_event(struct project *project, const struct run_event *event);

/* What of the WANTED filter of subscriptions/listen (an object) is honoured, and in *watched an
 * object whose members are its URIs (NULL: none); both are the caller's. NULL without memory. */
struct json_object *notify_filter(const struct project *project, struct json_object *wanted,
                                  struct json_object **watched);

#endif
