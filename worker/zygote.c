/* The zygote: boots the Lisp image once and forks workers from it. It evaluates nothing untrusted
 * and holds nothing of a session, so a fork of it contains no secrets. Started by the supervisor
 * with its control socket as descriptor 3; it has no command line. */
#include "common/child.h"
#include "common/frame.h"
#include "policy/policy.h"
#include "worker/adopt.h"
#include "worker/image.h"
#include "worker/image_write.h"
#include "worker/inputs.h"
#include "worker/native.h"
#include "worker/preload.h"
#include "worker/scrub.h"
#include "worker/worker.h"
#include "worker/working_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONTROL = 3, STRINGS_MAX = 64 };

static const char *const image_reason_texts[IMAGE_REASON_COUNT] = {
#define IMAGE_REASON(id, text) [IMAGE_##id] = (text),
#include "common/image_reason.def"
#undef IMAGE_REASON
};

struct zygote {
    struct worker_configuration configuration;
    /* In the payload of FRAME_CONFIGURE, which is never freed. */
    char *readable[STRINGS_MAX];
    char *systems[STRINGS_MAX];
    char *preload[STRINGS_MAX];
    char *environment[STRINGS_MAX];
    unsigned char *private_strings; /* all but the readable ones */
    size_t private_size;
    struct policy_prepared *prepared;
    struct policy_report report;
    enum image_reason image; /* why this process booted; IMAGE_OFF: it writes no image */
};

static bool send_frame(enum frame_type type, const void *bytes, size_t size) {
    struct frame_header header = {.type = (uint16_t)type, .length = (uint32_t)size};
    return frame_send(CONTROL, &header, bytes, NULL, 0, NULL);
}

static bool send_failure(const struct error *error) {
    return send_frame(FRAME_FAILED, error->text, strlen(error->text));
}

static void report_failure(const char *reason) {
    send_frame(FRAME_FAILED, reason, strlen(reason));
}

/* Takes COUNT terminated strings from PAYLOAD, from *offset on. */
static bool take_strings(unsigned char *payload, size_t length, size_t *offset, size_t count,
                         char *strings[STRINGS_MAX]) {
    if (count > STRINGS_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        unsigned char *end = memchr(payload + *offset, 0, length - *offset);
        if (!end)
            return false;
        strings[i] = (char *)payload + *offset;
        *offset = (size_t)(end - payload) + 1;
    }
    return true;
}

static bool decode_configuration(struct zygote *zygote, unsigned char *payload, size_t length) {
    struct worker_configuration *configuration = &zygote->configuration;
    size_t offset = sizeof *configuration;
    if (length < offset)
        return false;
    memcpy(configuration, payload, sizeof *configuration);
    if (!take_strings(payload, length, &offset, configuration->readable_count, zygote->readable))
        return false;
    zygote->private_strings = payload + offset;
    zygote->private_size = length - offset;
    return take_strings(payload, length, &offset, configuration->systems_count, zygote->systems) &&
           take_strings(payload, length, &offset, configuration->preload_count, zygote->preload) &&
           take_strings(payload, length, &offset, configuration->environment_count,
                        zygote->environment) &&
           offset == length;
}

/* Receives the first frame. False with *error. */
static bool configure(struct zygote *zygote, struct error *error) {
    struct frame_header header;
    unsigned char *payload;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
    int got = frame_receive(CONTROL, &header, &payload, descriptors, &count, error);
    if (got < 0)
        return false;
    return (got == 1 && header.type == FRAME_CONFIGURE && count == 0 &&
            decode_configuration(zygote, payload, header.length)) ||
           error_set(error, 0, "zygote: the first frame is not a valid configuration");
}

static struct policy make_policy(const struct zygote *zygote) {
    const struct worker_configuration *configuration = &zygote->configuration;
    return (struct policy){.layers = configuration->layers,
                           .required = configuration->required,
                           .degraded = configuration->degraded != 0,
                           .user = configuration->user,
                           .separate_users = true,
                           .native = configuration->native != 0,
                           .address_space_bytes = configuration->address_space_bytes,
                           .scratch_bytes = configuration->scratch_bytes,
                           .readable = (const char *const *)zygote->readable,
                           .readable_count = configuration->readable_count};
}

/* Sets the variables that say where ECL has its files, which it asks when it boots, and where ASDF
 * searches. */
static bool set_environment(const struct zygote *zygote, struct error *error) {
    for (size_t i = 0; i < zygote->configuration.environment_count; i++)
        if (putenv(zygote->environment[i]) != 0)
            return error_set(error, errno, "zygote: cannot set the environment");
    return true;
}

/* Unsets them, and overwrites all strings that the workers need not know. */
static void forget_strings(const struct zygote *zygote) {
    for (size_t i = 0; i < zygote->configuration.environment_count; i++) {
        char *setting = zygote->environment[i];
        setting[strcspn(setting, "=")] = 0;
        unsetenv(setting);
    }
    explicit_bzero(zygote->private_strings, zygote->private_size);
}

/* The paths and the text of the files are not for the workers. */
static bool preload(const struct zygote *zygote, struct error *error) {
    const struct worker_configuration *configuration = &zygote->configuration;
    if (configuration->systems_count + configuration->preload_count == 0) {
        forget_strings(zygote);
        return true;
    }
    preload_begin(report_failure);
    for (size_t i = 0; i < configuration->systems_count; i++)
        if (!preload_system(configuration, zygote->systems[i], error))
            return false;
    for (size_t i = 0; i < configuration->preload_count; i++)
        if (!preload_file(configuration, zygote->preload[i], error))
            return false;
    preload_end();
    native_preloaded(CONTROL);
    forget_strings(zygote);
    if (!image_forget_places(error))
        return false;
    scrub_lisp();
    return true;
}

