/* The rates of progress and of log messages are settings. */
#include "tests/support/project_files.h"
#include <string.h>

TestSuite(rates, .init = project_files_begin, .fini = project_files_end);

enum { SENT = 5 };

static size_t count(const char *line, const char *part) {
    return strstr(line, part) != NULL;
}

/* Calls the tool; so much progress and so many log messages must come before the answer. */
static void expect_sent(const char *const *arguments, size_t progress, size_t logs) {
    struct client *client = project_files_serve_in(era_modern, arguments);
    era_send_meta(client, era_modern, "1", "tools/call", "\"name\":\"tell\"",
                  "\"progressToken\":\"p\",\"" KEY_LOG_LEVEL "\":\"debug\"");
    const char *line = client_read_line(client, NULL);
    size_t progress_seen = 0, logs_seen = 0;
    for (; !strstr(line, "\"id\":1"); line = client_read_line(client, NULL)) {
        progress_seen += count(line, "notifications/progress");
        logs_seen += count(line, "\"logger\":\"tell\"");
    }
    cr_assert_eq(progress_seen, progress, "%zu times progress", progress_seen);
    cr_assert_eq(logs_seen, logs, "%zu log messages", logs_seen);
    expect_contains(line, "\"done\"");
    client_finish(client);
}

Test(rates, of_progress_and_of_logs_are_limited_separately) {
    static const char *const one_each[] = {"--progress-max-per-min", "1", "--log-max-per-min", "1",
                                           NULL};
    static const char *const few_logs[] = {"--progress-max-per-min", "0", "--log-max-per-min", "2",
                                           NULL};
    project_files_format("tools/tell.lisp",
                         "(mcp:deftool \"tell\" () (dotimes (i %d \"done\")"
                         " (mcp:progress i %d) (mcp:log :warning \"w\")))",
                         SENT, SENT);
    expect_sent(NULL, SENT, SENT);
    expect_sent(one_each, 1, 1);
    expect_sent(few_logs, SENT, 2);
}
