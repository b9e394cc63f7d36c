/* Runs of definitions through the supervisor's sessions and real workers, with this process in
 * place of the server: results, questions and events, time-outs, and hostile code. */
#include "common/cleanup.h"
#include "supervisor/base/clock.h"
#include "supervisor/session/session.h"
#include "tests/support/lisp_file.h"
#include "tests/support/span.h"
#include "tests/support/user.h"
#include "tests/unit/read_settings.h"

#include <signal.h>
#include <stdio.h>

enum { RUNS_MAX = 24, TIMEOUT_MS = 20000 };

struct bench;

/* One call, and what its callbacks received. */
struct run {
    struct bench *bench;
    struct call *call;
    const char *answer; /* to each question; NULL: none */
    int64_t answer_later_ms;
    struct loop_timer later;
    const char *cancel_when_asked;
    bool done;
    enum outcome outcome;
    struct buffer json, structured, sent, output, condition;
    bool is_error;
    char cause[640];
    size_t events, asks, dropped;
    int64_t elapsed_ms;
};

struct bench {
    struct settings settings;
    struct loop loop;
    struct log log;
    struct pool pool;
    struct sessions sessions;
    struct loop_watch signal_watch;
    int signal_fd;
    struct run runs[RUNS_MAX];
    size_t count, open;
};

static struct bench bench;

static void on_signal(void *context, uint32_t events) {
    (void)context, (void)events;
    for (int number; (number = signals_next(bench.signal_fd)) != 0;)
        if (number == SIGCHLD)
            pool_reap(&bench.pool);
}

/* This process takes the role of the server, so it is the one that becomes nobody. */
static void begin(void) {
    struct error error = {0};
    const bool nobody = user_nobody_wanted(false);
    cr_assert(!nobody || user_become_nobody());
    user_check(getpid(), nobody);
    READ_FINE(&bench.settings, "--call-timeout-s", "3", "--call-timeout-max-s", "3");
    bench.signal_fd = signals_open(&error);
    cr_assert_geq(bench.signal_fd, 0);
    log_open(&bench.log, LOG_CRITICAL_LEVEL, LOG_FORMAT_TEXT);
    cr_assert(loop_open(&bench.loop, &error));
    cr_assert(loop_watch_add(&bench.loop, &bench.signal_watch, bench.signal_fd, EPOLLIN, on_signal,
                             NULL, &error));
    cr_assert(pool_open(&bench.pool, &bench.loop, &bench.log, &bench.settings, &error), "%s",
              error.text);
    sessions_open(&bench.sessions, &bench.loop, &bench.log, &bench.settings, &bench.pool);
}

static void release(struct run *run) {
    buffer_free(&run->json);
    buffer_free(&run->structured);
    buffer_free(&run->sent);
    buffer_free(&run->output);
    buffer_free(&run->condition);
    *run = (struct run){0};
}

static void end(void) {
    cr_assert_eq(bench.sessions.active, 0);
    sessions_close(&bench.sessions);
    pool_close(&bench.pool);
    loop_watch_remove(&bench.loop, &bench.signal_watch);
    close(bench.signal_fd);
    for (size_t i = 0; i < bench.count; i++)
        release(&bench.runs[i]);
    log_close(&bench.log);
    loop_close(&bench.loop);
    settings_free(&bench.settings);
}

#define RUN_TEST(name) Test(run, name, .init = begin, .fini = end, .timeout = 240)

static void answer_now(struct run *run) {
    cr_assert(call_answer(run->call, span_of(run->answer)));
    cr_assert_not(call_answer(run->call, span_of(run->answer)), "answered twice");
}

static void on_later(void *context) {
    answer_now(context);
}

static void on_event(void *context, const struct run_event *event) {
    struct run *run = context;
    if (run->events++ < 10)
        buffer_append_format(&run->sent, "%s\n",
                             json_object_to_json_string_ext(event->json, JSON_C_TO_STRING_PLAIN));
}

