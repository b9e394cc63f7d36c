/* Results against output schemas. Never looks at one that tells of a failure: it promised nothing.
 */
#include "supervisor/project/promise.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/schema/schema.h"

bool promise_is_kept(const struct registry_entry *entry, const struct run_result *result,
                     struct error *error) {
    if (!entry->output || result->is_error)
        return true;
    if (!result->structured.bytes)
        return error_set(error, 0, "it has no structured result");
    cleanup_json struct json_object *value = run_result_structured(result);
    if (!json_tree_is_whole(value, result->structured))
        return error_set(error, 0, "it has a member twice in one object");
    return schema_check(entry->output, value, error);
}
