/* What a client may answer to a question of ours. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_ANSWER_H
#define ECLAVE_SUPERVISOR_PROJECT_ANSWER_H

#include "common/error.h"
#include <json-c/json.h>
#include <stdbool.h>

/* Is RESPONSE a result of QUESTION ({"method", "params"})? False with *error, which says what it
 * lacks. A form's content must be what `requestedSchema` demands, where that is a schema that we
 * know how to check. */
bool answer_check(struct json_object *question, struct json_object *response, struct error *error);

#endif
