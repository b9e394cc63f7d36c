/* spec/000, error-response-stability: for all malformed or invalid requests the server answers with
 * a well-formed JSON-RPC error of the right code and stays operational. */
#include "tests/support/client.h"
#include "tests/support/generate.h"
#include "tests/support/play.h"
#include "tests/support/process.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define VALID_REQUEST "{\"jsonrpc\":\"2.0\",\"id\":\"valid\",\"method\":\"tools/list\"}"

/* The assertion of the property, each time on a fresh server: an error, then a served request. */
Test(error_response_stability, any_invalid_request_is_refused_and_the_next_request_served) {
    struct generator generator = generate_for("any_invalid_request");
    size_t trials = random_trials(100, 500);
    for (size_t trial = 0; trial < trials; trial++) {
        struct script script = {0};
        generate_handshake(NULL, &script);
        generate_invalid_lines(&generator, 1, &script);
        script_add_line(&script, VALID_REQUEST);
        struct played played = play_expect(&(struct play){.in_turn = true}, &script);
        cr_assert_eq(played.errors, 1);
        cr_assert_eq(played.results, 2); /* initialize and the valid request */
        script_free(&script);
    }
}

/* What the server holds at one moment. */
struct holding {
    long memory_kb;
    int descriptors;
    size_t children;
};

struct soak {
    struct holding early, late;
    size_t pauses;
};

static struct holding hold_of(struct client *client) {
    pid_t pids[256];
    pid_t server = client_pid(client);
    return (struct holding){.memory_kb = process_status(server, "RssAnon"),
                            .descriptors = process_descriptors(server),
                            .children = client_descendants(client, pids, 256)};
}

enum { WARM_UP_PAUSES = 3 };

static void look_at_server(struct client *client, size_t sent, void *context) {
    (void)sent;
    struct soak *soak = context;
    soak->late = hold_of(client);
    if (++soak->pauses == WARM_UP_PAUSES)
        soak->early = soak->late;
}

/* The slack is for buffers that keep what they once grew to, and for what a sanitizer keeps; a leak
 * on each of thousands of lines shows far above it. */
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZER_KB = 2048 };
#else
enum { SANITIZER_KB = 0 };
#endif

static void expect_flat(const struct soak *soak, long slack_kb) {
    cr_assert_gt(soak->pauses, WARM_UP_PAUSES);
    cr_assert_leq(soak->late.memory_kb, soak->early.memory_kb + slack_kb + SANITIZER_KB,
                  "memory grew from %ld kB to %ld kB", soak->early.memory_kb, soak->late.memory_kb);
    /* The workers come up beside the conversation, perhaps only after the first look. */
    enum { LATE_DESCRIPTORS = 8, LATE_CHILDREN = 2 };
    cr_assert_leq(soak->late.descriptors, soak->early.descriptors + LATE_DESCRIPTORS,
                  "descriptors grew from %d to %d", soak->early.descriptors,
                  soak->late.descriptors);
    cr_assert_leq(soak->late.children, soak->early.children + LATE_CHILDREN,
                  "processes grew from %zu to %zu", soak->early.children, soak->late.children);
}

/* 10,000 invalid requests in sequence, a valid one among every hundred and one at the end. */
static void run_soak(size_t invalid, bool in_turn, const char *name) {
    struct generator generator = generate_for(name);
    struct script script = {0};
    struct soak soak = {.pauses = 0};
    generate_handshake(NULL, &script);
    size_t valid = 0;
    for (size_t sent = 0; sent < invalid; sent += 100, valid++) {
        generate_invalid_lines(&generator, 100, &script);
        script_add_line(&script, VALID_REQUEST);
    }
    struct play play = {.in_turn = in_turn,
                        .pause_every = invalid / 10,
                        .at_pause = look_at_server,
                        .context = &soak};
    struct played played = play_expect(&play, &script);
    cr_assert_eq(played.errors, invalid);
    cr_assert_eq(played.results, 1 + valid);
    cr_assert_eq(played.open, 0);
    expect_flat(&soak, in_turn ? 256 : 1024);
    script_free(&script);
}

