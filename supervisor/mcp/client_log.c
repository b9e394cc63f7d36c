/* Sends log events to clients, at a limited rate. */
#include "supervisor/mcp/client_log.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/request.h"
#include "supervisor/mcp/server.h"
#include "supervisor/session/session.h"

#include <stdio.h>
#include <string.h>

enum { LINES_PER_MINUTE = 2 * 60, LINES_AT_ONCE = 100 };

struct client_log client_log_make(void) {
    return (struct client_log){.least = LOG_ERROR_LEVEL,
                               .rate = rate_per_minute(LINES_PER_MINUTE, LINES_AT_ONCE)};
}

static void send_event(struct server *server, const struct log_event *event, const char *cause) {
    if (server->finishing || !rate_take(&server->client_log.rate))
        return;
    struct buffer *out = output_notification_begin(&server->output, "notifications/message");
    buffer_append_format(out, "\"level\":\"%s\",\"logger\":\"eclave\",\"data\":{\"event\":",
                         log_level_names[event->level]);
    json_write_string(out, event->name);
    if (event->session) {
        buffer_append_text(out, ",\"session\":");
        json_write_string(out, event->session);
    }
    if (event->call)
        buffer_append_format(out, ",\"call\":%u", event->call);
    buffer_append_text(out, ",\"cause\":");
    json_write_string(out, cause);
    buffer_append_text(out, "}");
    output_notification_end(&server->output);
}

/* Drops the oldest when full. */
static void hold(struct client_log *log, const struct log_event *event, const char *cause) {
    if (log->held_count == HELD_EVENTS_MAX)
        memmove(log->held, log->held + 1, --log->held_count * sizeof *log->held);
    struct held_event *held = &log->held[log->held_count++];
    held->level = event->level;
    held->name = event->name;
    snprintf(held->cause, sizeof held->cause, "%s", cause);
}

/* The request whose call the event is about, or NULL. */
static const struct request *request_of(const struct server *server,
                                        const struct log_event *event) {
    const struct request *request = event->call ? server->requests.in_flight : NULL;
    while (request && !(request->call && call_number(request->call) == event->call))
        request = request->next;
    return request;
}

void client_log_event(void *context, const struct log_event *event, const char *cause) {
    struct server *server = context;
    const struct request *request = request_of(server, event);
    if (request && request->modern) {
        if (request->log_level >= 0 && (int)event->level >= request->log_level && !request->silent)
            send_event(server, event, cause);
    } else if (server->revision) {
        if (event->level >= server->client_log.least)
            send_event(server, event, cause);
    } else if (event->lasts) {
        hold(&server->client_log, event, cause);
    }
}

void client_log_send_held(struct server *server, enum log_level least) {
    struct client_log *log = &server->client_log;
    size_t kept = 0;
    for (size_t i = 0; i < log->held_count; i++) {
        const struct held_event *held = &log->held[i];
        const struct log_event event = {.level = held->level, .name = held->name};
        if (held->level >= least)
            send_event(server, &event, held->cause);
        else
            log->held[kept++] = *held;
    }
    log->held_count = kept;
}
