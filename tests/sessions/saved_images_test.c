/* Sessions that come back from an image of their memory: what they are then, what is said, and what
 * happens where the image cannot be used. */
#include "common/image_file.h"
#include "policy/policy.h"
#include "tests/support/client_sessions.h"
#include "tests/support/command.h"
#include "tests/support/lines.h"
#include "tests/support/saved.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 60000, STEP_MS = 20, CHEAP_MS = 40 };

#define RESTORED "SESSION-RESTORED: "
#define ADOPTED  "this session was brought back from its image, of the state after call "
/* Long enough that an image pays. */
#define LONG "(sleep 0.6)"

static char base[64];

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* So that the test's own server needs no time for it. */
static void write_base(const char *const *arguments) {
    struct client *client = saved_serve(arguments);
    client_session_evaluate(client, "base", "1");
    client_session_close(client, "base");
    client_finish(client);
}

/* With a cache directory of its own, which the tests change. */
static void begin(void) {
    saved_skip_without_images();
    saved_begin();
    snprintf(base, sizeof base, "%s", saved_use_images());
    write_base(NULL);
}

TestSuite(saved_images, .init = begin, .fini = saved_end, .disabled = !IMAGE_SUPPORTED);

/* Whether there is an image of SESSION, and of its newest saved state if NEWEST. */
static bool has_image(const char *session, bool newest) {
    const struct command_result *shown =
        command_expect(0, STRINGS("sessions", "show", session, "--state", saved_path()), NULL);
    const char *from = shown->output;
    for (const char *call = from; newest && (call = strstr(call, "\n; call ")) != NULL; call++)
        from = call;
    return strstr(from, "\n; image of the state after call ");
}

/* Waits until it has, and sets NAME to the name of the image. On a busy machine a state before the
 * newest may have an image as well. */
static void await_image_of(const char *session, bool newest, char name[SAVED_NAME_BYTES]) {
    for (int waited = 0; waited < WAIT_MS; waited += STEP_MS) {
        if (has_image(session, newest)) {
            saved_find_image(formatted("s-%s", session), name);
            return;
        }
        usleep(STEP_MS * 1000);
    }
    cr_assert(false, "no image appears");
}

static void await_image(const char *session, char name[SAVED_NAME_BYTES]) {
    await_image_of(session, true, name);
}

static struct client *restart(struct client *client) {
    saved_kill(client);
    return saved_serve(NULL);
}

/* Evaluates LOOK in a session that comes back by its image and REPLAYED calls. */
static void expect_adopted(struct client *client, const char *session, const char *look,
                           unsigned replayed, const char *value) {
    struct evaluation first = client_session_evaluate(client, session, look);
    if (strstr(first.text, "since it needs memory that this process cannot give")) {
        client_finish(client);
        cr_skip_test("the kernel's own pages are where the session had memory: 1 start in 4,000");
    }
    expect_contains(first.text, RESTORED ADOPTED);
    expect_contains(first.text, formatted("; %u saved call%s evaluated", replayed,
                                          replayed == 1 ? " was" : "s were"));
    expect_contains(first.text, "; 0 ended differently");
    expect_contains(first.text, formatted("=> %s", value));
}

/* Evaluates LOOK in a session that comes back by all of its REPLAYED calls, because of WHY. */
static void expect_replayed(struct client *client, const char *session, const char *look,
                            unsigned replayed, const char *why, const char *value) {
    struct evaluation first = client_session_evaluate(client, session, look);
    expect_contains(first.text, RESTORED);
    cr_assert_null(strstr(first.text, ADOPTED), "%s", first.text);
    if (why)
        expect_contains(first.text,
                        formatted("the image of this session was not used, since it %s", why));
    expect_contains(first.text, formatted("%u saved call%s evaluated", replayed,
                                          replayed == 1 ? " was" : "s were"));
    expect_contains(first.text, formatted("=> %s", value));
}

/* --- what comes back --- */