static size_t loaded_count(const struct worker_configuration *configuration) {
    return configuration->readable_count + configuration->systems_count +
           configuration->preload_count;
}

/* A restored process has another supervisor, channel and limits than the one that was written. */
static bool begin_again(struct zygote *zygote, struct error *error) {
    const struct worker_configuration before = zygote->configuration;
    const struct worker_configuration *now = &zygote->configuration;
    zygote->image = IMAGE_OFF;
    if (!configure(zygote, error) || !image_continue(error))
        return false;
    forget_strings(zygote); /* what they name is in the image */
    return (before.memory_bytes == now->memory_bytes && before.native == now->native &&
            before.value_max_chars == now->value_max_chars &&
            !before.scratch_bytes == !now->scratch_bytes &&
            before.readable_count == now->readable_count &&
            before.systems_count == now->systems_count &&
            before.preload_count == now->preload_count) ||
           error_set(error, 0, "zygote: the image was made for another configuration");
}

/* Writes the image, if this process is to; a restored process comes out of it too. */
static bool pass_image(struct zygote *zygote, struct error *error) {
    char name[IMAGE_NAME_BYTES], report[ERROR_TEXT_BYTES], *line = report + 1;
    struct error why = {0};
    struct inputs inputs;
    enum image_moment moment = IMAGE_MOMENT_FAILED;
    if (zygote->image == IMAGE_OFF)
        return true;
    image_file_name(name, zygote->configuration.image_key);
    if (inputs_end(&inputs, &why))
        moment =
            image_write(IMAGE_DIRECTORY_FD, name, zygote->configuration.image_key, &inputs, &why);
    if (moment == IMAGE_MOMENT_RESTORED)
        return begin_again(zygote, error);
    inputs_free(&inputs);
    report[0] = moment == IMAGE_MOMENT_WRITTEN;
    if (moment == IMAGE_MOMENT_WRITTEN)
        snprintf(line, sizeof report - 1, "Lisp was booted and its image written: %s",
                 image_reason_texts[zygote->image]);
    else
        snprintf(line, sizeof report - 1, "Lisp was booted and there is no image: %.300s",
                 why.text);
    return send_frame(FRAME_IMAGE, report, 1 + strlen(line)) ||
           error_set(error, errno, "zygote: cannot report the image");
}

static bool boot(struct zygote *zygote, struct error *error) {
    const struct worker_configuration *configuration = &zygote->configuration;
    scrub_begin();
    if (!configure(zygote, error) || !set_environment(zygote, error) ||
        !image_boot(configuration, error))
        return false;
    if (zygote->image != IMAGE_OFF && loaded_count(configuration) && !inputs_begin(error))
        return false;
    if (!image_make_readable((const char *const *)zygote->readable, configuration->readable_count,
                             error))
        return false;
    if (!preload(zygote, error) || !image_is_forkable(error))
        return false;
    working_set_learn(configuration);
    scrub_end();
    if (!pass_image(zygote, error))
        return false;
    close_range(CONTROL + 1, ~0U, 0);
    const int list = configuration->adopts ? adopt_open_list() : -1;
    const struct policy policy = make_policy(zygote);
    zygote->prepared = policy_prepare(&policy, &zygote->report, error);
    adopt_learn(list);
    return zygote->prepared != NULL;
}

static bool spawn(const struct zygote *zygote, const int descriptors[FRAME_DESCRIPTORS_MAX]) {
    struct worker_descriptors own = {descriptors[0], descriptors[1], descriptors[2]};
    policy_next_fork(zygote->prepared);
    pid_t pid = fork_for_parent();
    if (pid == 0)
        worker_live(&zygote->configuration, zygote->prepared, &own);
    if (pid > 0)
        return true;
    struct error error = {0};
    error_set(&error, errno, "zygote: cannot fork a worker");
    return send_failure(&error);
}

/* Serves one frame. False at the end of the control socket, or after an invalid frame. */
static bool serve(const struct zygote *zygote) {
    struct frame_header header;
    unsigned char *payload;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
    if (frame_receive(CONTROL, &header, &payload, descriptors, &count, NULL) <= 0)
        return false;
    free(payload);
    bool good =
        header.type == FRAME_SPAWN && count == FRAME_DESCRIPTORS_MAX && spawn(zygote, descriptors);
    for (size_t i = 0; i < count; i++)
        close(descriptors[i]);
    return good;
}

/* The supervisor or the restorer says by a letter why there is no image. */
static enum image_reason read_reason(int count, char *const *arguments) {
    int reason = count > 1 ? arguments[1][0] - 'A' : IMAGE_OFF;
    return reason > IMAGE_OFF && reason < IMAGE_REASON_COUNT ? (enum image_reason)reason
                                                             : IMAGE_OFF;
}

int main(int count, char **arguments) {
    static struct zygote zygote;
    struct error error = {0};
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(CONTROL, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
        fputs("eclave-worker: started by eclave, not by hand\n", stderr);
        return 2;
    }
    setsid(); /* the terminal's signals are for the supervisor */
    /* Before Linux 6.14 a program executed by descriptor is named after its number. */
    prctl(PR_SET_NAME, "eclave-worker");
    zygote.image = read_reason(count, arguments);
    if (!boot(&zygote, &error)) {
        send_failure(&error);
        return EXIT_FAILED;
    }
    if (!send_frame(FRAME_BOOTED, &zygote.report, sizeof zygote.report))
        return EXIT_FAILED;
    while (serve(&zygote))
        ;
    _exit(0); /* without exit hooks: this process runs no Lisp of its own */
}
