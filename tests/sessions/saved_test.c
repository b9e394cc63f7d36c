/* Sessions that outlive their server: what comes back, what does not, and what is said about it. */
#include "tests/support/client_sessions.h"
#include "tests/support/command.h"
#include "tests/support/eras.h"
#include "tests/support/family.h"
#include "tests/support/project_files.h"
#include "tests/support/saved.h"
#include "tests/support/skip.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Without images, so that it is known which calls are evaluated again: see saved_images_test.c. */
static void begin(void) {
    setenv("ECLAVE_IMAGE", "off", 1);
    saved_begin();
}

TestSuite(saved, .init = begin, .fini = saved_end);

#define RESTORED "SESSION-RESTORED: "

/* The first call after a restart says how many calls came back; its value is VALUE. */
static void expect_restored(struct client *client, const char *session, const char *code,
                            unsigned calls, const char *value) {
    struct evaluation first = client_session_evaluate(client, session, code);
    expect_contains(first.text, formatted(RESTORED "%u saved call", calls));
    expect_contains(first.text, "; 0 ended differently");
    expect_contains(first.text, formatted("=> %s", value));
    client_session_expect(client, session, code, formatted("=> %s", value)); /* says it once */
}

static struct client *restart(struct client *client) {
    saved_kill(client);
    return saved_serve(NULL);
}

/* --- what comes back --- */

static const struct {
    const char *make, *look, *value;
} kinds[] = {
    {"(defvar *v* (list 1 2 3))", "*v*", "(1 2 3)"},
    {"(defun f (x) (* x x))", "(f 12)", "144"},
    {"(defmacro m (x) `(list ,x ,x))", "(m 3)", "(3 3)"},
    {"(let ((n 0)) (defun next () (incf n)) (next) (next))", "(list (next) (next))", "(3 4)"},
    {"(progn (defclass c () ((s :initarg :s :accessor s))) (defvar *c* (make-instance 'c :s 7))"
     " (defmethod twice ((c c)) (* 2 (s c))))",
     "(twice *c*)", "14"},
    {"(progn (defvar *h* (make-hash-table)) (defvar *k* (list 1)) (setf (gethash *k* *h*) :here))",
     "(gethash *k* *h*)", ":HERE\n=> T"},
    {"(defvar *big* (expt 7 500))", "(mod *big* 1000003)", "683160"},
    {"(defpackage :other (:use :cl) (:export #:x))", "(symbol-name 'other:x)", "\"X\""},
    {"(defstruct point x y)", "(point-x (make-point :x 1 :y 2))", "1"},
    {"(defvar *s* (make-string-input-stream \"abc\"))", "(read-char *s*)", "#\\a"},
    {"(error \"no value, but kept\")", "1", "1"},
};

/* Code that looks may change what it sees, so each is its own session. */
Test(saved, state_of_every_kind_comes_back) {
    struct client *client = saved_serve(NULL);
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        client_session_evaluate(client, formatted("kind-%zu", i), kinds[i].make);
    client = restart(client);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct evaluation look =
            client_session_evaluate(client, formatted("kind-%zu", i), kinds[i].look);
        expect_contains(look.text, RESTORED "1 saved call was");
        if (i != 6)
            expect_contains(look.text, formatted("=> %s", kinds[i].value));
    }
    client_finish(client);
}

Test(saved, the_package_that_code_has_changed_comes_back) {
    struct client *client = saved_serve(NULL);
    client_evaluate(client, "(defpackage :p (:use :cl))");
    client_evaluate(client, "(in-package :p)");
    client = restart(client);
    expect_contains(client_evaluate(client, "(package-name *package*)").text, "=> \"P\"");
    client_evaluate_with(client, "{\"code\":\"(defvar *x* 3)\",\"package\":\"CL-USER\"}");
    client = restart(client);
    expect_contains(client_evaluate(client, "cl-user::*x*").text, "=> 3");
    client_finish(client);
}

Test(saved, a_restart_after_the_end_of_input_comes_back_as_well) {
    struct client *client = saved_serve(NULL);
    client_evaluate(client, "(defvar *n* 5)");
    client_finish(client);
    client = saved_serve(NULL);
    expect_restored(client, NULL, "*n*", 1, "5");
    client_finish(client);
}

