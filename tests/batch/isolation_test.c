/* Lines are isolated from each other: definitions, files, descriptors and memory. */
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include "tests/support/process.h"
#include "tests/support/skip.h"
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 6, WORKERS = 4, LINKS_MAX = 64, LINK_BYTES = 64 };

/* Each leaves something behind for later lines. */
static const char *const marks[] = {
    "(defvar *mark* 1)",
    "(defun mark () 1)",
    "(defmacro mark-macro () 1)",
    "(defclass mark-class () ())",
    "(defpackage :mark-package) (in-package :mark-package)",
    "(setf (get 'car :mark) 1)",
    "(setf *print-base* 2 *read-base* 3 *random-state* (make-random-state t))",
    "(setf (logical-pathname-translations \"MARK\") '((\"*\" \"/\")))",
    "(defun cl-user::print-object-mark () 1) (push :mark *features*)",
    "(setf (fdefinition 'list) #'vector)",
};

static const char probe[] =
    "(list (boundp '*mark*) (fboundp 'mark) (fboundp 'mark-macro) (find-class 'mark-class nil)"
    " (find-package :mark-package) (get 'car :mark) *print-base* *read-base* (find :mark "
    "*features*)"
    " (package-name *package*) (list 1 2))";

static const char nothing_seen[] = "(NIL NIL NIL NIL NIL NIL 10 10 NIL \"COMMON-LISP-USER\" (1 2))";

static void expect_clean(const char *jobs, bool unprivileged) {
    const char *arguments[] = {ECLAVE_BINARY, "batch", "-j", jobs, NULL};
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < COUNT_OF(marks); i++) {
            batch_add("\"mark\"", marks[i], "");
            batch_add("\"look\"", probe, "");
        }
    struct command_result result = command_run(&(struct command){
        .arguments = arguments, .input = batch_input(), .unprivileged = unprivileged});
    size_t count = (size_t)2 * ROUNDS * COUNT_OF(marks);
    cr_assert_eq(batch_lines(result.output), count, "%s", result.error);
    for (size_t i = 1; i < count; i += 2) {
        struct text line = batch_line(result.output, i), values, value;
        cr_assert(json_member(line, "values", &values) && json_element(values, 0, &value), "%.*s",
                  (int)line.length, line.bytes);
        char *seen = json_decode(value, NULL);
        cr_assert_str_eq(seen, nothing_seen);
        free(seen);
    }
    command_result_free(&result);
}

Test(batch_isolation, no_definition_reaches_the_next_line) {
    expect_clean("1", false);
    expect_clean("3", false);
    if (getuid() == 0)
        expect_clean("2", true);
}

Test(batch_isolation, no_line_can_leave_a_file) {
    static const char *const attempts[] = {
        "(with-open-file (s \"/tmp/eclave-mark\" :direction :output :if-exists :append"
        " :if-does-not-exist :create) (print 1 s))",
        "(with-open-file (s \"mark\" :direction :output :if-does-not-exist :create) (print 1 s))",
        "(open \"/proc/self/stat\")",
        "(open \"/dev/shm/mark\" :direction :output :if-does-not-exist :create)",
        "(compile-file \"/tmp/mark.lisp\")",
    };
    for (size_t i = 0; i < COUNT_OF(attempts); i++)
        batch_add("1", attempts[i], "");
    const struct command_result *result = BATCH(0);
    for (size_t i = 0; i < COUNT_OF(attempts); i++)
        batch_expect_string(batch_line(result->output, i), "outcome", "error");
    cr_assert_neq(access("/tmp/eclave-mark", F_OK), 0);
}

/* (found P N): whether the mark is in the N bytes at P. */
#define FIND                                                                                       \
    FOREIGN                                                                                        \
    "(defun marked (p n) (c \"memmem\" :pointer-void '(:pointer-void :unsigned-long"               \
    " :cstring :unsigned-long) p n (concatenate 'base-string \"SEC\" \"RET-M\" \"ARK\") 11))"      \
    " (defun found (p n) (not (zerop (si::foreign-data-address (marked p n)))))"                   \
    " (defun block-of (n) (c \"malloc\" :pointer-void '(:unsigned-long) n)) "

static const char find_mark[] =
    FIND "(loop for n in '(64 4096 65536 1048576 16777216) count (found (block-of n) n))";
