/* Arguments, sessions, submission, progress and answers of tool calls. */
#include "supervisor/mcp/tool_call.h"
#include "common/utf8.h"
#include "supervisor/base/clock.h"
#include "supervisor/json/json_number.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/blocks.h"
#include "supervisor/mcp/server.h"
#include "supervisor/session/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LONG_BYTES = 64 << 10, TAIL_BUFFER_BYTES = 64 << 10, MESSAGE_BYTES = 1024 };

/* Appends the blocks after the text, which begins at START. If they would make the response too
 * long, a text replaces them: the call is done, and its own text matters more. */
static void append_blocks(struct request *request, struct json_object *blocks, size_t start) {
    enum { OTHER_BYTES = 4096 }; /* of the response, but for the id and what was printed */
    const struct settings *settings = request->server->settings;
    struct buffer *out = request->out;
    const size_t before = out->length, count = json_object_array_length(blocks),
                 others = OTHER_BYTES + request->id.text.length +
                          (size_t)UTF8_MAX_BYTES * (size_t)settings->text_max_chars;
    const bool failed = out->failed;
    for (size_t i = 0; i < count; i++) {
        buffer_append_text(out, ",");
        blocks_append(out, revision_of(request), json_object_array_get_idx(blocks, i));
    }
    if (!out->failed && out->length - start + others <= (size_t)settings->response_max_bytes)
        return;
    out->length = before;
    out->failed = failed;
    buffer_append_format(out,
                         ",{\"type\":\"text\",\"text\":\"[%zu content block%s left out: the "
                         "response would exceed response.max_bytes, %lld bytes]\"}",
                         count, count == 1 ? "" : "s", (long long)settings->response_max_bytes);
}

/* BLOCKS follow the text; NULL: none. */
static struct buffer *begin_result(struct request *request, struct span text,
                                   struct json_object *blocks, bool is_error, int exit_code) {
    struct buffer *out = request_result(request);
    const size_t start = out->length;
    request_member(request, "content");
    buffer_append_text(out, "[{\"type\":\"text\",\"text\":");
    /* A long text is that of an evaluation, which is UTF-8; the check of the line sees it again. */
    (text.length > LONG_BYTES ? json_write_valid : json_write_bytes)(out, text.bytes, text.length);
    buffer_append_text(out, "}");
    if (blocks)
        append_blocks(request, blocks, start);
    buffer_append_text(out, "]");
    request_member(request, "isError");
    buffer_append_text(out, is_error ? "true" : "false");
    request_meta(request);
    request_member(request, "exitCode");
    buffer_append_format(out, "%d", exit_code);
    return out;
}

struct buffer *tool_result(struct request *request, const void *text, size_t size, bool is_error,
                           int exit_code) {
    return begin_result(request, (struct span){text, size}, NULL, is_error, exit_code);
}

void tool_refuse(struct request *request, const char *type, const char *message) {
    cleanup_buffer struct buffer text = buffer_make(8192);
    text_append_error(&text, type, message);
    tool_result(request, text.data, text.length, true, 1);
    request_end(request);
}

void tool_refuse_format(struct request *request, const char *type, const char *format, ...) {
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    tool_refuse(request, type, message);
}

struct json_object *tool_given(struct json_object *arguments, const char *name) {
    struct json_object *value = NULL;
    json_object_object_get_ex(arguments, name, &value);
    bool empty =
        json_object_is_type(value, json_type_string) && json_object_get_string_len(value) == 0;
    return empty ? NULL : value;
}

bool tool_string(struct json_object *arguments, const char *name, struct span *span) {
    struct json_object *value = tool_given(arguments, name);
    if (!value)
        return true;
    if (!json_object_is_type(value, json_type_string))
        return false;
    *span = (struct span){(const unsigned char *)json_object_get_string(value),
                          (size_t)json_object_get_string_len(value)};
    return true;
}

bool tool_integer(struct json_object *arguments, const char *name, int64_t minimum, int64_t maximum,
                  int64_t *number) {
    struct json_object *value = tool_given(arguments, name);
    if (!value)
        return true;
    return json_get_integer(value, number) && *number >= minimum && *number <= maximum;
}

const char *tool_implicit_session(const struct server *server, const struct request *request) {
    if (server->settings->default_session[0])
        return server->settings->default_session;
    return request->modern ? NULL : OWN_SESSION;
}

