/* Names that clients choose: what is a name, that a new one opens a session, what becomes of one
 * whose session has ended, and that nothing is closed to make room. */
#include "tests/support/client_sessions.h"
#include "tests/support/eras.h"
#include "tests/support/family.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN "[ERROR] UNKNOWN-SESSION\n"
#define LIMIT   "[ERROR] SESSION-LIMIT\n"
#define LONGEST                                                                                    \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_." /* 64 characters */

static const char *arguments_for(const char *tool, const char *name) {
    if (strcmp(tool, "open-session") == 0)
        return formatted("{\"name\":%s}", name);
    if (strcmp(tool, "evaluate-lisp") == 0)
        return formatted("{\"code\":\"1\",\"session\":%s}", name);
    return formatted("{\"session\":%s%s}", name,
                     strcmp(tool, "rollback-session") == 0 ? ",\"steps\":1" : "");
}

Test(names, a_new_name_opens_a_session_and_its_last_line_says_so) {
    static const char *const names[] = {"work", "a",    "0",        ".",   "-",    "_",    "..",
                                        "-rf",  "Work", "s-abcdef", "NIL", "null", LONGEST};
    EACH_KIND_STARTED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            struct evaluation first =
                era_evaluate(client, era, names[i], formatted("(defvar *n* %zu)", i));
            cr_assert_str_eq(first.text, formatted("=> *N*\n; session %s (new)", names[i]));
            cr_assert_str_eq(client_string(client, first.line, "result", "_meta", "session", NULL),
                             names[i]);
        }
        for (size_t i = 0; i < COUNT_OF(names); i++)
            cr_assert_str_eq(era_evaluate(client, era, names[i], "*n*").text,
                             formatted("=> %zu", i));
        cr_assert_eq(era_session_count(client, era), COUNT_OF(names));
    }
}

/* As JSON. */
static const char *const bad_names[] = {
    "\" \"",         "\"a b\"",       "\"a/b\"",       "\"a:b\"",      "\"a\\u0000\"",
    "\"\\u0000\"",   "\"\\n\"",       "\"a\\n\"",      "\"\\u00e9\"",  "\"\\ud83d\\ude00\"",
    "\"\\ud800\"",   "\"a\\u200b\"",  "\"\\\"\"",      "\"\\\\\"",     "\"" LONGEST "x\"",
    "\"s-k3x9q2 \"", "\"; session\"", "\"%s\"",        "\"a\\u0007\"", "5",
    "true",          "[\"work\"]",    "{\"a\":\"b\"}", "1e400",        "\"\\u001b[2J\"",
};

Test(names, a_bad_name_is_a_tool_error_that_states_the_rule) {
    static const char *const tools[] = {"evaluate-lisp", "open-session", "rollback-session",
                                        "reset-session", "close-session"};
    EACH_KIND_STARTED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(tools); i++)
            for (size_t j = 0; j < COUNT_OF(bad_names); j++) {
                const bool is_string = bad_names[j][0] == '"';
                struct evaluation refused =
                    era_call(client, era, tools[i], arguments_for(tools[i], bad_names[j]));
                cr_assert(refused.is_error, "%s %s", tools[i], bad_names[j]);
                expect_contains(refused.text, "[ERROR] TYPE-ERROR\n");
                expect_contains(refused.text,
                                is_string ? "1 to 64 letters, digits, dots, dashes or underscores"
                                          : "The argument ");
            }
        cr_assert_eq(era_session_count(client, era), 0);
    }
}

Test(names, null_and_the_empty_string_are_no_names) {
    static const char *const absent[] = {"null", "\"\""};
    EACH_KIND_STARTED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(absent); i++) {
            struct evaluation value =
                era_call(client, era, "evaluate-lisp", arguments_for("evaluate-lisp", absent[i]));
            cr_assert_str_eq(era_text(client, &value), "=> 1");
            struct evaluation opened =
                era_call(client, era, "open-session", arguments_for("open-session", absent[i]));
            cr_assert_not(opened.is_error);
            expect_contains(opened.text, "Session s-");
        }
    }
}

Test(names, open_session_takes_a_name_once) {
    EACH_KIND_STARTED(era, NULL) {
        expect_contains(era_call(client, era, "open-session", "{\"name\":\"work\"}").text,
                        "Session work is open.");
        cr_assert_str_eq(era_evaluate(client, era, "work", "(defvar *x* 1)").text, "=> *X*");
        struct evaluation again = era_call(client, era, "open-session", "{\"name\":\"work\"}");
        cr_assert(again.is_error);
        expect_contains(again.text, "[ERROR] SESSION-ERROR\nSession work is open already");
        struct evaluation copied =
            era_call(client, era, "open-session", "{\"name\":\"twin\",\"from\":\"work\"}");
        expect_contains(copied.text, "Session twin is open.");
        cr_assert_str_eq(era_evaluate(client, era, "twin", "(incf *x*)").text, "=> 2");
        cr_assert_str_eq(era_evaluate(client, era, "work", "*x*").text, "=> 1");
        expect_contains(
            era_call(client, era, "open-session", "{\"name\":\"twin\",\"from\":\"work\"}").text,
            "Session twin is open already");
        expect_contains(
            era_call(client, era, "open-session", "{\"name\":\"work\",\"from\":\"work\"}").text,
            "Session work is open already");
    }
}

