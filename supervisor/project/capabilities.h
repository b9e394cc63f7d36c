/* The capabilities that a client declared, and the answers when they do not suffice. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_CAPABILITIES_H
#define ECLAVE_SUPERVISOR_PROJECT_CAPABILITIES_H

#include <json-c/json.h>
#include <stdbool.h>

struct registry_entry;
struct request;

/* The capabilities that the client of REQUEST declared, borrowed; NULL: none. */
struct json_object *capabilities_of(const struct request *request, struct json_object *params);

/* Does DECLARED (NULL: none) include those in the object REQUIRED? */
bool capabilities_include(struct json_object *declared, struct json_object *required);

/* Answers REQUEST, of the modern era, that its client did not declare all of REQUIRED, an object,
 * but only DECLARED, which may be NULL. */
void capabilities_refuse(struct request *request, struct json_object *declared,
                         struct json_object *required);
/* Does the client lack a capability that ENTRY requires? If so, REQUEST has been answered. */
bool capabilities_refuse_entry(struct request *request, const struct registry_entry *entry,
                               struct json_object *params);
/* Are RESPONSES and the capabilities in PARAMS, parsed, too large for an invocation that holds HELD
 * already? If so, REQUEST has been answered. A parsed value may take a hundred times its text. */
bool capabilities_refuse_large(struct request *request, struct json_object *held,
                               struct json_object *responses, struct json_object *params);

#endif
