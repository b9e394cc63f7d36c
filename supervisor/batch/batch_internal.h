/* The parts of a batch, by the file that implements them. */
#ifndef ECLAVE_SUPERVISOR_BATCH_BATCH_INTERNAL_H
#define ECLAVE_SUPERVISOR_BATCH_BATCH_INTERNAL_H

#include "common/buffer.h"
#include "supervisor/base/input.h"
#include "supervisor/base/log.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/stdio.h"
#include "supervisor/batch/batch.h"
#include "supervisor/json/json_reader.h"
#include "supervisor/session/evaluation.h"
#include "supervisor/session/one_shot.h"
#include "supervisor/session/text.h"
#include <json-c/json.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/queue.h>
#include <sys/stat.h>

/* --- line.c: an input line, with the members of line.def --- */

enum match { MATCH_EXACT, MATCH_TRIM, MATCH_WORDS, MATCH_NUMBER, MATCH_REGEX };

/* A line, or one of its tests, which has no key and does not own its root. */
struct batch_line {
    struct buffer key; /* the id as it was written, which is JSON, or else "line N" */
    bool has_id;
    uint64_t number;                                           /* of the line, from 1 */
    struct json_object *root;                                  /* owns the bytes of the spans */
    struct span code, expect, expect_stdout, expect_condition; /* bytes NULL: absent */
    struct span match_word, input, setup;                      /* bytes NULL: absent */
    struct span name, expect_form;                             /* of a test */
    struct span files;      /* of a setup: see evaluate_message; bytes NULL: absent */
    struct span unreadable; /* why there is no setup */
    enum match match;       /* how expect and expectStdout are compared */
    struct span tolerance;  /* of MATCH_NUMBER: a JSON number */
    int64_t timeout_ms;
    int64_t cpu_ms;           /* processor time; 0: that of the options */
    struct batch_line *tests; /* owned; of a line with a setup, which has no code */
    size_t test_count;
    double points;   /* of a test */
    int64_t task;    /* of a test; 0: none */
    bool hidden;     /* a test of which --for student shows little */
    size_t size;     /* bytes of the line */
    char fault[160]; /* why the line is invalid; empty if it is valid */
};

/* Parses TEXT, the line NUMBER, into *line; the caller frees it in any case. False if out of
 * memory. */
bool batch_line_read(struct batch_line *line, struct span text, uint64_t number,
                     const struct settings *settings);
/* The same for a line of SIZE bytes that READER has read; takes its root. */
bool batch_line_from(struct batch_line *line, struct json_reader *reader, size_t size,
                     uint64_t number, const struct settings *settings);
/* The same for a line over request.max_bytes, which has a fault. */
bool batch_line_too_long(struct batch_line *line, uint64_t number, const struct settings *settings);
void batch_line_free(struct batch_line *line);

/* --- verdict.c: expected against actual results --- */

bool batch_line_has_expectations(const struct batch_line *line);
/* Appends to the array MISMATCHES an object {"expectation","wanted","came"} for each expectation
 * that is not met, or is yet to be checked. False if out of memory. */
bool verdict_compare(const struct batch_line *line, const struct evaluation *evaluation,
                     const struct text_limits *limits, struct json_object *mismatches);

/* The expectations that are compared in another process (check.c). */
enum checked { CHECK_VALUE, CHECK_STDOUT, CHECK_FORM, CHECKS };
extern const char *const checked_members[CHECKS];
/* The bits of those that EVALUATION leaves open. */
unsigned verdict_unchecked(const struct batch_line *line, const struct evaluation *evaluation);

/* The printed primary value; bytes NULL if there is none. */
struct span verdict_value(const struct evaluation *evaluation);

/* --- record.c: an output line --- */

enum verdict { VERDICT_NONE, VERDICT_MET, VERDICT_UNMET }; /* NONE: without expectations */

enum standing {
    STANDING_PASSED, /* expectations met, or none and a value */
    STANDING_FAILED, /* an expectation was not met */
    STANDING_BROKEN  /* no expectations and no value, or an invalid line */
};

struct record {
    struct json_object *root; /* the members, in the order of the output */
    struct span id;           /* JSON as it was written, or "null" */
    struct span key;          /* as of batch_line */
    char line_key[32];        /* the key of a line that was read and has no id */
    const char *outcome;      /* a constant */
    enum verdict verdict;
    enum standing standing;
};

/* Makes the record of a line from its evaluation, or that of an invalid line without one. It refers
 * to LINE. False if out of memory, with nothing to free. */