static bool is_name(struct span wanted, const char *name) {
    return wanted.length == strlen(name) && memcmp(wanted.bytes, name, wanted.length) == 0;
}

bool tool_has_session(const struct server *server, const struct request *request,
                      struct span name) {
    const char *own = tool_implicit_session(server, request);
    return (own && is_name(name, own)) || sessions_find(&server->sessions, name);
}

/* SESSION, just made for the request; NULL: out of memory. */
static struct session *take_new(struct request *request, struct session *session) {
    request->new_session = session != NULL;
    if (session)
        transcript_session_opened(&request->server->transcripts, session_name(session));
    else
        request_error(request, RPC_INTERNAL_ERROR, "Out of memory.");
    return session;
}

void tool_refuse_name(struct request *request, const char *argument) {
    tool_refuse_format(request, "TYPE-ERROR",
                       "The argument %s must be a name of " SESSION_NAME_RULE ".", argument);
}

/* NAME is valid, and no session has it. */
static void refuse_missing(struct request *request, struct span name) {
    static const char unknown[] = "UNKNOWN-SESSION";
    static const char anew[] = "open-session with that name opens it anew, without its state.";
    const struct session_gone *gone = sessions_gone(&request->server->sessions, name);
    const int length = (int)name.length;
    const char *text = (const char *)name.bytes;
    if (!gone)
        tool_refuse_format(request, unknown,
                           "There is no session %.*s. list-sessions names those that are open; "
                           "evaluate-lisp with a new name, or open-session, opens one.",
                           length, text);
    else if (gone->end == SESSION_CLOSED)
        tool_refuse_format(request, unknown, "Session %.*s was closed by close-session. %s", length,
                           text, anew);
    else if (gone->end == SESSION_LOST)
        tool_refuse_format(request, unknown,
                           "Session %.*s was lost: its worker ended between calls%s%s. %s", length,
                           text, gone->why ? " because " : "", gone->why ? gone->why : "", anew);
    else
        tool_refuse_format(
            request, unknown,
            "Session %.*s was dropped: only the newest %lld unnamed sessions are kept. "
            "Its state is gone; pass a name of your own as session to keep state.",
            length, text, (long long)request->server->settings->session_unnamed_max);
}

/* The session that a call comes back to. */
static struct session *take_existing(struct request *request, struct session *session) {
    if (session_keep(session))
        return session;
    tool_no_room(request);
    return NULL;
}

enum session_use { USE_EXISTING, USE_OR_MAKE, USE_TO_CLOSE };

static struct session *find_session(struct server *server, struct request *request,
                                    struct json_object *arguments, const char *name,
                                    enum session_use use) {
    struct span wanted = {0};
    if (!tool_string(arguments, name, &wanted)) {
        tool_refuse_format(request, "TYPE-ERROR", "The argument %s must be a string.", name);
        return NULL;
    }
    const char *own = tool_implicit_session(server, request);
    if (own && (!wanted.bytes || is_name(wanted, own))) {
        struct session *session = sessions_own(&server->sessions, own);
        if (!session)
            request_error(request, RPC_INTERNAL_ERROR, "Out of memory.");
        return session;
    }
    if (!wanted.bytes && use == USE_OR_MAKE)
        return take_new(request, sessions_make_unnamed(&server->sessions));
    if (!wanted.bytes) {
        tool_refuse_format(
            request, "TYPE-ERROR",
            "The argument %s is required here: name the session, as the last line of an "
            "earlier answer or list-sessions does.",
            name);
        return NULL;
    }
    if (!session_name_is_valid(wanted)) {
        tool_refuse_name(request, name);
        return NULL;
    }
    struct session *session = sessions_find(&server->sessions, wanted);
    if (session)
        return use == USE_TO_CLOSE ? session : take_existing(request, session);
    if (use != USE_OR_MAKE || sessions_gone(&server->sessions, wanted)) {
        refuse_missing(request, wanted);
        return NULL;
    }
    if (!sessions_have_room(&server->sessions)) {
        tool_no_room(request);
        return NULL;
    }
    request->named_session = true;
    return take_new(request, sessions_make(&server->sessions, wanted));
}

struct session *tool_session(struct server *server, struct request *request,
                             struct json_object *arguments, const char *name, bool make) {
    return find_session(server, request, arguments, name, make ? USE_OR_MAKE : USE_EXISTING);
}

