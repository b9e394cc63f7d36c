/* `eclave grade`: a batch whose lines a child process writes, one for each submission. The child
 * reads files and writes JSON; it evaluates nothing, and at most a pipe and one submission are
 * held. */
#include "common/cleanup.h"
#include "common/utf8.h"
#include "supervisor/base/status.h"
#include "supervisor/base/terminal.h"
#include "supervisor/base/whole_file.h"
#include "supervisor/batch/batch_internal.h"
#include "supervisor/json/json_inspect.h"
#include "supervisor/json/json_write.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { ENTRY_BYTES = 256, REASON_BYTES = 120, FILES_MAX = 1000, ID_BYTES = 8 * PATH_MAX };

static const char tests_file[] = "tests.jsonl", suite_file[] = "tests.lisp",
                  source_suffix[] = ".lisp";

struct grading {
    const struct settings *settings;
    const char *framework; /* of the tests; NULL: they are JSON lines */
    struct buffer tests;   /* the elements of the array, as JSON */
    struct buffer suite;   /* with a framework: the file of the tests, which is loaded after each
                              submission */
    char suite_name[ENTRY_BYTES];
    struct buffer line, id;
    struct buffer files;   /* of the submission: common/message.h */
    size_t counted, lines; /* bytes of the submission, and the newlines in them */
    FILE *out;
};

static void last_part(const char *path, char name[ENTRY_BYTES]) {
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    snprintf(name, ENTRY_BYTES, "%.*s", (int)(end - start), path + start);
}

/* --- the tests --- */

/* Appends TEXT, a line of the file, to the array. */
static bool take_test(struct grading *grading, struct span text, size_t number,
                      struct error *error) {
    cleanup_buffer struct buffer trial = buffer_make((size_t)grading->settings->request_max_bytes);
    struct batch_line line;
    struct json_shape shape;
    enum json_fault fault =
        json_inspect(text.bytes, text.length, settings_json_limits(grading->settings), &shape);
    if (fault != JSON_FINE || shape.kind != JSON_OBJECT)
        return error_set(error, 0, "line %zu: %s", number,
                         fault == JSON_FINE ? "a test must be a JSON object"
                                            : json_fault_text(fault));
    buffer_append_text(&trial, "{\"setup\":\"\",\"tests\":[");
    buffer_append(&trial, text.bytes, text.length);
    buffer_append_text(&trial, "]}");
    if (trial.failed)
        return error_set(error, 0, "line %zu is too long", number);
    bool good =
        batch_line_read(&line, (struct span){trial.data, trial.length}, number, grading->settings);
    if (!good || line.fault[0])
        error_set(error, good ? 0 : ENOMEM, "line %zu: %.150s", number,
                  good ? line.fault : "reading it");
    good &= !line.fault[0];
    batch_line_free(&line);
    if (grading->tests.length)
        buffer_append_text(&grading->tests, ",");
    buffer_append(&grading->tests, text.bytes, text.length);
    return good;
}

static struct span without_blanks(struct span text) {
    while (text.length && memchr(" \t\r", text.bytes[text.length - 1], 3))
        text.length--;
    while (text.length && memchr(" \t", text.bytes[0], 2))
        text = (struct span){text.bytes + 1, text.length - 1};
    return text;
}

static bool take_tests(struct grading *grading, struct span text, struct error *error) {
    for (size_t number = 1; text.length; number++) {
        const unsigned char *end = memchr(text.bytes, '\n', text.length);
        size_t length = end ? (size_t)(end - text.bytes) : text.length;
        struct span test = without_blanks((struct span){text.bytes, length});
        if (test.length && !take_test(grading, test, number, error))
            return false;
        length += end != NULL;
        text = (struct span){text.bytes + length, text.length - length};
    }
    return grading->tests.length || error_set(error, 0, "it has no tests");
}

/* The lines of tests in TEXT, which is a file of a framework. */
static bool take_suite(struct grading *grading, struct span text, struct error *error) {
    cleanup_buffer struct buffer lines = buffer_make((size_t)grading->settings->request_max_bytes);
    if (!utf8_append_repaired(&grading->suite, text.bytes, text.length) ||
        !buffer_append_text(&grading->suite, "\n"))
        return error_set(error, 0, "it is too long");
    const struct span suite = {grading->suite.data, grading->suite.length};
    return framework_list(grading->settings, grading->framework, suite, &lines, error) &&
           take_tests(grading, (struct span){lines.data, lines.length}, error);
}

