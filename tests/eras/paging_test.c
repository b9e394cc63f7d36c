/* Lists by pages: every entry once, cursors that only this server can have made. */
#include "tests/support/eras.h"
#include <stdio.h>

static const char *const by_two[] = {"--list-page-size", "2", NULL};

/* The page behind CURSOR (NULL: the first). */
static const char *page(struct client *client, const struct era *era, const char *cursor) {
    char members[200];
    snprintf(members, sizeof members, "\"cursor\":\"%s\"", cursor ? cursor : "");
    return era_request(client, era, "1", "tools/list", cursor ? members : NULL);
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

static const char all_names[] = "\"close-session\"\"evaluate-lisp\"\"list-sessions\"\"open-session"
                                "\"\"reset-session\"\"rollback-session\"";

Test(paging, a_walk_meets_every_tool_once_and_ends_without_a_cursor) {
    for (size_t i = 0; i < ERA_COUNT; i++) {
        struct client *client = era_start(&eras[i], by_two);
        char names[400] = "";
        int pages = 0;
        const char *cursor = NULL;
        do {
            const char *line = page(client, &eras[i], cursor);
            add_names(line, names, sizeof names);
            expect_member(line, eras[i].modern ? "\"public\"" : NULL, "result", "cacheScope", NULL);
            cursor = next_cursor(client, line);
            pages++;
        } while (cursor && pages < 10);
        cr_assert_eq(pages, 3);
        cr_assert_str_eq(names, all_names);
        client_finish(client);
    }
}

Test(paging, a_cursor_can_be_used_again_and_in_the_other_era) {
    struct client *client = era_start(&eras[3], by_two);
    const char *cursor = next_cursor(client, page(client, era_modern, NULL));
    const char *line = page(client, era_modern, cursor);
    cr_assert_str_eq(page(client, era_modern, cursor), line);
    char names[400] = "", again[400] = "";
    add_names(line, names, sizeof names);
    add_names(page(client, &eras[3], cursor), again, sizeof again);
    cr_assert_str_eq(names, again);
    client_finish(client);
}

Test(paging, a_cursor_that_was_tampered_with_is_refused) {
    for (size_t i = 0; i < ERA_COUNT; i++) {
        struct client *client = era_start(&eras[i], by_two);
        char cursor[100], members[200];
        snprintf(cursor, sizeof cursor, "%s", next_cursor(client, page(client, &eras[i], NULL)));
        for (size_t at = 0; cursor[at]; at++) {
            char kept = cursor[at];
            cursor[at] = kept == 'a' ? 'b' : 'a';
            snprintf(members, sizeof members, "\"cursor\":\"%s\"", cursor);
            const char *line = era_refused(client, &eras[i], -32602, "1", "tools/list", members);
            expect_member(line, "\"cursor\"", "error", "data", "name", NULL);
            cursor[at] = kept;
        }
        const char *const others[] = {"", "x", "\\u0000", "MQ==", "2", "evaluate-lisp"};
        for (size_t j = 0; j < COUNT_OF(others); j++) {
            snprintf(members, sizeof members, "\"cursor\":\"%s%s\"", j % 2 ? cursor : "",
                     others[j]);
            era_refused(client, &eras[i], -32602, "1", "tools/list", members);
        }
        cursor[strlen(cursor) - 1] = '\0';
        snprintf(members, sizeof members, "\"cursor\":\"%s\"", cursor);
        era_refused(client, &eras[i], -32602, "1", "tools/list", members);
        static const char *const no_strings[] = {"5", "null", "true", "{}", "[]"};
        for (size_t j = 0; j < COUNT_OF(no_strings); j++) {
            snprintf(members, sizeof members, "\"cursor\":%s", no_strings[j]);
            era_refused(client, &eras[i], -32602, "1", "tools/list", members);
        }
        client_finish(client);
    }
}

Test(paging, a_cursor_of_another_server_is_refused) {
    struct client *one = era_start(era_modern, by_two), *other = era_start(era_modern, by_two);
    char members[200];
    snprintf(members, sizeof members, "\"cursor\":\"%s\"",
             next_cursor(one, page(one, era_modern, NULL)));
    era_refused(other, era_modern, -32602, "1", "tools/list", members);
    client_finish(one);
    client_finish(other);
}

Test(paging, one_page_holds_all_by_default) {
    for (size_t i = 0; i < ERA_COUNT; i++) {
        struct client *client = era_start(&eras[i], NULL);
        cr_assert_null(next_cursor(client, page(client, &eras[i], NULL)));
        client_finish(client);
    }
}
