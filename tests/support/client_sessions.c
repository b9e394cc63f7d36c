/* See client_sessions.h. */
#include "tests/support/client_sessions.h"
#include "tests/support/eras.h"
#include "tests/support/lines.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_SUCH_STEPS = 1000000 };

#define OWN_NAME "main"

/* A call with the session, if any, as MEMBER and the number, if it has a name. */
static struct evaluation simple_tool(struct client *client, const char *tool, const char *member,
                                     const char *session, const char *name, long number) {
    const char *first = session ? formatted("\"%s\":\"%s\"", member, session) : "";
    const char *second = name ? formatted("\"%s\":%ld", name, number) : "";
    return client_tool(client, tool,
                       formatted("{%s%s%s}", first, *first && *second ? "," : "", second));
}

void client_session_send(struct client *client, const char *id, const char *session,
                         const char *code, double timeout_s) {
    char *quoted = json_quote(code, strlen(code));
    const char *name = session ? formatted(",\"session\":\"%s\"", session) : "";
    const char *timeout = timeout_s > 0 ? formatted(",\"timeout\":%.10g", timeout_s) : "";
    client_tool_send(client, id, "evaluate-lisp",
                     formatted("{\"code\":%s%s%s}", quoted, name, timeout));
    free(quoted);
}

struct evaluation client_session_evaluate_within(struct client *client, const char *session,
                                                 const char *code, double timeout_s) {
    const char *id = client_new_id(client);
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
                                      at >= 0 ? "at" : NULL, at));
}

struct evaluation client_session_rollback(struct client *client, const char *session, long steps) {
    return simple_tool(client, "rollback-session", "session", session, "steps", steps);
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
    const char *dropped = strstr(line, " dropped for memory");
    row->dropped = 0;
    if (dropped && dropped < end) {
        while (*dropped != ',')
            dropped--;
        row->dropped = strtoul(dropped + 1, NULL, 10);
    }
    return true;
}

size_t client_session_count(struct client *client) {
    return era_session_count(client, era_legacy);
}

/* A rollback of too many steps is refused in its turn and changes nothing. */
void client_session_settle(struct client *client, const char *session) {
    struct evaluation refused = client_session_rollback(client, session, NO_SUCH_STEPS);
    if (refused.line && !strstr(refused.text, "can be rolled back by at most"))
        client_fail(client, "not the refusal of a rollback: %.500s", refused.text);
}
