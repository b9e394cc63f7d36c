/* The check of outgoing lines: a corrupt line is not sent, its request gets an error instead, and
 * too many of them end the server. --inject-fault corrupts the answers to ping. */
#include "tests/support/client.h"
#include "tests/support/family.h"
#include "tests/support/lines.h"
#include <stdio.h>
#include <time.h>

static const char *const faults[] = {"newline", "utf8", "json", "empty", "oversize"};

static struct client *start_corrupt(const char *fault, const char *count) {
    return client_start_with("--inject-fault", fault, "--inject-fault-count", count);
}

Test(corruption, below_the_threshold_each_corrupt_answer_is_replaced_by_an_error_with_its_id) {
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        struct client *client = start_corrupt(faults[i], "2");
        client_expect_error(client, PING("\"corrupt\""), -32603, "\"corrupt\"");
        client_expect_error(client, PING("2"), -32603, "2");
        client_ping(client);
        client_finish(client);
    }
}

Test(corruption, at_the_threshold_the_server_ends_with_status_2) {
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        if (strcmp(faults[i], "oversize") == 0)
            continue; /* an answer over the limit is not corrupt */
        struct client *client = start_corrupt(faults[i], "3");
        client_expect_error(client, PING("1"), -32603, "1");
        client_expect_error(client, PING("2"), -32603, "2");
        client_send_line(client, PING("3"));
        client_await_stderr(client, "exiting after 3 incidents within 60 s");
        family_expect_end(client, 2);
    }
}

Test(corruption, the_threshold_can_be_set) {
    struct client *client = client_start_ready(
        &(struct client_options){.arguments = STRINGS("--inject-fault", "json"),
                                 .environment = STRINGS("MCPBASH_CORRUPTION_THRESHOLD=1")},
        NULL);
    client_send_line(client, PING("1"));
    family_expect_end(client, 2);
}

Test(corruption, incidents_outside_the_window_do_not_count) {
    struct client *client = client_start_with("--inject-fault", "json", "--inject-fault-count", "4",
                                              "--corruption-window-s", "1");
    for (int i = 0; i < 2; i++) {
        client_expect_error(client, PING("1"), -32603, "1");
        client_expect_error(client, PING("2"), -32603, "2");
        /* The window itself must pass. */
        const struct timespec window = {.tv_sec = 1, .tv_nsec = 200000000};
        nanosleep(&window, NULL);
    }
    client_ping(client);
    client_finish(client);
}

Test(corruption, running_calls_end_with_the_server) {
    struct client *client = start_corrupt("json", "3");
    client_evaluate_send(client, "1", ENDLESS);
    client_send_line(client, PING("2") "\n" PING("3") "\n" PING("4"));
    family_expect_end(client, 2);
}

/* The server under a shell that has redirected its stdout. */
static struct client *start_redirected(const char *script) {
    const char *arguments[] = {"-c", script, "sh", ECLAVE_BINARY, NULL};
    return client_start(&(struct client_options){.program = "/bin/sh", .arguments = arguments});
}

Test(corruption, a_full_disk_ends_the_server_with_status_70) {
    struct client *client = start_redirected("exec \"$1\" >/dev/full");
    client_send_line(client, INITIALIZE("1", "\"2025-11-25\""));
    client_await_stderr(client, "No space left on device");
    family_expect_end(client, 70);
}

Test(corruption, a_full_disk_at_the_end_of_input_ends_the_server_too) {
    struct client *client = start_redirected("exec \"$1\" --shutdown-grace-s 60 >/dev/full");
    client_send_line(client, INITIALIZE("1", "\"2025-11-25\"") "\n" EVALUATE("2", "1"));
    client_close_stdin(client);
    family_expect_end(client, 70);
}

Test(corruption, a_file_at_its_limit_is_a_full_disk) {
    struct client *client =
        start_redirected("file=$(mktemp) && exec 3>\"$file\" && rm \"$file\" && ulimit -f 20 && "
                         "exec \"$1\" >&3 3>&-");
    client_send_line(client, INITIALIZE("1", "\"2025-11-25\""));
    for (int i = 0; i < 20; i++)
        client_send_line(client, REQUEST("2", "tools/list"));
    client_await_stderr(client, "File too large");
    family_expect_end(client, 70);
}

Test(corruption, a_full_disk_does_no_harm_while_nothing_is_written) {
    struct client *client = start_redirected("exec \"$1\" >/dev/full");
    client_send_line(client, NOTIFICATION("ping"));
    client_close_stdin(client);
    family_expect_end(client, 0);
}
