/* Questions to the client: requests {"method", "params"} of a kind that a definition may send. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_QUESTION_H
#define ECLAVE_SUPERVISOR_PROJECT_QUESTION_H

#include "common/error.h"
#include "supervisor/mcp/revision.h"
#include <json-c/json.h>
#include <stdbool.h>

/* Does REVISION have questions of this kind? */
bool question_is_known(struct json_object *question, const struct revision *revision);

/* The capability, as an object, that a client must have declared to be sent QUESTION, which is
 * known; the caller's. */
struct json_object *question_capability(struct json_object *question);

/* Is RESPONSE a result of QUESTION, which is known? The content of a form must match
 * `requestedSchema`, if that is a schema that we can compile. *error is a sentence. */
bool question_check(struct json_object *question, struct json_object *response,
                    struct error *error);

#endif