struct session *tool_session_to_close(struct server *server, struct request *request,
                                      struct json_object *arguments) {
    return find_session(server, request, arguments, "session", USE_TO_CLOSE);
}

/* The session that was idle longest of those that were used after USED_NS; NULL: none. */
static const struct session *next_idle(const struct sessions *sessions, int64_t used_ns) {
    const struct session *longest = NULL;
    for (const struct session *session = sessions_next(sessions, NULL); session;
         session = sessions_next(sessions, session))
        if (session_is_closable(session) && session_used_ns(session) > used_ns &&
            (!longest || session_used_ns(session) < session_used_ns(longest)))
            longest = session;
    return longest;
}

void tool_no_room(struct request *request) {
    enum { NAMED = 10 };
    const struct sessions *sessions = &request->server->sessions;
    const struct session *session;
    cleanup_buffer struct buffer text = buffer_make(8192);
    int64_t used_ns = INT64_MIN;
    size_t count = 0;
    buffer_append_format(&text,
                         "%lld sessions are open, which is the limit session.max, and none is "
                         "closed to make room. ",
                         (long long)request->server->settings->session_max);
    while (count < NAMED && (session = next_idle(sessions, used_ns)) != NULL) {
        buffer_append_format(&text, "%s%s",
                             count++ ? ", " : "Idle longest: ", session_name(session));
        used_ns = session_used_ns(session);
    }
    buffer_append_text(&text, count
                                  ? ". Use close-session for what you no longer need."
                                  : "All of them are busy: wait for a call to end, or cancel it.");
    tool_refuse(request, "SESSION-LIMIT", buffer_string(&text, "session.max is reached."));
}

/* The code may be undefined only because the call ran in a new session. */
static bool may_need_session(const struct request *request, const struct evaluation *evaluation) {
    static const char *const types[] = {"UNDEFINED-FUNCTION", "UNBOUND-VARIABLE"};
    const struct span type = evaluation->result.condition;
    for (size_t i = 0; request->new_session && type.bytes && i < sizeof types / sizeof *types; i++)
        if (type.length == strlen(types[i]) && memcmp(type.bytes, types[i], type.length) == 0)
            return true;
    return false;
}

/* A session that ends with its call has no name that a client could use. */
static void append_session(struct buffer *out, const struct request *request,
                           const struct evaluation *evaluation) {
    if (request->transient)
        return;
    buffer_append_text(out, ",\"session\":");
    json_write_string(out, evaluation->session);
}

/* The text of an evaluation includes its warnings; the text of a tool is the tool's own, so its
 * warnings go to `stderr`. */
static void append_errors(struct request *request, const struct evaluation *evaluation) {
    size_t shown = text_limits_of(request->server->settings).max_chars;
    bool warned = evaluation->run && evaluation->result.warning_count;
    if (!warned && !evaluation->error_output.length)
        return;
    request_member(request, "stderr");
    if (warned)
        text_write_errors(request->out, evaluation, shown);
    else
        text_write_captured(request->out, evaluation->error_output, shown);
}

void tool_append_facts(struct request *request, const struct evaluation *evaluation) {
    append_errors(request, evaluation);
    request_member(request, "elapsedMs");
    buffer_append_format(request->out, "%lld",
                         (long long)(evaluation->elapsed_us / CLOCK_US_PER_MS));
    append_session(request->out, request, evaluation);
}

void tool_append_session(struct buffer *text, const struct request *request,
                         const struct evaluation *evaluation) {
    if (request->new_session)
        buffer_append_format(text, "; session %s%s", evaluation->session,
                             request->named_session ? " (new)" : "");
}

/* What follows the text of an evaluation, and is never cut. At most TEXT_RESERVED_MAX characters.
 */
static void append_ending(struct buffer *out, const struct request *request,
                          const struct evaluation *evaluation) {
    if (may_need_session(request, evaluation))
        buffer_append_format(
            out, "\n\nThis call ran in a new session, where nothing is defined yet. %s",
            request->named_session ? "list-sessions names those that are open."
                                   : "Pass the argument session to continue in an existing one.");
    if (request->new_session)
        buffer_append_text(out, "\n");
    tool_append_session(out, request, evaluation);
}

/* ANSWER: the text that the client gets. */
static void record(struct request *request, const struct evaluation *evaluation,
                   struct span answer) {
    struct server *server = request->server;
    transcript_call_end(&server->transcripts, &server->sessions, request->recorded,
                        evaluation->session, answer);
    request->recorded = NULL;
}

