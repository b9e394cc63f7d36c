/* A process after policy_enter and policy_seal, seen from outside through /proc and by the way it
 * ends. What it can no longer do is the matter of tests/escape. */
#include "policy/policy.h"
#include "tests/support/available.h"
#include "tests/support/confined.h"
#include "tests/support/outer_filter.h"
#include "tests/support/process.h"
#include "tests/support/skip.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NOBODY = 65534, LIFE_MS = 30000 };

#define NAMESPACES POLICY_LAYER_BIT(POLICY_LAYER_NAMESPACES)
#define LANDLOCK   POLICY_LAYER_BIT(POLICY_LAYER_LANDLOCK)

/* The layers that every machine has, and all that this one has but the control group, which is not
 * of one process. */
#define BARE  (POLICY_LAYERS_ALL & ~policy_optional_layers())
#define WHOLE (available_layers() & ~POLICY_LAYER_BIT(POLICY_LAYER_CGROUP))

/* Replaces each run of blanks by one space and drops the last. */
static void squeeze(char *text) {
    char *end = text;
    for (const char *at = text; *at; at++) {
        bool blank = *at == ' ' || *at == '\t' || *at == '\n';
        if (!blank)
            *end++ = *at;
        else if (end > text && end[-1] != ' ')
            *end++ = ' ';
    }
    if (end > text && end[-1] == ' ')
        end--;
    *end = '\0';
}

/* Expects LINE in /proc/PROCESS/FILE, blanks aside. */
static void expect_line(pid_t process, const char *file, const char *line) {
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/%s", process, file);
    FILE *stream = fopen(path, "re");
    cr_assert_not_null(stream);
    bool found = false;
    while (!found && fgets(text, sizeof text, stream)) {
        squeeze(text);
        found = strcmp(text, line) == 0;
    }
    fclose(stream);
    cr_expect(found, "%s has no line \"%s\"", path, line);
}

static void expect_confined(pid_t process) {
    expect_line(process, "status", "NoNewPrivs: 1");
    expect_line(process, "status", "Seccomp: 2");
    cr_expect(process_is_confined(process), "it has no filter of its own");
    expect_line(process, "status", "CapInh: 0000000000000000");
    expect_line(process, "status", "CapPrm: 0000000000000000");
    expect_line(process, "status", "CapEff: 0000000000000000");
    expect_line(process, "status", "CapAmb: 0000000000000000");
    expect_line(process, "limits", "Max core file size 0 0 bytes");
    expect_line(process, "limits", "Max file size 0 0 bytes");
    expect_line(process, "limits", "Max open files 1024 1024 files");
    expect_line(process, "limits", "Max locked memory 0 0 bytes");
    expect_line(process, "limits", "Max msgqueue size 0 0 bytes");
    expect_line(process, "limits", "Max pending signals 0 0 signals");
    cr_expect_eq(getsid(process), process, "it is in no session of its own");
}

static void expect_nobody(pid_t process) {
    expect_confined(process);
    expect_line(process, "status", "CapBnd: 0000000000000000");
    expect_line(process, "status", "Uid: 65534 65534 65534 65534");
    expect_line(process, "status", "Gid: 65534 65534 65534 65534");
    expect_line(process, "status", "Groups:");
}

static void expect_little_memory(pid_t process) {
    expect_line(process, "limits", "Max address space 1073741824 1073741824 bytes");
}

static int return_seven(void *context) {
    (void)context;
    return 7;
}

static int call_abort(void *context) {
    (void)context;
    /* Through a pointer: before a call that cannot return a sanitizer makes calls of its own. */
    void (*volatile end)(void) = abort;
    end();
    return 0;
}

static int touch_nothing(void *context) {
    (void)context;
    raise(SIGSEGV);
    return 0;
}

