/* See progress.h. What goes out under one token always grows. */
#include "supervisor/project/progress.h"
#include "supervisor/base/clock.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"

#include <inttypes.h>

/* Progress must grow from one notification to the next, and nobody knows what numbers a run will
 * begin with. So the heartbeat before them counts in steps so small that it stays below all but 0.
 */
static const double beat_step = 1e-9;

bool progress_may_be_sent(const struct run *run) {
    return !run->server->finishing && !output_is_behind(&run->server->output);
}

static void append_beat(struct buffer *out, struct run *run) {
    buffer_append_format(out, "0.%09" PRIu64, ++run->beats);
}

static bool is_heard(const struct run *run) {
    return run->request && run->request->reports && !run->request->silent;
}

static bool has_messages(const struct run *run) {
    return revision_of(run->request)->since >= SINCE_2025_03;
}

static void on_heartbeat(void *context) {
    struct run *run = context;
    struct call_progress progress = call_progress(run->call);
    loop_timer_start(&run->server->loop, &run->request->heartbeat, TOOL_HEARTBEAT_MS, on_heartbeat,
                     run);
    if (!progress.running || !is_heard(run) || !progress_may_be_sent(run))
        return;
    struct buffer *out = tool_progress_begin(run->request);
    append_beat(out, run);
    if (has_messages(run))
        buffer_append_format(out, ",\"message\":\"%.0f s, %zu bytes printed\"",
                             (double)progress.elapsed_ms / CLOCK_MS_PER_S, progress.printed_bytes);
    tool_progress_end(run->request);
}

void progress_begin(struct run *run) {
    struct request *request = run->request;
    request->reports = tool_token_is_free(run->server, &request->progress_token);
    if (request->reports && !run->speaks)
        loop_timer_start(&run->server->loop, &request->heartbeat, TOOL_HEARTBEAT_MS, on_heartbeat,
                         run);
}

/* What is not above the heartbeat goes out as its next step. */
static void append_number(struct buffer *out, struct run *run, const struct run_event *event) {
    if (run->beats == 0 || event->progress > ((double)run->beats + 0.5) * beat_step)
        json_write_tree(out, json_tree_member(event->json, "progress"));
    else
        append_beat(out, run);
}

void progress_tell(struct run *run, const struct run_event *event) {
    struct json_object *total = json_tree_member(event->json, "total");
    struct json_object *message = json_tree_member(event->json, "message");
    if (!is_heard(run))
        return;
    run->speaks = true;
    loop_timer_stop(&run->server->loop, &run->request->heartbeat);
    struct buffer *out = tool_progress_begin(run->request);
    append_number(out, run, event);
    if (total) {
        buffer_append_text(out, ",\"total\":");
        json_write_tree(out, total);
    }
    if (message && has_messages(run)) {
        buffer_append_text(out, ",\"message\":");
        json_write_tree(out, message);
    }
    tool_progress_end(run->request);
}