static void answer_result(struct request *request, const struct evaluation *evaluation) {
    const struct settings *settings = request->server->settings;
    struct text_limits limits = text_limits_of(settings);
    cleanup_buffer struct buffer ending = buffer_make((size_t)UTF8_MAX_BYTES * TEXT_RESERVED_MAX);
    cleanup_buffer struct buffer text = buffer_make(2 * (size_t)settings->response_max_bytes);
    append_ending(&ending, request, evaluation);
    limits.reserved_chars = utf8_count(ending.data, ending.length);
    if (evaluation->reply[0])
        buffer_append_text(&text, evaluation->reply);
    else
        text_append_evaluation(&text, evaluation, &limits);
    buffer_append(&text, ending.data, ending.length);
    record(request, evaluation, (struct span){text.data, text.length});
    struct buffer *out =
        begin_result(request, (struct span){text.data, text.length}, evaluation->content,
                     evaluation->outcome != OUTCOME_VALUE, evaluation->exit_code);
    out->failed |= text.failed;
    tool_append_facts(request, evaluation);
    request_end(request);
}

static const char *subject_of(const struct request *request) {
    return request->subject ? request->subject : "Tool";
}

/* Begins an error whose message is all that a model may see of it: many hosts show it nothing else.
 */
static struct buffer *begin_end(struct request *request, enum rpc_code code, const char *subject,
                                const struct evaluation *evaluation) {
    cleanup_buffer struct buffer text = buffer_make((size_t)TAIL_BUFFER_BYTES);
    buffer_append_format(&text, "%s%s", subject, evaluation->cause);
    const size_t share = (size_t)request->server->settings->text_max_chars / 4;
    text_append_tails(&text, evaluation, share < TEXT_TAIL_CHARS ? share : TEXT_TAIL_CHARS);
    record(request, evaluation, (struct span){text.data, text.length});
    struct buffer *out = request_error_text(request, code, (struct span){text.data, text.length});
    out->failed |= text.failed;
    return out;
}

static void answer_timeout(struct request *request, const struct evaluation *evaluation) {
    size_t shown = (size_t)request->server->settings->text_max_chars;
    char subject[80];
    snprintf(subject, sizeof subject, "%s timed out. ", subject_of(request));
    struct buffer *out = begin_end(request, RPC_TIMED_OUT, subject, evaluation);
    buffer_append_format(out, "{\"timeoutSecs\":%g,\"elapsedMs\":%lld,\"stdout\":",
                         (double)evaluation->timeout_ms / CLOCK_MS_PER_S,
                         (long long)(evaluation->elapsed_us / CLOCK_US_PER_MS));
    text_write_captured(out, evaluation->output, shown);
    buffer_append_text(out, ",\"stderr\":");
    text_write_captured(out, evaluation->error_output, shown);
    append_session(out, request, evaluation);
    buffer_append_format(out, ",\"_meta\":{\"exitCode\":%d}}", evaluation->exit_code);
    request_end(request);
}

static void answer_cancelled(struct request *request, const struct evaluation *evaluation) {
    char message[ERROR_TEXT_BYTES + 240];
    snprintf(message, sizeof message, "%s cancelled. %s", subject_of(request), evaluation->cause);
    record(request, evaluation, string_span(message));
    struct buffer *out = request_error_data(request, RPC_CANCELLED, message);
    buffer_append_format(out, "{\"_meta\":{\"exitCode\":%d}", evaluation->exit_code);
    append_session(out, request, evaluation);
    buffer_append_text(out, "}");
    request_end(request);
}

static void answer_internal(struct request *request, const struct evaluation *evaluation) {
    struct buffer *out = begin_end(request, RPC_INTERNAL_ERROR, "", evaluation);
    buffer_append_format(out, "{\"outcome\":\"%s\"", outcome_table[evaluation->outcome].word);
    if (evaluation->limit_name)
        buffer_append_format(out, ",\"limit\":%lld,\"name\":\"%s\"", (long long)evaluation->limit,
                             evaluation->limit_name);
    if (evaluation->limit_stream)
        buffer_append_format(out, ",\"stream\":\"%s\"", evaluation->limit_stream);
    append_session(out, request, evaluation);
    buffer_append_text(out, "}");
    request_end(request);
}