static int map_two_gibibytes(void *context) {
    (void)context;
    void *memory =
        mmap(NULL, 2UL << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? errno : 0;
}

/* Runs BODY under POLICY (NULL: under none). */
static struct policy_trial_end run(const struct policy *policy, int (*body)(void *),
                                   void (*observe)(pid_t)) {
    const struct policy_trial trial = {.policy = policy, .body = body, .observe = observe};
    struct policy_trial_end end = policy_try(&trial);
    cr_assert(end.ran, "%s", end.error.text);
    cr_assert_not(end.timed_out);
    return end;
}

static void check_ends(uint32_t layers, bool degraded) {
    const struct policy policy = {.layers = layers, .degraded = degraded};
    struct policy_trial_end end = run(&policy, return_seven, expect_confined);
    cr_expect(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 7, "%x", end.status);
    end = run(&policy, call_abort, expect_confined);
    cr_expect(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGABRT, "%x", end.status);
    cr_expect_not(end.killed, "abort looks like %s", end.killer.name);
}

Test(enter, confines_and_leaves_the_ways_to_end) {
    check_ends(BARE, false);
    check_ends(WHOLE, false);
}

Test(enter, confines_and_leaves_the_ways_to_end_when_degraded) {
    check_ends(BARE, true);
    check_ends(WHOLE, true);
}

Test(enter, reports_a_killing_call_by_its_name) {
    const struct policy policy = {.layers = WHOLE};
    struct policy_trial_end end = run(&policy, touch_nothing, NULL);
    cr_assert(end.killed);
    cr_expect_str_eq(end.killer.name, "tgkill", "a signal that neither abort nor GMP raises");
    cr_expect(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGKILL);
}

Test(enter, ends_a_killing_call_by_a_signal_when_degraded) {
    const struct policy policy = {.layers = WHOLE, .degraded = true};
    struct policy_trial_end end = run(&policy, touch_nothing, NULL);
    cr_expect(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGSYS, "%x", end.status);
}

Test(enter, takes_another_user_when_root) {
    skip_unless_root();
    const gid_t groups[] = {1, 2, 3};
    cr_assert_eq(setgroups(3, groups), 0);
    struct policy policy = {.layers = BARE, .user = NOBODY};
    run(&policy, return_seven, expect_nobody);
    policy.layers = WHOLE;
    run(&policy, return_seven, expect_nobody);
}

Test(enter, keeps_an_ordinary_user) {
    confined_become_nobody();
    struct policy policy = {.layers = BARE, .user = 1};
    run(&policy, return_seven, expect_confined);
    policy.layers = WHOLE;
    run(&policy, return_seven, expect_confined);
}

Test(enter, limits_the_address_space) {
#if defined(__SANITIZE_ADDRESS__)
    cr_skip_test("the sanitizer has terabytes reserved");
#endif
    struct policy_trial_end end = run(NULL, map_two_gibibytes, NULL);
    cr_assert_eq(WEXITSTATUS(end.status), 0, "it cannot have them unconfined either");
    const struct policy policy = {.layers = BARE, .address_space_bytes = 1U << 30};
    end = run(&policy, map_two_gibibytes, expect_little_memory);
    cr_expect_eq(WEXITSTATUS(end.status), ENOMEM);
}

/* A call that a layer needs, and a word of the sentence that reports its failure. */
struct needed {
    unsigned number;
    const char *word;
};

static const struct needed everywhere[] = {
    {SYS_capset, "capabilities"}, {SYS_prlimit64, "limit"}, {SYS_setsid, "session"},
    {SYS_chdir, "directory"},     {SYS_prctl, ""},          {SYS_close_range, "descriptors"}};
static const struct needed for_namespaces[] = {
    {SYS_unshare, "namespace"}, {SYS_mount, "mounts"}, {SYS_pivot_root, "root"}};
static const struct needed for_landlock[] = {{SYS_landlock_create_ruleset, "Landlock"},
                                             {SYS_landlock_restrict_self, "Landlock"}};

/* In a child. True when a process that needs the call does not get so far as to run. */
static bool fails_without(const struct needed *needed, uint32_t layer) {
    const struct policy policy = {.layers = BARE | layer, .required = layer};
    const struct policy_trial trial = {.policy = &policy, .body = return_seven};
    outer_filter_forbid(needed->number, EPERM);
    struct policy_trial_end end = policy_try(&trial);
    bool good = !end.ran && end.error.text[0] && strstr(end.error.text, needed->word);
    if (!good)
        fprintf(stderr, "%s: %s\n", policy_syscall_name((int)needed->number), end.error.text);
    return good;
}

/* LAYER is besides those that every machine has; 0: none. */
static void expect_failures(const struct needed *needed, size_t count, uint32_t layer) {
    for (size_t i = 0; i < count; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(fails_without(&needed[i], layer) ? 0 : 1);
        int status;
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "call %s",
                  policy_syscall_name((int)needed[i].number));
    }
}

Test(enter, fails_when_a_layer_of_every_machine_fails) {
    expect_failures(everywhere, sizeof everywhere / sizeof *everywhere, 0);
}

Test(enter, fails_when_required_namespaces_fail) {
    skip_without_layers(NAMESPACES, false);
    expect_failures(for_namespaces, sizeof for_namespaces / sizeof *for_namespaces, NAMESPACES);
}

Test(enter, fails_when_required_landlock_fails) {
    skip_without_layers(LANDLOCK, false);
    expect_failures(for_landlock, sizeof for_landlock / sizeof *for_landlock, LANDLOCK);
}

/* For this process, which is in no namespaces. */
static struct policy_prepared *prepare(struct error *error) {
    const struct policy policy = {.layers = BARE, .degraded = true};
    struct policy_report report = {0};
    return policy_prepare(&policy, &report, error);
}