static void on_ask(void *context, struct json_object *questions) {
    struct run *run = context;
    run->asks++;
    buffer_append_format(&run->sent, "ask %s\n",
                         json_object_to_json_string_ext(questions, JSON_C_TO_STRING_PLAIN));
    if (run->cancel_when_asked)
        call_cancel(run->call, run->cancel_when_asked);
    else if (run->answer_later_ms)
        loop_timer_start(&bench.loop, &run->later, run->answer_later_ms, on_later, run);
    else if (run->answer)
        answer_now(run);
}

static void keep(struct buffer *buffer, struct span span) {
    buffer_append(buffer, span.bytes ? (const char *)span.bytes : "", span.length);
    buffer_append(buffer, "", 1);
}

static void on_done(void *context, const struct evaluation *evaluation) {
    struct run *run = context;
    cr_assert_not(run->done);
    run->done = true;
    run->outcome = evaluation->outcome;
    run->elapsed_ms = evaluation->elapsed_us / 1000;
    run->dropped = evaluation->events_dropped;
    snprintf(run->cause, sizeof run->cause, "%s", evaluation->cause);
    cr_assert_eq(evaluation->run != NULL, evaluation->outcome == OUTCOME_VALUE);
    if (evaluation->run) {
        const char *text =
            json_object_to_json_string_ext(evaluation->run->json, JSON_C_TO_STRING_PLAIN);
        keep(&run->json, span_of(text));
        keep(&run->structured, evaluation->run->structured);
        run->is_error = evaluation->run->is_error;
    }
    keep(&run->output, evaluation->output);
    keep(&run->condition, evaluation->result.condition);
    buffer_append(&run->sent, "", 1);
    if (--bench.open == 0)
        loop_stop(&bench.loop);
}

static struct run *prepare(void) {
    cr_assert_lt(bench.count, RUNS_MAX);
    struct run *run = &bench.runs[bench.count++];
    const struct buffer empty = buffer_make(64 << 20);
    run->json = run->structured = run->sent = run->output = run->condition = empty;
    return run;
}

static struct call_request request(struct run *run, const char *code, const char *arguments) {
    return (struct call_request){
        .kind = CALL_RUN,
        .code = span_of(code),
        .timeout_ms = TIMEOUT_MS,
        .run = {.kind = RUN_TOOL, .name = span_of("x"), .arguments = span_of(arguments)},
        .event = on_event,
        .ask = on_ask,
        .done = on_done,
        .context = run};
}

static void start(struct run *run, struct session *session, const struct call_request *wanted) {
    run->call =
        session ? session_submit(session, wanted) : session_submit_once(&bench.sessions, wanted);
    cr_assert(run->call);
    bench.open++;
    session_step(call_session(run->call));
}

static void wait_for_all(void) {
    struct error error = {0};
    bench.loop.stopped = false;
    if (bench.open)
        cr_assert(loop_run(&bench.loop, &error), "%s", error.text);
}

static void finish(struct run *run, const struct call_request *wanted) {
    start(run, NULL, wanted);
    wait_for_all();
}

static void on_turned(void *context) {
    (void)context;
    loop_stop(&bench.loop);
}

/* Runs the loop for a few rounds. */
static void turn(void) {
    struct loop_timer timer = {0};
    struct error error = {0};
    bench.loop.stopped = false;
    loop_timer_start(&bench.loop, &timer, 50, on_turned, NULL);
    cr_assert(loop_run(&bench.loop, &error), "%s", error.text);
}

static struct run *run_in(struct session *session, const char *code) {
    struct run *run = prepare();
    struct call_request wanted = request(run, code, "{}");
    start(run, session, &wanted);
    wait_for_all();
    return run;
}

static struct run *run_once(const char *code) {
    return run_in(NULL, code);
}

static const char *text_of(const struct buffer *buffer) {
    return (const char *)buffer->data;
}

#define TOOL(body) "(mcp:deftool x () " body ")"

RUN_TEST(a_tool_returns_its_contents) {
    const struct run *run = run_once("(princ \"out\")" TOOL("\"hello\""));
    cr_assert_eq(run->outcome, OUTCOME_VALUE, "%s", run->cause);
    cr_assert_not_null(strstr(text_of(&run->json), "\"text\":\"hello\""));
    cr_assert_str_eq(text_of(&run->output), "out");
    cr_assert_not(run->is_error);
}

