/* supervisor/process/worker_process: what it reports without a process on the other end. */
#include "supervisor/process/worker_process.h"
#include <criterion/criterion.h>
#include <unistd.h>

/* An answer would never come: the call must not count as begun. */
Test(worker_process, a_call_that_cannot_be_sent_is_reported) {
    struct loop loop;
    struct log log = {.out.fd = -1, .least = LOG_ERROR_LEVEL};
    struct workers workers = {.loop = &loop, .log = &log};
    const struct worker_events events = {0};
    const struct buffer payload = {.length = FRAME_PAYLOAD_MAX + 1};
    struct error error;
    int theirs;
    cr_assert(loop_open(&loop, &error));
    struct worker_process *worker = worker_create(&workers, &events, NULL, &theirs, &error);
    cr_assert_not_null(worker);
    cr_assert_not(worker_evaluate(worker, 1, &payload));
    cr_assert_not(worker_run(worker, 1, &payload));
    close(theirs);
    worker_destroy(worker);
    loop_close(&loop);
}
