/* Sends progress under one token in numbers that always grow. */
#include "supervisor/project/progress.h"
#include "supervisor/base/clock.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/project/invocation.h"

#include <inttypes.h>

/* Progress must grow, and the first number that the definition will report is unknown. So the
 * heartbeat counts in steps that stay below any positive number that is likely. */
static const double heartbeat_step = 1e-9;

bool progress_may_be_sent(const struct invocation *invocation) {
    return !invocation->server->finishing && !output_is_behind(&invocation->server->output);
}

static void append_heartbeat(struct buffer *out, struct invocation *invocation) {
    buffer_append_format(out, "0.%09" PRIu64, ++invocation->heartbeats);
}

static bool is_wanted(const struct invocation *invocation) {
    return invocation->request && invocation->request->reports && !invocation->request->silent;
}

static bool has_messages(const struct invocation *invocation) {
    return revision_of(invocation->request)->since >= SINCE_2025_03;
}

static void on_heartbeat(void *context) {
    struct invocation *invocation = context;
    struct call_progress progress = call_progress(invocation->call);
    loop_timer_start(&invocation->server->loop, &invocation->request->heartbeat, TOOL_HEARTBEAT_MS,
                     on_heartbeat, invocation);
    if (!progress.running || !is_wanted(invocation) || !progress_may_be_sent(invocation))
        return;
    struct buffer *out = tool_progress_begin(invocation->request);
    append_heartbeat(out, invocation);
    if (has_messages(invocation))
        buffer_append_format(out, ",\"message\":\"%.0f s, %zu bytes printed\"",
                             (double)progress.elapsed_ms / CLOCK_MS_PER_S, progress.printed_bytes);
    tool_progress_end(invocation->request);
}

void progress_begin(struct invocation *invocation) {
    struct request *request = invocation->request;
    request->reports = tool_token_is_free(invocation->server, &request->progress_token);
    if (request->reports && !invocation->has_reported)
        loop_timer_start(&invocation->server->loop, &request->heartbeat, TOOL_HEARTBEAT_MS,
                         on_heartbeat, invocation);
}

/* A number that is not above the heartbeats sent so far is replaced by the next of these. */
static void append_number(struct buffer *out, struct invocation *invocation,
                          const struct run_event *event) {
    double sent = ((double)invocation->heartbeats + 0.5) * heartbeat_step;
    if (invocation->heartbeats == 0 || event->progress > sent)
        json_write_tree(out, json_tree_member(event->json, "progress"));
    else
        append_heartbeat(out, invocation);
}

void progress_send(struct invocation *invocation, const struct run_event *event) {
    struct json_object *total = json_tree_member(event->json, "total");
    struct json_object *message = json_tree_member(event->json, "message");
    if (!is_wanted(invocation))
        return;
    invocation->has_reported = true;
    loop_timer_stop(&invocation->server->loop, &invocation->request->heartbeat);
    struct buffer *out = tool_progress_begin(invocation->request);
    append_number(out, invocation, event);
    if (total) {
        buffer_append_text(out, ",\"total\":");
        json_write_tree(out, total);
    }
    if (message && has_messages(invocation)) {
        buffer_append_text(out, ",\"message\":");
        json_write_tree(out, message);
    }
    tool_progress_end(invocation->request);
}