bool record_make(struct record *record, const struct batch_line *line,
                 const struct evaluation *evaluation, const struct settings *settings);
/* Parses an output line, to which the record then refers. False, with nothing to free, if TEXT is
 * not one. */
bool record_read(struct record *record, struct span text);
void record_free(struct record *record);

/* The outcome that a record gives for OUTCOME. A call that was ended from outside, or for which
 * there was no process, has none of its own in a batch: it is a crash. */
enum outcome record_outcome(enum outcome outcome);

/* What a submission's line has in place of `code`: its setup, and a record for each test. */

/* The record of the setup, as of code without expectations. NULL when out of memory. */
struct json_object *record_of_setup(const struct batch_line *line,
                                    const struct evaluation *evaluation,
                                    const struct settings *settings);
/* The record of the test INDEX of LINE. NULL when out of memory. */
struct json_object *record_of_test(const struct batch_line *line, size_t index,
                                   const struct evaluation *evaluation,
                                   const struct settings *settings);
/* The same for a test that was not run, or does not count, for a REASON. */
struct json_object *record_of_unrun_test(const struct batch_line *line, size_t index,
                                         enum outcome outcome, const char *reason);
/* Removes the mismatch of EXPECTATION from the record of LINE, which passes if that was the last.
 * False if out of memory. */
bool record_meet(struct json_object *root, const struct batch_line *line, const char *expectation);
/* Adds to that mismatch WHY it could not be compared. False if out of memory. */
bool record_explain(struct json_object *root, const char *expectation, struct span why);
/* Sets what follows from the members once they have changed. */
void record_settle(struct record *record);
/* Replaces the costs in the record of a setup by those of its whole process. */
bool record_set_usage(struct json_object *root, struct usage usage);

/* What a submission cost: its setup, tests and comparisons together. */
struct batch_costs {
    int64_t wall_us; /* from its start to its end */
    int64_t cpu_us, peak_kb;
    size_t output_bytes;
};
/* Adds them as the member `total`. False if out of memory. */
bool record_add_total(struct record *record, const struct batch_costs *costs);
/* Makes the record of LINE from that of its setup and the array of those of its tests, both of
 * which it takes, with the sums of their points. FOR_STUDENT: without what is hidden. False if out
 * of memory, with nothing to free. */
bool record_join(struct record *record, const struct batch_line *line, struct json_object *setup,
                 struct json_object *tests, bool for_student);

/* The number of tests; 0: the line has none. */
size_t record_test_count(const struct record *record);
/* The test as a record of its own, which refers to RECORD and is not freed. False if there is no
 * such test, or it is no record. */
bool record_test(const struct record *record, size_t index, struct record *test);

/* Removes what differs from run to run. */
void record_drop_costs(struct record *record);

/* Appends the output line without its newline. */
void record_write(struct buffer *out, const struct record *record);

/* The string or number NAME of a record; empty or 0 if absent. */
struct span record_string(const struct record *record, const char *name);
double record_number(const struct record *record, const char *name);
/* The key for people: a string without its quotes, anything else as JSON. */
struct span record_name(const struct record *record);

struct mismatch {
    struct span expectation, wanted, came;
};
size_t record_mismatch_count(const struct record *record);
struct mismatch record_mismatch(const struct record *record, size_t index);

/* --- finished.c: the lines that an earlier run finished, for --skip-done --- */

struct finished_line;

struct finished {
    unsigned char hash_key[crypto_shorthash_KEYBYTES]; /* random: nobody can prepare collisions */
    struct finished_line *lines;                       /* sorted by hash once all are read */
    size_t count, capacity, left;
    off_t whole_bytes; /* of the file, up to its last newline; the rest is an incomplete line */
    struct stat file;
};

/* Reads the output of an earlier run and calls VISIT with each record, which is valid until it
 * returns. Keeps 16 bytes of memory a line. False with *error. */
bool finished_read(struct finished *finished, const char *path,
                   void (*visit)(void *context, const struct record *record), void *context,
                   struct error *error);
void finished_free(struct finished *finished);
/* Takes one of the finished lines with this key. False if none is left. */
bool finished_take(struct finished *finished, struct span key);

/* --- progress.c: counts, for a bar on the terminal and for the summary --- */

enum { TALLY_WORDS_MAX = 16 };

