/* Finding what a request names, and the answers where it is not there. */
#include "supervisor/project/lookup.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/request.h"
#include "supervisor/project/project.h"

const struct registry_entry *project_find(const struct project *project, enum registry_kind kind,
                                          const char *key) {
    return project ? snapshot_find(registry_snapshot(project->registry), kind, key) : NULL;
}

bool project_refuse_unread(struct project *project, struct request *request) {
    struct error error;
    if (!project || !registry_take_failure(project->registry, &error))
        return false;
    struct buffer *out = request_error_data(request, RPC_INTERNAL_ERROR,
                                            "The project could not be read; the next request is "
                                            "served what was known before.");
    buffer_append_text(out, "{\"name\":\"registry\",\"reason\":");
    json_write_string(out, error.text);
    buffer_append_text(out, "}");
    request_end(request);
    return true;
}

void resource_not_found(struct request *request, const char *uri) {
    request_error_with(request, request->modern ? RPC_INVALID_PARAMS : RPC_RESOURCE_NOT_FOUND,
                       "Resource not found.", "uri", uri);
}
