/* Code that forges the answer to its line and continues to run. What it does then is the outcome of
 * the line, and no condition of its own passes for a word of the supervisor. */
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include "tests/support/lisp_file.h"

/* Answers the first call of the process with the value 42. */
#define FORGE "(hostile::answer 1 \"42\") "

static const struct sequel {
    const char *code, *outcome, *exit_code;
} sequels[] = {
    {FORGE "(hostile::call :exit_group 0)", "value", "0"}, /* as an honest worker ends */
    {FORGE "(loop)", "value", "0"},                        /* ended by the supervisor */
    {FORGE "(hostile::call :kill 1 9)", "violation", "159"},
    {FORGE "(hostile::call :execve 0 0 0)", "violation", "159"},
    {FORGE "(hostile::call :tgkill (hostile::call :getpid) (hostile::call :gettid) 6)", "crash",
     "134"},
    {FORGE "(hostile::call :exit_group 9)", "exit", "9"},
    {FORGE "(hostile::send-octets 3 '(5 0 0)) (hostile::call :exit_group 0)", "malformed", "70"},
    {FORGE "7", "malformed", "70"}, /* the worker sends the true result too */
};

Test(batch_forged, what_a_process_does_after_its_answer_is_the_outcome) {
    for (size_t i = 0; i < COUNT_OF(sequels); i++) {
        const struct sequel *sequel = &sequels[i];
        bool is_value = strcmp(sequel->outcome, "value") == 0;
        batch_add("1", lisp_file_hostile(sequel->code), ",\"expect\":\"42\"");
        const struct command_result *result = BATCH(is_value ? 0 : 1, "-j", "1");
        struct text line = batch_line(result->output, 0);
        batch_expect_string(line, "outcome", sequel->outcome);
        batch_expect(line, "exitCode", sequel->exit_code);
        batch_expect(line, "pass", is_value ? "true" : "false");
        batch_expect(line, "values", is_value ? "[\"42\"]" : "[]");
    }
}

Test(batch_forged, an_honest_answer_is_the_outcome) {
    batch_add("1", lisp_file_hostile("(list 4 2)"), ",\"expect\":\"(4 2)\"");
    batch_add("2", lisp_file_hostile("(error \"mine\")"), ",\"expectCondition\":\"SIMPLE-ERROR\"");
    BATCH(0, "-j", "1");
}

/* The words of the supervisor that a line can end with, and code that does. */
static const struct word {
    const char *word, *code, *more;
} words[] = {
    {"TIMEOUT", "(loop)", ",\"timeout\":0.2"},
    {"SANDBOX-VIOLATION", VIOLATION, ""},
    {"WORKER-CRASH", CRASH, ""},
    {"PROCESS-EXIT", "(ext:quit 9)", ""},
    {"MEMORY-LIMIT", MEMORY_HOG, ""},
    {"MALFORMED-OUTPUT", FORGERY, ""},
    {"OUTPUT-LIMIT", "(loop (print 1))", ""},
};

static void add_condition(const char *name, const char *wanted) {
    batch_add("1", formatted("(define-condition %s (error) ()) (error '%s)", name, name),
              formatted(",\"expectCondition\":\"%s\"", wanted));
}

Test(batch_forged, a_condition_does_not_pass_for_a_word_of_the_supervisor) {
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        const char *word = words[i].word;
        batch_add("1", words[i].code,
                  formatted("%s,\"expectCondition\":\"%s\"", words[i].more, word));
        add_condition(word, formatted("cl-user::%s", word));
        add_condition("mine", "mine");
        BATCH(0, "--session-memory-mb", "64", "--output-max-bytes", "1000");
        add_condition(word, word);
        struct text line = batch_line(BATCH(1)->output, 0);
        batch_expect_string(line, "outcome", "error");
        batch_expect(line, "mismatches",
                     formatted("[{\"expectation\":\"expectCondition\",\"wanted\":\"%s\","
                               "\"came\":\"[ERROR] CL-USER::%s\"}]",
                               word, word));
        add_condition(formatted("|%s|", "timeout"), "timeout");
        BATCH(1);
    }
}

Test(batch_forged, an_outcome_is_not_a_condition_of_the_code) {
    batch_add("1", "(loop)", ",\"timeout\":0.2,\"expectCondition\":\"CL-USER::TIMEOUT\"");
    BATCH(1);
}
