/* The state of one connection, its flow control, and the end that requests and calls bring about.
 */
#include "supervisor/mcp/server.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/status.h"
#include "supervisor/mcp/modern.h"

static struct request *next_subscription(const struct server *server) {
    struct request *request = server->requests.in_flight;
    while (request && !request->listening)
        request = request->next;
    return request;
}

static void end_subscriptions(struct server *server) {
    for (struct request *request; (request = next_subscription(server)) != NULL;) {
        cleanup_buffer struct buffer id = buffer_make(SIZE_MAX / 2);
        buffer_append(&id, request->id.text.bytes, request->id.text.length);
        request_result(request);
        request_meta(request);
        request_member(request, MODERN_KEY_SUBSCRIPTION);
        buffer_append(request->out, id.data, id.length);
        request_end(request);
        struct buffer *out = output_notification_begin(&server->output, "notifications/cancelled");
        buffer_append_text(out, "\"requestId\":");
        buffer_append(out, id.data, id.length);
        buffer_append_text(out, ",\"reason\":\"The server is ending.\"");
        output_notification_end(&server->output);
    }
}

void server_stop(void *context) {
    struct server *server = context;
    loop_stop(&server->loop);
}

void server_start_grace(struct server *server, void (*over)(void *context)) {
    if (server->hurries)
        return;
    loop_timer_start(&server->loop, &server->grace,
                     server->settings->shutdown_grace_s * CLOCK_MS_PER_S, over, server);
}

/* All requests are answered. What is queued is written for as long as the client reads. */
void server_finish(struct server *server) {
    if (server->finishing)
        return;
    server->finishing = true;
    input_stop(&server->input);
    end_subscriptions(server);
    if (server->exit_request) {
        request_acknowledge(server->exit_request);
        server->exit_request = NULL;
    }
    output_flush(&server->output);
    if (output_backlog(&server->output) == 0)
        loop_stop(&server->loop);
    else
        server_start_grace(server, server_stop);
}

bool server_is_idle(const struct server *server) {
    return server->sessions.active == 0 && !server->reading && !server->line;
}

void server_call_done(struct server *server) {
    if (server->draining && server_is_idle(server))
        server_finish(server);
}

void server_resume_input(void *context) {
    struct server *server = context;
    if (server->awaits_project)
        return;
    if (!server->reading && !server->line)
        input_pause(&server->input, false);
    sessions_hold(&server->sessions, false);
}

void server_regulate_input(struct server *server) {
    if (output_is_behind(&server->output)) {
        input_pause(&server->input, true);
        sessions_hold(&server->sessions, true);
    } else if ((server->input.paused || server->sessions.held) && !server->resume.active) {
        loop_timer_start(&server->loop, &server->resume, 0, server_resume_input, server);
    }
}

void server_read_done(struct server *server) {
    server_regulate_input(server);
    server_call_done(server);
}

static void on_warm_up(void *context) {
    struct server *server = context;
    pool_start(&server->pool);
}

/* In the next turn: starting the zygote waits for its namespaces, which the answer need not. */
void server_warm_up(struct server *server) {
    if (!server->minimal)
        loop_timer_start(&server->loop, &server->warm_up, 0, on_warm_up, server);
}

void server_output_changed(void *context) {
    struct server *server = context;
    if (server->output.end != OUTPUT_OPEN) {
        if (server->output.end == OUTPUT_CORRUPT)
            server->exit_status = STATUS_CORRUPT;
        loop_stop(&server->loop);
    } else {
        server_regulate_input(server);
    }
    if (server->finishing && output_backlog(&server->output) == 0)
        loop_stop(&server->loop);
    else if (server->finishing) /* the client still reads: restart its grace */
        server_start_grace(server, server_stop);
}

void server_before_wait(void *context) {
    struct server *server = context;
    output_flush(&server->output);
}
