/* read-output: what the text of an answer left out can be read, whole and in order, until it is
 * dropped. */
#include "tests/support/client_sessions.h"
#include "tests/support/eras.h"
#include "tests/support/lines.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints the lines "1" to "COUNT". */
#define NUMBERS(count) "(dotimes (i " #count ") (format t \"~d~%%\" (1+ i)))"

static size_t characters(const char *text) {
    size_t count = 0;
    for (; *text; text++)
        count += (*text & 0xC0) != 0x80;
    return count;
}

/* The text of a successful call of read-output. */
static const char *read_output(struct client *client, const char *arguments) {
    struct evaluation evaluation = client_tool(client, "read-output", arguments);
    cr_assert_not(evaluation.is_error, "%s: %s", arguments, evaluation.text);
    cr_assert_leq(characters(evaluation.text), 40000);
    return evaluation.text;
}

static void expect_refusal(struct client *client, const char *arguments, const char *type,
                           const char *part) {
    struct evaluation evaluation = client_tool(client, "read-output", arguments);
    cr_assert_eq(evaluation.error_code, 0, "%s: %s", arguments, evaluation.line);
    cr_assert(evaluation.is_error, "%s: %s", arguments, evaluation.text);
    expect_contains(evaluation.text, formatted("[ERROR] %s\n", type));
    expect_contains(evaluation.text, part);
}

/* The arguments that the text names for read-output. */
static const char *named_arguments(struct client *client, const char *text) {
    const char *start = strstr(text, "read-output {");
    cr_assert_not_null(start, "%s", text);
    start += strlen("read-output ");
    const char *end = strchr(start, '}');
    cr_assert_not_null(end);
    return client_keep(client, strndup(start, (size_t)(end + 1 - start)));
}

/* Reads a stream from its beginning to its end, as the answers say; freed by the caller. */
static char *read_all(struct client *client, const char *arguments) {
    char *all = calloc(1, 1);
    for (;;) {
        const char *text = read_output(client, arguments);
        const char *start = strchr(text, '\n') + 1, *end = strrchr(text, '\n');
        size_t length = strlen(all), part = (size_t)(end - start);
        char *longer = realloc(all, length + part + 1);
        cr_assert_not_null(longer);
        all = longer;
        memcpy(all + length, start, part);
        all[length + part] = 0;
        if (strstr(end, "\n[the end of "))
            return all;
        arguments = named_arguments(client, end);
    }
}

Test(read_output, what_was_left_out_is_read_whole) {
    struct client *client = client_start_ready(NULL, NULL);
    struct evaluation evaluation = client_evaluate(client, formatted(NUMBERS(% d) " :done", 30000));
    expect_contains(evaluation.text, "[stdout]\n1\n2\n");
    expect_contains(evaluation.text, "\n30000\n\n=> :DONE");
    cr_assert_leq(characters(evaluation.text), 40000);
    char *all = read_all(client, "{}"), expected[8];
    const char *line = all;
    for (int i = 1; i <= 30000; i++) {
        int length = snprintf(expected, sizeof expected, "%d\n", i);
        cr_assert_eq(strncmp(line, expected, (size_t)length), 0, "line %d: %.20s", i, line);
        line += length;
    }
    cr_assert_eq(*line, 0);
    free(all);
    /* As the answer itself says, from the first character that it leaves out. */
    const char *text = read_output(client, named_arguments(client, evaluation.text));
    const char *cut = strstr(evaluation.text, "\n[\xE2\x80\xA6 ");
    const char *last = cut;
    while (last[-1] != '\n')
        last--;
    long number = strtol(last, NULL, 10);
    expect_contains(text, formatted("\n%ld\n%ld\n", number + 2, number + 3));
    client_finish(client);
}

