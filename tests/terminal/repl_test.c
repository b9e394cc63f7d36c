/* `eclave repl` in a terminal. */
#include "policy/policy.h"
#include "tests/support/command.h"
#include "tests/support/lines.h"
#include "tests/support/screen.h"
#include "tests/support/skip.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { PAGE_MAX_BYTES = 1 << 20 };

#define CONTINUED               "             ..."
#define PROMPT(session, number) "cl-user[" session " " number "]>"

static void begin_with(const char *command) {
    screen_begin(command);
    screen_wait_last(PROMPT("main", "0"));
}

static void begin(void) {
    begin_with("exec $E repl");
}

/* Types FORM, and waits for PART and the prompt with STATE, "SESSION NUMBER". */
static void evaluate(const char *form, const char *part, const char *state) {
    screen_enter(form);
    screen_wait(part);
    screen_wait_last(formatted("cl-user[%s]>", state));
}

static void leave(void) {
    screen_press("C-d");
    cr_assert_eq(screen_wait_end(), 0, "%s", screen_text());
}

TestSuite(repl, .fini = screen_end);

/* --- forms --- */

Test(repl, a_banner_shows_how_to_take_a_call_back) {
    begin();
    expect_contains(screen_text(), ",undo");
    expect_contains(screen_text(), ",branch NAME");
    expect_contains(screen_text(), ",help");
    leave();
}

Test(repl, a_form_may_have_several_lines) {
    begin();
    screen_enter("(defun area (r) ; a comment with (");
    screen_wait_last(CONTINUED);
    screen_enter("  \"a string with )");
    screen_enter("and a second line\"");
    screen_enter("  #| a comment ) |#");
    evaluate("  (* r r #.(if (char= #\\( #\\() 3 4)))", "=> AREA", "main 1");
    evaluate("(area 10)", "=> 300", "main 2");
    leave();
}

Test(repl, what_is_no_form_asks_for_nothing) {
    begin();
    screen_enter("");
    screen_enter("; a comment");
    screen_enter("#| another |#");
    evaluate("(+ 1 2)", "=> 3", "main 1");
    leave();
}

Test(repl, each_form_of_a_line_is_a_call) {
    begin();
    evaluate("(+ 1 2) (values) :last #+(or) 7 #-(or) 8", "=> 8", "main 5");
    expect_contains(screen_text(), "=> 3\n; no values\n=> :LAST\n; no values\n=> 8\n");
    leave();
}

Test(repl, several_forms_can_be_pasted_at_once) {
    begin();
    screen_paste("(defvar *x* 1)\n(defun f (a)\n\t(list a\n\t      *x*))\n(f 2)\n(incf *x*)\n");
    screen_wait_last(PROMPT("main", "4"));
    expect_contains(screen_text(), "=> *X*\n");
    expect_contains(screen_text(), "=> F\n");
    expect_contains(screen_text(), "=> (2 1)\n");
    expect_contains(screen_text(), "=> 2\n");
    leave();
}

/* More than the terminal's driver holds, while code runs. */
Test(repl, a_long_text_can_be_pasted) {
    enum { LINES = 300 };
    char *text = calloc(1, LINES * 40 + 40), *at = stpcpy(text, "(length '(\n");
    for (int i = 0; i < LINES; i++)
        at += sprintf(at, "  (:line %d \"ä ) %d\")\n", i, i);
    stpcpy(at, "))\n(list :then)\n");
    begin();
    screen_paste(text);
    free(text);
    screen_wait("=> 300");
    screen_wait("=> (:THEN)");
    screen_wait_last(PROMPT("main", "2"));
    const char *screen = screen_text();
    for (int i = 0; i < LINES; i++) { /* each is shown once */
        const char *line = formatted("(:line %d ", i), *shown = strstr(screen, line);
        cr_assert(shown && !strstr(shown + 1, line), "%s: %s", line, screen);
    }
    screen_press("Up");
    screen_press("Up");
    screen_press("Enter");
    screen_wait_times("=> 300", 2);
    screen_wait_last(PROMPT("main", "3"));
    leave();
}

