/* The tools that open, copy, roll back, reset, close and list sessions. */
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/server.h"
#include "supervisor/server/tools.h"

#include <stdio.h>
#include <string.h>

#define SESSION_ARGUMENT                                                                           \
    { .name = "session", .type = "string" }

static const struct tool_argument session_only[] = {SESSION_ARGUMENT};

/* --- open-session --- */

static const struct tool_argument arguments_of_open[] = {
    {.name = "name", .type = "string"},
    {.name = "from", .type = "string"},
    {.name = "at", .type = "integer"},
};

static void answer_opened(struct request *request, const char *name) {
    char text[200];
    transcript_session_opened(&request->server->transcripts, name);
    snprintf(text, sizeof text,
             "Session %s is open. Pass it as the argument session of evaluate-lisp.", name);
    struct buffer *out = tool_result(request, text, strlen(text), false, 0);
    request_member(request, "session");
    json_write_string(out, name);
    request_end(request);
}

static void opened(void *context, const struct evaluation *evaluation) {
    struct request *request = context;
    struct server *server = request->server;
    if (request->silent)
        request_drop(request);
    else if (evaluation->outcome == OUTCOME_VALUE)
        answer_opened(request, evaluation->reply);
    else if (evaluation->outcome == OUTCOME_CANCELLED)
        request_error(request, RPC_CANCELLED, "Tool cancelled.");
    else
        tool_refuse(request, "SESSION-ERROR", evaluation->cause);
    server_call_done(server);
}

static void open_fresh(struct server *server, struct request *request, struct span name) {
    const struct call_request wanted = {.kind = CALL_OPEN};
    struct session *session = NULL;
    if (!sessions_have_room(&server->sessions))
        tool_no_room(request);
    else if (!(session = sessions_make(&server->sessions, name)))
        request_error(request, RPC_INTERNAL_ERROR, "Out of memory.");
    else if (server->sessions.keeper) /* it is saved first */
        tool_submit(server, request, session, &wanted, opened);
    else
        answer_opened(request, session_name(session));
}

static void open_copy(struct server *server, struct request *request, struct json_object *arguments,
                      const struct call_request *wanted) {
    struct session *source = tool_session(server, request, arguments, "from", false);
    if (!source)
        return;
    if (sessions_have_room(&server->sessions))
        tool_submit(server, request, source, wanted, opened);
    else
        tool_no_room(request);
}

/* Stores the argument `name`. False when it is not the name of a session that can be opened, and
 * the request was answered. */
static bool take_name(struct server *server, struct request *request, struct json_object *arguments,
                      struct span *name) {
    if (!tool_string(arguments, "name", name) || (name->bytes && !session_name_is_valid(*name))) {
        tool_refuse_name(request, "name");
        return false;
    }
    if (!name->bytes || !tool_has_session(server, request, *name))
        return true;
    tool_refuse_format(request, "SESSION-ERROR",
                       "Session %.*s is open already: pass it as the argument session, or choose "
                       "another name. reset-session discards its state.",
                       (int)name->length, (const char *)name->bytes);
    return false;
}

static void open_session(struct server *server, struct request *request,
                         struct json_object *arguments) {
    struct call_request wanted = {.kind = CALL_COPY, .at = -1};
    bool copies = tool_given(arguments, "from") != NULL;
    if (!take_name(server, request, arguments, &wanted.name))
        return;
    if (!tool_integer(arguments, "at", 0, INT64_MAX, &wanted.at)) {
        tool_refuse(request, "TYPE-ERROR", "The argument at must be an integer, at least 0.");
    } else if (!copies && wanted.at >= 0) {
        tool_refuse(request, "TYPE-ERROR", "The argument at requires from.");
    } else if (!copies) {
        open_fresh(server, request, wanted.name);
    } else if (server->settings->scratch_mb) {
        tool_refuse(
            request, "UNSUPPORTED-OPERATION",
            "A session with a scratch directory cannot be copied: the copy would share its files.");
    } else {
        open_copy(server, request, arguments, &wanted);
    }
}

const struct tool tool_open_session = {.name = "open-session",
                                       .title = "Open a session",
                                       .arguments = arguments_of_open,
                                       .argument_count =
                                           sizeof arguments_of_open / sizeof *arguments_of_open,
                                       .call = open_session};

/* --- rollback-session --- */

static const struct tool_argument arguments_of_rollback[] = {
    SESSION_ARGUMENT,
    {.name = "steps",
     .type = "integer",
     .required = true,
     .minimum = 1,
     .maximum_setting = offsetof(struct settings, session_history)},
};

static void rollback(struct server *server, struct request *request,
                     struct json_object *arguments) {
    struct call_request wanted = {.kind = CALL_ROLLBACK};
    if (!tool_integer(arguments, "steps", 1, INT64_MAX, &wanted.steps) || wanted.steps == 0) {
        tool_refuse(request, "TYPE-ERROR", "The argument steps must be an integer, at least 1.");
        return;
    }
    struct session *session = tool_session(server, request, arguments, "session", false);
    if (session)
        tool_submit(server, request, session, &wanted, tool_answer);
}

