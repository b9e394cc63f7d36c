/* Batches that take long to read: timers and calls continue meanwhile, the lines after them wait,
 * and each is answered by one whole array, however the server ends. */
#include "tests/support/array.h"
#include "tests/support/project_files.h"
#include <signal.h>

/* Elements that take long: all of them together about ten times SOON. */
#ifdef __SANITIZE_ADDRESS__
enum { LENGTH = 60 };
#else
enum { LENGTH = 600 };
#endif

enum { PROMPT_BYTES = 100000 };

/* A time limit that ends while the server reads the batch after it. */
#define SOON "\"timeout\":0.1"

/* A prompt that consists of placeholders. With this value it exceeds response.max_bytes, which
 * takes the server long to detect, and the answer is short. */
#define FILLED                                                                                     \
    REQUEST_WITH("5", "prompts/get",                                                               \
                 "{\"name\":\"big\",\"arguments\":{\"a\":\"0123456789012345678901234567890123456"  \
                 "789012345678901234567890123456789012345678901234567890123456789\"}}")

static void begin(void) {
    static char text[PROMPT_BYTES + 1];
    for (size_t at = 0; at + 5 <= PROMPT_BYTES; at += 5)
        memcpy(text + at, "{{a}}", 5);
    project_files_begin();
    project_files_write("prompts/big.json", "{\"arguments\":[{\"name\":\"a\"}]}");
    project_files_write("prompts/big.txt", text);
}

TestSuite(long_batches, .init = begin, .fini = project_files_end);

/* A server with a session that is ready to evaluate. */
static struct client *start(const char *grace_s) {
    const char *arguments[] = {"--shutdown-grace-s", grace_s, "--response-max-bytes", "500000",
                               NULL};
    struct client *client = project_files_serve_in(&eras[1], arguments);
    cr_assert_str_eq(eras[1].revision, CLIENT_REVISION_BATCH);
    cr_assert_str_eq(client_evaluate(client, "1").text, "=> 1");
    return client;
}

/* An array of FIRST, LENGTH elements that take long, and LAST; without a newline. */
static void send_long(struct client *client, const char *first, const char *last) {
    client_send(client, "[", 1);
    client_send(client, first, strlen(first));
    client_flush(client);
    for (int i = 0; i < LENGTH; i++)
        client_send(client, "," FILLED, sizeof("," FILLED) - 1);
    client_flush(client);
    client_send(client, ",", 1);
    client_send(client, last, strlen(last));
    client_send(client, "]", 1);
}

/* Sends a long batch and returns while it is being read, when the time limit of a call before it
 * has ended. */
static void begin_long(struct client *client, const char *first, const char *last) {
    client_send_line(client, CALL("7", "{\"code\":\"(loop)\"," SOON "}"));
    send_long(client, first, last);
    client_send(client, "\n", 1);
    expect_member(client_read_response(client), "-32004", "error", "code", NULL);
    cr_assert_eq(client_unread_responses(client), 0);
}

/* The answers to a long batch. */
static const char *read_long(struct client *client) {
    const char *line = client_read_response(client);
    cr_assert_eq(json_kind(text_of(line)), VALUE_ARRAY, "%s", line);
    cr_assert_eq(json_count(text_of(line)), LENGTH + 2, "%s", line);
    return line;
}

static void expect_value(const char *line, const char *id, const char *text) {
    struct text value;
    cr_assert(json_at(array_element(line, id), &value, "result", "content", NULL), "%s", line);
    cr_assert(json_element(value, 0, &value) && json_member(value, "text", &value));
    cr_assert(text_is(value, text), "no %s for %s in %s", text, id, line);
}

static void expect_end(struct client *client) {
    cr_assert_null(client_read_line_or_end(client, NULL));
    client_finish(client);
}

/* The elements that take long share their id; each gets an error, since its answer is too long. */
static void expect_filled(const char *line) {
    struct text element, id, code;
    int filled = 0;
    for (size_t i = 0; json_element(text_of(line), i, &element); i++) {
        if (!json_member(element, "id", &id) || !text_is(id, "5"))
            continue;
        filled++;
        cr_assert(json_at(element, &code, "error", "code", NULL) && text_is(code, "-32603"), "%s",
                  line);
    }
    cr_assert_eq(filled, LENGTH, "%s", line);
}