/* PATH is a file of tests, or a directory with one. */
static bool read_tests(struct grading *grading, const char *path, struct error *error) {
    const char *name = grading->framework ? suite_file : tests_file;
    char file[PATH_MAX];
    struct stat status;
    struct error why;
    cleanup_buffer struct buffer text = buffer_make((size_t)grading->settings->request_max_bytes);
    bool is_directory = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    int length = snprintf(file, sizeof file, "%s%s%s", path, is_directory ? "/" : "",
                          is_directory ? name : "");
    if (length >= (int)sizeof file)
        return error_set(error, ENAMETOOLONG, "%.100s", path);
    if (!whole_file_read(file, &text, error))
        return false;
    last_part(file, grading->suite_name);
    const struct span read = utf8_without_mark((struct span){text.data, text.length});
    return (grading->framework ? take_suite : take_tests)(grading, read, &why) ||
           error_set(error, 0, "%.100s: %.200s", file, why.text);
}

/* --- the submissions --- */

static bool has_suffix(const char *name) {
    size_t length = strlen(name), suffix = sizeof source_suffix - 1;
    return length > suffix && strcmp(name + length - suffix, source_suffix) == 0;
}

/* The last part of PATH, without the suffix of a source. */
static void name_of(const char *path, char name[ENTRY_BYTES]) {
    last_part(path, name);
    if (has_suffix(name))
        name[strlen(name) - (sizeof source_suffix - 1)] = 0;
}

/* NAME as an id. Bytes that are not UTF-8 are escaped: if all were replaced by the same character,
 * two names could become one. */
static bool append_id(struct buffer *id, const char *name) {
    const struct span text = string_span(name);
    id->length = 0;
    if (utf8_valid_prefix(text.bytes, text.length) == text.length)
        return buffer_append_text(id, name);
    return shown_append(id, text, SHOWN_AS_NAME);
}

