/* See eras.h. */
#include "tests/support/eras.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const struct era eras[ERA_COUNT] = {
    {"2024-11-05", false}, {"2025-03-26", false},   {"2025-06-18", false},
    {"2025-11-25", false}, {MODERN_REVISION, true},
};
const struct era *const era_modern = &eras[ERA_COUNT - 1];
const struct era *const era_legacy = &eras[ERA_COUNT - 2];

struct client *era_start(const struct era *era, const char *const *arguments) {
    const struct client_options options = {.arguments = arguments};
    return era->modern ? client_start(&options) : client_start_ready(&options, era->revision);
}

void era_in_every_state(void (*body)(struct client *client)) {
    for (size_t i = 0; i <= ERA_COUNT; i++) {
        struct client *client = i < ERA_COUNT ? era_start(&eras[i], NULL) : client_start(NULL);
        if (i < ERA_COUNT && eras[i].modern)
            era_request(client, &eras[i], "0", "server/discover", NULL);
        body(client);
        client_expect_silence(client);
        client_finish(client);
    }
}

void era_send(struct client *client, const struct era *era, const char *id, const char *method,
              const char *members) {
    if (era->modern)
        client_send_format(client, REQUEST_WITH("%s", "%s", "{%s%s" ENVELOPE "}"), id, method,
                           members ? members : "", members ? "," : "");
    else if (members)
        client_send_format(client, REQUEST_WITH("%s", "%s", "{%s}"), id, method, members);
    else
        client_send_format(client, REQUEST("%s", "%s"), id, method);
}

void era_send_meta(struct client *client, const struct era *era, const char *id, const char *method,
                   const char *members, const char *meta) {
    client_send_format(client,
                       era->modern ? REQUEST_WITH("%s", "%s", "{%s%s" ENVELOPE_WITH("%s,") "}")
                                   : REQUEST_WITH("%s", "%s", "{%s%s\"_meta\":{%s}}"),
                       id, method, members ? members : "", members ? "," : "", meta);
}

const char *era_request(struct client *client, const struct era *era, const char *id,
                        const char *method, const char *members) {
    era_send(client, era, id, method, members);
    return client_await(client, id, NULL);
}

const char *era_refused(struct client *client, const struct era *era, int code, const char *id,
                        const char *method, const char *members) {
    const char *line = era_request(client, era, id, method, members);
    struct text value;
    cr_assert(json_at(text_of(line), &value, "error", "code", NULL) &&
                  text_is(value, formatted("%d", code)),
              "%s: wanted the error %d for %s {%s}, got %s", era->revision, code, method,
              members ? members : "", line);
    return line;
}

void era_call_send(struct client *client, const struct era *era, const char *id, const char *tool,
                   const char *arguments) {
    era_send(client, era, id, "tools/call",
             formatted("\"name\":\"%s\",\"arguments\":%s", tool, arguments));
}

struct evaluation era_call(struct client *client, const struct era *era, const char *tool,
                           const char *arguments) {
    const char *id = client_new_id(client);
    era_call_send(client, era, id, tool, arguments);
    return client_evaluate_await(client, id);
}

struct evaluation era_evaluate(struct client *client, const struct era *era, const char *session,
                               const char *code) {
    char *quoted = json_quote(code, strlen(code));
    struct evaluation evaluation =
        era_call(client, era, "evaluate-lisp",
                 session ? formatted("{\"code\":%s,\"session\":\"%s\"}", quoted, session)
                         : formatted("{\"code\":%s}", quoted));
    free(quoted);
    return evaluation;
}

size_t era_session_count(struct client *client, const struct era *era) {
    struct evaluation list = era_call(client, era, "list-sessions", "{}");
    size_t count = 0;
    for (const char *at = list.text; (at = strstr(at, ": state number ")) != NULL; at++)
        count++;
    return count;
}

static const char mark[] = "; session ";

/* Where the line that names the session begins; NULL when there is none. */
static const char *handle_line(const char *text) {
    const char *last = strrchr(text, '\n');
    const char *line = last ? last + 1 : text;
    return strncmp(line, mark, sizeof mark - 1) == 0 ? line : NULL;
}

const char *era_handle(struct client *client, const struct evaluation *evaluation) {
    const char *line = handle_line(evaluation->text);
    cr_assert_not_null(line, "no handle in the last line: %s", evaluation->text);
    const char *handle =
        client_string(client, evaluation->line, "result", "_meta", "session", NULL);
    cr_assert_str_eq(line + sizeof mark - 1, handle);
    return handle;
}

const char *era_text(struct client *client, const struct evaluation *evaluation) {
    const char *line = handle_line(evaluation->text);
    size_t length = strlen(evaluation->text);
    if (line)
        length = (size_t)(line - evaluation->text) - (line > evaluation->text);
    return client_keep(client, strndup(evaluation->text, length));
}

void expect_member(const char *line, const char *wanted, ...) {
    struct text value = text_of(line);
    va_list path;
    va_start(path, wanted);
    bool found = true;
    for (const char *name; found && (name = va_arg(path, const char *)) != NULL;)
        found = json_member(value, name, &value);
    va_end(path);
    if (wanted)
        cr_assert(found && text_is(value, wanted), "wanted %s in %s", wanted, line);
    else
        cr_assert_not(found, "wanted nothing there, got %.*s in %s", (int)value.length, value.bytes,
                      line);
}