Test(long_batches, do_not_delay_a_time_limit) {
    struct client *client = start("100");
    begin_long(client, PING("1"), PING("2"));
    expect_filled(read_long(client));
    client_finish(client);
}

Test(long_batches, may_evaluate_before_they_are_read_to_the_end) {
    struct client *client = start("100");
    send_long(client, EVALUATE("1", "(defvar *x* 20)"), EVALUATE("2", "(1+ *x*)"));
    client_send(client, "\n", 1);
    const char *line = read_long(client);
    expect_value(line, "1", "\"=> *X*\"");
    expect_value(line, "2", "\"=> 21\"");
    client_finish(client);
}

Test(long_batches, are_read_before_the_lines_after_them) {
    struct client *client = start("100");
    begin_long(client, PING("1"), PING("2"));
    client_send_line(client, PING("3"));
    client_send_line(client, "[" PING("4") "]");
    send_long(client, PING("1"), PING("2"));
    client_send(client, "\n" PING("6"), sizeof("\n" PING("6")) - 1);
    client_send(client, "\n", 1);
    read_long(client);
    expect_member(client_read_response(client), "3", "id", NULL);
    cr_assert_eq(json_count(text_of(client_read_response(client))), 1);
    read_long(client);
    expect_member(client_read_response(client), "6", "id", NULL);
    client_finish(client);
}

Test(long_batches, are_answered_whole_before_the_end_of_the_input) {
    static const char *const ends[] = {"\n", "", " \n", "\n" PING("3")};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct client *client = start("1");
        send_long(client, PING("1"), EVALUATE("2", "(+ 1 2)"));
        client_send(client, ends[i], strlen(ends[i]));
        client_close_stdin(client);
        if (i == COUNT_OF(ends) - 1)
            client_await(client, "3", NULL);
        expect_value(read_long(client), "2", "\"=> 3\"");
        expect_end(client);
    }
}

Test(long_batches, are_answered_whole_when_a_signal_ends_the_server) {
    static const int signals[] = {SIGTERM, SIGINT};
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        struct client *client = start("100");
        begin_long(client, PING("1"), EVALUATE("2", "(+ 1 2)"));
        client_send_line(client, PING("3")); /* is not read */
        client_kill(client, signals[i]);
        expect_value(read_long(client), "2", "\"=> 3\"");
        expect_end(client);
    }
}

/* Whether the batch was being read when the grace time ended. On a busy machine the time limit of
 * begin_long may end so late that the server has read all of it; its last call is then ended like
 * its first. */
static bool is_refused(void) {
    struct client *client = start("0");
    begin_long(client, EVALUATE("1", ENDLESS), EVALUATE("2", "1"));
    client_kill(client, SIGTERM);
    const char *line = read_long(client);
    array_expect_code(line, "1", "-32001");
    const bool refused = array_has_code(line, "2", "-32003");
    if (!refused)
        array_expect_code(line, "2", "-32001");
    expect_end(client);
    return refused;
}

Test(long_batches, are_refused_after_the_end_of_the_grace_time) {
    enum { TRIALS = 20 };
    int trial = 0;
    while (trial < TRIALS && !is_refused())
        trial++;
    cr_assert_lt(trial, TRIALS, "the batch was read too soon each time");
}

Test(long_batches, are_dropped_when_the_reader_is_gone) {
    struct client *client = start("100");
    begin_long(client, EVALUATE("1", ENDLESS), PING("2"));
    client_close_stdout(client);
    cr_assert_eq(client_wait(client), 70);
    client_free(client);
}

Test(long_batches, can_be_cancelled_by_their_own_elements_and_by_later_lines) {
    struct client *client = start("100");
    send_long(client, EVALUATE("1", ENDLESS) "," EVALUATE("2", ENDLESS), CANCEL("1"));
    client_send_line(client, "");
    client_send_line(client, CANCEL("2"));
    const char *line = read_long(client);
    array_expect_code(line, "1", "-32001");
    array_expect_code(line, "2", "-32001");
    client_finish(client);
}