Test(repl, what_is_typed_while_code_runs_is_read_after_it) {
    begin();
    screen_enter("(progn (sleep 1) :slept)");
    screen_enter("(list :after");
    screen_enter(":it)");
    screen_wait("=> :SLEPT");
    screen_wait("=> (:AFTER :IT)");
    screen_wait_last(PROMPT("main", "2"));
    leave();
}

Test(repl, text_may_have_any_characters) {
    begin();
    evaluate("(length \"Äpfel → 漢字 🎈\")", "=> 12", "main 1");
    evaluate("(string-upcase \"grün\")", "=> \"GRÜN\"", "main 2");
    screen_press("Up");
    screen_wait("\"grün\")\n=> \"GRÜN\"\n" PROMPT("main", "2") " (string-upcase \"grün\")");
    screen_press("Enter");
    screen_wait_last(PROMPT("main", "3"));
    leave();
}

Test(repl, output_and_warnings_precede_the_values) {
    begin();
    evaluate(
        "(progn (format t \"to stdout\") (format *error-output* \"to stderr\") (warn \"beware\")"
        " (values 1 2))",
        "=> 2", "main 1");
    expect_contains(screen_text(), "to stdout\nto stderr\nWARNING: beware\n=> 1\n=> 2\n");
    leave();
}

Test(repl, the_prompt_shows_the_package) {
    begin();
    screen_enter("(defpackage :Shop (:use :cl))");
    screen_wait_last(PROMPT("main", "1"));
    screen_enter("(in-package :SHOP)");
    screen_wait_last("shop[main 2]>");
    screen_enter("(defpackage \"MiXed\") (in-package \"MiXed\")");
    screen_wait_last("MiXed[main 4]>");
    leave();
}

/* --- taking back --- */

Test(repl, an_error_explains_undo_once) {
    begin();
    evaluate("(defvar *x* 1)", "=> *X*", "main 1");
    evaluate("(progn (setf *x* 2) (error \"oops\"))", "SIMPLE-ERROR: oops", "main 2");
    screen_wait("; what the code did before it failed is kept; ,undo takes it back");
    evaluate("*x*", "=> 2", "main 3");
    evaluate(",undo 2", "; session main is back at state 1", "main 1");
    evaluate("(list :x *x*)", "=> (:X 1)", "main 2");
    evaluate("(error \"again\")", "again", "main 3");
    const char *hint = strstr(screen_text(), ",undo takes it back");
    cr_assert(hint && !strstr(hint + 1, ",undo takes it back"));
    leave();
}

Test(repl, undo_refuses_what_it_cannot_do) {
    begin();
    evaluate(",undo", "at most 0 calls of session main can be taken back now", "main 0");
    evaluate("1", "=> 1", "main 1");
    evaluate(",undo 2", "at most 1 call of session main", "main 1");
    static const char *const wrong[] = {",undo 0",   ",undo -1", ",undo x",
                                        ",undo 1 2", ",undo 1x", ",undo 99999999999999999999999"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        screen_enter(wrong[i]);
        screen_wait_times(",undo takes the number of calls", (int)i + 1);
        screen_wait_last(PROMPT("main", "1"));
    }
    leave();
}

Test(repl, undo_restores_the_package_of_the_prompt) {
    begin();
    screen_enter("(defpackage :shop (:use :cl)) (in-package :shop)");
    screen_wait_last("shop[main 2]>");
    screen_enter(",undo");
    screen_wait_last(PROMPT("main", "1"));
    leave();
}

