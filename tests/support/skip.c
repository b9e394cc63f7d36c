/* See skip.h. */
#include "tests/support/skip.h"
#include "tests/support/available.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

void skip_without_layers(uint32_t layers, bool nobody) {
    const struct policy_report report = available_report(nobody);
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        if (layers & POLICY_LAYER_BIT(layer) && report.layers[layer].state != POLICY_ACTIVE)
            cr_skip_test("the layer %s is missing here: %s", policy_layer_name(layer),
                         report.layers[layer].why);
}

void skip_without_unshare(void) {
    if (!available_unshare())
        cr_skip_test("no namespaces can be made here");
}

void skip_without_mounts(void) {
    if (!available_mounts())
        cr_skip_test("nothing can be mounted here for one process alone");
}

void skip_unless_root(void) {
    if (geteuid() != 0)
        cr_skip_test("only root can become another user");
}

void skip_without_separate_users(void) {
    setfsuid(POLICY_USERS_FIRST);
    if ((uint32_t)setfsuid(geteuid()) != POLICY_USERS_FIRST)
        cr_skip_test("the user namespace maps too few users");
}

void skip_without_inspection(void) {
    if (!available_inspection())
        cr_skip_test("only root with CAP_SYS_PTRACE may look into the workers");
}

void skip_without_tracking(void) {
    if (!available_tracking())
        cr_skip_test("the kernel does not note here what a process writes");
}

void skip_without_pages(void) {
    const char *record = getenv("ECLAVE_SESSION_RECORD");
    skip_without_tracking();
    skip_without_inspection();
    if (record && strcmp(record, "off") == 0)
        cr_skip_test("each state is a process in this run");
}