bool tool_is_shown(const struct evaluation *evaluation) {
    switch (evaluation->outcome) {
    case OUTCOME_TIMEOUT:
    case OUTCOME_CANCELLED:
    case OUTCOME_OUTPUT:
    case OUTCOME_NO_WORKER:
        return false;
    default:
        return true;
    }
}

/* Is a time-out or a flood sent as a result, for hosts that hide errors from the model? */
static bool becomes_result(const struct request *request, const struct evaluation *evaluation) {
    return request->server->settings->timeout_reply == TIMEOUT_REPLY_RESULT &&
           (evaluation->outcome == OUTCOME_TIMEOUT || evaluation->outcome == OUTCOME_OUTPUT);
}

void tool_answer_evaluation(struct request *request, const struct evaluation *evaluation) {
    if (tool_is_shown(evaluation) || becomes_result(request, evaluation))
        answer_result(request, evaluation);
    else if (evaluation->outcome == OUTCOME_TIMEOUT)
        answer_timeout(request, evaluation);
    else if (evaluation->outcome == OUTCOME_CANCELLED)
        answer_cancelled(request, evaluation);
    else
        answer_internal(request, evaluation);
}

void tool_answer(void *context, const struct evaluation *evaluation) {
    struct request *request = context;
    struct server *server = request->server;
    if (request->silent) {
        record(request, evaluation, string_span("Cancelled."));
        request_drop(request);
    } else {
        tool_answer_evaluation(request, evaluation);
    }
    server_call_done(server);
}

struct buffer *tool_progress_begin(struct request *request) {
    struct buffer *out =
        output_notification_begin(&request->server->output, "notifications/progress");
    buffer_append_text(out, "\"progressToken\":");
    buffer_append(out, request->progress_token.text.bytes, request->progress_token.text.length);
    buffer_append_text(out, ",\"progress\":");
    return out;
}

void tool_progress_end(struct request *request) {
    output_notification_end(&request->server->output);
}

/* Progress of a running call. The value is the time since the call began, so it always grows; none
 * is sent once the call is done. */
static void on_heartbeat(void *context) {
    struct request *request = context;
    struct server *server = request->server;
    struct call_progress progress = call_progress(request->call);
    loop_timer_start(&server->loop, &request->heartbeat, TOOL_HEARTBEAT_MS, on_heartbeat, request);
    if (!progress.running || request->silent)
        return;
    struct buffer *out = tool_progress_begin(request);
    buffer_append_format(out, "%.3f,\"total\":%.3f", (double)progress.elapsed_ms / CLOCK_MS_PER_S,
                         (double)progress.timeout_ms / CLOCK_MS_PER_S);
    if (request->modern || server->revision->annotations)
        buffer_append_format(out, ",\"message\":\"%.0f s of %.0f s, %zu bytes printed\"",
                             (double)progress.elapsed_ms / CLOCK_MS_PER_S,
                             (double)progress.timeout_ms / CLOCK_MS_PER_S, progress.printed_bytes);
    tool_progress_end(request);
}

/* Two calls with one token would interleave their values, and the second would continue after the
 * client has dropped the token, so only the first reports. */
bool tool_token_is_free(const struct server *server, const struct json_token *token) {
    for (const struct request *other = server->requests.in_flight; other; other = other->next)
        if ((other->heartbeat.active || other->reports) &&
            json_token_equal(&other->progress_token, token))
            return false;
    return token->text.bytes != NULL;
}

void tool_queue_full(struct request *request) {
    request_error_limit(request, RPC_INTERNAL_ERROR,
                        "Too many calls, or more than 64 MiB of them, are waiting already. Wait "
                        "for answers.",
                        "session.queue", request->server->settings->session_queue);
}

void tool_submit(struct server *server, struct request *request, struct session *session,
                 const struct call_request *wanted, call_done done) {
    struct request *kept = request_keep(server, request);
    if (!kept) {
        request_error(request, RPC_INTERNAL_ERROR, "Out of memory.");
        return;
    }
    struct call_request with_context = *wanted;
    with_context.done = done;
    with_context.context = kept;
    kept->recorded = transcript_call_begin(wanted);
    kept->call = session_submit(session, &with_context);
    if (kept->call) {
        if (tool_token_is_free(server, &kept->progress_token))
            loop_timer_start(&server->loop, &kept->heartbeat, TOOL_HEARTBEAT_MS, on_heartbeat,
                             kept);
        session_step(session);
        return;
    }
    if (kept->new_session)
        session_destroy(session);
    tool_queue_full(kept);
}