struct tally {
    struct {
        const char *word;
        uint64_t lines;
    } outcomes[TALLY_WORDS_MAX]; /* in the order of their first line */
    uint64_t lines, met, unmet;
    uint64_t cases, failed, broken; /* tests, and lines without any */
    uint64_t earlier;               /* lines of an earlier run */
    double wall_ms;                 /* sum over all lines */
};

void tally_add(struct tally *tally, const struct record *record);
/* "12 lines (3 of them earlier): 9 value, 2 error, 1 timeout; expectations: 8 met, 3 not met" */
void tally_print(const struct tally *tally, FILE *out);

struct progress {
    struct loop *loop;
    struct log *log;
    const struct tally *tally;
    struct loop_timer timer;
    int input_fd;  /* its offset is the progress if it is a file */
    int64_t size;  /* of the input in bytes; 0: unknown */
    int64_t total; /* lines; 0: unknown */
    int64_t started_ns;
    bool shown;
};

/* Shows a bar on standard error if that is a terminal and the input is none. It disappears before
 * each line of LOG. */
void progress_open(struct progress *progress, struct loop *loop, struct log *log,
                   const struct tally *tally, int input_fd, int64_t total);
/* Removes the bar until it is drawn again, before the same terminal shows something else. */
void progress_hide(struct progress *progress);
void progress_close(struct progress *progress);

/* --- junit.c: results as JUnit XML --- */

struct junit_counts {
    unsigned long long cases, failed, broken;
    double wall_ms;
};

/* A test suite for each submission, and one for lines without tests that follow each other. Counts
 * are filled in at the end, so the file must be seekable. */
struct junit {
    FILE *file;                /* NULL: no report */
    struct junit_counts lines; /* since begin_lines */
    long lines_at;             /* where the suite of lines begins */
    bool in_suite, in_lines;   /* a suite is open; it is one of lines */
    bool seek_failed;
};

bool junit_open(struct junit *junit, const char *path, struct error *error);
/* Called with each line before its cases. */
void junit_begin_suite(struct junit *junit, const struct record *record);
/* Adds a test case. SUITE: the submission of a test; bytes NULL: a line without tests. */
void junit_add(struct junit *junit, const struct record *record, struct span suite);
/* Completes the report, if there is one. False with *error if not all of it was written. */
bool junit_close(struct junit *junit, const struct tally *tally, struct error *error);

/* --- tap.c: results in the Test Anything Protocol, version 13 --- */

void tap_begin(struct buffer *out);
/* NUMBER counts from 1. SUITE as of junit_add. */
void tap_add(struct buffer *out, uint64_t number, const struct record *record, struct span suite);
/* The plan, or "Bail out!" if the run was CUT_SHORT. */
void tap_end(struct buffer *out, uint64_t count, bool cut_short);

/* --- failure.c: why a test did not pass --- */

enum { FAILURE_BYTES = 1 << 20 }; /* the room for what these append */

/* Appends what was called, what was expected and came, and how it ended: several lines. */
void failure_append(struct buffer *out, const struct record *record);
/* Appends the same of the first test that did not pass, or of the setup, as one sentence that may
 * have newlines; nothing if all is well. */
void failure_append_first(struct buffer *out, const struct record *record);

/* --- table.c: a row for each line --- */

void table_begin(struct buffer *out);
void table_add(struct buffer *out, const struct record *record);
void csv_begin(struct buffer *out);
void csv_add(struct buffer *out, const struct record *record);

/* --- exercism.c: results.json --- */

void exercism_add(struct buffer *out, const struct record *record);

/* --- outbox.c: standard output --- */

struct outbox {
    struct loop *loop;
    struct stream stream;
    struct loop_watch watch;
    struct buffer queue; /* callers append to it */
    size_t sent;         /* bytes of the queue that are written */
    int failure;         /* errno of a failed write, after which everything is discarded; or 0 */
};

bool outbox_open(struct outbox *outbox, struct loop *loop, struct error *error);
void outbox_close(struct outbox *outbox);
/* Writes as much as is possible without blocking. */
void outbox_flush(struct outbox *outbox);
/* Bytes not yet written. */
size_t outbox_backlog(const struct outbox *outbox);

/* --- check.c: comparisons in processes of their own --- */

struct batch; /* below */

/* What a line or test leaves to compare. Zero: nothing. */
struct check {
    struct batch *batch;
    const struct batch_line *line;
    struct json_object *root; /* of its record; borrowed */
    unsigned left;            /* bits of enum checked, yet to start */
    enum checked current;
    struct call *call;  /* or NULL */
    struct usage usage; /* of its processes together, and the largest of them */
    int64_t taken_us;
    struct buffer texts[CHECKS];  /* what came */
    const char *failure;          /* why the batch cannot continue, or NULL */
    char cause[ERROR_TEXT_BYTES]; /* for failure */
};

