/* The table of revisions, and what the server says about itself in each. */
#include "supervisor/mcp/revision.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/server.h"

#include <ctype.h>
#include <string.h>

/* Newest first. */
static const struct revision revisions[] = {
    {.date = "2026-07-28",
     .since = SINCE_2026_07,
     .modern = true,
     .annotations = true,
     .titles = true,
     .descriptions = true},
    {.date = "2025-11-25",
     .since = SINCE_2025_11,
     .annotations = true,
     .titles = true,
     .descriptions = true},
    {.date = "2025-06-18", .since = SINCE_2025_06, .annotations = true, .titles = true},
    {.date = "2025-03-26", .since = SINCE_2025_03, .batches = true, .annotations = true},
    {.date = "2024-11-05"},
};

enum { REVISION_COUNT = sizeof revisions / sizeof *revisions };

const struct revision *const revision_modern = &revisions[0];

const struct revision *revision_of(const struct request *request) {
    return request->modern ? revision_modern : request->server->revision;
}

/* For a client that asks for a later revision. */
static const struct revision *const newest_legacy = &revisions[1];

/* YYYY-MM-DD with a possible month and day. */
static bool is_date(const char *text) {
    static const char shape[] = "dddd-dd-dd";
    if (strlen(text) != sizeof shape - 1)
        return false;
    for (size_t i = 0; i < sizeof shape - 1; i++)
        if (shape[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != shape[i])
            return false;
    int month = (text[5] - '0') * 10 + text[6] - '0', day = (text[8] - '0') * 10 + text[9] - '0';
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

const struct revision *revision_negotiate(struct json_object *version) {
    const char *wanted = json_plain_string(version);
    if (!wanted)
        return NULL;
    for (size_t i = 0; i < REVISION_COUNT; i++)
        if (!revisions[i].modern && strcmp(revisions[i].date, wanted) == 0)
            return &revisions[i];
    return is_date(wanted) && strcmp(wanted, newest_legacy->date) > 0 ? newest_legacy : NULL;
}

void revision_append_dates(struct buffer *out, bool legacy, bool modern) {
    const char *separator = "[";
    for (size_t i = 0; i < REVISION_COUNT; i++) {
        if (revisions[i].modern ? !modern : !legacy)
            continue;
        buffer_append_format(out, "%s\"%s\"", separator, revisions[i].date);
        separator = ",";
    }
    buffer_append_text(out, "]");
}

void revision_append_server_info(struct buffer *out, const struct revision *revision) {
    buffer_append_text(out, "{\"name\":\"eclave\",\"version\":\"" ECLAVE_VERSION "\"");
    if (revision->titles)
        buffer_append_text(out, ",\"title\":\"eclave: confined Common Lisp\"");
    if (revision->descriptions)
        buffer_append_text(out, ",\"description\":\"Evaluates untrusted Common Lisp in confined "
                                "processes.\"");
    buffer_append_text(out, "}");
}

/* Only a project changes, and only its resources can be subscribed. One that was never read may
 * still bring tools; until then its lists of resources and prompts are not known. */
void revision_append_capabilities(struct buffer *out, const struct server *server,
                                  const struct revision *revision) {
    const char *changes = server->project ? "{\"listChanged\":true}" : "{}";
    buffer_append_text(out, "{\"logging\":{}");
    if (!server->minimal)
        buffer_append_format(out, ",\"tools\":%s", changes);
    if (!server->minimal && (server->offers_project || !server->project)) {
        buffer_append_format(out, ",\"resources\":%s,\"prompts\":%s",
                             server->project ? "{\"subscribe\":true,\"listChanged\":true}" : "{}",
                             changes);
        if (revision->since >= SINCE_2025_03)
            buffer_append_text(out, ",\"completions\":{}");
    }
    if (!server->minimal && revision->modern)
        buffer_append_text(out, ",\"extensions\":{\"" TASK_EXTENSION "\":{}}");
    buffer_append_text(out, "}");
}
