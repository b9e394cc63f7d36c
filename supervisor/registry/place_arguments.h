/* The {{places}} in the texts of a prompt, of which its arguments are made where it declares none.
 */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_PLACE_ARGUMENTS_H
#define ECLAVE_SUPERVISOR_REGISTRY_PLACE_ARGUMENTS_H

#include "common/buffer.h"
#include "common/error.h"
#include <json-c/json.h>
#include <stdbool.h>

/* Unless METADATA has `arguments`, adds one that is required for each place in TEXT and in the
 * texts of `messages`. False with *error: there are too many. */
bool places_declare(struct json_object *metadata, struct span text, struct error *error);

#endif
