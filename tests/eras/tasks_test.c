/* The extension of tasks: a long call of a client that declares it is answered at once, and its
 * answer is fetched. */
#include "tests/support/eras.h"
#include <string.h>
#include <time.h>

#define ABLE "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"
#define TASK_REQUEST(id, method, members)                                                          \
    REQUEST_WITH(id, method, "{" members "," ENVELOPE_ABLE(ABLE) "}")
#define EVALUATE_AS_TASK(id, code)                                                                 \
    TASK_REQUEST(id, "tools/call",                                                                 \
                 "\"name\":\"evaluate-lisp\",\"arguments\":{\"session\":\"work\",\"code\":\"" code \
                 "\"}")

/* Every call that is not answered at once becomes a task. */
static struct client *start(void) {
    return client_start_with("--task-after-ms", "0");
}

/* Sends LINE, whose id is 1, and returns the id of the task that it became; kept by the client. */
static const char *begin(struct client *client, const char *line) {
    const char *answer = client_expect_result(client, line, "1");
    expect_member(answer, "\"task\"", "result", "resultType", NULL);
    expect_member(answer, "\"working\"", "result", "status", NULL);
    expect_member(answer, "1200000", "result", "ttlMs", NULL);
    expect_member(answer, NULL, "result", "content", NULL);
    return client_string(client, answer, "result", "taskId", NULL);
}

static const char *ask(struct client *client, const char *method, const char *task) {
    client_send_format(client, TASK_REQUEST("2", "%s", "\"taskId\":\"%s\",\"inputResponses\":{}"),
                       method, task);
    return client_await(client, "2", NULL);
}

static void expect_acknowledged(struct client *client, const char *method, const char *task) {
    const char *answer = ask(client, method, task);
    expect_member(answer, "\"complete\"", "result", "resultType", NULL);
    expect_member(answer, NULL, "result", "taskId", NULL);
    expect_member(answer, NULL, "result", "status", NULL);
}

/* Waits until the task has ended with STATUS. */
static const char *await(struct client *client, const char *task, const char *status) {
    const char *answer = ask(client, "tasks/get", task);
    while (strcmp(client_string(client, answer, "result", "status", NULL), "working") == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        answer = ask(client, "tasks/get", task);
    }
    cr_expect_str_eq(client_string(client, answer, "result", "status", NULL), status);
    expect_member(answer, "\"complete\"", "result", "resultType", NULL);
    return answer;
}

Test(tasks, a_long_call_is_answered_later_as_it_would_have_been) {
    struct client *client = start();
    const char *task =
        begin(client, EVALUATE_AS_TASK("1", "(sleep 1/5) (defvar *kept* 6) (* *kept* 7)"));
    cr_expect_eq(strlen(task), 32);
    const char *answer = await(client, task, "completed");
    expect_member(answer, "false", "result", "result", "isError", NULL);
    expect_member(answer, "\"work\"", "result", "result", "_meta", "session", NULL);
    cr_expect(strstr(answer, "\"text\":\"=> 42"), "%s", answer);
    task = begin(client, EVALUATE_AS_TASK("1", "(sleep 1/5) (error \\\"not *kept* ~a\\\" *kept*)"));
    answer = await(client, task, "completed");
    expect_member(answer, "true", "result", "result", "isError", NULL);
    cr_expect(strstr(answer, "not *kept* 6"), "%s", answer);
    client_finish(client);
}

Test(tasks, only_a_long_call_of_a_client_that_can_fetch_its_answer_becomes_one) {
    struct client *client = client_start(NULL); /* ten seconds */
    const char *answer = client_expect_result(client, EVALUATE_AS_TASK("1", "(+ 1 2)"), "1");
    expect_member(answer, "\"complete\"", "result", "resultType", NULL);
    client_finish(client);
    client = start();
    answer = client_expect_result(client, MODERN_EVALUATE("1", "(sleep 1/5)"), "1");
    expect_member(answer, "\"complete\"", "result", "resultType", NULL);
    static const char *const methods[] = {"tasks/get", "tasks/update", "tasks/cancel"};
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        answer = era_refused(client, era_modern, -32021, "1", methods[i], "\"taskId\":\"x\"");
        expect_member(answer, ABLE, "error", "data", "requiredCapabilities", NULL);
    }
    client_finish(client);
}