Test(saved, sync_and_many_restarts_add_up) {
    struct client *client = saved_serve(STRINGS("--durable", "sync"));
    client_evaluate(client, "(defvar *n* 0)");
    for (int i = 1; i <= 5; i++) {
        expect_contains(client_evaluate(client, "(incf *n*)").text, formatted("=> %d", i));
        saved_kill(client);
        client = saved_serve(STRINGS("--durable", "sync"));
    }
    expect_restored(client, NULL, "*n*", 6, "5");
    client_finish(client);
}

Test(saved, rollback_reset_copy_and_close_are_saved) {
    struct client *client = saved_serve(NULL);
    for (int i = 1; i <= 4; i++)
        client_session_evaluate(client, "a", formatted("(defparameter *n* %d)", i));
    client_session_rollback(client, "a", 2);
    const char *copy = client_session_copy(client, "a", 1);
    client_session_evaluate(client, copy, "(incf *n* 100)");
    const char *again = client_session_copy(client, copy, -1);
    client_session_evaluate(client, again, "(incf *n* 1000)");
    client_session_evaluate(client, again, "(incf *n* 10000)");
    client_session_rollback(client, again, 1);
    client_session_evaluate(client, "b", "(defvar *gone* 1)");
    client_session_reset(client, "b");
    client_session_evaluate(client, "b", "(defvar *here* 1)");
    client_session_evaluate(client, "c", "1");
    client_session_close(client, "c");
    char *names[] = {strdup(copy), strdup(again)};
    client = restart(client);
    expect_restored(client, "a", "*n*", 2, "2");
    expect_restored(client, names[0], "*n*", 2, "101");
    expect_restored(client, names[1], "*n*", 3, "1101");
    expect_restored(client, "b", "(list (boundp '*gone*) *here*)", 1, "(NIL 1)");
    expect_contains(client_session_evaluate(client, "c", "1").text, "; session c (new)");
    client_session_rollback(client, "a", 3); /* the two looks, and the last call */
    client_session_expect(client, "a", "*n*", "=> 1");
    client_finish(client);
    free(names[0]);
    free(names[1]);
}

Test(saved, an_opened_session_is_there_before_its_first_call) {
    struct client *client = saved_serve(NULL);
    client_tool(client, "open-session", "{\"name\":\"empty\"}");
    client = restart(client);
    expect_contains(client_tool(client, "open-session", "{\"name\":\"empty\"}").text,
                    "is open already");
    client_session_expect(client, "empty", "(+ 1 2)", "=> 3");
    client_finish(client);
}

Test(saved, calls_that_changed_nothing_are_not_saved) {
    static const char *const codes[] = {"(ext:quit 3)", VIOLATION, "(loop (print 1))"};
    struct client *client = saved_serve(STRINGS("--output-max-bytes", "1000"));
    client_evaluate(client, "(defvar *n* 1)");
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        client_evaluate(client, codes[i]);
    client_tool(client, "inspect-lisp", "{\"operation\":\"describe\",\"name\":\"*n*\"}");
    client = restart(client);
    expect_restored(client, NULL, "*n*", 1, "1");
    client_finish(client);
}

/* Small letters and capitals are different names, on any file system. */
Test(saved, names_are_text) {
    static const char *const names[] = {"work", "Work", "WORK", ".", "..", "-rf", "key", "s-key"};
    struct client *client = saved_serve(NULL);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        client_session_evaluate(client, names[i], formatted("(defvar *n* %zu)", i));
    client = restart(client);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        expect_restored(client, names[i], "*n*", 1, formatted("%zu", i));
    client_finish(client);
    expect_contains(
        command_expect(0, STRINGS("sessions", "list", "--state", saved_path()), NULL)->output,
        formatted("%zu sessions", COUNT_OF(names)));
}