Test(repl, a_branch_is_a_copy) {
    begin();
    evaluate("(defvar *x* 1)", "=> *X*", "main 1");
    evaluate(",branch idea", "; this is idea, a copy of main; ,session main goes back", "idea 0");
    evaluate("(setf *x* 5)", "=> 5", "idea 1");
    evaluate(",undo", "; session idea is back at state 0", "idea 0");
    evaluate("(setf *x* 6)", "=> 6", "idea 1");
    screen_enter(",session main");
    screen_wait_last(PROMPT("main", "1"));
    evaluate("(list :in-main *x*)", "=> (:IN-MAIN 1)", "main 2");
    evaluate(",branch idea", "there is a session idea; ,session idea switches to it", "main 2");
    evaluate(",branch a/b", "the name of a session has 1 to 64", "main 2");
    evaluate(",session new", "; this is new, a new session", "new 0");
    evaluate("(boundp '*x*)", "=> NIL", "new 1");
    evaluate(",sessions", "* new", "new 1");
    expect_contains(screen_text(), "  main                 state 2, 2 calls can be taken back\n"
                                   "  idea                 state 1, 1 call can be taken back\n"
                                   "* new                  state 1, 1 call can be taken back\n");
    evaluate(",reset", "; session new begins afresh", "new 0");
    leave();
}

Test(repl, what_is_not_rolled_back_is_not_copied) {
    skip_without_layers(POLICY_LAYER_BIT(POLICY_LAYER_NAMESPACES), false);
    begin_with("exec $E repl --scratch 4");
    evaluate(",branch idea", "a session with a scratch directory cannot be copied", "main 0");
    leave();
}

Test(repl, at_most_session_max_sessions_are_made) {
    begin_with("exec $E repl --session-max 2");
    evaluate(",branch two", "this is two", "two 0");
    evaluate(",branch three", "there are already 2 sessions (session.max)", "two 0");
    evaluate(",session three", "there are already 2 sessions (session.max)", "two 0");
    leave();
}

/* --- what ends a call --- */

Test(repl, an_interrupt_cancels_the_call_and_keeps_the_state) {
    begin();
    evaluate("(defvar *x* 1)", "=> *X*", "main 1");
    screen_enter("(progn (setf *x* 2) (loop))");
    screen_wait_busy();
    screen_type("(never read)"); /* ahead of the next prompt */
    screen_press("C-c");
    screen_wait("CANCELLED: Interrupted. The session is as it was before the call.");
    screen_wait_last(PROMPT("main", "1"));
    evaluate("(list :x *x*)", "=> (:X 1)", "main 2");
    expect_lacks(screen_text(), "NEVER");
    leave();
}

Test(repl, an_interrupt_drops_the_forms_that_follow) {
    begin();
    screen_enter("(loop) (princ :not-run)");
    screen_wait_busy();
    screen_press("C-c");
    screen_wait("CANCELLED");
    screen_wait_last(PROMPT("main", "0"));
    leave();
}

Test(repl, an_interrupt_at_the_prompt_drops_the_input) {
    begin();
    screen_type("(half a form");
    screen_wait("(half a form");
    screen_press("C-c");
    screen_wait("^C");
    screen_wait_last(PROMPT("main", "0"));
    screen_enter("(another half");
    screen_wait_last(CONTINUED);
    screen_press("C-c");
    screen_wait_last(PROMPT("main", "0"));
    evaluate("(+ 1 2)", "=> 3", "main 1");
    leave();
}

Test(repl, the_end_of_a_call_is_explained) {
    begin_with("exec $E repl --call-timeout-s 1");
    evaluate("(defvar *x* 1)", "=> *X*", "main 1");
    evaluate("(ext:quit)", "PROCESS-EXIT: The code ended its process with status 0.", "main 1");
    expect_contains(screen_text(), "; to leave eclave, type ,quit or press Ctrl-D");
    evaluate("(loop)", "TIMEOUT: No answer within 1 s. The session is as it was", "main 1");
    expect_contains(screen_text(), "; the option --call-timeout-s sets the limit");
    evaluate(CRASH, "WORKER-CRASH", "main 2"); /* two forms */
    evaluate(VIOLATION, "SANDBOX-VIOLATION: The code made the forbidden system call kill.",
             "main 3");
    evaluate("(list :x *x*)", "=> (:X 1)", "main 4");
    leave();
}