Test(names, the_session_of_the_connection_is_always_open) {
    struct client *client = client_start_ready(NULL, NULL);
    expect_contains(client_tool(client, "open-session", "{\"name\":\"main\"}").text,
                    "Session main is open already");
    client_session_expect(client, "main", "(defvar *x* 1)", "=> *X*");
    client_session_close(client, "main");
    client_session_expect(client, "main", "(boundp '*x*)", "=> NIL");
    client_session_close(client, NULL);
    client_session_expect(client, NULL, "(boundp '*x*)", "=> NIL");
    client_finish(client);
}

/* --- ended sessions --- */

static void expect_everywhere(struct client *client, const struct era *era, const char *name,
                              const char *text) {
    static const char *const tools[] = {"evaluate-lisp", "rollback-session", "reset-session",
                                        "close-session"};
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        struct evaluation refused =
            era_call(client, era, tools[i], arguments_for(tools[i], formatted("\"%s\"", name)));
        cr_assert(refused.is_error, "%s", tools[i]);
        cr_assert_eq(strncmp(refused.text, UNKNOWN, strlen(UNKNOWN)), 0, "%s", refused.text);
        expect_contains(refused.text, text);
    }
    struct evaluation refused =
        era_call(client, era, "open-session", formatted("{\"from\":\"%s\"}", name));
    expect_contains(refused.text, text);
}

static void expect_anew(struct client *client, const struct era *era, const char *name) {
    cr_assert_not(
        era_call(client, era, "open-session", formatted("{\"name\":\"%s\"}", name)).is_error);
    cr_assert_str_eq(era_evaluate(client, era, name, "(boundp '*x*)").text, "=> NIL");
}

Test(names, a_closed_name_is_an_error_until_it_is_opened_anew) {
    EACH_KIND_STARTED(era, NULL) {
        for (int i = 0; i < 3; i++) {
            era_evaluate(client, era, "work", "(defvar *x* 1)");
            cr_assert_not(
                era_call(client, era, "close-session", "{\"session\":\"work\"}").is_error);
            expect_everywhere(client, era, "work", "Session work was closed by close-session.");
            cr_assert_eq(era_session_count(client, era), 0);
            expect_anew(client, era, "work");
        }
    }
}

Test(names, a_lost_name_is_an_error_that_says_why_until_it_is_opened_anew) {
    struct client *client = client_start_with("--session-history", "0");
    client_session_expect(client, "work", "(defvar *x* 1)", "=> *X*\n; session work (new)");
    client_session_settle(client, "work");
    pid_t workers[3]; /* the head, its checkpoint and the spare */
    family_await_no_zombies(client);
    family_workers(client, COUNT_OF(workers), workers, COUNT_OF(workers));
    family_kill_together(client, workers, COUNT_OF(workers));
    expect_everywhere(client, era_legacy, "work",
                      "Session work was lost: its worker ended between calls.");
    cr_assert_eq(client_session_count(client), 0);
    expect_anew(client, era_legacy, "work");
    client_finish(client);
}

Test(names, an_ended_name_can_be_that_of_a_copy) {
    struct client *client = client_start_ready(NULL, NULL);
    client_session_expect(client, NULL, "(defvar *x* 7)", "=> *X*");
    client_session_evaluate(client, "work", "(defvar *x* 1)");
    client_session_close(client, "work");
    client_tool(client, "open-session", "{\"name\":\"work\",\"from\":\"main\"}");
    client_session_expect(client, "work", "*x*", "=> 7");
    client_finish(client);
}

/* A few thousand ended names are remembered, and the oldest is forgotten first. */
Test(names, the_memory_of_ended_names_is_bounded) {
    enum { REMEMBERED = 4096, AT_ONCE = 256 };
    struct client *client = client_start_ready(NULL, NULL);
    for (int i = 0; i <= REMEMBERED; i++) {
        const char *name = formatted("{\"name\":\"n%d\"}", i);
        client_tool_send(client, "1", "open-session", name);
        client_tool_send(client, "2", "close-session", formatted("{\"session\":\"n%d\"}", i));
        client_evaluate_await(client, "1");
        client_evaluate_await(client, "2");
    }
    client_session_expect(client, "n0", "1", "=> 1\n; session n0 (new)");
    expect_contains(client_session_evaluate(client, "n1", "1").text, "was closed");
    expect_contains(client_session_evaluate(client, formatted("n%d", REMEMBERED), "1").text,
                    "was closed");
    client_finish(client);
}

/* --- the limit --- */

