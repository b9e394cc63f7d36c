/* The members that the metadata of an entry may have. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_METADATA_H
#define ECLAVE_SUPERVISOR_REGISTRY_METADATA_H

#include "common/error.h"
#include <json-c/json.h>
#include <stdbool.h>

enum { METADATA_MAX_BYTES = 256 * 1024, METADATA_ARGUMENTS_MAX = 64 };

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

/* Checks METADATA of an entry in FOLDER: the names of its members and the shapes of their values.
 * Of a schema only what MCP demands of it; schema_compile checks the rest. *error is a phrase to
 * follow the name of the file. */
bool metadata_check(enum project_folder folder, struct json_object *metadata, struct error *error);

/* Do lists show this member to clients? */
bool metadata_is_listed(const char *member);

/* The value of the string member NAME; NULL when it is absent, no string, or contains U+0000. */
const char *metadata_text(struct json_object *metadata, const char *name);

#endif
