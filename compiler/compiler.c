/* The compiler of native code: holds tcc and the preamble, and forks a process for each unit, which
 * confines itself before it reads its translation unit and ends after it. It parses nothing itself.
 * Started by the supervisor with its channel as descriptor 3; it has no command line. */
#include "common/child.h"
#include "common/descriptor.h"
#include "common/unit.h"
#include "compiler/translate.h"
#include "policy/policy.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CHANNEL = 3,
    FAILED = 70,
    UNIT_SECONDS = 2, /* of processor time; functions take milliseconds */
    UNIT_MEMORY_BYTES = 512 << 20
};

static bool configure(struct compiler_configuration *configuration) {
    int descriptors[DESCRIPTORS_MAX];
    size_t count = 0;
    return descriptors_receive(CHANNEL, configuration, sizeof *configuration, descriptors,
                               &count) == (ssize_t)sizeof *configuration &&
           count == 0;
}

static bool answer(const struct compiler_answer *answer) {
    struct compiler_answer copy = *answer;
    struct iovec part = {.iov_base = &copy, .iov_len = sizeof copy};
    return descriptors_send(CHANNEL, &part, 1, NULL, 0) == (ssize_t)sizeof copy;
}

static bool read_all(void *bytes, size_t size) {
    for (size_t have = 0; have < size;) {
        ssize_t got = read(CHANNEL, (char *)bytes + have, size - have);
        if (got <= 0)
            return false;
        have += (size_t)got;
    }
    return true;
}

/* A process that waits for source uses no time; one that compiles is ended by the kernel. */
static bool limit_time(void) {
    const struct rlimit limit = {UNIT_SECONDS, UNIT_SECONDS};
    return setrlimit(RLIMIT_CPU, &limit) == 0;
}

static _Noreturn void compile_unit(const struct policy_prepared *prepared, int channel) {
    struct error error;
    struct unit_header header;
    int listener;
    unsigned char *object = NULL;
    size_t size = 0;
    if (dup2(channel, CHANNEL) < 0 || !limit_time() || !policy_enter(prepared, &listener, &error))
        _exit(FAILED);
    char *source = NULL;
    if (!read_all(&header, sizeof header) || header.length > UNIT_TEXT_MAX ||
        !(source = malloc((size_t)header.length + 1)) || !read_all(source, header.length))
        _exit(FAILED);
    bool good = translate(source, header.length, &object, &size) && size <= UNIT_OBJECT_MAX;
    header.length = good ? (uint32_t)size : 0;
    if (!write_all(CHANNEL, &header, sizeof header) || !write_all(CHANNEL, object, header.length))
        _exit(FAILED);
    _exit(0);
}

/* Forks the process of one unit. False at the end of the channel. */
static bool serve(struct policy_prepared *prepared) {
    char byte;
    int descriptors[DESCRIPTORS_MAX];
    size_t count = 0;
    ssize_t got = descriptors_receive(CHANNEL, &byte, 1, descriptors, &count);
    if (got == 1 && count == 1) {
        policy_next_fork(prepared);
        if (fork() == 0)
            compile_unit(prepared, descriptors[0]);
    }
    while (count)
        close(descriptors[--count]);
    return got > 0;
}

int main(void) {
    struct compiler_configuration configuration;
    struct compiler_answer ready = {.failure = ""};
    struct policy_report report = {0};
    struct error error = {0};
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(CHANNEL, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
        fputs("eclave-compiler: started by eclave, not by hand\n", stderr);
        return 2;
    }
    setsid(); /* the terminal's signals are for the supervisor */
    prctl(PR_SET_NAME, "eclave-compiler");
    signal(SIGCHLD, SIG_IGN); /* the kernel reaps them */
    close_range(CHANNEL + 1, ~0U, 0);
    if (!configure(&configuration))
        return FAILED;
    const struct policy policy = {.layers = configuration.layers,
                                  .required = configuration.required,
                                  .user = configuration.user,
                                  .separate_users = true,
                                  .compiles = true,
                                  .address_space_bytes = UNIT_MEMORY_BYTES};
    struct policy_prepared *prepared = NULL;
    if (!translate_prepare())
        error_set(&error, 0, "the compiler cannot read its preamble");
    else
        prepared = policy_prepare(&policy, &report, &error);
    if (!prepared)
        snprintf(ready.failure, sizeof ready.failure, "%.250s", error.text);
    if (!answer(&ready) || !prepared)
        return FAILED;
    while (serve(prepared))
        ;
    _exit(0);
}