static void expect_limit(struct evaluation refused, const char *limit) {
    cr_assert_eq(refused.error_code, 0, "%s", refused.line);
    cr_assert(refused.is_error);
    cr_assert_eq(strncmp(refused.text, LIMIT, strlen(LIMIT)), 0, "%s", refused.text);
    expect_contains(refused.text, formatted("%s sessions are open", limit));
    expect_contains(refused.text, "session.max");
}

Test(names, at_the_limit_opening_another_is_refused_and_idle_ones_are_named) {
    EACH_KIND(era) {
        struct client *client = era_start(era, STRINGS("--session-max", "3"));
        static const char *const names[] = {"one", "two", "three"};
        for (size_t i = 0; i < COUNT_OF(names); i++)
            era_evaluate(client, era, names[i], "(defvar *x* 1)");
        era_evaluate(client, era, "one", "*x*"); /* the second is the oldest now */
        struct evaluation refused[] = {
            era_evaluate(client, era, "four", "1"),
            era_call(client, era, "open-session", "{}"),
            era_call(client, era, "open-session", "{\"name\":\"four\"}"),
            era_call(client, era, "open-session", "{\"name\":\"four\",\"from\":\"one\"}"),
        };
        for (size_t i = 0; i < COUNT_OF(refused); i++) {
            expect_limit(refused[i], "3");
            expect_contains(refused[i].text, "Idle longest: two, three, one. Use close-session");
        }
        for (size_t i = 0; i < COUNT_OF(names); i++)
            cr_assert_str_eq(era_evaluate(client, era, names[i], "*x*").text, "=> 1");
        era_call(client, era, "close-session", "{\"session\":\"two\"}");
        cr_assert_str_eq(era_evaluate(client, era, "four", "1").text, "=> 1\n; session four (new)");
        client_finish(client);
    }
}

Test(names, at_the_limit_only_idle_sessions_are_named) {
    struct client *client = client_start_with("--session-max", "2");
    client_session_send(client, "1", "one", ENDLESS, 0);
    client_session_send(client, "2", "two", ENDLESS, 0);
    struct evaluation refused = client_tool(client, "open-session", "{}");
    expect_limit(refused, "2");
    expect_contains(refused.text, "All of them are busy");
    client_send_line(client, CANCEL("2"));
    cr_assert_eq(client_evaluate_await(client, "2").error_code, -32001);
    expect_contains(client_tool(client, "open-session", "{}").text, "Idle longest: two. ");
    client_send_line(client, CANCEL("1"));
    client_evaluate_await(client, "1");
    client_finish(client);
}

Test(names, the_session_of_the_connection_needs_no_room) {
    struct client *client = client_start_with("--session-max", "1");
    client_session_evaluate(client, "work", "(defvar *x* 1)");
    client_session_expect(client, NULL, "(defvar *x* 2)", "=> *X*");
    expect_limit(client_session_evaluate(client, "more", "1"), "1");
    client_session_expect(client, "work", "*x*", "=> 1");
    client_session_expect(client, NULL, "*x*", "=> 2");
    client_session_close(client, NULL);
    expect_limit(client_session_evaluate(client, "more", "1"), "1");
    client_session_expect(client, NULL, "(boundp '*x*)", "=> NIL");
    client_finish(client);
}

/* Whatever is tried, what is open stays open, and a list of at most ten names is shown. */
Test(names, a_thousand_sessions_are_refused_beyond_the_limit) {
    enum { TRIED = 1000, OPEN = 12 };
    struct client *client = client_start_with("--session-max", "12");
    size_t refused = 0;
    for (int i = 0; i < TRIED; i++) {
        struct evaluation opened =
            client_tool(client, "open-session", formatted("{\"name\":\"n%d\"}", i));
        refused += opened.is_error;
        if (opened.is_error && i == TRIED - 1) {
            expect_contains(opened.text, "n9. Use close-session");
            expect_lacks(opened.text, "n10");
        }
    }
    cr_assert_eq(refused, TRIED - OPEN);
    cr_assert_eq(client_session_count(client), OPEN);
    expect_lacks(client_stderr(client), "session-closed");
    client_finish(client);
}

Test(names, as_many_sessions_as_the_limit_allows_keep_their_state) {
    enum { SESSIONS = 256 };
    struct client *client = client_start_ready(
        &(struct client_options){.arguments = STRINGS("--session-history", "1")}, NULL);
    for (int i = 0; i < SESSIONS; i++)
        client_session_send(client, formatted("%d", i), formatted("n%d", i),
                            formatted("(defvar *x* %d)", i), 600);
    for (int i = 0; i < SESSIONS; i++)
        expect_contains(client_evaluate_await(client, formatted("%d", i)).text, "=> *X*");
    expect_limit(client_session_evaluate(client, "more", "1"), "256");
    for (int i = 0; i < SESSIONS; i++)
        client_session_expect(client, formatted("n%d", i), "*x*", formatted("=> %d", i));
    cr_assert_eq(client_session_count(client), SESSIONS);
    client_finish(client);
}