__attribute__((format(printf, 2, 3))) static bool refuse(char reason[REASON_BYTES],
                                                         const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, REASON_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

/* Notes that what follows in SOURCE is the file NAME, by which students know it. */
static bool note_file(struct grading *grading, const struct buffer *source, const char *name) {
    char shown[ENTRY_BYTES];
    for (; grading->counted < source->length; grading->counted++)
        grading->lines += source->data[grading->counted] == '\n';
    last_part(name, shown);
    for (char *byte = shown; *byte; byte++)
        if ((unsigned char)*byte < ' ')
            *byte = '?'; /* a newline would end the row */
    return buffer_append_format(&grading->files, "%zu %s\n", grading->lines + 1, shown);
}

/* Appends the file NAME of DIRECTORY. A link could name a file of the person who grades, and a pipe
 * would block. */
static bool append_file(struct grading *grading, int directory, const char *name,
                        struct buffer *source, char reason[REASON_BYTES]) {
    const char *slash = strrchr(name, '/'), *shown = slash ? slash + 1 : name;
    struct stat status;
    int code = 0;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
    FILE *in = fd >= 0 && fstat(fd, &status) == 0 ? fdopen(fd, "r") : NULL;
    if (!in) {
        code = errno;
        if (fd >= 0)
            close(fd);
        return refuse(reason, "%.40s cannot be read: %.60s", shown,
                      code == ELOOP ? "it is a symbolic link" : strerror(code));
    }
    bool read = S_ISREG(status.st_mode) && note_file(grading, source, name) &&
                whole_file_append(in, source, &code);
    fclose(in);
    if (read)
        return buffer_append_text(source, "\n") || refuse(reason, "it is too long");
    return refuse(reason, "%.40s cannot be read: %.60s", shown,
                  !S_ISREG(status.st_mode) ? "it is no regular file"
                  : code                   ? strerror(code)
                                           : "it is too long");
}

static int is_source(const struct dirent *entry) {
    return entry->d_name[0] != '.' && has_suffix(entry->d_name);
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* By bytes, whatever the locale is. */
static int by_name(const struct dirent **one, const struct dirent **other) {
    return strcmp((*one)->d_name, (*other)->d_name);
}

static void free_entries(struct dirent **entries, int count) {
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

/* Appends the Lisp files of DIRECTORY in the order of their names. */
static bool append_files(struct grading *grading, int directory, struct buffer *source,
                         char reason[REASON_BYTES]) {
    struct dirent **entries;
    int count = scandirat(directory, ".", &entries, is_source, by_name);
    if (count < 0)
        return refuse(reason, "it cannot be listed: %.60s", strerror(errno));
    bool good = count > 0 ? true : refuse(reason, "it has no file *%s", source_suffix);
    if (count > FILES_MAX)
        good = refuse(reason, "it has more than %d files", FILES_MAX);
    for (int i = 0; good && i < count; i++)
        good = append_file(grading, directory, entries[i]->d_name, source, reason);
    free_entries(entries, count);
    return good;
}

/* The text of the submission NAME of DIRECTORY, a file or a directory. */
static bool read_submission(struct grading *grading, int directory, const char *name,
                            struct buffer *source, char reason[REASON_BYTES]) {
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
    if (fd < 0) /* is it a file? */
        return append_file(grading, directory, name, source, reason);
    bool good = append_files(grading, fd, source, reason);
    close(fd);
    return good;
}

/* Appends the tests of the framework, if there is one. They begin in the package of a new file. */
static bool append_suite(struct grading *grading, struct buffer *source,
                         char reason[REASON_BYTES]) {
    static const char between[] = "(cl:in-package \"COMMON-LISP-USER\")\n";
    if (!grading->framework)
        return true;
    return (buffer_append_text(source, between) &&
            note_file(grading, source, grading->suite_name) &&
            buffer_append(source, grading->suite.data, grading->suite.length)) ||
           refuse(reason, "it is too long");
}

static void begin_line(struct grading *grading) {
    grading->line.length = 0;
    grading->line.failed = false;
    buffer_append_text(&grading->line, "{\"id\":");
    json_write_bytes(&grading->line, grading->id.data, grading->id.length);
}

static void put_string(struct buffer *line, const char *name, const unsigned char *text,
                       size_t size) {
    buffer_append_text(line, ",");
    json_write_name(line, name);
    json_write_bytes(line, (const char *)text, size);
}

/* The rest of the line: the member NAME, and the tests. */
static void put_member(struct grading *grading, const char *name, const unsigned char *text,
                       size_t size) {
    struct buffer *line = &grading->line;
    put_string(line, name, text, size);
    buffer_append_text(line, ",\"tests\":[");
    buffer_append(line, grading->tests.data, grading->tests.length);
    buffer_append_text(line, "]}\n");
}

/* A line for the submission NAME of DIRECTORY, which is called `id`. False if nobody reads it. */
static bool put_submission(struct grading *grading, int directory, const char *name) {
    char reason[REASON_BYTES] = "";
    struct buffer *line = &grading->line;
    cleanup_buffer struct buffer source = buffer_make((size_t)grading->settings->request_max_bytes);
    grading->files.length = 0;
    grading->counted = grading->lines = 0;
    bool good = read_submission(grading, directory, name, &source, reason) &&
                append_suite(grading, &source, reason);
    begin_line(grading);
    if (good) {
        put_string(line, "files", grading->files.data, grading->files.length);
        put_member(grading, "setup", source.data, source.length);
        good = !line->failed || refuse(reason, "it is too long");
    }
    if (!good) {
        begin_line(grading);
        put_member(grading, "unreadable", (const unsigned char *)reason, strlen(reason));
    }
    return fwrite(line->data, 1, line->length, grading->out) == line->length;
}

/* --- one submission an argument, or an entry of a directory --- */

static int compare_names(const void *one, const void *other) {
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/* Do two of PATHS end alike? Then each is called by the whole path. */
static bool have_same_names(char **paths, size_t count) {
    char **names = calloc(count, sizeof *names);
    bool same = names == NULL;
    for (size_t i = 0; names && i < count; i++) {
        char name[ENTRY_BYTES];
        name_of(paths[i], name);
        names[i] = strdup(name);
        same |= !names[i];
    }
    if (!same)
        qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; !same && i + 1 < count; i++)
        same = strcmp(names[i], names[i + 1]) == 0;
    for (size_t i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
    return same;
}

static bool put_arguments(struct grading *grading, char **paths, size_t count) {
    bool by_path = have_same_names(paths, count);
    for (size_t i = 0; i < count; i++) {
        char name[ENTRY_BYTES], path[PATH_MAX];
        name_of(paths[i], name);
        snprintf(path, sizeof path, "%s", paths[i]);
        for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--)
            path[end - 1] = 0; /* it would follow a link */
        if (!append_id(&grading->id, by_path ? paths[i] : name) ||
            !put_submission(grading, AT_FDCWD, path))
            return false;
    }
    return true;
}

/* The entries of all directories that were given with --each, as paths. */
struct paths {
    char **list;
    size_t count;
};

static bool add_entries(struct paths *paths, const char *directory) {
    struct dirent **entries;
    int count = scandir(directory, &entries, is_visible, by_name);
    if (count < 0)
        return false;
    char **list = reallocarray(paths->list, paths->count + (size_t)count + 1, sizeof *list);
    bool good = list != NULL;
    if (good)
        paths->list = list;
    for (int i = 0; good && i < count; i++) {
        const char *slash = directory[strlen(directory) - 1] == '/' ? "" : "/";
        good = asprintf(&list[paths->count], "%s%s%s", directory, slash, entries[i]->d_name) >= 0;
        paths->count += good;
    }
    free_entries(entries, count);
    return good;
}

static bool put_each(struct grading *grading, char **directories, size_t count) {
    struct paths paths = {0};
    bool good = true;
    for (size_t i = 0; good && i < count; i++)
        good = add_entries(&paths, directories[i]);
    good = good && put_arguments(grading, paths.list, paths.count);
    for (size_t i = 0; i < paths.count; i++)
        free(paths.list[i]);
    free(paths.list);
    return good;
}

/* -1 if it cannot be listed. */
static int64_t count_entries(const char *path) {
    DIR *directory = opendir(path);
    const struct dirent *entry;
    int64_t count = 0;
    if (!directory)
        return -1;
    errno = 0;
    while ((entry = readdir(directory)) != NULL)
        count += is_visible(entry);
    if (errno)
        count = -1;
    closedir(directory);
    return count;
}

/* How many submissions there are. -1 with *error. */
static int64_t count_submissions(bool each, char **paths, size_t count, struct error *error) {
    int64_t total = each ? 0 : (int64_t)count;
    for (size_t i = 0; each && i < count; i++) {
        const int64_t found = count_entries(paths[i]);
        if (found < 0) {
            error_set(error, errno, "%.100s", paths[i]);
            return -1;
        }
        total += found;
    }
    if (total == 0)
        error_set(error, 0, "%.100s has no submissions", paths[0]);
    return total ? total : -1;
}

/* --- the child --- */

/* A signal from the terminal is for the parent, which then reads no more. */
static _Noreturn void write_lines(struct grading *grading, bool each, char **paths, size_t count) {
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    bool good = (each ? put_each : put_arguments)(grading, paths, count);
    good &= fflush(grading->out) == 0;
    _exit(good ? 0 : STATUS_INTERNAL);
}

/* Starts the child, whose output is standard input from now on. */
static bool start_child(struct grading *grading, bool each, char **paths, size_t count,
                        struct error *error) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(error, errno, "pipe2");
    pid_t pid = fork();
    if (pid == 0) {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        close(ends[0]);
        grading->out = fdopen(ends[1], "w");
        if (!grading->out)
            _exit(STATUS_INTERNAL);
        write_lines(grading, each, paths, count);
    }
    int code = pid < 0 || dup2(ends[0], STDIN_FILENO) < 0 ? errno : 0;
    close(ends[0]);
    close(ends[1]);
    return code == 0 || error_set(error, code, "starting the reader of submissions");
}

static void free_grading(struct grading *grading) {
    buffer_free(&grading->tests);
    buffer_free(&grading->suite);
    buffer_free(&grading->line);
    buffer_free(&grading->id);
    buffer_free(&grading->files);
}

int grade_command(const struct settings *settings, const struct batch_options *options,
                  const char *tests, char **submissions, size_t count) {
    struct batch_options own = *options;
    struct settings loaded = *settings; /* whose paths remain those of *settings */
    struct error error;
    const size_t most = (size_t)settings->request_max_bytes;
    struct grading grading = {.settings = &loaded,
                              .framework = options->framework,
                              .tests = buffer_make(most),
                              .suite = buffer_make(most),
                              .line = buffer_make(most),
                              .id = buffer_make(ID_BYTES),
                              .files = buffer_make(most)};
    if (isatty(STDOUT_FILENO))
        own.format = FORMAT_TABLE;
    bool good = framework_load(options->framework, &loaded, &error);
    own.total = good ? count_submissions(options->each, submissions, count, &error) : 0;
    good = own.total > 0 && read_tests(&grading, tests, &error) &&
           start_child(&grading, options->each, submissions, count, &error);
    free_grading(&grading);
    if (good)
        return batch_command(&loaded, &own, NULL);
    fprintf(stderr, "eclave: %s\n", error.text);
    return STATUS_USAGE;
}
