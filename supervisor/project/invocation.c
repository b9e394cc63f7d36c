/* The life of an invocation. Its request is answered once, however it ends. */
#include "supervisor/project/invocation.h"
#include "supervisor/base/clock.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/project/ask.h"
#include "supervisor/project/capabilities.h"
#include "supervisor/project/notify.h"
#include "supervisor/project/progress.h"
#include "supervisor/project/project.h"
#include "supervisor/session/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- events --- */

/* The level is that of the request in the modern era, and of the session in the legacy era. */
static bool is_log_wanted(const struct invocation *invocation, int level) {
    const struct request *request = invocation->request;
    if (!request || request->silent)
        return false;
    if (request->modern)
        return request->log_level >= 0 && level >= request->log_level;
    return level >= (int)invocation->server->client_log.least;
}

static void send_log(struct invocation *invocation, const struct run_event *event) {
    const char *level = json_object_get_string(json_tree_member(event->json, "level"));
    struct json_object *logger = json_tree_member(event->json, "logger");
    if (!is_log_wanted(invocation, log_level_of(level)))
        return;
    struct output *output = &invocation->server->output;
    struct buffer *out = output_notification_begin(output, "notifications/message");
    buffer_append_format(out, "\"level\":\"%s\",\"logger\":", level);
    if (logger)
        json_write_tree(out, logger);
    else
        json_write_string(out, invocation->entry->name);
    buffer_append_text(out, ",\"data\":");
    json_write_tree(out, json_tree_member(event->json, "data"));
    output_notification_end(output);
}

static void on_event(void *context, const struct run_event *event) {
    struct invocation *invocation = context;
    if (!progress_may_be_sent(invocation))
        return;
    switch (event->kind) {
    case RUN_PROGRESS:
        progress_send(invocation, event);
        break;
    case RUN_LOG:
        send_log(invocation, event);
        break;
    case RUN_CHANGE:
        notify_change(invocation->server->project, event);
        break;
    }
}

static void send_warnings(struct invocation *invocation, const struct evaluation *evaluation) {
    for (size_t i = 0; i < evaluation->result.warning_count; i++) {
        const struct span warning = evaluation->result.warnings[i];
        cleanup_json struct json_object *json = json_object_new_object();
        json_object_object_add(json, "level", json_object_new_string("warning"));
        json_object_object_add(
            json, "data",
            json_object_new_string_len((const char *)warning.bytes, (int)warning.length));
        if (json_tree_member(json, "level") && json_tree_member(json, "data"))
            on_event(invocation, &(const struct run_event){.kind = RUN_LOG, .json = json});
    }
}

static void on_ask(void *context, struct json_object *questions) {
    ask_client(context, questions);
}

/* --- its end --- */

void invocation_free(struct invocation *invocation) {
    LIST_REMOVE(invocation, link);
    ask_forget(invocation);
    json_object_put(invocation->capabilities);
    json_object_put(invocation->missing);
    json_object_put(invocation->early_responses);
    entry_unref(invocation->entry);
    free(invocation->name);
    free(invocation);
}

/* Prompts and resources have no failure in their results: answers with an error. */
static void answer_failure(struct invocation *invocation, const struct evaluation *evaluation) {
    struct request *request = invocation->request;
    size_t shown = (size_t)invocation->server->settings->text_max_chars;
    const struct result_message *result = &evaluation->result;
    cleanup_buffer struct buffer message = buffer_make(4096);
    buffer_append_format(&message, "%s failed: ", invocation->form->subject);
    if (evaluation->outcome == OUTCOME_CONDITION)
        buffer_append(&message, result->text.bytes,
                      result->text.length < 2000 ? result->text.length : 2000);
    else
        buffer_append_text(&message, evaluation->cause);
    struct buffer *out = request_error_data(request, RPC_INTERNAL_ERROR,
                                            buffer_string(&message, "The definition failed."));
    buffer_append_text(out, invocation->form->kind == RUN_RESOURCE ? "{\"uri\":" : "{\"name\":");
    json_write_string(out, invocation->name);
    buffer_append_text(out, ",\"type\":");
    if (evaluation->outcome == OUTCOME_CONDITION)
        json_write_bytes(out, result->condition.bytes, result->condition.length);
    else
        json_write_string(out, outcome_table[evaluation->outcome].type);
    buffer_append_format(out, ",\"exitCode\":%d,\"stderr\":", evaluation->exit_code);
    text_write_errors(out, evaluation, shown);
    buffer_append_format(out, ",\"_meta\":{\"exitCode\":%d,\"stderr\":", evaluation->exit_code);
    text_write_errors(out, evaluation, shown);
    buffer_append_text(out, "}}");
    request_end(request);
}