/* Keeps what EVALUATION leaves open. False if out of memory. */
bool check_begin(struct check *check, struct batch *batch, const struct batch_line *line,
                 const struct evaluation *evaluation);
/* Starts a comparison if one is left and options.jobs permits. Its result changes ROOT, which must
 * stay until check_is_done. */
void check_step(struct check *check, struct json_object *root);
bool check_is_done(const struct check *check);
void check_free(struct check *check);

/* --- submission.c: a line with tests --- */

struct submission;

/* NULL when out of memory. LINE must outlive it. */
struct submission *submission_make(struct batch *batch, const struct batch_line *line);
/* Starts as much as options.jobs permits. True once all is done; then it is freed, with the record
 * made, or, if it was cancelled or *failure was set, not. */
bool submission_step(struct submission *submission, struct record *record, const char **failure);
/* Ends its calls. */
void submission_cancel(struct submission *submission);
void submission_free(struct submission *submission);

/* --- framework.c: tests that are written for a framework of Lisp --- */

/* Adds to SETTINGS the system of FRAMEWORK, which may be NULL. False with *error if there is no
 * such framework. */
bool framework_load(const char *framework, struct settings *settings, struct error *error);
/* Appends to LINES a test, as a JSON object, for each test that the file TESTS defines. It is
 * loaded without a submission, in a confined process of a child. False with *error. */
bool framework_list(const struct settings *settings, const char *framework, struct span tests,
                    struct buffer *lines, struct error *error);

/* --- batch.c: the lines in hand --- */

TAILQ_HEAD(batch_items, batch_item);

/* A long line that is read in turns of the loop, with the input paused. */
struct long_line {
    unsigned char *text;
    size_t size;
    uint64_t number;
    struct json_reader reader;
};

struct batch {
    const struct settings *settings;
    const struct batch_options *options;
    struct one_shot one_shot;
    struct input input;
    struct outbox outbox;
    struct finished finished;
    struct tally tally;
    struct junit junit;
    struct progress progress;
    struct batch_items items; /* in hand, in input order */
    size_t item_count, running;
    size_t drops;              /* how often items were given up, which a walk over them must know */
    struct long_line *reading; /* or NULL */
    struct loop_timer read_turn;
    size_t item_bytes; /* of their lines and records */
    bool input_ended;
    bool stopping;                             /* no further line is read or started */
    bool interrupted;                          /* stopped by a signal */
    bool failed_fast;                          /* stopped by --fail-fast */
    bool cut_short;                            /* lines were left undone */
    bool cpu_used_up;                          /* stopped by --max-cpu-s */
    int64_t cpu_us;                            /* of the processes that have ended */
    bool closing;                              /* everything is in the outbox */
    char submission_failure[ERROR_TEXT_BYTES]; /* the text that submission_step returns */
    char failure[ERROR_TEXT_BYTES];            /* why the run cannot continue; empty if it can */
};

/* Prepares an empty batch. */
void batch_begin(struct batch *batch, const struct settings *settings,
                 const struct batch_options *options);
/* Frees the lines in hand. No call may be running. */
void batch_free(struct batch *batch);

/* For struct input_handler. */
void batch_take_line(void *context, const unsigned char *bytes, size_t size);
void batch_take_too_long(void *context);
void batch_take_end(void *context);
/* For finished_read: counts and reports the line, but does not write it. */
void batch_take_finished(void *context, const struct record *record);

/* Starts and writes as many lines as possible, and stops the loop after the last. */
void batch_step(void *context);
/* EVALUATION as it is reported: with --no-costs, without the frames of a stack or a heap that is
 * exhausted, since how deep they are differs from run to run. Refers to EVALUATION. */
struct evaluation batch_reported(const struct batch *batch, const struct evaluation *evaluation);
/* The limit of processor time for LINE, a line or a test, in milliseconds; 0: none. */
int64_t batch_cpu_ms(const struct batch *batch, const struct batch_line *line);
/* A call has ended, for which `running` was raised: counts its costs. */
void batch_count_end(struct batch *batch, const struct evaluation *evaluation);
/* Starts no further line; the second time, also ends the running ones. */
void batch_interrupt(void *context, int number);
/* The exit status, doc/contract.md, section 9. */
int batch_status(const struct batch *batch);

#endif