static const struct {
    const char *make, *look;
} kinds[] = {
    {"(defvar *list* (list 1 2.5 \"three\" #\\4 'five :six))", "*list*"},
    {"(defun square (x) (* x x))", "(square 12)"},
    {"(defmacro both (x) `(list ,x ,x))", "(both 3)"},
    {"(let ((n 0)) (defun next () (incf n)) (defun now () n) (next) (next))", "(now)"},
    {"(progn (defclass c () ((s :initarg :s :accessor s))) (defclass d (c) ())"
     " (defvar *c* (make-instance 'd :s 7)) (defmethod twice ((c c)) (* 2 (s c)))"
     " (defmethod twice :around ((c d)) (1+ (call-next-method))))",
     "(list (twice *c*) (class-name (class-of *c*)))"},
    {"(progn (defvar *h* (make-hash-table)) (defvar *k* (loop for i below 1000 collect (list i)))"
     " (dolist (k *k*) (setf (gethash k *h*) (car k))))",
     "(list (hash-table-count *h*) (loop for k in *k* sum (gethash k *h*)))"},
    {"(defvar *weak* (let ((h (make-hash-table :test 'equal))) (setf (gethash \"a\" h) 1) h))",
     "(gethash \"a\" *weak*)"},
    {"(defvar *big* (expt 7 5000))", "(mod *big* 1000003)"},
    {"(defvar *ratio* (/ (expt 3 100) (expt 2 100)))", "*ratio*"},
    {"(progn (defpackage :other (:use :cl) (:export #:x #:y)) (intern \"Z\" :other))",
     "(list (symbol-name 'other:x) (find-symbol \"Z\" :other))"},
    {"(defstruct point x y)", "(point-x (make-point :x 1 :y 2))"},
    {"(defvar *in* (make-string-input-stream \"abc def\"))",
     "(prog1 (read-char *in*) (unread-char #\\a *in*))"},
    {"(defvar *out* (make-string-output-stream))",
     "(progn (write-string \"x\" *out*) (get-output-stream-string *out*))"},
    {"(defvar *r* (make-random-state t))",
     "(let ((r (make-random-state *r*))) (loop repeat 3 collect (random 1000000 r)))"},
    {"(defvar *doubles* (make-array 100000 :element-type 'double-float :initial-element 1.5d0))",
     "(reduce #'+ *doubles*)"},
    {"(defvar *text* (make-string 50000 :initial-element (code-char 955)))",
     "(list (length *text*) (char-code (char *text* 49999)))"},
    {"(defvar *circle* (let ((l (list 1 2 3))) (setf (cdddr l) l) l))", "(nth 1000 *circle*)"},
    {"(defvar *vector* (make-array 3 :adjustable t :fill-pointer 2 :initial-element 9))",
     "(list (fill-pointer *vector*) (array-dimension *vector* 0))"},
    {"(define-condition odd (error) ((n :initarg :n :reader odd-n)))",
     "(handler-case (error 'odd :n 3) (odd (c) (odd-n c)))"},
    {"(deftype small () '(integer 0 9))", "(list (typep 3 'small) (typep 10 'small))"},
    {"(defsetf left (x) (v) `(setf (car ,x) ,v))", "(let ((l (list 1))) (setf (left l) 5) l)"},
    {"(set-macro-character #\\! (lambda (s c) (declare (ignore c)) (list 'quote (read s t nil "
     "t))))",
     "!abc"},
    {"(setf *print-base* 16)", "255"},
    {"(defvar *bits* (make-array 1000 :element-type 'bit :initial-element 1))", "(count 1 *bits*)"},
    {"(proclaim '(special dyn)) (setq dyn 5)", "(let ((dyn 6)) (symbol-value 'dyn))"},
    {"(setf (get 'sym 'prop) 'val)", "(get 'sym 'prop)"},
    {"(setf (documentation 'square 'function) \"Squares.\")", "(documentation 'square 'function)"},
    {"(trace square) (untrace square)", "(square 3)"},
};

static void look_at_all(struct client *client, char *looks[COUNT_OF(kinds)]) {
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct evaluation look = client_evaluate(client, kinds[i].look);
        const char *value = strstr(look.text, "=> ");
        cr_assert(value && !look.is_error, "%s: %s", kinds[i].look, look.text);
        looks[i] = strdup(value);
    }
}

