/* --log-level debug: what a maintainer sees of frames, workers, checkpoints and sessions. */
#include "tests/support/client.h"
#include "tests/support/command.h"
#include "tests/support/lines.h"

static struct client *start_traced(void) {
    const char *arguments[] = {"--log-level", "debug", NULL};
    return client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
}

Test(trace, each_step_of_a_call_is_one_line_with_session_call_and_pid) {
    static const char *const steps[] = {
        "eclave: debug: pool pid=",
        "zygote booted",
        "eclave: debug: session session=main call=1: idle -> waiting",
        "eclave: debug: session session=main call=1 pid=",
        "waiting -> evaluating",
        "sent EVALUATE, ",
        "received RESULT, ",
        "evaluating -> idle",
        "idle -> checkpointing",
        "sent FORK, 0 bytes",
        "eclave: debug: checkpoint session=main pid=",
    };
    struct client *client = start_traced();
    client_evaluate(client, "1");
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        client_await_stderr(client, steps[i]);
    client_finish(client);
}

Test(trace, a_failed_call_shows_the_end_of_its_worker_and_the_restored_state) {
    struct client *client = start_traced();
    client_evaluate(client, "1");
    client_evaluate(client, "(ext:quit 3)");
    client_await_stderr(client, "ended with status 3");
    client_await_stderr(client, "eclave: debug: restore session=main pid=");
    client_finish(client);
}

Test(trace, no_level_of_a_client_shows_it_a_trace) {
    static const char conversation[] = INITIALIZE("1", "\"2025-11-25\"") "\n" NOTIFICATION(
        "notifications/initialized") "\n" REQUEST_WITH("2", "logging/setLevel",
                                                       "{\"level\":\"debug\"}") "\n" EVALUATE("3",
                                                                                              "1");
    const char *arguments[] = {"--log-level", "debug", NULL};
    struct command_result result = command_eclave(arguments, conversation);
    expect_contains(result.output, "\"event\":\"value\"");
    expect_contains(result.error, "eclave: debug: frame session=main");
    cr_assert_null(strstr(result.output, "\"event\":\"frame\""));
    cr_assert_null(strstr(result.output, "\"event\":\"session\""));
    cr_assert_null(strstr(result.output, "\"event\":\"pool\""));
    command_result_free(&result);
}

Test(trace, without_the_level_there_is_none) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "1");
    client_evaluate(client, "(ext:quit 3)");
    cr_assert_null(strstr(client_stderr(client), "debug"));
    client_finish(client);
}
