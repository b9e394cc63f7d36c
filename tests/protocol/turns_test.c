/* Lines of the client that are costly to read. In a build with tests, a turn of the loop that is
 * too long ends the server (supervisor/base/turn.h), so that each test here only has to send
 * something and find the server alive. */
#include "common/buffer.h"
#include "tests/support/client.h"
#include "tests/support/lines.h"
#include <stdlib.h>

enum { REQUEST_BYTES = 16 << 20, VALUES = 32768, TWICE = 2 };

/* BEFORE, as many ITEMs as fit, each with SEPARATOR before the next, and AFTER. */
struct long_line {
    const char *before, *item, *separator, *after;
    size_t count; /* 0: as many as request.max_bytes allows */
    const char *answer;
};

#define TOOL(arguments)                                                                            \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evaluate-"     \
    "lisp\",\"arguments\":" arguments
#define PARAMS "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":"

static const struct long_line lines[] = {
    /* values */
    {PARAMS "[", "{}", ",", "]}}", VALUES - 16, "1"},
    {PARAMS "[", "[]", ",", "]}}", VALUES - 16, "1"},
    {PARAMS "[", "1.5e300", ",", "]}}", VALUES - 16, "1"},
    {PARAMS "[", "{\"\":1}", ",", "]}}", VALUES / 2 - 16, "1"},
    {PARAMS "[", "{}", ",", "]}}", (size_t)VALUES *TWICE, "null"},
    {PARAMS "[", "{}", ",", "]}}", 0, "null"},
    /* strings */
    {PARAMS "\"", "a", "", "\"}}", 0, "1"},
    {PARAMS "\"", "\\n", "", "\"}}", 0, "1"},
    {PARAMS "\"", "\\u00e9", "", "\"}}", 0, "1"},
    {PARAMS "\"", "\xc3\xa9", "", "\"}}", 0, "1"},
    {PARAMS "\"", "a\xc3\xa9\\n", "", "\"}}", 0, "1"},
    {PARAMS "{\"", "\\u00e9", "", "\":1}}}", 0, "1"},
    {PARAMS "\"", "a", "", "\"}", 0, "null"},
    /* blanks and numbers */
    {PARAMS "1", " ", "", "}}", 0, "1"},
    {PARAMS, "1", "", "}}", 65536, "1"},
    {PARAMS, "1", "", "}}", 0, "null"},
    {PARAMS "[", "1e1", " , ", "]}}", VALUES - 16, "1"},
    /* members that are looked for */
    {"{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":\"", "a", "", "\"}", 0, "null"},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":\"", "\\u00e9", "", "\"}", 0, "null"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"", "\\u00e9", "", "\"}", 0, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":{\"progressToken\":"
     "\"",
     "\\ud83d\\ude00", "", "\"}}}", 0, "1"},
    /* calls */
    {TOOL("{\"code\":\""), " ", "", "7\"}}}", 0, "1"},
    {TOOL("{\"code\":\"\\\""), "\xc3\xa9", "", "\\\"\"}}}", 1 << 20, "1"},
    {TOOL("{\"code\":\""), "\\n", "", "7\"}}}", 0, "1"},
    {TOOL("{\"code\":\"1\",\"session\":\""), "a", "", "\"}}}", 0, "1"},
    {TOOL("{\"code\":\"1\",\"package\":\""), "\xc3\xa9", "", "\"}}}", 0, "1"},
    {TOOL("{\"code\":\"1\",\"a\":["), "{}", ",", "]}}}", VALUES - 32, "1"},
    {TOOL("["), "{}", ",", "]}}", VALUES - 32, "1"},
    /* notifications and responses, which nothing answers */
    {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"",
     "a", "", "\"}}", 0, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[", "{}", ",", "]}", VALUES - 16, NULL},
};

static struct buffer line_of(const struct long_line *line, size_t limit) {
    struct buffer text = buffer_make(REQUEST_BYTES + 2);
    const size_t around = strlen(line->before) + strlen(line->after),
                 each = strlen(line->item) + strlen(line->separator),
                 most = (limit - around) / each,
                 count = line->count && line->count < most ? line->count : most;
    buffer_append_text(&text, line->before);
    for (size_t i = 0; i < count; i++) {
        buffer_append_text(&text, line->item);
        buffer_append_text(&text, i + 1 < count ? line->separator : "");
    }
    buffer_append_text(&text, line->after);
    cr_assert_not(text.failed);
    return text;
}