static void expect_same(char *before[COUNT_OF(kinds)], char *after[COUNT_OF(kinds)]) {
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        cr_assert_str_eq(before[i], after[i], "%s: %s, and then %s", kinds[i].look, before[i],
                         after[i]);
        free(after[i]);
    }
}

Test(saved_images, state_of_every_kind_comes_back) {
    char *before[COUNT_OF(kinds)], *after[COUNT_OF(kinds)], name[SAVED_NAME_BYTES] = "";
    struct client *client = saved_serve(NULL);
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        cr_assert_not(client_evaluate(client, kinds[i].make).is_error, "%s", kinds[i].make);
    look_at_all(client, before);
    client_evaluate(client, LONG);
    await_image("main", name);
    client = restart(client);
    expect_contains(client_evaluate(client, "nil").text, RESTORED ADOPTED);
    look_at_all(client, after);
    expect_same(before, after);
    client_evaluate(client, "(progn (si::gc t) (si::gc t))");
    look_at_all(client, after);
    expect_same(before, after);
    client_evaluate(client, "(progn (defvar *more* (loop repeat 200000 collect (list 1))) nil)");
    look_at_all(client, after);
    expect_same(before, after);
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        free(before[i]);
    client_finish(client);
}

/* Each is an image of a session that came back from one. */
Test(saved_images, many_generations_neither_change_it_nor_let_it_grow) {
    enum { GENERATIONS = 20, SLACK_BYTES = 2 << 20 };
    char name[SAVED_NAME_BYTES] = "";
    struct stat first = {0}, last;
    struct client *client = saved_serve(NULL);
    client_evaluate(client, "(progn (defvar *n* 0) (defvar *l* (make-list 20000)) nil)");
    for (int i = 1; i <= GENERATIONS; i++) {
        client_evaluate(client, "(progn (incf *n*) " LONG ")");
        await_image("main", name);
        cr_assert_eq(stat(saved_file("s-main", name), &last), 0);
        if (i == 3)
            first = last;
        client = restart(client);
        expect_adopted(client, NULL, "(list *n* (length *l*))", 0, formatted("(%d 20000)", i));
    }
    cr_assert(last.st_size < first.st_size + SLACK_BYTES, "%jd bytes, and then %jd",
              (intmax_t)first.st_size, (intmax_t)last.st_size);
    client_finish(client);
}

Test(saved_images, calls_after_the_image_are_evaluated_again_and_can_be_rolled_back) {
    char name[SAVED_NAME_BYTES] = "";
    struct client *client = saved_serve(NULL);
    client_session_evaluate(client, "a", "(defvar *n* 1)");
    client_session_evaluate(client, "a", LONG);
    await_image("a", name);
    client_session_evaluate(client, "a", "(incf *n*)");
    client_session_evaluate(client, "a", "(incf *n*)");
    client = restart(client);
    expect_adopted(client, "a", "*n*", 2, "3");
    client_session_rollback(client, "a", 2);
    client_session_expect(client, "a", "*n*", "=> 2");
    expect_contains(client_tool(client, "rollback-session", "{\"session\":\"a\",\"steps\":5}").text,
                    "can be rolled back by at most 2 calls");
    client_finish(client);
}

/* Cheap calls are left out of the image, so that the states before them come back. */
Test(saved_images, an_image_leaves_cheap_calls_to_roll_back) {
    char name[SAVED_NAME_BYTES] = "";
    struct client *client = saved_serve(NULL);
    client_evaluate(client, "(progn (defvar *n* 0) " LONG ")");
    const double begun_ms = now_ms();
    for (int i = 1; i <= 3; i++)
        client_evaluate(client, "(incf *n*)");
    const double took_ms = now_ms() - begun_ms;
    await_image_of("main", false, name);
    client = restart(client);
    expect_contains(client_evaluate(client, "*n*").text, "=> 3");
    if (took_ms > CHEAP_MS) {
        client_finish(client);
        cr_skip_test("this machine is too busy for cheap calls");
    }
    client_session_rollback(client, NULL, 2);
    client_session_expect(client, NULL, "*n*", "=> 2");
    client_finish(client);
}

