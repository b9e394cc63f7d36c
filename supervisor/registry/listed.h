/* Members that lists show as they were written, as MCP's types have them. Some clients check a
 * whole list at once: one wrong member in one entry would hide all the others from them. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_LISTED_H
#define ECLAVE_SUPERVISOR_REGISTRY_LISTED_H

#include "common/error.h"
#include <json-c/json.h>
#include <stdbool.h>

/* Each says in *error what is wrong with VALUE, a sentence to stand behind the member's name. */

/* `annotations` of a tool: title and hints. */
bool listed_check_tool_annotations(struct json_object *value, struct error *error);
/* `annotations` of a resource: audience, priority, lastModified. */
bool listed_check_resource_annotations(struct json_object *value, struct error *error);
bool listed_check_icons(struct json_object *value, struct error *error);
/* What MCP wants of the outermost object of a schema beyond what JSON Schema wants. */
bool listed_check_schema(struct json_object *value, struct error *error);

#endif