/* Did it fail because the client cannot be asked what it asked? */
static bool ended_unanswered(const struct invocation *invocation,
                             const struct evaluation *evaluation) {
    static const char type[] = "MCP:UNANSWERED";
    const struct span condition = evaluation->result.condition;
    return invocation->missing && invocation->request->modern &&
           evaluation->outcome == OUTCOME_CONDITION && condition.length == sizeof type - 1 &&
           memcmp(condition.bytes, type, sizeof type - 1) == 0;
}

static void on_done(void *context, const struct evaluation *evaluation) {
    struct invocation *invocation = context;
    struct server *server = invocation->server;
    struct request *request = invocation->request;
    send_warnings(invocation, evaluation);
    if (request && request->silent)
        request_drop(request);
    else if (request && ended_unanswered(invocation, evaluation))
        capabilities_refuse(request, NULL, invocation->missing);
    else if (request && evaluation->run)
        invocation->form->answer(invocation, evaluation);
    else if (request && (invocation->form->kind == RUN_TOOL || !tool_is_shown(evaluation)))
        tool_answer_evaluation(request, evaluation);
    else if (request)
        answer_failure(invocation, evaluation);
    invocation_free(invocation);
    server_call_done(server);
}

/* --- its beginning --- */

int64_t invocation_timeout_ms(const struct settings *settings, const struct registry_entry *entry,
                              int64_t maximum_ms) {
    double seconds = entry->timeout_s > 0 ? entry->timeout_s : (double)settings->call_timeout_s;
    if (seconds > (double)settings->call_timeout_max_s)
        seconds = (double)settings->call_timeout_max_s;
    int64_t timeout_ms = (int64_t)ceil(seconds * CLOCK_MS_PER_S);
    return maximum_ms && timeout_ms > maximum_ms ? maximum_ms : timeout_ms;
}

/* An invocation that has no call yet; NULL when out of memory. */
static struct invocation *make(struct request *request, const struct registry_entry *entry,
                               const struct invocation_form *form, const char *name) {
    struct project *project = request->server->project;
    struct invocation *invocation = calloc(1, sizeof *invocation);
    char *copy = strdup(name);
    struct request *kept = invocation && copy ? request_keep(request->server, request) : NULL;
    if (!kept) {
        free(invocation);
        free(copy);
        return NULL;
    }
    *invocation = (struct invocation){.number = ++project->last_invocation,
                                      .form = form,
                                      .server = request->server,
                                      .request = kept,
                                      .entry = entry_ref((struct registry_entry *)(uintptr_t)entry),
                                      .name = copy};
    LIST_INSERT_HEAD(&project->invocations, invocation, link);
    return invocation;
}

/* The oldest invocation with the binding of INVOCATION, which is the newest, and a number above
 * AFTER; NULL: there is none. */
static struct invocation *oldest_like(const struct invocation *invocation, uint64_t after) {
    struct invocation *oldest = NULL, *other = LIST_NEXT(invocation, link);
    for (; other; other = LIST_NEXT(other, link))
        if (other->number > after && other->form == invocation->form &&
            digest_equal(other->binding, invocation->binding))
            oldest = other; /* the list begins with the newest */
    return oldest;
}

static int64_t most_that_yield(const struct settings *settings) {
    return settings->call_running_max < 8 ? 1 : settings->call_running_max / 4;
}

/* May INVOCATION begin, perhaps in place of another? */
static bool take_place(const struct invocation *invocation) {
    const struct server *server = invocation->server;
    if (!invocation->form->yields || sessions_busy_with(&server->sessions, invocation->form->kind) <
                                         (size_t)most_that_yield(server->settings))
        return true;
    struct invocation *other = oldest_like(invocation, 0);
    while (other && !call_cancel(other->call, "A newer request took its place."))
        other = oldest_like(invocation, other->number);
    return other != NULL;
}

