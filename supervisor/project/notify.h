/* Notifications of changes, to the legacy client and to the streams of the modern one (open
 * `subscriptions/listen` requests). */
#ifndef ECLAVE_SUPERVISOR_PROJECT_NOTIFY_H
#define ECLAVE_SUPERVISOR_PROJECT_NOTIFY_H

#include "supervisor/registry/registry.h"
#include <json-c/json.h>

struct project;
struct run_event;

/* After a scan: sends list_changed at once for each list that has changed, and resources/updated,
 * in slices between the other work of the loop, for each subscribed resource that has changed. */
void notify_scan(struct project *project, const struct registry_change *change);

/* For a RUN_CHANGE, with which a definition reports a change. */
void notify_change(struct project *project, const struct run_event *event);

/* Drops the notifications that have not been sent. */
void notify_stop(struct project *project);

/* The part of the WANTED filter of subscriptions/listen (an object) that is honoured, and in
 * *watched an object whose members are its URIs (NULL: none); both are the caller's. NULL when out
 * of memory. */
struct json_object *notify_filter(const struct project *project, struct json_object *wanted,
                                  struct json_object **watched);

#endif