Test(saved_images, a_session_that_is_cheap_to_evaluate_again_has_none) {
    char name[SAVED_NAME_BYTES] = "";
    struct client *client = saved_serve(NULL);
    const double begun_ms = now_ms();
    client_session_evaluate(client, "cheap", "(defvar *n* 1)");
    const double took_ms = now_ms() - begun_ms;
    client_session_evaluate(client, "dear", LONG);
    await_image("dear", name);
    if (took_ms > CHEAP_MS) {
        client_finish(client);
        cr_skip_test("this machine is too busy for cheap calls");
    }
    saved_find_image("s-cheap", name);
    cr_assert_str_empty(name);
    client = restart(client);
    expect_replayed(client, "cheap", "*n*", 1, NULL, "1");
    client_finish(client);
}

/* --- what takes calls out of force --- */

Test(saved_images, a_rollback_to_before_the_image_leaves_nothing_of_it) {
    char name[SAVED_NAME_BYTES] = "";
    struct client *client = saved_serve(NULL);
    client_evaluate(client, "(defvar *n* 1)");
    client_evaluate(client, "(progn (setf *n* 2) " LONG ")");
    await_image("main", name);
    client_session_rollback(client, NULL, 1);
    client_evaluate(client, "(defvar *m* 5)");
    client_evaluate(client, "(incf *m*)");
    client = restart(client);
    expect_replayed(client, NULL, "(list *n* *m*)", 3, NULL, "(1 6)");
    saved_find_image("s-main", name);
    cr_assert_str_empty(name);
    client_finish(client);
}

Test(saved_images, reset_copy_and_close) {
    char name[SAVED_NAME_BYTES] = "";
    struct client *client = saved_serve(NULL);
    client_session_evaluate(client, "a", "(progn (defvar *n* 1) " LONG ")");
    await_image("a", name);
    char *copy = strdup(client_session_copy(client, "a", -1));
    client_session_evaluate(client, copy, "(incf *n*)");
    client_session_reset(client, "a");
    client_session_evaluate(client, "a", "(defvar *m* 1)");
    client = restart(client);
    expect_replayed(client, "a", "(list (boundp '*n*) *m*)", 1, NULL, "(NIL 1)");
    expect_contains(client_session_evaluate(client, copy, "*n*").text, "=> 2");
    client_session_close(client, "a");
    cr_assert_neq(access(saved_file("s-a", ""), F_OK), 0);
    client_finish(client);
    free(copy);
}

/* --- what does not fit --- */

/* Makes a session with an image and stops its server. *NAME: of the image. */
static void make_image(char name[SAVED_NAME_BYTES]) {
    struct client *client = saved_serve(NULL);
    name[0] = 0;
    client_evaluate(client, "(defvar *n* 41)");
    client_evaluate(client, "(progn (incf *n*) " LONG ")");
    await_image("main", name);
    saved_kill(client);
}

Test(saved_images, another_base_means_that_all_is_evaluated_again) {
    char name[SAVED_NAME_BYTES];
    make_image(name);
    command_remove_tree(formatted("%s/eclave", base));
    struct client *client = saved_serve(NULL);
    expect_replayed(client, NULL, "*n*", 2, "was made with another start of Lisp", "42");
    client_finish(client);
}

Test(saved_images, a_server_that_boots_evaluates_all_again) {
    char name[SAVED_NAME_BYTES];
    make_image(name);
    struct client *client = saved_serve(STRINGS("--image", "off"));
    expect_replayed(client, NULL, "*n*", 2, "needs a server that started from an image", "42");
    client_finish(client);
}

/* It has booted Lisp and written the base image, and then starts again from that. */
Test(saved_images, the_first_server_makes_images_too) {
    char name[SAVED_NAME_BYTES];
    command_remove_tree(formatted("%s/eclave", base));
    make_image(name);
    struct client *client = saved_serve(NULL);
    expect_adopted(client, NULL, "*n*", 0, "42");
    client_finish(client);
}