/* --- the terminal --- */

/* The shell's prompt appears, and fg resumes. */
Test(repl, it_can_be_suspended) {
    screen_begin("PS1='shell> ' exec bash --norc --noprofile");
    screen_wait_last("shell>");
    screen_enter("$E repl");
    screen_wait_last(PROMPT("main", "0"));
    screen_type("(+ 1");
    screen_wait_last(PROMPT("main", "0") " (+ 1"); /* the key discards what has not been read */
    screen_press("C-z");
    screen_wait("Stopped");
    screen_wait_last("shell>");
    screen_enter("stty -a | grep -wo icanon; fg");
    screen_wait("\nicanon\n");
    screen_wait_last(PROMPT("main", "0") " (+ 1");
    screen_enter(" 2)");
    screen_wait("=> 3");
    screen_wait_last(PROMPT("main", "1"));
    screen_enter("(loop)");
    screen_wait_busy();
    screen_press("C-z");
    screen_wait_times("Stopped", 2);
    screen_wait_last("shell>");
    screen_enter("fg");
    screen_wait_busy();
    screen_press("C-c");
    screen_wait("CANCELLED");
    screen_wait_last(PROMPT("main", "1"));
    screen_press("C-d");
    screen_wait_last("shell>");
}

Test(repl, code_cannot_control_the_terminal) {
    begin();
    evaluate("(format t \"~Ared~A[2J~A]0;title~A\" (code-char 27) (code-char 27) (code-char 27) "
             "(code-char 7))",
             "\\u001Bred\\u001B[2J\\u001B]0;title\\u0007", "main 1");
    evaluate("(error \"~A[2J\" (code-char 27))", "SIMPLE-ERROR: \\u001B[2J", "main 2");
    evaluate("(string (code-char 27))", "=> \"\\u001B\"", "main 3");
    evaluate("(make-symbol (string (code-char #x202E)))", "\\u202E", "main 4");
    screen_enter("(defpackage \"A\\\\B\") (in-package \"A\\\\B\")");
    screen_wait_last("a\\u005Cb[main 6]>");
    screen_press("C-d");
    screen_wait_end();
}

Test(repl, huge_output_is_shortened) {
    begin();
    evaluate("(dotimes (i 100000 :done) (format t \"line ~D~%\" i))", "=> :DONE", "main 1");
    expect_contains(screen_text(), "characters left out …]");
    expect_contains(screen_text(), "line 99999\n");
    cr_assert_lt(strlen(screen_text()), (size_t)20000);
    evaluate("(make-list 100000)", "...", "main 2");
    evaluate("(make-string 100000 :initial-element #\\x)", "more characters]", "main 3");
    cr_assert_lt(strlen(screen_text()), (size_t)40000);
    leave();
}

Test(repl, the_window_may_be_resized) {
    begin();
    screen_type("(list 1 2");
    screen_wait_last(PROMPT("main", "0") " (list 1 2");
    screen_resize(40, 12);
    screen_type(" 3");
    screen_wait_last(PROMPT("main", "0") " (list 1 2 3");
    screen_resize(100, 30);
    screen_enter(" 4)");
    screen_wait("=> (1 2 3 4)");
    screen_wait_last(PROMPT("main", "1"));
    leave();
}

Test(repl, colours_are_used_unless_they_are_unwanted) {
    begin();
    evaluate("(car 1)", "TYPE-ERROR", "main 1");
    expect_contains(screen_coloured(), "\033[31mTYPE-ERROR");
    expect_contains(screen_coloured(), "\033[1mcl-user[main 0]>\033[0m");
    leave();
    screen_end();
    begin_with("NO_COLOR=1 exec $E repl");
    evaluate("(car 1)", "TYPE-ERROR", "main 1");
    expect_lacks(screen_coloured(), "\033[3");
    leave();
}

