/* Lists by pages: every entry once, and no cursor but the server's own is accepted. */
#include "tests/support/eras.h"
#include <stdio.h>

static const char *const by_two[] = {"--list-page-size", "2", NULL};

/* The page at CURSOR (NULL: the first). */
static const char *page(struct client *client, const struct era *era, const char *cursor) {
    return era_request(client, era, "1", "tools/list",
                       cursor ? formatted("\"cursor\":\"%s\"", cursor) : NULL);
}

static const char *next_cursor(struct client *client, const char *line) {
    struct text value;
    if (!json_at(text_of(line), &value, "result", "nextCursor", NULL))
        return NULL;
    return client_string(client, line, "result", "nextCursor", NULL);
}

/* The names on the page, one after the other, into NAMES. */
static void add_names(const char *line, char *names, size_t size) {
    struct text tools, tool, name;
    cr_assert(json_at(text_of(line), &tools, "result", "tools", NULL), "%s", line);
    cr_assert_leq(json_count(tools), 2);
    for (size_t i = 0; json_element(tools, i, &tool); i++) {
        cr_assert(json_member(tool, "name", &name));
        size_t used = strlen(names);
        snprintf(names + used, size - used, "%.*s", (int)name.length, name.bytes);
    }
}

static const char all_names[] = "\"evaluate-lisp\"\"open-session\"\"rollback-session\""
                                "\"inspect-lisp\"\"read-output\"\"list-sessions\"\"reset-session\""
                                "\"close-session\"";

Test(paging, a_walk_meets_every_tool_once_and_ends_without_a_cursor) {
    EACH_ERA_STARTED(era, by_two) {
        char names[400] = "";
        int pages = 0;
        const char *cursor = NULL;
        do {
            const char *line = page(client, era, cursor);
            add_names(line, names, sizeof names);
            expect_member(line, era->modern ? "\"public\"" : NULL, "result", "cacheScope", NULL);
            cursor = next_cursor(client, line);
            pages++;
        } while (cursor && pages < 10);
        cr_assert_eq(pages, 4);
        cr_assert_str_eq(names, all_names);
    }
}

Test(paging, a_cursor_can_be_used_again_and_in_the_other_era) {
    struct client *client = era_start(era_legacy, by_two);
    const char *cursor = next_cursor(client, page(client, era_modern, NULL));
    const char *line = page(client, era_modern, cursor);
    cr_assert_str_eq(page(client, era_modern, cursor), line);
    char names[400] = "", again[400] = "";
    add_names(line, names, sizeof names);
    add_names(page(client, era_legacy, cursor), again, sizeof again);
    cr_assert_str_eq(names, again);
    client_finish(client);
}

/* VALUE is JSON text. */
static void expect_refused(struct client *client, const struct era *era, const char *value) {
    const char *line =
        era_refused(client, era, -32602, "1", "tools/list", formatted("\"cursor\":%s", value));
    expect_member(line, "\"cursor\"", "error", "data", "name", NULL);
}

Test(paging, any_other_cursor_is_refused) {
    static const char *const others[] = {"5",
                                         "null",
                                         "true",
                                         "{}",
                                         "[]",
                                         "\"\"",
                                         "\"e30\"",
                                         "\"MQ==\"",
                                         "\"2\"",
                                         "\"evaluate-lisp\"",
                                         "\"not-a-cursor\""};
    static const char *const endings[] = {"x", "\\u0000", "MQ==", "2"};
    EACH_ERA(era) {
        struct client *client = era_start(era, by_two), *stranger = era_start(era, by_two);
        for (size_t i = 0; i < COUNT_OF(others); i++)
            expect_refused(client, era, others[i]);
        char cursor[100];
        snprintf(cursor, sizeof cursor, "%s", next_cursor(client, page(client, era, NULL)));
        expect_refused(stranger, era, formatted("\"%s\"", cursor));
        for (size_t i = 0; i < COUNT_OF(endings); i++)
            expect_refused(client, era, formatted("\"%s%s\"", cursor, endings[i]));
        for (size_t at = 0; cursor[at]; at++) {
            char kept = cursor[at];
            cursor[at] = kept == 'a' ? 'b' : 'a';
            expect_refused(client, era, formatted("\"%s\"", cursor));
            cursor[at] = kept;
        }
        cursor[strlen(cursor) - 1] = '\0';
        expect_refused(client, era, formatted("\"%s\"", cursor));
        client_finish(client);
        client_finish(stranger);
    }
}

Test(paging, one_page_holds_all_by_default) {
    EACH_ERA_STARTED(era, NULL) {
        cr_assert_null(next_cursor(client, page(client, era, NULL)));
    }
}