/* What the policy allows is part of the base. */
/* Its functions are bytecode in the image, and are compiled again. */
Test(saved_images, what_auto_compiles_is_compiled_after_an_image) {
    static const char *const arguments[] = {"--native", "auto", NULL};
    char name[SAVED_NAME_BYTES];
    write_base(arguments);
    struct client *client = saved_serve(arguments);
    expect_contains(client_session_evaluate(
                        client, "a",
                        "(defun f () 1) (defvar *f* (let ((n 0)) (lambda () (incf n)))) " LONG
                        " (funcall *f*)")
                        .text,
                    "=> 1");
    await_image("a", name);
    client_finish(client);
    client = saved_serve(arguments);
    expect_adopted(client, "a", "(funcall *f*)", 0, "2");
    client_session_expect(client, "a", "(mapcar #'eclave::native-p (list #'f *f*))", "=> (T T)");
    client_finish(client);
}

Test(saved_images, a_policy_that_became_stricter_holds) {
    const char *const loose[] = {"--allow-read", "/etc", NULL};
    char name[SAVED_NAME_BYTES] = "";
    write_base(loose);
    struct client *client = saved_serve(loose);
    client_evaluate(client, "(defvar *d* (with-open-file (s \"/etc/passwd\") (read-line s)))");
    client_evaluate(client, LONG);
    await_image("main", name);
    client = restart(client);
    struct evaluation look = client_evaluate(client, "(boundp '*d*)");
    expect_contains(look.text, "was made with another start of Lisp");
    expect_contains(look.text, "1 ended differently (call 1 was a value, now FILE-ERROR)");
    expect_contains(look.text, "=> NIL");
    expect_contains(client_evaluate(client, "(with-open-file (s \"/etc/passwd\") 1)").text,
                    "FILE-ERROR");
    client_finish(client);
}

static void damage(const char *path, off_t offset) {
    unsigned char byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    cr_assert(fd >= 0 && pread(fd, &byte, 1, offset) == 1, "%s", path);
    byte ^= 1;
    cr_assert_eq(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}

static const struct {
    off_t flip; /* from the beginning, or if negative from the end; 0: none */
    off_t cut;  /* to this size; 0: not */
    mode_t mode;
    bool unlinks;
    const char *why;
} damages[] = {
    {.flip = 1, .why = "is not the one that was saved"},
    {.flip = 200, .why = "is not the one that was saved"}, /* the areas */
    {.flip = -5000, .why = "ended the process that became it"},
    {.cut = 8192, .why = "is damaged"},
    {.mode = 0644, .why = "is damaged"},
    {.unlinks = true, .why = "is not there"},
};

Test(saved_images, a_damaged_image_costs_only_time) {
    char name[SAVED_NAME_BYTES];
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        struct stat status;
        make_image(name);
        char *path = strdup(saved_file("s-main", name));
        cr_assert_eq(stat(path, &status), 0);
        if (damages[i].flip)
            damage(path, damages[i].flip < 0 ? status.st_size + damages[i].flip : damages[i].flip);
        if (damages[i].cut)
            cr_assert_eq(truncate(path, damages[i].cut), 0);
        if (damages[i].mode)
            cr_assert_eq(chmod(path, damages[i].mode), 0);
        if (damages[i].unlinks)
            cr_assert_eq(unlink(path), 0);
        struct client *client = saved_serve(NULL);
        expect_replayed(client, NULL, "*n*", 2, damages[i].why, "42");
        client_session_close(client, "main");
        client_finish(client);
        free(path);
    }
}

