/* Transcripts keep the last calls of each session, and little memory in all. */
#include "supervisor/mcp/transcript.h"
#include "tests/support/lines.h"
#include <stdio.h>
#include <stdlib.h>

static struct loop loop;
static struct log events;
static struct settings settings;
static struct pool pool;
static struct transcripts transcripts;
static struct sessions sessions;

static void open_session(const char *name) {
    cr_assert(sessions_make(&sessions, string_span(name)));
}

static void begin(void) {
    cr_assert(loop_open(&loop, NULL));
    settings_default(&settings);
    sessions_open(&sessions, &loop, &events, &settings, &pool);
    transcripts_open(&transcripts);
}

static void end(void) {
    transcripts_close(&transcripts);
    sessions_close(&sessions);
    loop_close(&loop);
}

TestSuite(transcript, .init = begin, .fini = end);

static void add(const char *session, enum call_kind kind, const char *code, const char *answer) {
    const struct call_request wanted = {.kind = kind, .code = string_span(code)};
    transcript_call_end(&transcripts, &sessions, transcript_call_begin(&wanted), session,
                        string_span(answer));
}

static const char *text_of_session(const char *session) {
    static struct buffer text;
    buffer_free(&text);
    text = buffer_make(32 << 20);
    transcript_append(&transcripts, session, &text);
    buffer_append(&text, "", 1);
    return (const char *)text.data;
}

Test(transcript, every_line_of_an_answer_is_a_comment) {
    add("a", CALL_EVALUATE, "(f)\n(g)", "[stdout]\n\n)\n=> 1");
    expect_contains(text_of_session("a"), "\n;; call 1\n(f)\n(g)\n; [stdout]\n; \n; )\n; => 1\n");
    add("a", CALL_RESET, "", "Session a is reset to a fresh state.");
    expect_contains(text_of_session("a"), "\n;; call 2\n; Session a is reset");
}

Test(transcript, bytes_that_are_no_text_are_repaired) {
    add("a", CALL_EVALUATE, "(f \"\xff\")", "=> \"\xc3\"");
    expect_contains(text_of_session("a"), "(f \"\xef\xbf\xbd\")\n; => \"\xef\xbf\xbd\"\n");
}

Test(transcript, ends_with_its_session) {
    add("a", CALL_EVALUATE, "(f)", "=> 1");
    add("a", CALL_CLOSE, "", "Session a is closed.");
    cr_assert_str_eq(text_of_session("a"), ";;; session a: no calls yet\n");
    cr_assert_eq(transcripts.bytes, 0);
}

Test(transcript, keeps_the_newest_calls_of_all_sessions_within_its_limit) {
    static char code[20000];
    for (int i = 0; i < 100; i++)
        open_session(formatted("s%d", i));
    memset(code, 'x', sizeof code - 1);
    for (int i = 0; i < 100; i++)
        for (int call = 0; call < TRANSCRIPT_CALLS_MAX + 5; call++)
            add(formatted("s%d", i), CALL_EVALUATE, code, code);
    cr_assert_leq(transcripts.bytes, TRANSCRIPTS_MAX_BYTES);
    cr_assert_gt(transcripts.bytes, TRANSCRIPTS_MAX_BYTES / 2);
    expect_contains(text_of_session("s99"), "the last 64 of 69 calls");
    expect_contains(text_of_session("s0"), "the last 0 of 69 calls");
}

Test(transcript, of_sessions_that_are_gone_are_forgotten) {
    for (int i = 0; i < 1000; i++)
        add(formatted("s%d", i), CALL_EVALUATE, "(f)", "=> 1");
    cr_assert_leq(transcripts.count, 17);
}

Test(transcript, of_an_earlier_session_of_that_name_is_forgotten) {
    open_session("a");
    add("a", CALL_EVALUATE, "(f)", "=> 1");
    transcript_session_opened(&transcripts, "b");
    expect_contains(text_of_session("a"), "(f)");
    transcript_session_opened(&transcripts, "a");
    cr_assert_str_eq(text_of_session("a"), ";;; session a: no calls yet\n");
    cr_assert_eq(transcripts.bytes, 0);
}