/* A control: the search finds a mark that is there. */
static const char find_own_mark[] =
    FIND "(let ((p (block-of 64))) (c \"memcpy\" :pointer-void '(:pointer-void :cstring "
         ":unsigned-long) p"
         " (concatenate 'base-string \"SECRET\" \"-MARK\") 11) (found p 64))";

/* The first line fills its heap with a word that the code of the second does not contain; the
 * second searches fresh memory for it. */
Test(batch_isolation, no_memory_of_another_line_is_visible) {
    static const char write_mark[] =
        "(defvar *all* (loop repeat 20000 collect (concatenate 'base-string \"SECRET-\" \"MARK\")))"
        " (defvar *bytes* (loop repeat 200 collect (let ((v (make-array 65536 :element-type"
        " '(unsigned-byte 8)))) (replace v (map 'vector #'char-code \"SECRET-MARK\")) v))) 1";
    for (int round = 0; round < ROUNDS; round++) {
        batch_add("\"write\"", write_mark, ",\"expect\":\"1\"");
        batch_add("\"find\"", find_mark, ",\"expect\":\"0\"");
    }
    batch_add("\"own\"", find_own_mark, ",\"expect\":\"T\"");
    BATCH(0, "-j", "2");
}

/* The pipes and sockets that PROCESS has open, as /proc names them. */
static size_t held(pid_t process, char links[LINKS_MAX][LINK_BYTES]) {
    size_t count = 0;
    DIR *directory = opendir(formatted("/proc/%d/fd", process));
    if (!directory)
        return 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL && count < LINKS_MAX;) {
        ssize_t length = readlinkat(dirfd(directory), entry->d_name, links[count], LINK_BYTES - 1);
        if (length <= 0)
            continue;
        links[count][length] = '\0';
        if (strncmp(links[count], "pipe:", 5) == 0 || strncmp(links[count], "socket:", 7) == 0)
            count++;
    }
    closedir(directory);
    return count;
}

/* The workers of RUN that are confined, which are those that evaluate. */
static size_t confined(pid_t run, pid_t *pids, size_t maximum) {
    pid_t all[32];
    size_t count = process_descendants(run, all, COUNT_OF(all)), found = 0;
    for (size_t i = 0; i < count && i < COUNT_OF(all) && found < maximum; i++)
        if (process_is_worker(all[i]))
            pids[found++] = all[i];
    return found;
}

Test(batch_isolation, no_pipe_or_socket_is_open_in_two_workers) {
    skip_without_inspection();
    const char *path = batch_file("in.jsonl");
    for (int i = 0; i < WORKERS; i++)
        batch_add("1", "(sleep 3)", "");
    batch_write(path, batch_input());
    pid_t run =
        batch_start_on((const char *const[]){"-j", "4", NULL}, path, "/dev/null", "/dev/null", 0);
    pid_t workers[2 * WORKERS];
    size_t count = 0;
    while ((count = confined(run, workers, COUNT_OF(workers))) < WORKERS)
        usleep(10000);
    static char links[2 * WORKERS][LINKS_MAX][LINK_BYTES];
    size_t counts[2 * WORKERS];
    for (size_t i = 0; i < count; i++)
        counts[i] = held(workers[i], links[i]);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(counts[i], 3, "a channel and two pipes, not %zu", counts[i]);
        for (size_t j = 0; j < i; j++)
            for (size_t k = 0; k < 9; k++)
                cr_assert_str_neq(links[i][k / 3], links[j][k % 3]);
    }
    cr_assert_eq(batch_wait(run), 0);
}

Test(batch_isolation, preloaded_definitions_are_fresh_for_each_line) {
    const char *file = batch_file("preloaded.lisp");
    batch_write(file, "(defvar *preloaded* (list 1 2))\n");
    for (int i = 0; i < ROUNDS; i++) {
        batch_add("\"spoil\"", "(setf (car *preloaded*) 0)", "");
        batch_add("\"look\"", "*preloaded*", ",\"expect\":\"(1 2)\"");
    }
    const struct command_result *result = BATCH(0, "-j", "2", "--policy", "ci", "--preload", file);
    cr_expect_eq(batch_lines(result->output), (size_t)2 * ROUNDS);
}
