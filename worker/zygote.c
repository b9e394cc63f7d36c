/* A zygote's life: configure, boot, then one fork for each spawn. Never evaluates anything foreign
 * and never holds anything of a session, so that a fork of it has no secrets. */
#include "worker/zygote.h"
#include "common/child.h"
#include "common/frame.h"
#include "policy/policy.h"
#include "worker/configuration.h"
#include "worker/image.h"
#include "worker/worker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_FAILED = 70 };

struct zygote {
    int control;
    struct configuration configuration;
    struct policy_ground *ground;
    struct policy_report report;
};

static bool tell(const struct zygote *zygote, enum frame_type type, const void *bytes,
                 size_t size) {
    struct frame_header header = {.type = (uint16_t)type, .length = (uint32_t)size};
    return frame_send(zygote->control, &header, bytes, NULL, 0, NULL);
}

static bool tell_failure(const struct zygote *zygote, const struct error *error) {
    return tell(zygote, FRAME_FAILED, error->text, strlen(error->text));
}

/* Receives the first frame. False with *error. */
static bool configure(struct zygote *zygote, struct error *error) {
    struct frame_header header;
    unsigned char *payload;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
    int got = frame_receive(zygote->control, &header, &payload, descriptors, &count, error);
    if (got < 0)
        return false;
    /* The paths stay where they are for good. */
    return (got == 1 && header.type == FRAME_CONFIGURE && count == 0 &&
            configuration_decode(payload, header.length, &zygote->configuration)) ||
           error_set(error, 0, "the first frame of a zygote is not its configuration");
}

static bool boot(struct zygote *zygote, struct error *error) {
    const struct configuration *configuration = &zygote->configuration;
    if (!configure(zygote, error) || !image_boot(&configuration->fixed, error))
        return false;
    for (size_t i = 0; i < configuration->fixed.preload_count; i++)
        if (!image_load(&configuration->fixed, configuration->preload[i], error))
            return false;
    if (!image_is_forkable(error))
        return false;
    const struct policy policy = configuration_policy(configuration);
    zygote->ground = policy_prepare(&policy, &zygote->report, error);
    return zygote->ground != NULL;
}

static bool spawn(const struct zygote *zygote, const int descriptors[FRAME_DESCRIPTORS_MAX]) {
    struct worker_descriptors own = {descriptors[0], descriptors[1], descriptors[2]};
    pid_t pid = fork_for_parent(); /* for the supervisor: exit status, resource usage */
    if (pid == 0)
        worker_live(&zygote->configuration.fixed, zygote->ground, &own);
    if (pid > 0)
        return true;
    struct error error = {0};
    error_set(&error, errno, "forking a worker");
    return tell_failure(zygote, &error);
}

/* One frame. False when the control socket ended or the frame is none for a zygote. */
static bool serve_one(const struct zygote *zygote) {
    struct frame_header header;
    unsigned char *payload;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
    if (frame_receive(zygote->control, &header, &payload, descriptors, &count, NULL) <= 0)
        return false;
    free(payload);
    bool good =
        header.type == FRAME_SPAWN && count == FRAME_DESCRIPTORS_MAX && spawn(zygote, descriptors);
    for (size_t i = 0; i < count; i++)
        close(descriptors[i]);
    return good;
}

int zygote_run(int control) {
    struct zygote zygote = {.control = control};
    struct error error = {0};
    setsid(); /* what is typed at the terminal is for the supervisor */
    if (!boot(&zygote, &error)) {
        tell_failure(&zygote, &error);
        return EXIT_FAILED;
    }
    if (!tell(&zygote, FRAME_BOOTED, &zygote.report, sizeof zygote.report))
        return EXIT_FAILED;
    while (serve_one(&zygote))
        ;
    _exit(0); /* no exit hooks: this process runs no Lisp of its own */
}