RUN_TEST(a_run_whose_usage_is_reported_returns_its_result) {
    bench.sessions.reports_usage = true;
    const struct run *run = run_once(TOOL("(mcp:progress 1) (mcp:object \"n\" 5)"));
    cr_assert_eq(run->outcome, OUTCOME_VALUE, "%s", run->cause);
    cr_assert_str_eq(text_of(&run->structured), "{\"n\":5}");
}

RUN_TEST(integers_keep_their_digits) {
    const struct run *run = run_once(TOOL("(mcp:object \"n\" 123456789012345678901234567890)"));
    cr_assert_str_eq(text_of(&run->structured), "{\"n\":123456789012345678901234567890}");
}

RUN_TEST(a_failure_is_a_result_and_an_error_an_outcome) {
    const struct run *run = run_once(TOOL("(mcp:fail \"no\")"));
    cr_assert_eq(run->outcome, OUTCOME_VALUE);
    cr_assert(run->is_error);
    run = run_once(TOOL("(car 1)"));
    cr_assert_eq(run->outcome, OUTCOME_CONDITION);
    cr_assert_str_eq(text_of(&run->condition), "TYPE-ERROR");
}

RUN_TEST(each_kind_has_its_result) {
    static const struct {
        enum run_kind kind;
        const char *code, *json;
    } kinds[] = {
        {RUN_PROMPT, "(mcp:defprompt \"x\" () \"p\")",
         "{\"messages\":[{\"role\":\"user\",\"content\":{"},
        {RUN_RESOURCE, "(mcp:defresource \"x\" () #(1))", "\"blob\":\"AQ==\""},
        {RUN_COMPLETION, "(mcp:defcompletion \"x\" () '(\"a\"))", "\"values\":[\"a\"]"},
        {RUN_LOAD, "(mcp:deftool \"x\" () (ext:quit 3))", "{}"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct run *run = prepare();
        struct call_request wanted =
            request(run, kinds[i].code, "{\"uri\":\"test://u\",\"kind\":\"tool\"}");
        wanted.run.kind = kinds[i].kind;
        finish(run, &wanted);
        cr_assert_eq(run->outcome, OUTCOME_VALUE, "%s", run->cause);
        struct json_object *json = json_tokener_parse(text_of(&run->json));
        cr_assert(json);
        json_object_put(json);
    }
}

RUN_TEST(single_calls_share_nothing_and_are_not_listed) {
    struct run *first = prepare(), *second = prepare();
    struct call_request wanted = request(first,
                                         "(defvar *n* 0)" TOOL("(incf *n*) (sleep 0.1) "
                                                               "(princ-to-string *n*)"),
                                         "{}");
    start(first, NULL, &wanted);
    wanted.context = second;
    start(second, NULL, &wanted);
    cr_assert_null(sessions_next(&bench.sessions, NULL));
    cr_assert_null(
        sessions_find(&bench.sessions, span_of(session_name(call_session(first->call)))));
    wait_for_all();
    cr_assert_not_null(strstr(text_of(&first->json), "\"1\""));
    cr_assert_not_null(strstr(text_of(&second->json), "\"1\""));
    turn();
    cr_assert(TAILQ_EMPTY(&bench.sessions.list));
}

/* In processes of their own or in a session, and those that wait for their client do not count. */
RUN_TEST(calls_beyond_the_limit_wait_for_others_to_end) {
    struct run *first = prepare(), *second = prepare(), *third = prepare();
    bench.settings.call_running_max = 1;
    struct call_request wanted = request(first, TOOL("(sleep 0.1) \"1\""), "{}");
    start(first, NULL, &wanted);
    wanted.context = second;
    start(second, sessions_own(&bench.sessions, "main"), &wanted);
    wanted.context = third;
    start(third, NULL, &wanted);
    cr_assert_eq(bench.sessions.running, 1);
    cr_assert_not(call_progress(second->call).running || call_progress(third->call).running);
    wait_for_all();
    cr_assert_eq(bench.sessions.running, 0);
    cr_assert(first->outcome == OUTCOME_VALUE && second->outcome == OUTCOME_VALUE &&
              third->outcome == OUTCOME_VALUE);
}

RUN_TEST(single_calls_share_one_queue) {
    struct run *run = prepare(), *waiting = prepare(), *refused = prepare();
    bench.settings.call_running_max = bench.settings.session_queue = 1;
    struct call_request wanted = request(run, TOOL("\"1\""), "{}");
    start(run, NULL, &wanted);
    wanted.context = waiting;
    start(waiting, NULL, &wanted);
    wanted.context = refused;
    cr_assert_null(session_submit_once(&bench.sessions, &wanted));
    wait_for_all();
}

RUN_TEST(a_run_in_a_session_keeps_its_state_or_is_rolled_back) {
    static const char code[] = "(defvar *n* 0)" TOOL("(princ-to-string (incf *n*))");
    struct session *session = sessions_own(&bench.sessions, "main");
    cr_assert_not_null(strstr(text_of(&run_in(session, code)->json), "\"1\""));
    cr_assert_not_null(strstr(text_of(&run_in(session, code)->json), "\"2\""));
    const struct run *run = run_in(session, TOOL("(incf *n* 10) (ext:quit 3)"));
    cr_assert_eq(run->outcome, OUTCOME_EXIT);
    cr_assert_not_null(strstr(run->cause, "as it was before"));
    cr_assert_not_null(strstr(text_of(&run_in(session, code)->json), "\"3\""));
}

RUN_TEST(reports_progress_that_grows_and_logs) {
    const struct run *run =
        run_once(TOOL("(mcp:progress 0 100) (mcp:progress 50 100) (mcp:progress 50 100)"
                      "(mcp:progress 10 100) (mcp:log :info \"l\") (mcp:progress 100 100) \"ok\""));
    cr_assert_eq(run->outcome, OUTCOME_VALUE, "%s", run->cause);
    cr_assert_str_eq(text_of(&run->sent),
                     "{\"type\":\"progress\",\"progress\":0,\"total\":100}\n"
                     "{\"type\":\"progress\",\"progress\":50,\"total\":100}\n"
                     "{\"type\":\"log\",\"level\":\"info\",\"data\":\"l\"}\n"
                     "{\"type\":\"progress\",\"progress\":100,\"total\":100}\n");
}

RUN_TEST(many_events_are_all_received) {
    const struct run *run = run_once(TOOL("(dotimes (i 50) (mcp:progress i)) \"ok\""));
    cr_assert_eq(run->events, 50);
    cr_assert_eq(run->outcome, OUTCOME_VALUE);
}

#define ASKS TOOL("(mcp:ref (mcp:ask :elicit \"who?\") \"content\" \"name\")")

static const char ann[] =
    "{\"responses\":{\"elicit\":{\"action\":\"accept\",\"content\":{\"name\":\"Ann\"}}}}";

RUN_TEST(a_question_is_answered_at_once_or_later) {
    for (int64_t later_ms = 0; later_ms <= 50; later_ms += 50) {
        struct run *run = prepare();
        const struct call_request wanted = request(run, ASKS, "{}");
        run->answer = ann;
        run->answer_later_ms = later_ms;
        finish(run, &wanted);
        cr_assert_eq(run->outcome, OUTCOME_VALUE, "%s", run->cause);
        cr_assert_not_null(strstr(text_of(&run->json), "Ann"));
        cr_assert_not_null(strstr(text_of(&run->sent), "ask {\"elicit\":{\"method\":"
                                                       "\"elicitation\\/create\",\"params\":{"));
    }
}

RUN_TEST(a_question_that_cannot_be_asked_is_unanswered) {
    struct run *run = prepare();
    struct call_request wanted = request(run, ASKS, "{}");
    wanted.ask = NULL;
    finish(run, &wanted);
    cr_assert_eq(run->outcome, OUTCOME_CONDITION, "%s", run->cause);
    cr_assert_str_eq(text_of(&run->condition), "MCP:UNANSWERED");
}

RUN_TEST(a_question_suspends_the_time_out_of_the_call_for_a_limited_time) {
    struct run *run = prepare();
    struct call_request wanted = request(run, ASKS, "{}");
    run->answer = ann;
    run->answer_later_ms = 1200;
    wanted.timeout_ms = 1000;
    finish(run, &wanted);
    cr_assert_eq(run->outcome, OUTCOME_VALUE, "%s", run->cause);

    run = prepare();
    wanted.context = run; /* no answer: call.timeout_max_s is 3 */
    finish(run, &wanted);
    cr_assert_eq(run->outcome, OUTCOME_TIMEOUT, "%s", run->cause);
    cr_assert_geq(run->elapsed_ms, 3000);

    /* The clock goes on after the answer: else this would end only with the other limit. */
    bench.settings.call_timeout_max_s = 86400;
    run = prepare();
    run->answer = ann;
    run->answer_later_ms = 400;
    wanted = request(run, TOOL("(mcp:ask :elicit \"q\") (loop)"), "{}");
    wanted.timeout_ms = 300;
    finish(run, &wanted);
    cr_assert_eq(run->outcome, OUTCOME_TIMEOUT, "%s", run->cause);
}

RUN_TEST(a_run_is_cancelled_while_it_asks) {
    struct run *run = prepare();
    const struct call_request wanted = request(run, ASKS, "{}");
    run->cancel_when_asked = "The client gave up.";
    finish(run, &wanted);
    cr_assert_eq(run->outcome, OUTCOME_CANCELLED, "%s", run->cause);
}

RUN_TEST(an_answer_without_a_question_is_refused) {
    struct run *run = prepare();
    const struct call_request wanted = request(run, TOOL("(sleep 0.2) \"ok\""), "{}");
    start(run, NULL, &wanted);
    cr_assert_not(call_answer(run->call, span_of(ann)));
    wait_for_all();
    cr_assert_eq(run->outcome, OUTCOME_VALUE, "%s", run->cause);
}

/* The end of each hostile tool. */

#define EVENT(json) TOOL("(eclave::send-event " json ") \"ok\"")
#define ASK(json)   TOOL("(eclave::send-ask " json ") \"ok\"")

static const struct {
    const char *code;
    enum outcome outcome;
} hostile[] = {
    {TOOL("(loop for i from 0 do (mcp:progress i))"), OUTCOME_OUTPUT},
    {TOOL("(loop (mcp:log :info \"flood\"))"), OUTCOME_OUTPUT},
    /* Few large events exceed the limit of bytes. */
    {"(defvar *event* (format nil \"{\\\"type\\\":\\\"log\\\",\\\"level\\\":\\\"info\\\","
     "\\\"data\\\":\\\"~65000a\\\"}\" 1))" TOOL("(loop (eclave::send-event *event*))"),
     OUTCOME_OUTPUT},
    {TOOL("(loop (mcp:ask :elicit \"again\"))"), OUTCOME_OUTPUT},
    {EVENT("\"\""), OUTCOME_MALFORMED},
    {EVENT("\"{}\""), OUTCOME_MALFORMED},
    {EVENT("\"[]\""), OUTCOME_MALFORMED},
    {EVENT("\"nonsense\""), OUTCOME_MALFORMED},
    {EVENT("\"{\\\"type\\\":\\\"other\\\"}\""), OUTCOME_MALFORMED},
    {EVENT("\"{\\\"type\\\":\\\"progress\\\",\\\"progress\\\":\\\"1\\\"}\""), OUTCOME_MALFORMED},
    {EVENT("\"{\\\"type\\\":\\\"progress\\\",\\\"progress\\\":1,\\\"x\\\":1}\""),
     OUTCOME_MALFORMED},
    {EVENT("(make-string 65537 :initial-element #\\Space)"), OUTCOME_MALFORMED},
    {ASK("\"{}\""), OUTCOME_MALFORMED},
    {ASK("\"{\\\"requests\\\":{}}\""), OUTCOME_MALFORMED},
    {ASK("\"{\\\"requests\\\":{\\\"a\\\":{\\\"method\\\":\\\"tools/"
         "call\\\",\\\"params\\\":{}}}}\""),
     OUTCOME_MALFORMED},
    {ASK("(make-string 1048577 :initial-element #\\Space)"), OUTCOME_MALFORMED},
    {TOOL("(ext:quit 7)"), OUTCOME_EXIT},
    {TOOL("(loop)"), OUTCOME_TIMEOUT},
    {TOOL("(setf (fdefinition 'mcp::run) (lambda (&rest all) all 1)) \"ok\""), OUTCOME_VALUE},
    {TOOL("(setf (fdefinition 'mcp:write-json) (lambda (&rest all) all \"{}\")) \"ok\""),
     OUTCOME_MALFORMED},
    {TOOL("(setf (fdefinition 'mcp:write-json) (lambda (&rest all) all 5)) \"ok\""),
     OUTCOME_CONDITION},
    {TOOL("(setf (fdefinition 'mcp:write-json) (lambda (&rest all) all \"\")) \"ok\""),
     OUTCOME_MALFORMED},
};

RUN_TEST(ends_hostile_tools) {
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        bench.count = 0;
        struct run *run = prepare();
        struct call_request wanted = request(run, hostile[i].code, "{}");
        run->answer = ann;
        wanted.timeout_ms = hostile[i].outcome == OUTCOME_TIMEOUT ? 300 : 60000;
        finish(run, &wanted);
        cr_expect_eq(run->outcome, hostile[i].outcome, "%s: %s: %s", hostile[i].code,
                     outcome_table[run->outcome].word, run->cause);
        cr_expect_leq(run->events, 20000);
        release(run);
    }
    bench.count = 0;
}

