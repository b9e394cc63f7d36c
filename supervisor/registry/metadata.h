/* What the metadata of an entry may hold. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_METADATA_H
#define ECLAVE_SUPERVISOR_REGISTRY_METADATA_H

#include "common/error.h"
#include <json-c/json.h>
#include <stdbool.h>

enum { METADATA_MAX_BYTES = 256 * 1024, METADATA_NAME_MAX = 64, METADATA_ARGUMENTS_MAX = 64 };

/* The folders of a project, which are also the members of register.json. */
enum project_folder {
    FOLDER_TOOLS,
    FOLDER_RESOURCES,
    FOLDER_PROMPTS,
    FOLDER_COMPLETIONS,
    FOLDER_COUNT
};

/* "tools", … */
const char *folder_name(enum project_folder folder);

/* Is every member of METADATA one that entries of FOLDER have, and of the right shape? False with
 * *error, which names the member. Schemas are looked at no further than that they are objects. */
bool metadata_check(enum project_folder folder, struct json_object *metadata, struct error *error);

/* Do lists show this member to clients? */
bool metadata_is_listed(const char *member);

/* May a tool, prompt or completion be called NAME? */
bool metadata_check_name(const char *name, struct error *error);

/* Is VALUE a text that is not empty, and without U+0000? */
bool metadata_check_text(struct json_object *value, struct error *error);

/* The text of the string member NAME, or NULL. */
const char *metadata_text(struct json_object *metadata, const char *name);

#endif
