/* See footprint.h. */
#include "tests/support/footprint.h"
#include "tests/support/family.h"
#include "tests/support/process.h"
#include <unistd.h>

enum { LOOKS = 8, TICK_MS = 10, WATCHDOG_TICKS = 60 * 1000 / TICK_MS };

static int look(struct client *client) {
    usleep(TICK_MS * 1000);
    client_ping(client); /* earlier input has been processed */
    return process_descriptors(client_pid(client));
}

int footprint_descriptors(struct client *client, size_t workers) {
    family_workers(client, workers, NULL, 0);
    family_await_no_zombies(client);
    int descriptors = look(client);
    for (int same = 0; same < LOOKS; same++) {
        int now = look(client);
        if (now != descriptors)
            same = 0;
        descriptors = now;
    }
    return descriptors;
}

void footprint_expect_descriptors(struct client *client, size_t workers, int wanted) {
    family_workers(client, workers, NULL, 0);
    family_await_no_zombies(client);
    int now = look(client);
    for (int ticks = 0; now > wanted && ticks < WATCHDOG_TICKS; ticks++)
        now = look(client);
    if (now > wanted)
        client_fail(client, "%d descriptors have become %d", wanted, now);
}