Test(saved, a_session_without_a_name_comes_back_by_its_handle) {
    struct client *client = era_start(era_modern, STRINGS("--state", saved_path()));
    struct evaluation first = era_evaluate(client, era_modern, NULL, "(defvar *n* 7)");
    char *handle = strdup(era_handle(client, &first));
    for (int i = 0; i < 8; i++) /* of which only the newest eight are kept */
        era_evaluate(client, era_modern, NULL, "1");
    first = era_evaluate(client, era_modern, NULL, "(defvar *n* 8)");
    char *newer = strdup(era_handle(client, &first));
    saved_kill(client);
    client = era_start(era_modern, STRINGS("--state", saved_path()));
    const char *list = era_call(client, era_modern, "list-sessions", "{}").text;
    expect_contains(list, "Unnamed, of which only the newest 8 are kept");
    expect_contains(list, formatted("%s: saved, ", newer));
    cr_assert_null(strstr(list, handle));
    expect_contains(era_evaluate(client, era_modern, newer, "*n*").text, "=> 8");
    cr_assert(era_evaluate(client, era_modern, handle, "*n*").is_error);
    for (int i = 0; i < 9; i++)
        era_evaluate(client, era_modern, NULL, "1");
    saved_kill(client); /* it was continued, and is kept as if it had a name */
    client = era_start(era_modern, STRINGS("--state", saved_path()));
    expect_contains(era_evaluate(client, era_modern, newer, "*n*").text, "=> 8");
    client_finish(client);
    free(handle);
    free(newer);
}

/* --- what is said --- */

Test(saved, the_list_marks_sessions_that_are_not_back_yet) {
    struct client *client = saved_serve(NULL);
    client_session_evaluate(client, "one", "(defvar *n* 1)");
    client_session_evaluate(client, "two", "(defvar *n* 2)");
    client = restart(client);
    client_session_evaluate(client, "two", "1");
    const char *list = client_tool(client, "list-sessions", "{}").text;
    expect_contains(list, "one: saved, ");
    expect_contains(list, "two: state number 2, can roll back 2");
    client_finish(client);
}

Test(saved, saved_sessions_do_not_count_until_they_are_used) {
    struct client *client = saved_serve(NULL);
    for (int i = 0; i < 4; i++)
        client_session_evaluate(client, formatted("n%d", i), "1");
    saved_kill(client);
    client = saved_serve(STRINGS("--session-max", "2"));
    client_session_evaluate(client, "n0", "1");
    client_session_evaluate(client, "n1", "1");
    expect_contains(client_session_evaluate(client, "n2", "1").text, "[ERROR] SESSION-LIMIT");
    client_session_close(client, "n1");
    expect_contains(client_session_evaluate(client, "n2", "1").text, RESTORED);
    client_session_close(client, "n3"); /* without being brought back */
    client_finish(client);
}

Test(saved, what_ends_differently_is_named) {
    struct client *client;
    project_files_begin();
    project_files_write("resources/data", "(1 2 3)");
    saved_kill(saved_serve(STRINGS("--allow-read", project_files_path())));
    client = saved_serve(STRINGS("--allow-read", project_files_path()));
    client_evaluate(client, formatted("(defvar *d* (with-open-file (s \"%s/resources/data\") "
                                      "(read s)))",
                                      project_files_path()));
    client_evaluate(client, "(defvar *n* 5)");
    saved_kill(client);
    client = saved_serve(NULL); /* a stricter policy */
    struct evaluation look = client_evaluate(client, "(list *n* (boundp '*d*))");
    expect_contains(look.text, RESTORED "2 saved calls were");
    expect_contains(look.text, "1 ended differently (call 1 was a value, now FILE-ERROR)");
    expect_contains(look.text, "=> (5 NIL)");
    client_finish(client);
    project_files_end();
}

/* It cannot come back, so it is no part of the state any more; later calls are. */
Test(saved, a_call_that_ends_its_process_now_is_dropped_and_said_so) {
    struct client *client = saved_serve(NULL);
    client_evaluate(client, "(defvar *before* 1)");
    client_evaluate(client, "(progn (dotimes (i 200) (princ i)) (defvar *loud* 1))");
    client_evaluate(client, "(defvar *after* 2)");
    saved_kill(client);
    client = saved_serve(STRINGS("--output-max-bytes", "100"));
    struct evaluation look = client_evaluate(client, "(list *before* (boundp '*loud*) *after*)");
    expect_contains(look.text, "1 ended differently (call 2 was a value, now OUTPUT-LIMIT)");
    expect_contains(look.text, "=> (1 NIL 2)");
    saved_kill(client);
    client = saved_serve(STRINGS("--output-max-bytes", "100"));
    expect_contains(client_evaluate(client, "*after*").text, RESTORED "3 saved calls were");
    client_finish(client);
}

