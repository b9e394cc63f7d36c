/* See client_sessions.h. Composes calls and reads texts; it must never touch a descriptor. */
#include "tests/support/client_sessions.h"
#include "common/buffer.h"
#include "common/cleanup.h"
#include "tests/support/lines.h"
#include <stdio.h>
#include <stdlib.h>

enum { ARGUMENTS_MAX = 64 << 20, NO_SUCH_STEPS = 1000000 };

#define OWN_NAME "main"

static void make_id(char *id, size_t size) {
    static unsigned long count;
    snprintf(id, size, "\"session call %lu\"", ++count);
}

void client_tool_send(struct client *client, const char *id, const char *tool,
                      const char *arguments) {
    client_send_format(client,
                       REQUEST_WITH("%s", "tools/call", "{\"name\":\"%s\",\"arguments\":%s}"), id,
                       tool, arguments);
}

struct evaluation client_tool(struct client *client, const char *tool, const char *arguments) {
    char id[40];
    make_id(id, sizeof id);
    client_tool_send(client, id, tool, arguments);
    return client_evaluate_await(client, id);
}

/* Appends "NAME":"TEXT", with a comma before it unless it is the first member. */
static void put_string(struct buffer *arguments, const char *name, const char *text) {
    char *quoted = json_quote(text, strlen(text));
    buffer_append_format(arguments, "%s\"%s\":", arguments->length > 1 ? "," : "", name);
    buffer_append_text(arguments, quoted);
    free(quoted);
}

static void put_number(struct buffer *arguments, const char *name, double number) {
    buffer_append_format(arguments, "%s\"%s\":%.10g", arguments->length > 1 ? "," : "", name,
                         number);
}

static struct buffer begin(void) {
    struct buffer arguments = buffer_make(ARGUMENTS_MAX);
    buffer_append_text(&arguments, "{");
    return arguments;
}

/* The finished object; lives as long as ARGUMENTS. */
static const char *finish(struct buffer *arguments) {
    buffer_append(arguments, "}", 2);
    if (arguments->failed)
        abort();
    return (const char *)arguments->data;
}

/* A tool that takes at most a session and one number. */
static struct evaluation simple_tool(struct client *client, const char *tool, const char *member,
                                     const char *session, const char *name, double number) {
    cleanup_buffer struct buffer arguments = begin();
    if (session)
        put_string(&arguments, member, session);
    if (name)
        put_number(&arguments, name, number);
    return client_tool(client, tool, finish(&arguments));
}

void client_session_send(struct client *client, const char *id, const char *session,
                         const char *code, double timeout_s) {
    cleanup_buffer struct buffer arguments = begin();
    put_string(&arguments, "code", code);
    if (session)
        put_string(&arguments, "session", session);
    if (timeout_s > 0)
        put_number(&arguments, "timeout", timeout_s);
    client_tool_send(client, id, "evaluate-lisp", finish(&arguments));
}

struct evaluation client_session_evaluate_within(struct client *client, const char *session,
                                                 const char *code, double timeout_s) {
    char id[40];
    make_id(id, sizeof id);
    client_session_send(client, id, session, code, timeout_s);
    return client_evaluate_await(client, id);
}

struct evaluation client_session_evaluate(struct client *client, const char *session,
                                          const char *code) {
    return client_session_evaluate_within(client, session, code, 0);
}

void client_session_expect(struct client *client, const char *session, const char *code,
                           const char *value) {
    struct evaluation evaluation = client_session_evaluate(client, session, code);
    if (evaluation.line && strcmp(evaluation.text, value) != 0)
        client_fail(client, "%s in %s: wanted %s, got %.1000s", code, session ? session : OWN_NAME,
                    value, evaluation.text);
}

long client_session_integer(struct client *client, const char *session, const char *code) {
    struct evaluation evaluation = client_session_evaluate(client, session, code);
    char *end;
    if (strncmp(evaluation.text, "=> ", 3) != 0) {
        client_fail(client, "%s has no value: %.500s", code, evaluation.text);
        return 0;
    }
    long value = strtol(evaluation.text + 3, &end, 10);
    if (*end)
        client_fail(client, "%s is not an integer: %.500s", code, evaluation.text);
    return value;
}

static const char *opened(struct client *client, struct evaluation evaluation) {
    if (evaluation.error_code || evaluation.is_error)
        client_fail(client, "no session could be opened: %.500s", evaluation.text);
    return client_string(client, evaluation.line, "result", "_meta", "session", NULL);
}

const char *client_session_open(struct client *client) {
    return opened(client, client_tool(client, "open-session", "{}"));
}

const char *client_session_copy(struct client *client, const char *session, long at) {
    return opened(client, simple_tool(client, "open-session", "from", session ? session : OWN_NAME,
                                      at >= 0 ? "at" : NULL, (double)at));
}

struct evaluation client_session_rollback(struct client *client, const char *session, long steps) {
    return simple_tool(client, "rollback-session", "session", session, "steps", (double)steps);
}

static void expect_done(struct client *client, const char *tool, const char *session) {
    struct evaluation done = simple_tool(client, tool, "session", session, NULL, 0);
    if (done.error_code || done.is_error)
        client_fail(client, "%s failed: %.500s", tool, done.text);
}

void client_session_reset(struct client *client, const char *session) {
    expect_done(client, "reset-session", session);
}

void client_session_close(struct client *client, const char *session) {
    expect_done(client, "close-session", session);
}

/* The text of list-sessions has one line for each session. */
bool client_session_row(struct client *client, const char *session, struct session_row *row) {
    const char *name = session ? session : OWN_NAME;
    struct evaluation list = client_tool(client, "list-sessions", "{}");
    const char *line = list.text;
    size_t length = strlen(name);
    while (line && !(strncmp(line, name, length) == 0 && line[length] == ':')) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (!line)
        return false;
    char state[8] = "";
    // NOLINTNEXTLINE(cert-err34-c): a number that does not fit fails the test that compares it
    if (sscanf(line + length,
               ": state number %lu, can roll back %lu, %7[a-z], age %*d s, idle %*d s, memory %lf "
               "MiB",
               &row->number, &row->history, state, &row->memory_mib) != 4)
        client_fail(client, "not a line about a session: %.300s", line);
    row->busy = strcmp(state, "busy") == 0;
    const char *end = strchrnul(line, '\n'), *remark = strstr(line, "counted more than once");
    row->proportional = !remark || remark > end;
    return true;
}

size_t client_session_count(struct client *client) {
    struct evaluation list = client_tool(client, "list-sessions", "{}");
    size_t count = 0;
    for (const char *at = list.text; (at = strstr(at, ": state number ")) != NULL; at++)
        count++;
    return count;
}

/* A rollback too far is refused in its turn, and changes nothing. */
void client_session_settle(struct client *client, const char *session) {
    struct evaluation refused = client_session_rollback(client, session, NO_SUCH_STEPS);
    if (refused.line && !strstr(refused.text, "can be rolled back by at most"))
        client_fail(client, "not the refusal of a rollback: %.500s", refused.text);
}
