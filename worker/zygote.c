/* A zygote's life: configure, boot, then one fork for each spawn. Never evaluates anything foreign
 * and never holds anything of a session, so that a fork of it has no secrets. */
#include "worker/zygote.h"
#include "common/frame.h"
#include "policy/policy.h"
#include "worker/image.h"
#include "worker/worker.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EXIT_FAILED = 70 };

struct zygote {
    int control;
    struct worker_configuration configuration;
    struct policy_program *program;
};

static bool report(const struct zygote *zygote, enum frame_type type, const char *text) {
    struct frame_header header = {.type = (uint16_t)type, .length = (uint32_t)strlen(text)};
    return frame_send(zygote->control, &header, text, NULL, 0, NULL);
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
    bool good = got == 1 && header.type == FRAME_CONFIGURE && count == 0 &&
                header.length == sizeof zygote->configuration;
    if (good)
        memcpy(&zygote->configuration, payload, sizeof zygote->configuration);
    if (got == 1)
        free(payload);
    return good || error_set(error, 0, "the first frame of a zygote is not its configuration");
}

static bool boot(struct zygote *zygote, struct error *error) {
    if (!configure(zygote, error) || !image_boot(&zygote->configuration, error))
        return false;
    zygote->program = policy_program_build(zygote->configuration.allow_degraded != 0, error);
    return zygote->program != NULL;
}

/* The supervisor becomes the parent, so that it has the exit status and the resources used. */
static pid_t fork_for_parent(void) {
    return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
}

static bool spawn(const struct zygote *zygote, const int descriptors[FRAME_DESCRIPTORS_MAX]) {
    struct worker_descriptors own = {descriptors[0], descriptors[1], descriptors[2]};
    pid_t pid = fork_for_parent();
    if (pid == 0)
        worker_live(&zygote->configuration, zygote->program, &own);
    if (pid > 0)
        return true;
    struct error error = {0};
    error_set(&error, errno, "forking a worker");
    return report(zygote, FRAME_FAILED, error.text);
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
        report(&zygote, FRAME_FAILED, error.text);
        return EXIT_FAILED;
    }
    if (!report(&zygote, FRAME_BOOTED, ""))
        return EXIT_FAILED;
    while (serve_one(&zygote))
        ;
    _exit(0); /* no exit hooks: this process runs no Lisp of its own */
}