Test(saved, a_new_session_beside_saved_ones_is_none_of_them) {
    struct client *client = saved_serve(NULL);
    client_session_evaluate(client, "a", "(defvar *n* 1)");
    client_session_evaluate(client, "b", "(defvar *n* 2)");
    client = restart(client);
    expect_restored(client, "a", "*n*", 1, "1");
    client_session_expect(client, "c", "(boundp '*n*)", "=> NIL\n; session c (new)");
    client_session_evaluate(client, "c", "(defvar *n* 3)");
    client_session_expect(client, "d", "(boundp '*n*)", "=> NIL\n; session d (new)");
    expect_restored(client, "b", "*n*", 1, "2");
    client_session_close(client, "d");
    client = restart(client);
    expect_contains(client_session_evaluate(client, "a", "*n*").text, "=> 1");
    expect_contains(client_session_evaluate(client, "b", "*n*").text, "=> 2");
    expect_contains(client_session_evaluate(client, "c", "*n*").text, "=> 3");
    client_finish(client);
}

/* --- the processes of a session --- */

Test(saved, a_session_whose_processes_were_killed_comes_back) {
    pid_t pids[16];
    struct client *client = saved_serve(NULL);
    client_evaluate(client, "(defvar *n* 1)");
    client_evaluate(client, "(incf *n*)");
    client_session_settle(client, NULL);
    size_t count = family_workers(client, 4, pids, COUNT_OF(pids));
    family_kill_together(client, pids, count);
    struct evaluation look = client_evaluate(client, "*n*");
    expect_contains(look.text, RESTORED);
    expect_contains(look.text, "=> 2");
    client_finish(client);
}

Test(saved, without_checkpoints_a_call_that_ends_its_process_costs_nothing) {
    struct client *client = saved_serve(STRINGS("--degraded"));
    client_evaluate(client, "(defvar *n* 1)");
    expect_contains(client_evaluate(client, "(ext:quit 3)").text,
                    "The session is brought back to where it was by its next call.");
    expect_contains(client_evaluate(client, "*n*").text, "=> 1");
    client_finish(client);
}

/* The tool runs in the session of its caller, and keeps what it was told. */
Test(saved, a_project_tool_and_the_answer_of_its_client_come_back) {
    project_files_begin();
    project_files_write(
        "tools/who.lisp",
        ";;; {\"description\": \"x\", \"session\": \"caller\"}\n"
        "(mcp:deftool \"who\" () (defparameter cl-user::*who* (mcp:ref (mcp:ask :elicit \"Who?\""
        " '(:object :type :object :properties (:object))) \"content\" \"name\")) \"done\")");
    const char *arguments[] = {"--state", saved_path(), "--project", project_files_path(), NULL};
    struct client *client = client_start(&(struct client_options){.arguments = arguments});
    client_initialize_with(client, NULL, "{\"elicitation\":{}}");
    client_tool_send(client, "1", "who", "{}");
    const char *question = client_read_line(client, NULL);
    client_send_format(client,
                       "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"action\":\"accept\","
                       "\"content\":{\"name\":\"Ada\"}}}",
                       client_string(client, question, "id", NULL));
    expect_contains(client_await(client, "1", NULL), "done");
    client = restart(client); /* without the project, whose source is saved */
    expect_restored(client, NULL, "*who*", 1, "\"Ada\"");
    client_finish(client);
    project_files_end();
}

/* --- several servers --- */

Test(saved, a_session_belongs_to_one_server_at_a_time) {
    struct client *one = saved_serve(NULL), *two = saved_serve(NULL);
    client_session_evaluate(one, "shared", "(defvar *n* 1)");
    struct evaluation refused = client_session_evaluate(two, "shared", "*n*");
    expect_contains(refused.text, "[ERROR] SESSION-ERROR\nSession shared is in use by another "
                                  "server with the same state directory");
    client_session_expect(two, "own", "(+ 1 2)", "=> 3\n; session own (new)");
    expect_contains(
        command_expect(0, STRINGS("sessions", "list", "--state", saved_path()), NULL)->output,
        "in use");
    command_expect(1, STRINGS("sessions", "remove", "shared", "--state", saved_path()), NULL);
    saved_kill(one);
    expect_restored(two, "shared", "*n*", 1, "1");
    client_finish(two);
}