Test(error_response_stability, ten_thousand_invalid_requests_in_a_stream) {
    run_soak(10000, false, "ten_thousand_in_a_stream");
}

Test(error_response_stability, ten_thousand_invalid_requests_one_after_another) {
    run_soak(10000, true, "ten_thousand_one_after_another");
}

/* The categories that the statement names, with the code of each. */
static const struct {
    int code;
    const char *id, *line;
} categories[] = {
    {-32700, "null", "not-json"},
    {-32700, "null", "{\"jsonrpc\":\"2.0\",\"id\":1,"},
    {-32700, "null", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xc3\x28\"}"},
    {-32600, "\"m\"", "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"params\":{}}"},
    {-32600, "1", "{\"id\":1,\"method\":\"ping\"}"},
    {-32600, "null", "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}"},
    {-32600, "4", "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":12345}"},
    {-32600, "3", "{\"jsonrpc\":2.0,\"id\":3,\"method\":\"ping\"}"},
    {-32600, "1.5", "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}"},
    {-32600, "null", "{}"},
    {-32600, "null", "5"},
    {-32600, "null", "[]"},
    {-32601, "5", "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"foo/bar\"}"},
    {-32602, "6", "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\",\"params\":42}"},
    {-32602, "7", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{}}"},
    {-32602, "8",
     "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/list\",\"params\":"
     "{\"cursor\":\"bogus\"}}"},
};

Test(error_response_stability, each_category_has_its_code) {
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
        client_expect_error(client, categories[i].line, categories[i].code, categories[i].id);
        client_expect_silence(client);
        client_expect_result(client, VALID_REQUEST, "\"valid\"");
    }
    client_finish(client);
}

/* Extremely large inputs. */

enum { REQUEST_MAX_BYTES = 16 << 20 };

/* A ping that is exactly LENGTH bytes long; malloc'd. */
static char *padded_ping(size_t length) {
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":\"big\",\"method\":\"ping\",\"x\":\"";
    static const char tail[] = "\"}";
    char *line = malloc(length + 1);
    cr_assert_not_null(line);
    memset(line, 'a', length);
    memcpy(line, head, sizeof head - 1);
    memcpy(line + length - (sizeof tail - 1), tail, sizeof tail);
    return line;
}

Test(error_response_stability, a_line_of_the_largest_size_is_served_and_one_byte_more_is_not) {
    struct client *client = client_start_ready(NULL, NULL);
    char *fits = padded_ping(REQUEST_MAX_BYTES), *over = padded_ping(REQUEST_MAX_BYTES + 1);
    client_expect_result(client, fits, "\"big\"");
    client_expect_error(client, over, -32700, "null");
    client_expect_silence(client);
    free(fits);
    free(over);
    client_finish(client);
}

Test(error_response_stability, an_endless_line_is_refused_at_once_and_held_in_bounded_memory) {
    enum { CHUNK = 1 << 20, CHUNKS = 100 };
    struct client *client = client_start_ready(NULL, NULL);
    client_ping(client);
    static char chunk[CHUNK];
    memset(chunk, 'a', sizeof chunk);
    for (size_t i = 0; i < REQUEST_MAX_BYTES / CHUNK + 1; i++)
        client_send(client, chunk, sizeof chunk);
    const char *line = client_await(client, "null", NULL); /* no newline was sent yet */
    cr_assert_eq(client_integer(client, line, "error", "code", NULL), -32700);
    for (size_t i = 0; i < CHUNKS; i++)
        client_send(client, chunk, sizeof chunk);
    client_flush(client);
    client_send_line(client, "");
    client_expect_silence(client); /* one error for the monster, and we are back in step */
    long peak_kb = process_status(client_pid(client), "VmHWM");
    cr_assert_lt(peak_kb, 3 * (REQUEST_MAX_BYTES >> 10) + ECLAVE_TEST_MEMORY_SLACK_KB,
                 "the server grew to %ld kB", peak_kb);
    client_finish(client);
}