enum { KEPT = 3 }; /* a descriptor that a confined process keeps */

/* --- a user for each fork --- */

/* A confined fork that lives until WAIT has no writer. Its pid, once it is confined; or -1. */
static pid_t start_session(struct policy_prepared *ground, const int wait[2]) {
    struct error error;
    int listener, ends[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    policy_next_fork(ground);
    pid_t pid = fork();
    if (pid == 0) {
        close(wait[1]);
        if (policy_enter(ground, &listener, &error) && write(ends[1], "", 1) == 1 &&
            read(wait[0], &byte, 1) == 0)
            _exit(0);
        _exit(1);
    }
    close(ends[1]);
    return read(ends[0], &byte, 1) == 1 ? pid : -1;
}

/* The errno of a signal from the process of one session to that of another; -1 without an answer.
 * Changes the calling process. */
static int signal_another(bool separate) {
    const struct policy policy = {.layers = POLICY_LAYER_BIT(POLICY_LAYER_PRIVILEGES),
                                  .user = NOBODY,
                                  .separate_users = separate};
    struct policy_report report = {0};
    struct error error;
    int listener, status, wait[2];
    struct policy_prepared *ground = policy_prepare(&policy, &report, &error);
    if (!ground || pipe2(wait, O_CLOEXEC))
        return -1;
    pid_t other = start_session(ground, wait);
    policy_next_fork(ground);
    pid_t pid = fork();
    if (pid == 0)
        _exit(other < 0 || !policy_enter(ground, &listener, &error) ? 255
              : kill(other, 0) == 0                                 ? 0
                                                                    : errno);
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int outcome_of_signal(bool separate) {
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(signal_another(separate));
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

Test(enter, takes_a_user_for_each_fork_when_root) {
    skip_unless_root();
    skip_without_separate_users();
    cr_expect_eq(outcome_of_signal(false), 0, "nobody may signal nobody");
    cr_expect_eq(outcome_of_signal(true), EPERM);
}

/* A thread that was there before: it says through the semaphore CONTEXT that it has started, for
 * its start makes calls of its own, waits until its process is confined, then tries to open a
 * directory and ends the process with what came of it. */
static void *open_directory(void *context) {
    char go;
    if (sem_post(context) != 0 || read(KEPT, &go, 1) != 1)
        return NULL;
    long outcome = syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY | O_CLOEXEC);
    syscall(SYS_exit_group, outcome < 0 ? errno : 0);
    return NULL;
}

Test(enter, confines_a_thread_that_should_not_be_there) {
    int ends[2];
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        struct error error;
        pthread_t thread;
        sem_t started;
        int listener;
        struct policy_prepared *ground = prepare(&error);
        if (ground && dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO &&
            dup2(ends[0], KEPT) == KEPT && sem_init(&started, 0, 0) == 0 &&
            pthread_create(&thread, NULL, open_directory, &started) == 0 &&
            sem_wait(&started) == 0 && policy_enter(ground, &listener, &error) &&
            write(STDOUT_FILENO, "", 1) == 1)
            nanosleep(&(struct timespec){.tv_sec = LIFE_MS / 1000}, NULL);
        _exit(1);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == EACCES, "%x", status);
}

/* The grandchild: confined, and tells so through PIPE, which it holds as long as it lives. */
static _Noreturn void live_long(int pipe) {
    struct error error;
    const struct timespec life = {.tv_sec = 2 * LIFE_MS / 1000};
    int listener;
    struct policy_prepared *ground = prepare(&error);
    if (ground && dup2(pipe, KEPT) == KEPT && policy_enter(ground, &listener, &error) &&
        policy_seal(ground, &error) && write(KEPT, "", 1) == 1)
        nanosleep(&life, NULL);
    _exit(1);
}

Test(enter, dies_with_its_parent) {
    int ends[2], between[2];
    cr_assert(pipe2(ends, O_CLOEXEC) == 0 && pipe2(between, O_CLOEXEC) == 0);
    pid_t parent = fork();
    if (parent == 0) {
        if (fork() == 0)
            live_long(ends[1]);
        char go;
        close(between[1]);
        _exit(read(between[0], &go, 1) == 1 ? 0 : 1);
    }
    close(ends[1]);
    char byte;
    cr_assert_eq(read(ends[0], &byte, 1), 1, "the grandchild was not confined");
    struct pollfd life = {.fd = ends[0], .events = POLLIN};
    cr_expect_eq(poll(&life, 1, 100), 0, "it died before its parent");
    cr_assert_eq(write(between[1], "", 1), 1);
    cr_expect_eq(poll(&life, 1, LIFE_MS), 1, "it outlived its parent");
    waitpid(parent, NULL, 0);
}