/* --- a directory that cannot be used --- */

static void expect_no_start(const char *part) {
    struct command_result result = command_eclave(STRINGS("serve", "--state", saved_path()), NULL);
    cr_assert_eq(result.status, 2, "%s", result.error);
    expect_contains(result.error, part);
    command_result_free(&result);
}

static void make_state(void) {
    client_finish(saved_serve(NULL));
}

Test(saved, a_directory_of_others_is_refused) {
    make_state();
    chmod(saved_path(), 0755);
    expect_no_start("is open to other users (mode 755; it must be 700)");
    chmod(saved_path(), 0700);
    chmod(formatted("%s/key", saved_path()), 0644);
    expect_no_start("key is open to other users");
    chmod(formatted("%s/key", saved_path()), 0600);
    cr_assert_eq(truncate(formatted("%s/key", saved_path()), 3), 0);
    expect_no_start("key is damaged");
    unlink(formatted("%s/key", saved_path()));
    rmdir(saved_path());
    close(open(saved_path(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    expect_no_start("directory");
}

Test(saved, a_directory_of_another_user_is_refused) {
    skip_unless_root();
    make_state();
    cr_assert_eq(chown(saved_path(), 65534, 65534), 0);
    expect_no_start("belongs to another user");
}

/* Runs "serve" by a shell that first does SETUP, which fails where it is not allowed. */
static struct client *serve_after(const char *setup) {
    const struct client_options options = {
        .program = "/bin/sh",
        .arguments = STRINGS("-c", formatted("%s && exec \"$0\" serve --state \"$1\"", setup),
                             ECLAVE_BINARY, saved_path())};
    return client_start_ready(&options, NULL);
}

/* A failed write takes the call with it: what was answered before stays, and later calls work. */
static void expect_undone(struct client *client, const char *reason) {
    struct evaluation refused =
        client_evaluate(client, formatted("(defparameter *n* (progn #|%0*d|# 2))", 300000, 0));
    cr_assert(refused.is_error);
    expect_contains(refused.text, "[ERROR] STATE-UNSAVED\nThe call cannot be saved: ");
    expect_contains(refused.text, reason);
    expect_contains(refused.text, "The session is as it was before the call.");
    expect_contains(client_evaluate(client, "*n*").text, "=> 1");
}

Test(saved, a_file_size_limit_undoes_the_call_that_would_exceed_it) {
    struct client *client = serve_after("ulimit -f 200");
    client_evaluate(client, "(defparameter *n* 1)");
    expect_undone(client, "File too large");
    client_evaluate(client, "(defparameter *m* 1)");
    client = restart(client);
    expect_contains(client_evaluate(client, "(list *n* *m*)").text, "=> (1 1)");
    client_finish(client);
}

Test(saved, a_full_disk_undoes_the_call_that_finds_it) {
    struct client *client = saved_serve_on_small_disk("128k");
    client_evaluate(client, "(defparameter *n* 1)");
    expect_undone(client, "No space left on device");
    client_evaluate(client, "(defparameter *n* 2)");
    client_session_rollback(client, NULL, 1);
    client_finish(client);
}

Test(saved, the_limit_of_all_sessions_undoes_the_call_that_would_exceed_it) {
    struct client *client = saved_serve(STRINGS("--state-max-mb", "1"));
    client_evaluate(client, "(defparameter *n* 1)");
    for (int i = 0; i < 3; i++)
        client_session_evaluate(client, formatted("n%d", i), formatted("'#:a%0*d", 300000, 0));
    expect_undone(client, "state.max_mb allows 1 MiB");
    client_session_close(client, "n1"); /* makes room */
    cr_assert_not(client_evaluate(client, formatted("'#:a%0*d", 200000, 0)).is_error);
    client_finish(client);
}

Test(saved, a_read_only_directory_is_refused) {
    skip_unless_root();
    skip_without_mounts();
    make_state();
    struct command_result result = command_run(&(struct command){
        .arguments =
            STRINGS("/usr/bin/unshare", "-m", "/bin/sh", "-c",
                    "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && exec "
                    "\"$0\" serve --state \"$1\"",
                    ECLAVE_BINARY, saved_path())});
    cr_assert_eq(result.status, 2, "%s", result.error);
    expect_contains(result.error, "Read-only file system");
    command_result_free(&result);
}

/* --- damage --- */

static void flip(const char *path, off_t offset) {
    unsigned char byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    cr_assert(fd >= 0 && pread(fd, &byte, 1, offset) == 1, "%s", path);
    byte ^= 1;
    cr_assert_eq(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}

Test(saved, a_damaged_journal_costs_that_session_alone_and_says_so) {
    struct stat status;
    struct client *client = saved_serve(NULL);
    client_session_evaluate(client, "good", "(defvar *n* 1)");
    client_session_evaluate(client, "bad", "(defvar *n* 1)");
    client_session_evaluate(client, "bad", "(setf *n* 2)");
    client_session_evaluate(client, "worse", "(defvar *n* 1)");
    saved_kill(client);
    stat(saved_file("s-bad", "journal"), &status);
    flip(saved_file("s-bad", "journal"), status.st_size - 1);
    flip(saved_file("s-worse", "journal"), 20);
    client = saved_serve(NULL);
    struct evaluation bad = client_session_evaluate(client, "bad", "*n*");
    expect_contains(bad.text, RESTORED "1 saved call was");
    expect_contains(bad.text, "bytes of its file were damaged or unfinished, and are left out");
    expect_contains(bad.text, "=> 1");
    cr_assert_eq(access(saved_file("s-bad", "left-out.1"), F_OK), 0);
    expect_contains(client_session_evaluate(client, "worse", "*n*").text,
                    "[ERROR] SESSION-ERROR\nWhat is saved of session worse cannot be used");
    expect_restored(client, "good", "*n*", 1, "1");
    client_session_close(client, "worse");
    client = restart(client);
    expect_contains(client_session_evaluate(client, "bad", "*n*").text, "=> 1");
    expect_contains(client_session_evaluate(client, "worse", "1").text, "(new)");
    client_finish(client);
}

/* --- the command --- */

Test(saved, the_command_lists_shows_and_removes) {
    const char *path = saved_path();
    struct client *client = saved_serve(NULL);
    client_session_evaluate(client, "work", "(defvar *n* \"\\u001b[31m\")");
    client_session_evaluate(client, "work", "(error \"a\")");
    client_session_rollback(client, "work", 1);
    client_finish(client);
    expect_contains(command_expect(0, STRINGS("sessions", "list", "--state", path), NULL)->output,
                    "1 session, ");
    const char *shown =
        command_expect(0, STRINGS("sessions", "show", "work", "--state", path), NULL)->output;
    expect_contains(shown, "; session work, ");
    expect_contains(shown, "(defvar *n* ");
    expect_contains(shown, "; call 2, ");
    expect_contains(shown, "SIMPLE-ERROR\n(error \"a\")");
    expect_contains(shown, "; back to the state after call 1, ");
    cr_assert_null(strchr(shown, 27));
    command_expect(1, STRINGS("sessions", "show", "other", "--state", path), NULL);
    command_expect(1, STRINGS("sessions", "remove", "../x", "--state", path), NULL);
    command_expect(0, STRINGS("sessions", "remove", "work", "--state", path), NULL);
    command_expect(1, STRINGS("sessions", "remove", "work", "--state", path), NULL);
    expect_contains(command_expect(0, STRINGS("sessions", "list", "--state", path), NULL)->output,
                    "0 sessions, ");
    command_expect(2, STRINGS("sessions", "list"), NULL);
    command_expect(2, STRINGS("sessions", "list", "work", "--state", path), NULL);
    command_expect(2, STRINGS("sessions", "show", "--state", path), NULL);
    command_expect(2, STRINGS("sessions", "eat", "work", "--state", path), NULL);
}
