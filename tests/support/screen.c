/* See screen.h. */
#include "tests/support/screen.h"
#include "tests/support/command.h"
#include "tests/support/lines.h"
#include "tests/support/process.h"
#include "tests/support/user.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    WATCHDOG_DEFAULT_S = 120,
    PAUSE_NS = 20000000,
    PATH_BYTES = 64,
    PROCESSES_MAX = 64,
    BUSY_TICKS = 5
};

static char directory[PATH_BYTES];
static char socket_path[PATH_BYTES + 8];
static pid_t server;
static char *text;

#define TMUX(...) tmux(STRINGS(__VA_ARGS__))

/* Runs a command of tmux. Returns its output, valid until the next call. */
static const char *tmux(const char *const *arguments) {
    static struct command_result result;
    const char *whole[20] = {"/usr/bin/env", "tmux", "-S", socket_path};
    for (size_t i = 0; arguments[i]; i++)
        whole[i + 4] = arguments[i];
    command_result_free(&result);
    result = command_run(&(struct command){.arguments = whole});
    cr_assert_eq(result.status, 0, "tmux %s: %s", arguments[0], result.error);
    return result.output;
}

static long watchdog_s(void) {
    const char *given = getenv("TEST_WATCHDOG_S");
    return given ? strtol(given, NULL, 10) : WATCHDOG_DEFAULT_S;
}

static void pause_a_moment(void) {
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

static time_t now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Waits until a condition holds, and fails with the screen if it does not. */
#define WAIT_UNTIL(condition, what)                                                                \
    do {                                                                                           \
        const time_t begun_s = now_s();                                                            \
        while (!(condition)) {                                                                     \
            cr_assert_lt(now_s() - begun_s, watchdog_s(), "\"%s\" does not appear on:\n%s", what,  \
                         screen_text());                                                           \
            pause_a_moment();                                                                      \
        }                                                                                          \
    } while (0)

static void write_file(const char *path, const char *contents) {
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert(fputs(contents, file) >= 0);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(chmod(path, 0644), 0);
}

/* In the foreground, so that it ends with this test. */
static void start_server(const char *configuration) {
    const pid_t parent = getpid();
    server = fork();
    cr_assert_geq(server, 0);
    if (server)
        return;
    if (user_nobody_wanted(false) && !user_become_nobody())
        _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || chdir(directory) != 0 || !freopen("/dev/null", "r", stdin) ||
        !freopen("/dev/null", "w", stdout))
        _exit(125);
    setenv("HOME", directory, 1);
    setenv("E", ECLAVE_BINARY, 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("ENV", "", 1);
    unsetenv("TMUX");
    unsetenv("NO_COLOR");
    unsetenv("XDG_STATE_HOME");
    execlp("tmux", "tmux", "-S", socket_path, "-f", configuration, "-D", NULL);
    _exit(127);
}

void screen_begin(const char *command) {
    char configuration[PATH_BYTES + 8];
    snprintf(directory, sizeof directory, "/tmp/eclave-screen-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    snprintf(configuration, sizeof configuration, "%s/conf", directory);
    snprintf(socket_path, sizeof socket_path, "%s/tmux", directory);
    write_file(configuration, "set -g status off\nset -g remain-on-exit on\n"
                              "set -g remain-on-exit-format ''\nset -sg escape-time 0\n"
                              "set -g default-terminal xterm-256color\nset -g history-limit 50000\n"
                              "set -g default-shell /bin/sh\n");
    user_give(directory);
    start_server(configuration);
    WAIT_UNTIL(access(socket_path, F_OK) == 0, "the socket of tmux");
    TMUX("new-session", "-d", "-c", directory, "-s", "s", "-x", formatted("%d", SCREEN_COLUMNS),
         "-y", formatted("%d", SCREEN_ROWS), command);
}

void screen_end(void) {
    if (server > 1) {
        kill(server, SIGTERM);
        waitpid(server, NULL, 0);
    }
    server = 0;
    free(text);
    text = NULL;
    if (!directory[0])
        return;
    command_remove_tree(directory);
    directory[0] = 0;
}

const char *screen_directory(void) {
    return directory;
}

void screen_type(const char *keys) {
    TMUX("send-keys", "-t", "s", "-l", "--", keys);
}

void screen_enter(const char *keys) {
    screen_type(keys);
    screen_press("Enter");
}

void screen_press(const char *key) {
    TMUX("send-keys", "-t", "s", key);
}

void screen_paste(const char *lines) {
    const char *path = formatted("%s/pasted", directory);
    write_file(path, lines);
    TMUX("load-buffer", path);
    TMUX("paste-buffer", "-p", "-t", "s");
}

void screen_resize(int columns, int rows) {
    TMUX("resize-window", "-t", "s", "-x", formatted("%d", columns), "-y", formatted("%d", rows));
}

static const char *capture(const char *how) {
    const char *captured = TMUX("capture-pane", "-t", "s", "-p", "-J", "-S", "-", how);
    free(text);
    text = strdup(captured);
    cr_assert_not_null(text);
    char *to = text;
    for (const char *from = captured; *from; from++) {
        if (*from == '\n')
            while (to > text && to[-1] == ' ')
                to--;
        *to++ = *from;
    }
    while (to > text && to[-1] == '\n')
        to--;
    *to = 0;
    return text;
}

const char *screen_text(void) {
    return capture("-q");
}

const char *screen_coloured(void) {
    return capture("-e");
}

static int count_of(const char *part) {
    int count = 0;
    for (const char *at = screen_text(); (at = strstr(at, part)) != NULL; at += strlen(part))
        count++;
    return count;
}

void screen_wait_times(const char *part, int count) {
    WAIT_UNTIL(count_of(part) >= count, part);
}

void screen_wait(const char *part) {
    screen_wait_times(part, 1);
}

static const char *last_line(void) {
    const char *shown = screen_text(), *newline = strrchr(shown, '\n');
    return newline ? newline + 1 : shown;
}

void screen_wait_last(const char *line) {
    WAIT_UNTIL(strcmp(last_line(), line) == 0, line);
}

/* Processor time of all confined workers, in clock ticks. */
static long worker_ticks(void) {
    pid_t pids[PROCESSES_MAX];
    const size_t count = process_descendants(server, pids, PROCESSES_MAX);
    long ticks = 0;
    for (size_t i = 0; i < count; i++)
        if (process_is_worker(pids[i]))
            ticks += process_ticks(pids[i]);
    return ticks;
}

void screen_wait_busy(void) {
    const long before = worker_ticks();
    WAIT_UNTIL(worker_ticks() >= before + BUSY_TICKS, "a worker that computes");
}

/* How the program ended, as "STATUS SIGNAL"; " " before that. The end of its output comes before
 * that of the process, whose signal tmux 3.3 sometimes misses. */
static const char *end_of_program(void) {
    kill(server, SIGCHLD);
    return TMUX("display-message", "-t", "s", "-p", "#{pane_dead_status} #{pane_dead_signal}");
}

int screen_wait_end(void) {
    WAIT_UNTIL(strcmp(end_of_program(), " \n") != 0, "the end of the program");
    const char *end = end_of_program();
    const int number = (int)strtol(end, NULL, 10);
    return end[0] == ' ' ? 128 + number : number;
}