Test(repl, a_dumb_terminal_is_enough) {
    begin_with("TERM=dumb exec $E repl");
    screen_enter("(+ 1");
    screen_wait_last(CONTINUED);
    evaluate("2)", "=> 3", "main 1");
    screen_enter("(loop)");
    screen_wait_busy();
    screen_press("C-c");
    screen_wait("CANCELLED");
    screen_wait_last(PROMPT("main", "1"));
    evaluate("(car 1)", "TYPE-ERROR", "main 2");
    evaluate(",undo", "; session main is back at state 1", "main 1");
    expect_lacks(screen_coloured(), "\033[");
    leave();
}

Test(repl, lines_are_edited_and_remembered) {
    begin();
    screen_type("(+ 1 3)");
    screen_press("Left");
    screen_press("BSpace");
    screen_enter("2");
    screen_wait("=> 3");
    screen_enter("(list :two");
    screen_enter(":lines)");
    screen_wait("=> (:TWO :LINES)");
    screen_press("Up");
    screen_press("Enter");
    screen_wait_times("=> (:TWO :LINES)", 2);
    screen_press("Up");
    screen_press("Up");
    screen_press("Enter");
    screen_wait_times("=> 3", 2);
    screen_wait_last(PROMPT("main", "4"));
    leave();
}

Test(repl, the_history_outlives_the_session_and_is_private) {
    struct stat status;
    begin_with("$E repl; echo next; $E repl; echo over");
    screen_enter("(list :kept");
    evaluate("\"\\\\n\")", "=> (:KEPT \"\\\\n\")", "main 1");
    evaluate(" (list :secret)", "=> (:SECRET)", "main 2");
    screen_press("C-d");
    screen_wait("next");
    screen_wait_last(PROMPT("main", "0"));
    screen_press("Up");
    screen_press("Enter");
    screen_wait_times("=> (:KEPT \"\\\\n\")", 2);
    const char *path = formatted("%s/.local/state/eclave/repl_history", screen_directory());
    cr_assert_eq(stat(path, &status), 0);
    cr_assert_eq(status.st_mode & 0777, 0600);
    screen_press("C-d");
    screen_wait("over");
}

Test(repl, a_history_that_cannot_be_kept_is_not) {
    static const char *const preparations[] = {
        "touch .local",
        "mkdir -p .local/state/eclave/repl_history",
        "mkdir -p .local/state/eclave; ln -s /etc/passwd .local/state/eclave/repl_history",
        "unset HOME",
        "HOME=relative",
        "XDG_STATE_HOME=/proc"};
    for (size_t i = 0; i < COUNT_OF(preparations); i++) {
        begin_with(formatted("%s; exec $E repl", preparations[i]));
        evaluate("(+ 1 2)", "=> 3", "main 1");
        expect_lacks(screen_text(), "eclave:");
        leave();
        screen_end();
    }
}

/* --- files and times --- */

