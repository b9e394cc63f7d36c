/* The table of revisions, and what the server says about itself in each. */
#include "supervisor/mcp/revision.h"
#include "policy/policy.h"
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

enum { REVISION_COUNT = sizeof revisions / sizeof *revisions, INSTRUCTIONS_MAX_BYTES = 1 << 18 };

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

void revision_append_capabilities(struct buffer *out, const struct server *server,
                                  const struct revision *revision) {
    if (server->minimal) {
        buffer_append_text(out, "{\"logging\":{}}");
    } else if (!server->project) {
        buffer_append_text(out, "{\"logging\":{},\"tools\":{}}");
    } else if (!server->offers_project) {
        buffer_append_text(out, "{\"logging\":{},\"tools\":{\"listChanged\":true}}");
    } else {
        buffer_append_text(out, "{\"logging\":{},\"tools\":{\"listChanged\":true},"
                                "\"resources\":{\"subscribe\":true,\"listChanged\":true},"
                                "\"prompts\":{\"listChanged\":true}");
        buffer_append_text(out, revision->since >= SINCE_2025_03 ? ",\"completions\":{}}" : "}");
    }
}

/* Files that the operator granted; a client cannot use them without knowing about them. */
static void append_granted_files(struct buffer *text, const struct settings *settings) {
    for (size_t i = 0; i < settings->allow_read.count; i++)
        buffer_append_format(text, "%s%s", i ? ", " : " Exception: files can be read in ",
                             settings->allow_read.paths[i]);
    if (settings->allow_read.count)
        buffer_append_text(text, ".");
    if (settings->scratch_mb)
        buffer_append_format(text,
                             " Exception: each session has %lld MiB for files in " POLICY_SCRATCH
                             ", which are not rolled back.",
                             (long long)settings->scratch_mb);
}

void revision_append_instructions(struct buffer *out, const struct server *server) {
    cleanup_buffer struct buffer text = buffer_make(INSTRUCTIONS_MAX_BYTES);
    const struct settings *settings = server->settings;
    if (server->minimal)
        buffer_append_format(&text,
                             "eclave is in minimal mode: no code can be evaluated here. Reason: %s",
                             server->minimal_reason);
    else
        buffer_append_format(
            &text,
            "evaluate-lisp runs Common Lisp (ECL) in a session: a confined process without access "
            "to files, the network or other programs. Definitions and variables persist between "
            "the calls of a session; pass the `session` that an answer names to continue in it. A "
            "call that times out (%lld s, or its `timeout`, at most %lld), crashes, exits, floods "
            "or is cancelled is undone: the session is as it was before the call, and nothing has "
            "to be sent again. rollback-session undoes the last calls (up to %lld); open-session "
            "with `from` branches a session to try something; at most %lld sessions are kept. A "
            "result with isError begins with the line `[ERROR] TYPE`; output, warnings and a "
            "backtrace follow. Limits: %lld MiB of memory, %lld bytes of output per call.",
            (long long)settings->call_timeout_s, (long long)settings->call_timeout_max_s,
            (long long)settings->session_history, (long long)settings->session_max,
            (long long)settings->session_memory_mb, (long long)settings->output_max_bytes);
    if (!server->minimal)
        append_granted_files(&text, settings);
    json_write_bytes(out, text.data, text.length);
}
