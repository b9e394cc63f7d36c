/* An entry as lists show it: of its metadata what the revision knows. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_SHOW_H
#define ECLAVE_SUPERVISOR_PROJECT_SHOW_H

#include "common/buffer.h"
#include "supervisor/mcp/revision.h"
#include "supervisor/registry/entry.h"

/* Appends the JSON object. */
void show_entry(struct buffer *out, const struct revision *revision,
                const struct registry_entry *entry);

/* Is SCHEMA (which may be NULL) one of objects? Older revisions know no other output. */
bool show_is_object_schema(struct json_object *schema);

#endif
