/* See batch.h. */
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 24, WATCHDOG_MS = 300000, DEPTH = 128, PATH_BYTES = 160 };

static char *input; /* NULL: none */
static bool is_used;

void batch_add_text(const char *text) {
    if (is_used) {
        free(input);
        input = NULL;
    }
    is_used = false;
    size_t have = input ? strlen(input) : 0;
    char *longer = realloc(input, have + strlen(text) + 1);
    cr_assert_not_null(longer);
    input = longer;
    strcpy(input + have, text); // NOLINT(clang-analyzer-security.insecureAPI.strcpy): it has room
}

void batch_add(const char *id, const char *code, const char *more) {
    char *quoted = json_quote(code, strlen(code));
    batch_add_text(formatted("{\"id\":%s,\"code\":%s%s}\n", id, quoted, more));
    free(quoted);
}

const char *batch_input(void) {
    is_used = true;
    return input;
}

const struct command_result *batch_run(int status, const char *const *arguments) {
    return command_expect(status, arguments, batch_input());
}

/* --- lines --- */

static const char *line_end(const char *line) {
    const char *end = strchr(line, '\n');
    cr_assert(end, "a line without its newline: %.200s", line);
    return end;
}

static struct text checked(const char *line) {
    struct text text = {line, (size_t)(line_end(line) - line)};
    const char *fault = json_fault(text, DEPTH);
    cr_assert(!fault && json_kind(text) == VALUE_OBJECT, "%s: %.200s", fault ? fault : "no object",
              line);
    cr_assert_not(json_has_twins(text), "%.200s", line);
    return text;
}

size_t batch_lines(const char *output) {
    size_t count = 0;
    for (; *output; output = line_end(output) + 1, count++)
        checked(output);
    return count;
}

struct text batch_line(const char *output, size_t index) {
    const char *line = output;
    for (size_t i = 0; i < index && *line; i++)
        line = line_end(line) + 1;
    cr_assert(*line, "there is no line %zu in: %.2000s", index, output);
    return checked(line);
}

struct text batch_line_of(const char *output, const char *id) {
    struct text found = {0};
    for (const char *line = output; *line; line = line_end(line) + 1) {
        struct text text = checked(line), value;
        if (!json_member(text, "id", &value) || !text_is(value, id))
            continue;
        cr_assert_null(found.bytes, "two lines with the id %s: %.2000s", id, output);
        found = text;
    }
    cr_assert_not_null(found.bytes, "no line with the id %s: %.2000s", id, output);
    return found;
}

static struct text member(struct text line, const char *name) {
    struct text value;
    cr_assert(json_member(line, name, &value), "no %s in %.*s", name, (int)line.length, line.bytes);
    return value;
}

char *batch_string(struct text line, const char *name) {
    struct text value = member(line, name);
    cr_assert_eq(json_kind(value), VALUE_STRING, "%s", name);
    return json_decode(value, NULL);
}

double batch_number(struct text line, const char *name) {
    struct text value = member(line, name);
    cr_assert_eq(json_kind(value), VALUE_NUMBER, "%s", name);
    return strtod(value.bytes, NULL);
}

void batch_expect(struct text line, const char *name, const char *json) {
    struct text value = member(line, name);
    cr_assert(text_is(value, json), "%s is not %s in %.*s", name, json, (int)line.length,
              line.bytes);
}

void batch_expect_string(struct text line, const char *name, const char *value) {
    char *text = batch_string(line, name);
    cr_assert_str_eq(text, value, "%s in %.*s", name, (int)line.length, line.bytes);
    free(text);
}

bool batch_has(struct text line, const char *name) {
    struct text value;
    return json_member(line, name, &value);
}

/* Copies NAME from *from to *to, and 0 in place of the number after it. */
static bool copy_measurement(const char **from, char **to, const char *name) {
    size_t length = strlen(name);
    if (strncmp(*from, name, length) != 0)
        return false;
    memcpy(*to, name, length);
    *to += length;
    *(*to)++ = '0';
    *from += length;
    *from += strspn(*from, "0123456789.");
    return true;
}

char *batch_without_costs(const char *output) {
    char *copy = malloc(strlen(output) + 1), *to = copy;
    cr_assert_not_null(copy);
    while (*output)
        if (!copy_measurement(&output, &to, "\"wallMs\":") &&
            !copy_measurement(&output, &to, "\"cpuMs\":") &&
            !copy_measurement(&output, &to, "\"maxRssKb\":"))
            *to++ = *output++;
    *to = '\0';
    return copy;
}

/* --- processes --- */

_Noreturn static void become(const char *const *arguments, const int streams[3], pid_t parent) {
    const char *whole[ARGUMENTS_MAX] = {ECLAVE_BINARY};
    for (size_t i = 0; arguments[i] && i + 2 < ARGUMENTS_MAX; i++)
        whole[i + 1] = arguments[i];
    for (int i = 0; i < 3; i++)
        dup2(streams[i], i);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        execv(whole[0], (char *const *)whole);
    _exit(127);
}

pid_t batch_start_command(const char *const *arguments, int in, int out, int err) {
    const int streams[3] = {fcntl(in, F_DUPFD_CLOEXEC, 10), fcntl(out, F_DUPFD_CLOEXEC, 10),
                            fcntl(err, F_DUPFD_CLOEXEC, 10)};
    pid_t parent = getpid(), pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0)
        become(arguments, streams, parent);
    for (int i = 0; i < 3; i++)
        close(streams[i]);
    return pid;
}

pid_t batch_start(const char *const *arguments, int in, int out, int err) {
    const char *whole[ARGUMENTS_MAX] = {"batch"};
    for (size_t i = 0; arguments[i] && i + 2 < ARGUMENTS_MAX; i++)
        whole[i + 1] = arguments[i];
    return batch_start_command(whole, in, out, err);
}

pid_t batch_start_on(const char *const *arguments, const char *input_path, const char *output_path,
                     const char *error_path, int flags) {
    int in = open(input_path, O_RDONLY | O_CLOEXEC);
    int out = open(output_path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    int err = open(error_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    cr_assert(in >= 0 && out >= 0 && err >= 0);
    pid_t pid = batch_start(arguments, in, out, err);
    close(in);
    close(out);
    close(err);
    return pid;
}

int batch_wait(pid_t pid) {
    int status;
    struct pollfd process = {.fd = pidfd_open(pid, 0), .events = POLLIN};
    bool ended = poll(&process, 1, WATCHDOG_MS) == 1;
    if (!ended)
        kill(pid, SIGKILL);
    close(process.fd);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(ended, "the run does not end");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* --- files --- */

static char directory[] = "/tmp/eclave-batch-XXXXXX";

static void remove_directory(void) {
    command_remove_tree(directory);
}

const char *batch_file(const char *name) {
    static char paths[8][PATH_BYTES];
    static size_t next;
    if (next == 0) {
        cr_assert_not_null(mkdtemp(directory));
        cr_assert_eq(chmod(directory, 0777), 0);
        atexit(remove_directory);
    }
    char *path = paths[next++ % (sizeof paths / sizeof *paths)];
    snprintf(path, PATH_BYTES, "%s/%s", directory, name);
    return path;
}

void batch_write(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", path);
}

char *batch_read(const char *path) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    if (getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = strdup("");
    }
    fclose(file);
    return text;
}