/* The session for ENTRY to run in. NULL with *fresh: in a fresh process. NULL without it: the
 * request has been answered. */
static struct session *session_for(struct request *request, const struct registry_entry *entry,
                                   struct json_object *bound, struct json_object *params,
                                   bool *fresh) {
    struct server *server = request->server;
    bool tool = entry->kind == REGISTRY_TOOL;
    struct json_object *from =
        tool && json_tree_member(bound, "session") ? bound : json_tree_member(params, "_meta");
    struct json_object *named = json_tree_member(from, "session");
    /* Only the answer of a tool can name a new session. */
    *fresh =
        !entry->in_caller_session || (!tool && !named && !tool_implicit_session(server, request));
    if (*fresh)
        return NULL;
    if (!tool && named && !tool_has_session(server, request, json_tree_string(named))) {
        request_error_invalid(request, "session", "There is no session of that name.");
        return NULL;
    }
    return tool_session(server, request, from, "session", true);
}

static struct call *submit(struct invocation *invocation, struct session *session,
                           struct json_object *arguments) {
    struct registry_entry *entry = invocation->entry;
    size_t length = 0;
    const char *json = json_object_to_json_string_length(
        arguments, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &length);
    const char *name = entry->kind == REGISTRY_RESOURCE || entry->kind == REGISTRY_TEMPLATE
                           ? entry->key
                           : entry->name;
    const struct call_request wanted = {
        .kind = CALL_RUN,
        .code = {entry->body.bytes, entry->body.size},
        .timeout_ms = invocation_timeout_ms(invocation->server->settings, entry,
                                            invocation->form->timeout_max_ms),
        .run = {.kind = invocation->form->kind,
                .name = {(const unsigned char *)name, strlen(name)},
                .arguments = {(const unsigned char *)json, length},
                .wants_value = entry->output != NULL},
        .held_bytes = json_held_bytes(invocation->early_responses) +
                      json_held_bytes(invocation->capabilities),
        .event = on_event,
        .ask = invocation->form->asks ? on_ask : NULL,
        .done = on_done,
        .context = invocation};
    if (!json)
        return NULL;
    return session ? session_submit(session, &wanted)
                   : session_submit_once(&invocation->server->sessions, &wanted);
}

void invocation_begin(struct request *request, const struct registry_entry *entry,
                      const struct invocation_form *form, const char *name,
                      struct json_object *bound, struct json_object *arguments,
                      struct json_object *params) {
    struct server *server = request->server;
    bool fresh;
    struct json_object *responses = json_tree_member(params, "inputResponses");
    request->subject = form->subject;
    if (capabilities_refuse_large(request, NULL, responses, params))
        return;
    struct session *session = session_for(request, entry, bound, params, &fresh);
    if (!session && !fresh)
        return;
    request->transient = fresh;
    struct invocation *invocation = make(request, entry, form, name);
    if (!invocation) {
        request_error(request, RPC_INTERNAL_ERROR, "Out of memory.");
        return;
    }
    invocation->capabilities = json_object_get(capabilities_of(request, params));
    invocation->early_responses = request->modern ? json_object_get(responses) : NULL;
    invocation->new_session = request->new_session;
    invocation->named_session = request->named_session;
    invocation->binding = request_state_binding(&server->project->key, form->method, name, bound);
    bool placed = take_place(invocation);
    invocation->call = placed ? submit(invocation, session, arguments) : NULL;
    if (!invocation->call) {
        if (session && invocation->new_session)
            session_destroy(session);
        if (placed)
            tool_queue_full(invocation->request);
        else
            request_error_limit(invocation->request, RPC_INTERNAL_ERROR,
                                "Too many completions are running.", "completions",
                                most_that_yield(server->settings));
        invocation_free(invocation);
        return;
    }
    invocation->request->call = invocation->call;
    progress_begin(invocation);
    server_warm_up(server);
    session_step(call_session(invocation->call));
}