static void send_whole(struct client *client, const struct buffer *text, const char *id) {
    client_send(client, text->data, text->length);
    client_send(client, "\n", 1);
    if (id)
        client_await(client, id, NULL);
    client_ping(client);
}

Test(turns, a_long_line_does_not_hold_the_loop) {
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct client *client = client_start_ready(NULL, NULL);
        struct buffer text = line_of(&lines[i], REQUEST_BYTES);
        for (int times = 0; times < TWICE; times++) /* turn.h forgives one turn */
            send_whole(client, &text, lines[i].answer);
        client_finish(client);
        buffer_free(&text);
    }
}

Test(turns, a_long_element_of_a_batch_does_not_hold_the_loop) {
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct client *client = client_start_with("--batches");
        struct buffer element = line_of(&lines[i], REQUEST_BYTES - 64);
        struct buffer text = buffer_make(REQUEST_BYTES + 2);
        client_allow_batches(client);
        buffer_append_text(&text, "[" PING("2") ",");
        buffer_append(&text, element.data, element.length);
        buffer_append_text(&text, "]\n");
        for (int times = 0; times < TWICE; times++) {
            client_send(client, text.data, text.length);
            client_read_response(client);
        }
        client_ping(client);
        client_finish(client);
        buffer_free(&element);
        buffer_free(&text);
    }
}

Test(turns, a_long_batch_does_not_hold_the_loop) {
    static const struct long_line batches[] = {
        {"[", "1", ",", "]", VALUES - 1, NULL},
        {"[", "{}", ",", "]", VALUES - 1, NULL},
        {"[", " ", "", "]", 0, NULL},
        {"[1", " ", "", "]", 0, NULL},
        {"[", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}", ",", "]", VALUES / 4, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(batches); i++) {
        struct client *client = client_start_with("--batches");
        client_allow_batches(client);
        struct buffer text = line_of(&batches[i], REQUEST_BYTES);
        client_send(client, text.data, text.length);
        client_send(client, "\n", 1);
        if (i < COUNT_OF(batches) - 1)
            client_read_response(client);
        client_ping(client);
        client_finish(client);
        buffer_free(&text);
    }
}

/* Lines are handled in their order, also when the first takes many turns. */
Test(turns, a_line_after_a_long_line_waits_for_it) {
    struct client *client = client_start_ready(NULL, NULL);
    struct buffer text = line_of(&lines[0], REQUEST_BYTES);
    buffer_append_text(&text, "\n" PING("2") "\n");
    client_send(client, text.data, text.length);
    expect_contains(client_read_response(client), "\"id\":1");
    expect_contains(client_read_response(client), "\"id\":2");
    client_finish(client);
    buffer_free(&text);
}

Test(turns, a_long_line_that_is_the_last_is_answered) {
    struct client *client = client_start_ready(NULL, NULL);
    struct buffer text = line_of(&lines[0], REQUEST_BYTES);
    client_send(client, text.data, text.length); /* without a newline */
    client_close_stdin(client);
    client_await(client, "1", NULL);
    client_finish(client);
    buffer_free(&text);
}

/* --- results of evaluate-lisp --- */

static const char *const printed[] = {
    "(loop repeat 100 do (write-string (make-string 50000 :initial-element (code-char 233))))",
    "(loop repeat 20 do (write-string (make-string 50000 :initial-element (code-char 233))"
    " *error-output*)) (car 1)",
    FOREIGN "(let ((p (c \"malloc\" :pointer-void '(:unsigned-long) 10000000)))"
            " (c \"memset\" :pointer-void '(:pointer-void :int :unsigned-long) p 255 10000000)"
            " (c \"write\" :long '(:int :pointer-void :unsigned-long) 1 p 10000000)"
            " (c \"write\" :long '(:int :pointer-void :unsigned-long) 2 p 10000000) 1)",
    "(values-list (loop repeat 64 collect (make-string 28000 :initial-element (code-char "
    "128512))))",
    "(values-list (loop repeat 64 collect (make-string 50000 :initial-element #\\Newline)))",
    "(values-list (loop repeat 64 collect (make-string 60000 :initial-element (code-char "
    "128512))))",
};

Test(turns, a_long_evaluation_does_not_hold_the_loop) {
    for (size_t i = 0; i < COUNT_OF(printed); i++) {
        struct client *client = client_start_with("--session-memory-mb", "512");
        for (int times = 0; times < TWICE; times++)
            cr_expect_not_null(client_evaluate(client, printed[i]).line);
        client_ping(client);
        client_finish(client);
    }
}