Test(read_output, ranges_count_characters_and_may_begin_at_the_end) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client,
                    "(dotimes (i 20000) (write-string \"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x90\x8D\"))");
    expect_contains(read_output(client, "{\"from\":1,\"count\":2}"),
                    "[stdout of call 1: from character 1 up to 3, of 60000]\n"
                    "\xE2\x82\xAC\xF0\x9F\x90\x8D\n[to continue: read-output "
                    "{\"call\":1,\"stream\":\"stdout\",\"from\":3}]");
    expect_contains(read_output(client, "{\"from\":-2}"),
                    "from character 59998 up to 60000, of 60000]\n"
                    "\xE2\x82\xAC\xF0\x9F\x90\x8D\n[the end of stdout of call 1]");
    expect_contains(read_output(client, "{\"from\":-9007199254740993,\"count\":1}"),
                    "from character 0 up to 1, of 60000]\n\xC3\xA9\n");
    expect_contains(read_output(client, "{\"count\":9007199254740993}"),
                    "from character 0 up to 39");
    expect_contains(read_output(client, "{\"from\":null,\"count\":null,\"call\":null,"
                                        "\"stream\":\"\",\"session\":\"\"}"),
                    "from character 0 up to 39");
    client_finish(client);
}

Test(read_output, bad_arguments_are_refused) {
    static const struct {
        const char *arguments, *part;
    } rows[] = {
        {"{\"from\":60000}", "Call 1 has 60000 characters in stdout; from must be less."},
        {"{\"from\":1e400}", "from must be an integer"},
        {"{\"from\":0.5}", "from must be an integer"},
        {"{\"from\":99999999999999999999}", "from must be an integer"},
        {"{\"count\":0}", "count must be an integer, at least 1"},
        {"{\"count\":-1}", "count must be"},
        {"{\"count\":\"7\"}", "count must be"},
        {"{\"call\":0}", "call must be the number of a call"},
        {"{\"call\":4294967296}", "call must be"},
        {"{\"call\":[1]}", "call must be"},
        {"{\"stream\":\"stdin\"}", "\"stdout\", \"stderr\" or \"values\""},
        {"{\"stream\":\"stdout\\u0000\"}", "\"stdout\", \"stderr\" or \"values\""},
        {"{\"stream\":1}", "stream must be"},
        {"{\"stream\":\"stderr\"}", "Call 1 has 0 characters in stderr."},
        {"{\"session\":5}", "session must be a string"},
        {"{\"page\":5}", "read-output has no argument page"},
    };
    struct client *client = client_start_ready(NULL, NULL);
    expect_refusal(client, "{}", "OUTPUT-NOT-KEPT", "nothing is kept: no answer left anything out");
    client_evaluate(client, "(dotimes (i 60000) (write-char #\\x))");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_refusal(client, rows[i].arguments, "TYPE-ERROR", rows[i].part);
    expect_refusal(client, "{\"call\":4294967295}", "OUTPUT-NOT-KEPT",
                   "call 1: stdout 60000 characters, values 6 characters");
    client_finish(client);
}

Test(read_output, a_call_that_was_rolled_back_is_kept) {
    struct client *client =
        client_start_with("--output-max-bytes", "100000", "--cancel-reply", "error");
    struct evaluation evaluation = client_evaluate_with(
        client, "{\"code\":\"(dotimes (i 9000) (write-char #\\\\t)) (finish-output) (loop)\","
                "\"timeout\":0.5}");
    cr_assert_eq(evaluation.error_code, -32004);
    expect_contains(
        evaluation.text,
        "\n\nThe end of [stdout], which has 9000 characters; to read "
        "them: read-output {\"call\":1,\"session\":\"main\",\"stream\":\"stdout\"}:\nttt");
    expect_contains(read_output(client, named_arguments(client, evaluation.text)), "of 9000]\nttt");
    evaluation = client_evaluate(client, "(loop (write-char #\\f))");
    cr_assert_eq(evaluation.error_code, -32603);
    expect_contains(read_output(client, named_arguments(client, evaluation.text)),
                    "of 100000]\nfff");
    client_evaluate(client, "(dotimes (i 50000) (write-char #\\c)) (ext:quit 3)");
    expect_contains(read_output(client, "{}"), "[stdout of call 3: from character 0 up to 39");
    client_evaluate_send(client, "7", "(write-string \"before\") (finish-output) (loop)");
    client_busy_worker(client);
    client_send_line(client,
                     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                     "\"requestId\":7}}");
    cr_assert_eq(client_evaluate_await(client, "7").error_code, -32001);
    expect_contains(read_output(client, "{}"),
                    "[stdout of call 4: from character 0 up to 6, of 6]\n"
                    "before\n[the end of stdout of call 4]");
    client_finish(client);
}