static void write_file(const char *name, const char *text, mode_t mode) {
    const char *path = formatted("%s/%s", screen_directory(), name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    cr_assert_eq(chmod(path, mode), 0);
}

Test(repl, a_file_is_one_call) {
    begin();
    write_file("a file's (.lisp", "\xEF\xBB\xBF(defvar *a* 1)\n(defvar *b* (1+ *a*))\n", 0644);
    write_file("bad.lisp", "(defvar *c* 1)\n(car *c*)\n", 0644);
    write_file("bytes.lisp", "(\xFF)", 0644);
    evaluate(",load a file's (.lisp", "=> *B*", "main 1");
    evaluate("(list *a* *b*)", "=> (1 2)", "main 2");
    evaluate(",load ~/bad.lisp", "TYPE-ERROR", "main 3");
    evaluate(",undo", "back at state 2", "main 2");
    evaluate(",load missing.lisp", "eclave: missing.lisp: No such file", "main 2");
    evaluate(",load .", "eclave: .: Is a directory", "main 2");
    evaluate(",load bytes.lisp", "eclave: bytes.lisp is not UTF-8", "main 2");
    evaluate(",load", "usage: ,load FILE", "main 2");
    leave();
}

Test(repl, a_form_can_be_timed) {
    begin();
    screen_enter(",time (list 1");
    screen_wait_last(CONTINUED);
    evaluate("2)", " ms\n", "main 1");
    expect_contains(screen_text(), "=> (1 2)\n; ");
    evaluate(",time", "usage: ,time FORM", "main 1");
    leave();
}

Test(repl, commands_are_suggested) {
    begin();
    evaluate(",undoo", "unknown command undoo; did you mean undo?", "main 0");
    evaluate(",", "unknown command ; see ,help", "main 0");
    evaluate(",xyzzy", "unknown command xyzzy; see ,help", "main 0");
    evaluate(",help x", "usage: ,help", "main 0");
    evaluate("  ,help", "  ,undo [N]        take back the last call, or the last N\n", "main 0");
    screen_enter(",quit");
    cr_assert_eq(screen_wait_end(), 0);
}

/* --- the documents --- */

/* The text after the mark of a transcript in PAGE; the caller owns it. */
static char *transcript_of(const char *page) {
    static const char mark[] = "<!-- repl -->\n```text\n";
    char *text = calloc(1, PAGE_MAX_BYTES + 1);
    FILE *file = fopen(formatted(ECLAVE_SOURCE_DIR "/%s", page), "r");
    cr_assert(text && file);
    cr_assert_lt(fread(text, 1, PAGE_MAX_BYTES, file), (size_t)PAGE_MAX_BYTES);
    fclose(file);
    char *start = strstr(text, mark), *end = start ? strstr(start, "\n```\n") : NULL;
    cr_assert(end, "%s has no transcript", page);
    *end = 0;
    memmove(text, start + sizeof mark - 1, strlen(start + sizeof mark - 1) + 1);
    return text;
}

/* Types what follows each prompt, once that is there. */
Test(repl, the_transcripts_in_the_documents_are_real) {
    static const char *const pages[] = {"README.md", "doc/repl.md"};
    for (size_t i = 0; i < COUNT_OF(pages); i++) {
        char *whole = transcript_of(pages[i]), *copy = strdup(whole), *rest = copy, *line;
        begin();
        while ((line = strsep(&rest, "\n")) != NULL) {
            char *typed = strncmp(line, "cl-user[", 8) == 0 ? strstr(line, "> ") : NULL;
            if (!typed)
                continue;
            typed[1] = 0;
            screen_wait_last(line);
            screen_enter(typed + 2);
        }
        screen_wait(formatted("%s\n" PROMPT("main", "2"), whole));
        leave();
        screen_end();
        free(copy);
        free(whole);
    }
}

/* --- the end --- */

Test(repl, input_that_ends_within_a_form_is_explained) {
    begin();
    screen_enter("(list 1");
    screen_wait_last(CONTINUED);
    screen_press("C-d");
    screen_wait("END-OF-FILE: The code ends too early: the list that begins at line 1, column 1");
    screen_wait_last(PROMPT("main", "1"));
    leave();
}

Test(repl, nothing_is_left_when_a_process_is_killed) {
    for (int i = 0; i < 2; i++) {
        /* The end of the shell could discard what the screen has not read. */
        screen_begin("sh -c 'echo $$ >pid; exec $E repl'; s=$?; stty -a; echo ended $s; sleep 600");
        screen_wait_last(PROMPT("main", "0"));
        evaluate("(+ 1 2)", "=> 3", "main 1");
        struct command_result killed = command_run(&(struct command){
            .arguments = STRINGS("/bin/sh", "-c",
                                 formatted("p=$(cat %s/pid); kill -%s %s", screen_directory(),
                                           i ? "KILL" : "TERM", i ? "$(pgrep -P $p)" : "$p"))});
        cr_assert_eq(killed.status, 0, "%s", killed.error);
        command_result_free(&killed);
        screen_wait(i ? "ended 137" : "ended 143");
        expect_contains(screen_text(), " icanon"); /* the terminal is as it was */
        expect_contains(screen_text(), " echo ");
        screen_end();
    }
}