Test(saved_images, the_image_of_another_session_is_not_used) {
    char name[SAVED_NAME_BYTES] = "", other[SAVED_NAME_BYTES] = "";
    struct client *client = saved_serve(NULL);
    client_session_evaluate(client, "one", "(progn (defvar *n* 1) " LONG ")");
    client_session_evaluate(client, "two", "(progn (defvar *n* 2) " LONG ")");
    await_image("one", name);
    await_image("two", other);
    saved_kill(client);
    char *to = strdup(saved_file("s-one", name));
    cr_assert_eq(rename(saved_file("s-two", other), to), 0);
    client = saved_serve(NULL);
    struct evaluation look = client_session_evaluate(client, "one", "*n*");
    expect_contains(look.text, "the image of this session was not used");
    expect_contains(look.text, "=> 1");
    expect_replayed(client, "two", "*n*", 1, "is not there", "2");
    client_finish(client);
    free(to);
}

Test(saved_images, the_command_shows_an_image_and_counts_its_bytes) {
    char name[SAVED_NAME_BYTES];
    make_image(name);
    struct client *client = saved_serve(NULL);
    client_evaluate(client, "(incf *n*)");
    client_finish(client);
    const char *shown =
        command_expect(0, STRINGS("sessions", "show", "main", "--state", saved_path()), NULL)
            ->output;
    expect_contains(shown, "; image of the state after call 2, ");
    expect_contains(shown, "; call 3, ");
    cr_assert_null(strstr(shown, "could not be brought back"));
    const char *list =
        command_expect(0, STRINGS("sessions", "list", "--state", saved_path()), NULL)->output;
    cr_assert_gt(strtod(list + strcspn(list, " "), NULL), 100, "%s", list); /* KiB */
}

/* --- where there is no room --- */

Test(saved_images, images_leave_room_for_calls) {
    char name[SAVED_NAME_BYTES];
    struct client *client = saved_serve(STRINGS("--state-max-mb", "1"));
    client_evaluate(client, "(progn (defvar *n* 1) (defvar *l* (make-list 200000)) " LONG ")");
    usleep(1500000); /* in which an image is made, which has no room */
    cr_assert_str_eq(client_evaluate(client, "(incf *n*)").text, "=> 2");
    saved_find_image("s-main", name);
    cr_assert_str_empty(name);
    client = restart(client);
    expect_replayed(client, NULL, "*n*", 2, NULL, "2");
    client_finish(client);
}

/* Its calls are evaluated again instead, and the server says why. */
Test(saved_images, gigabytes_are_refused_in_words) {
    char name[SAVED_NAME_BYTES];
    const char *const large[] = {"--session-memory-mb", "2048", NULL};
    write_base(large);
    struct client *client = saved_serve(large);
    struct evaluation made = client_evaluate_with(
        client,
        "{\"timeout\":120,\"code\":\"(progn (defvar *l* (make-array 1090000000 :element-type "
        "'(unsigned-byte 8) :initial-element 7)) (sleep 2.5) (length *l*))\"}");
    cr_assert_not(made.is_error, "%s", made.line);
    client_await_stderr(client, "no image of it is kept: it has changed more than 1024 MiB");
    saved_find_image("s-main", name);
    cr_assert_str_empty(name);
    saved_kill(client);
    client = saved_serve(large);
    expect_replayed(client, NULL, "(aref *l* 1089999999)", 1, NULL, "7");
    client_finish(client);
}

Test(saved_images, a_full_disk_costs_the_image_and_no_call) {
    struct client *client = saved_serve_on_small_disk("256k");
    client_evaluate(client, "(progn (defvar *n* 1) (defvar *l* (make-list 200000)) " LONG ")");
    usleep(1500000);
    for (int i = 2; i < 6; i++)
        client_session_expect(client, NULL, "(incf *n*)", formatted("=> %d", i));
    client_finish(client);
}

Test(saved_images, a_session_whose_image_does_not_live_is_evaluated_again) {
    char name[SAVED_NAME_BYTES] = "";
    struct client *client = saved_serve(NULL);
    client_evaluate(client, "(defvar *n* 1)");
    client_evaluate(client, LONG);
    await_image("main", name);
    client = restart(client);
    expect_adopted(client, NULL, "*n*", 0, "1");
    client_evaluate(client, "(ext:quit 3)"); /* the checkpoint comes in its place */
    client_session_expect(client, NULL, "*n*", "=> 1");
    client_finish(client);
}