Test(read_output, the_last_four_calls_are_kept_until_the_session_is_reset_or_closed) {
    static const char print[] = "(dotimes (i 50000) (write-char #\\x))";
    struct client *client = client_start_ready(NULL, NULL);
    const char *other = client_session_open(client);
    client_session_evaluate(client, other, print);
    for (int i = 0; i < 5; i++)
        client_evaluate(client, print);
    client_evaluate(client, "1"); /* leaves nothing out */
    expect_refusal(client, "{\"call\":2}", "OUTPUT-NOT-KEPT", "call 6: stdout 50000 characters");
    for (int i = 3; i <= 6; i++)
        read_output(client, formatted("{\"call\":%d}", i));
    expect_refusal(client, "{\"call\":1}", "OUTPUT-NOT-KEPT", "The output of call 1 is not kept.");
    const char *text = read_output(client, formatted("{\"session\":\"%s\",\"count\":5}", other));
    expect_contains(
        text, formatted("{\"call\":1,\"session\":\"%s\",\"stream\":\"stdout\",\"from\":5}", other));
    client_session_reset(client, other);
    expect_refusal(client, formatted("{\"session\":\"%s\"}", other), "OUTPUT-NOT-KEPT", "nothing");
    client_session_close(client, NULL);
    expect_refusal(client, "{}", "OUTPUT-NOT-KEPT", "nothing is kept");
    client_finish(client);
}

Test(read_output, values_and_error_output_are_kept_too) {
    struct client *client = client_start_ready(NULL, NULL);
    struct evaluation evaluation = client_evaluate(
        client, "(dotimes (i 30000) (write-char #\\e *error-output*))"
                "(values (make-string 18000 :initial-element #\\v) (make-string 18000))");
    cr_assert_leq(characters(evaluation.text), 40000);
    expect_contains(evaluation.text,
                    "{\"call\":1,\"session\":\"main\",\"stream\":\"stderr\",\"from\":");
    expect_contains(read_output(client, "{\"count\":3}"), "[stderr of call 1: from character 0 up "
                                                          "to 3, of 30000]\neee\n");
    expect_contains(
        evaluation.text,
        "\n; the whole: read-output {\"call\":1,\"session\":\"main\",\"stream\":\"values\"}");
    expect_contains(read_output(client, "{\"stream\":\"values\",\"count\":6}"), "\n=> \"vv\n[to");
    client_finish(client);
}

/* The bytes that are not UTF-8 do no harm. */
Test(read_output, output_of_any_bytes_is_repaired) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client,
                    "(dotimes (i 300000) (write-byte (1+ (random 255)) *standard-output*))");
    char *all = read_all(client, "{}");
    cr_assert_gt(strlen(all), 100000);
    free(all);
    client_evaluate(client, "(dotimes (i 500000) (write-byte 128 *standard-output*))"
                            "(dotimes (i 50000) (write-char #\\x))");
    all = read_all(client, "{}");
    cr_assert_eq(strlen(strchr(all, 'x')), 50000);
    free(all);
    client_finish(client);
}

Test(read_output, it_works_in_every_revision_and_while_a_call_runs) {
    EACH_ERA_STARTED(era, NULL) {
        struct evaluation evaluation =
            era_evaluate(client, era, NULL, "(dotimes (i 50000) (write-char #\\x))");
        const char *session = era->modern ? era_handle(client, &evaluation) : "main";
        cr_assert_leq(characters(evaluation.text), 40000);
        era_call_send(client, era, "\"busy\"", "evaluate-lisp",
                      formatted("{\"code\":\"(loop)\",\"timeout\":1,\"session\":\"%s\"}", session));
        struct evaluation read = era_call(client, era, "read-output",
                                          formatted("{\"session\":\"%s\",\"count\":2}", session));
        expect_contains(read.text, "of 50000]\nxx\n[to continue: ");
        cr_assert_eq(client_evaluate_await(client, "\"busy\"").error_code, -32004);
    }
}