const struct tool tool_rollback_session = {.name = "rollback-session",
                                           .title = "Roll a session back",
                                           .arguments = arguments_of_rollback,
                                           .argument_count = sizeof arguments_of_rollback /
                                                             sizeof *arguments_of_rollback,
                                           .destructive = true,
                                           .call = rollback};

/* --- reset-session, close-session --- */

static void submit_kind(struct server *server, struct request *request, struct session *session,
                        enum call_kind kind) {
    const struct call_request wanted = {.kind = kind};
    if (session)
        tool_submit(server, request, session, &wanted, tool_answer);
}

static void reset(struct server *server, struct request *request, struct json_object *arguments) {
    submit_kind(server, request, tool_session(server, request, arguments, "session", false),
                CALL_RESET);
}

static void close_it(struct server *server, struct request *request,
                     struct json_object *arguments) {
    submit_kind(server, request, tool_session_to_close(server, request, arguments), CALL_CLOSE);
}

const struct tool tool_reset_session = {.name = "reset-session",
                                        .title = "Reset a session",
                                        .arguments = session_only,
                                        .argument_count = 1,
                                        .destructive = true,
                                        .idempotent = true,
                                        .call = reset};

const struct tool tool_close_session = {.name = "close-session",
                                        .title = "Close a session",
                                        .arguments = session_only,
                                        .argument_count = 1,
                                        .destructive = true,
                                        .idempotent = true,
                                        .call = close_it};

/* --- list-sessions --- */

static void append_row(struct buffer *text, const struct session_facts *facts) {
    if (facts->dormant) {
        buffer_append_format(
            text, "%s%s: saved, %.1f KiB, last used %lld s ago; its next call brings it back",
            text->length ? "\n" : "", facts->name, (double)facts->saved_bytes / (1 << 10),
            (long long)facts->idle_s);
        return;
    }
    buffer_append_format(
        text,
        "%s%s: state number %llu, can roll back %zu, %s, age %lld s, idle %lld s, memory "
        "%.1f MiB%s",
        text->length ? "\n" : "", facts->name, (unsigned long long)facts->number, facts->history,
        facts->busy ? "busy" : "idle", (long long)facts->age_s, (long long)facts->idle_s,
        (double)facts->memory_bytes / (1 << 20),
        facts->memory_is_proportional ? "" : " (shared pages counted more than once)");
    if (facts->states_dropped)
        buffer_append_format(text, ", %zu state%s dropped for memory", facts->states_dropped,
                             facts->states_dropped == 1 ? "" : "s");
}

/* Appends the sessions that are UNNAMED, or those that are not. Of the unnamed ones, those whose
 * call has not started are only counted. */
static void append_rows(struct buffer *text, const struct server *server, bool unnamed) {
    size_t shown = 0, waiting = 0;
    for (struct session *session = sessions_next(&server->sessions, NULL); session;
         session = sessions_next(&server->sessions, session)) {
        const struct session_facts facts = session_facts(session);
        if (facts.unnamed != unnamed)
            continue;
        if (unnamed && facts.waits) {
            waiting++;
            continue;
        }
        if (unnamed && shown++ == 0)
            buffer_append_format(text,
                                 "%sUnnamed, of which only the newest %lld are kept until a call "
                                 "names them:",
                                 text->length ? "\n" : "",
                                 (long long)server->settings->session_unnamed_max);
        append_row(text, &facts);
    }
    if (waiting)
        buffer_append_format(text, "%s%zu call%s for a new session.", text->length ? "\n" : "",
                             waiting, waiting == 1 ? " waits" : "s wait");
}

static void answer_list(void *context) {
    struct request *request = context;
    struct server *server = request->server;
    cleanup_buffer struct buffer text = buffer_make(1 << 20);
    append_rows(&text, server, false);
    append_rows(&text, server, true);
    if (text.length == 0)
        buffer_append_text(&text, "No session is open yet.");
    tool_result(request, text.data, text.length, false, 0);
    request_end(request);
    server->sessions.active--;
    server_call_done(server);
}

static void list(struct server *server, struct request *request, struct json_object *arguments) {
    (void)arguments;
    struct request *kept = request_keep(server, request);
    if (!kept) {
        request_error(request, RPC_INTERNAL_ERROR, "Out of memory.");
        return;
    }
    server->sessions.active++; /* a server that ends waits for it as for a call */
    sessions_weigh(&server->sessions, answer_list, kept);
}

const struct tool tool_list_sessions = {.name = "list-sessions",
                                        .title = "List sessions",
                                        .read_only = true,
                                        .idempotent = true,
                                        .call = list};