#define SEND(octets) "(hostile::send-octets 3 " octets ")"
#define PROGRESS     "{\\\"type\\\":\\\"progress\\\",\\\"progress\\\":1}"
#define ROOTS        "{\\\"requests\\\":{\\\"a\\\":{\\\"method\\\":\\\"roots/list\\\",\\\"params\\\":{}}}}"

/* The same with forged frames, each with the number of its call. */
RUN_TEST(ends_forgers) {
    static const char *const codes[] = {
        /* In one write: the process is stopped after a question. */
        SEND("(append (hostile::frame :ask :call *call* :payload (hostile::octets \"" ROOTS "\"))"
             " (hostile::frame :event :call *call* :payload (hostile::octets \"" PROGRESS "\")))"),
        SEND("(append (hostile::frame :ask :call *call* :payload (hostile::octets \"" ROOTS "\"))"
             " (hostile::result *call* \"value\"))"),
        SEND("(hostile::frame :event :call 0 :payload (hostile::octets \"" PROGRESS "\"))"),
        SEND("(hostile::frame :event :call *call* :flags 1 :payload (hostile::octets \"" PROGRESS
             "\"))"),
        SEND("(hostile::frame :event :call *call* :length 65537)"),
        SEND("(hostile::frame :ask :call *call* :length 1048577)"),
        SEND("(hostile::frame :answer :call *call* :payload (hostile::octets \"{}\"))"),
        SEND("(hostile::result *call* \"value\")"),
        SEND("(hostile::frame :result :call *call* :payload (append (hostile::section 2 '(65))"
             " (hostile::section 11 (hostile::octets \"{\\\"content\\\":[5]}\"))))"),
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct run *run = prepare();
        cleanup_buffer struct buffer code = buffer_make(1 << 20);
        lisp_file_append_hostile(&code);
        buffer_append_format(&code,
                             "(in-package :cl-user) (defvar *call* %u)"
                             " (mcp:deftool x () %s (sleep 100))",
                             bench.sessions.last_call + 1, codes[i]);
        buffer_append(&code, "", 1);
        const struct call_request wanted = request(run, (const char *)code.data, "{}");
        finish(run, &wanted);
        cr_expect_eq(run->outcome, OUTCOME_MALFORMED, "%s: %s: %s", codes[i],
                     outcome_table[run->outcome].word, run->cause);
    }
}