Test(tasks, an_id_must_be_that_of_a_task) {
    static const char *const ids[] = {
        "\"\"", "\"x\"", "null",          "1",
        "[]",   "{}",    "\"a\\u0000b\"", "\"00000000000000000000000000000000\""};
    static const char *const methods[] = {"tasks/get", "tasks/update", "tasks/cancel"};
    struct client *client = start();
    for (size_t i = 0; i < COUNT_OF(ids) * COUNT_OF(methods); i++) {
        client_send_format(client, TASK_REQUEST("1", "%s", "\"taskId\":%s"), methods[i % 3],
                           ids[i / 3]);
        const char *answer = client_await(client, "1", NULL);
        expect_member(answer, "-32602", "error", "code", NULL);
        expect_member(answer, "\"taskId\"", "error", "data", "name", NULL);
    }
    const char *task = begin(client, EVALUATE_AS_TASK("1", "(loop)"));
    client_send_format(
        client, TASK_REQUEST("2", "tasks/update", "\"taskId\":\"%s\",\"inputResponses\":[]"), task);
    expect_member(client_await(client, "2", NULL), "-32602", "error", "code", NULL);
    expect_acknowledged(client, "tasks/update", task);
    expect_acknowledged(client, "tasks/cancel", task);
    client_finish(client);
}

Test(tasks, cancelling_one_undoes_its_call) {
    struct client *client = start();
    await(client, begin(client, EVALUATE_AS_TASK("1", "(sleep 1/5) (defvar *a* 1)")), "completed");
    const char *task = begin(client, EVALUATE_AS_TASK("1", "(setf *a* 2) (loop)"));
    expect_acknowledged(client, "tasks/cancel", task);
    expect_acknowledged(client, "tasks/cancel", task);
    const char *answer = await(client, task, "cancelled");
    expect_member(answer, NULL, "result", "result", NULL);
    expect_member(answer, NULL, "result", "error", NULL);
    answer = await(client, begin(client, EVALUATE_AS_TASK("1", "(sleep 1/5) *a*")), "completed");
    cr_expect(strstr(answer, "\"text\":\"=> 1"), "%s", answer);
    const char *ended = begin(client, EVALUATE_AS_TASK("1", "(sleep 1/5)"));
    await(client, ended, "completed");
    expect_acknowledged(client, "tasks/cancel", ended);
    await(client, ended, "completed");
    client_finish(client);
}

Test(tasks, an_error_of_the_protocol_is_kept_as_one) {
    struct client *client = client_start_with("--task-after-ms", "0", "--call-timeout-s", "1");
    const char *answer = await(client, begin(client, EVALUATE_AS_TASK("1", "(loop)")), "failed");
    expect_member(answer, "-32004", "result", "error", "code", NULL);
    expect_member(answer, NULL, "result", "result", NULL);
    client_expect_result(client, PING("3"), "3");
    client_finish(client);
}

Test(tasks, the_id_of_the_request_is_free_when_the_task_has_begun) {
    struct client *client = start();
    const char *first = begin(client, EVALUATE_AS_TASK("1", "(sleep 1/2) 1"));
    client_send_line(client, CANCEL("1"));
    const char *second = begin(client, EVALUATE_AS_TASK("1", "(sleep 1/2) 2"));
    cr_expect_str_neq(first, second);
    await(client, first, "completed");
    await(client, second, "completed");
    client_finish(client);
}

Test(tasks, one_that_runs_at_the_end_of_input_does_not_hold_the_server) {
    struct client *client = client_start_with("--task-after-ms", "0", "--shutdown-grace-s", "0");
    begin(client, EVALUATE_AS_TASK("1", "(loop)"));
    client_finish(client);
}

Test(tasks, none_begins_when_its_client_can_no_longer_fetch_the_answer) {
    struct client *client = client_start_with("--task-after-ms", "300");
    client_send_line(client, EVALUATE_AS_TASK("1", "(sleep 1) (* 6 7)"));
    client_close_stdin(client);
    expect_member(client_await(client, "1", NULL), "\"complete\"", "result", "resultType", NULL);
    client_finish(client);
}
