/* Earlier states that are kept as the pages that calls have written: each is as it was, whatever
 * the calls do to the heap; and without the process that they begin with the session reports what
 * is lost. A test signals only processes that it has just seen below its server. */
#include "tests/support/client_sessions.h"
#include "tests/support/family.h"
#include "tests/support/lines.h"
#include "tests/support/process.h"
#include "tests/support/random.h"
#include "tests/support/script.h"
#include "tests/support/skip.h"
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AFRESH "The state of the session is lost; it starts afresh."
#define LOST   "SESSION-LOST: "

/* Uses the processor for half a second. */
#define WORK                                                                                       \
    "(loop with end = (+ (get-internal-real-time) (* 3 internal-time-units-per-second))"           \
    " until (> (get-internal-real-time) end))"

enum { HISTORY = 8, SPARE = 1, PIDS_MAX = 64 };

static const char *const arguments[] = {"--session-history", "8", NULL};

static struct client *start(void) {
    return client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
}

/* --- processes --- */

/* Makes COUNT calls, which set *X* to 1 and so on. */
static void count_up(struct client *client, int count) {
    client_session_expect(client, NULL, "(defvar *x* 1)", "=> *X*");
    for (int i = 2; i <= count; i++)
        client_session_expect(client, NULL, "(incf *x*)", formatted("=> %d", i));
}

/* The process that all states of the only session begin with. Makes a call. */
static pid_t find_parked(struct client *client) {
    pid_t workers[PIDS_MAX], parked = 0;
    const pid_t head = family_head(client, NULL);
    client_session_settle(client, NULL);
    family_await_no_zombies(client);
    const size_t count = family_workers(client, SPARE + 2, workers, PIDS_MAX);
    for (size_t i = 0; i < count; i++)
        if (workers[i] != head && getsid(workers[i]) == getsid(head))
            parked = workers[i];
    cr_assert_gt(parked, 1);
    return parked;
}

Test(pages, small_calls_make_no_processes) {
    enum { CALLS = 20 };
    skip_without_pages();
    struct client *client = start();
    struct session_row row;
    count_up(client, CALLS);
    client_session_settle(client, NULL);
    family_workers(client, SPARE + 2, NULL, 0);
    cr_assert(client_session_row(client, NULL, &row));
    cr_assert_eq(row.number, CALLS);
    cr_assert_eq(row.history, HISTORY);
    client_finish(client);
}

Test(pages, with_record_off_each_state_is_a_process) {
    struct client *client = client_start_with("--session-history", "4", "--session-record", "off");
    count_up(client, 12);
    client_session_settle(client, NULL);
    family_workers(client, SPARE + 1 + 4 + 1, NULL, 0);
    client_finish(client);
}

Test(pages, each_state_can_be_returned_to_copied_and_inspected) {
    enum { CALLS = 20 };
    struct client *client = start();
    count_up(client, CALLS);
    for (int back = 0; back <= HISTORY; back++) {
        const char *copy = client_session_copy(client, NULL, CALLS - back);
        client_session_expect(client, copy, "*x*", formatted("=> %d", CALLS - back));
        client_session_close(client, copy);
        struct evaluation seen =
            client_tool(client, "inspect-lisp",
                        formatted("{\"operation\":\"object\",\"form\":\"(incf *x*)\",\"state\":%d}",
                                  CALLS - back));
        expect_contains(seen.text, formatted("%d: an integer", CALLS - back + 1));
    }
    for (int back = 1; back <= HISTORY; back++) {
        cr_assert_not(client_session_rollback(client, NULL, 1).is_error);
        client_session_expect(client, client_session_copy(client, NULL, -1), "*x*",
                              formatted("=> %d", CALLS - back));
    }
    expect_contains(client_session_rollback(client, NULL, 1).text, "at most 0 calls");
    client_session_expect(client, NULL, "*x*", formatted("=> %d", CALLS - HISTORY));
    client_finish(client);
}

/* --- the process that states begin with is killed --- */

static void kill_one(struct client *client, pid_t pid) {
    cr_assert_gt(pid, 1);
    kill(pid, SIGKILL);
    family_await_gone(client, pid);
}

Test(pages, without_their_process_the_earlier_states_are_lost_and_the_present_one_is_not) {
    skip_without_pages();
    struct client *client = start();
    struct session_row row;
    count_up(client, 20);
    kill_one(client, find_parked(client));
    cr_assert(client_session_row(client, NULL, &row));
    cr_assert_eq(row.history, 0);
    expect_contains(client_session_rollback(client, NULL, 1).text, "at most 0 calls");
    for (int i = 21; i <= 40; i++)
        client_session_expect(client, NULL, "(incf *x*)", formatted("=> %d", i));
    cr_assert_not(client_session_rollback(client, NULL, HISTORY).is_error);
    client_session_expect(client, NULL, "*x*", formatted("=> %d", 40 - HISTORY));
    client_finish(client);
}

Test(pages, without_their_process_a_call_that_fails_leaves_nothing_and_reports_it) {
    skip_without_pages();
    struct client *client = start();
    count_up(client, 20);
    const pid_t parked = find_parked(client);
    client_evaluate_send(client, "\"running\"", "(setf *x* 0) (loop)");
    client_busy_worker(client);
    kill_one(client, parked);
    client_send_line(client, CANCEL("\"running\""));
    expect_contains(client_evaluate_await(client, "\"running\"").text, AFRESH);
    client_session_expect(client, NULL, "(boundp '*x*)", "=> NIL");
    client_finish(client);
}

Test(pages, without_their_process_a_call_that_succeeds_is_kept) {
    skip_without_pages();
    struct client *client = start();
    count_up(client, 20);
    const pid_t parked = find_parked(client);
    client_evaluate_send(client, "\"running\"", WORK "(incf *x*)");
    client_busy_worker(client);
    kill_one(client, parked);
    cr_assert_str_eq(client_evaluate_await(client, "\"running\"").text, "=> 21");
    expect_contains(client_evaluate(client, "(setf *x* 0) (ext:quit 1)").text,
                    "The session is as it was before the call.");
    client_session_expect(client, NULL, "*x*", "=> 21");
    client_finish(client);
}

/* At any moment of the return. What is lost must be reported, or else be there. */
Test(pages, without_their_process_a_return_reports_what_is_lost) {
    enum { TRIALS = 12, TRIALS_THOROUGH = 200, DELAY_MAX_US = 4000 };
    skip_without_pages();
    struct random random = random_for("kill");
    size_t lost = 0;
    for (size_t trial = random_trials(TRIALS, TRIALS_THOROUGH); trial > 0; trial--) {
        struct client *client = start();
        count_up(client, 14);
        const pid_t parked = find_parked(client);
        const char *id = client_new_id(client);
        client_tool_send(client, id, "rollback-session", "{\"steps\":5}");
        client_evaluate_send(client, "\"next\"", "(if (boundp '*x*) (list *x*) '(0))");
        usleep((useconds_t)random_below(&random, DELAY_MAX_US));
        kill(parked, SIGKILL);
        struct evaluation rolled = client_evaluate_await(client, id);
        struct evaluation next = client_evaluate_await(client, "\"next\"");
        const bool reported = strstr(next.text, LOST) || strstr(next.text, AFRESH) ||
                              rolled.is_error || next.is_error || next.error_code;
        lost += reported;
        /* find_parked has made a call: of 15 states the tenth has an *X* of 10. */
        if (!reported)
            cr_assert_str_eq(next.text, "=> (10)", "%s\n%s", rolled.text, next.text);
        else if (!next.is_error && !next.error_code && !rolled.is_error)
            expect_contains(next.text, "=> (0)");
        client_expect_works(client);
        client_finish(client);
    }
    fprintf(stderr, "lost: %zu\n", lost);
}

/* Each process that is to become the head dies before it gets a call. */
Test(pages, a_session_whose_processes_die_at_once_is_right_or_lost) {
    enum { KILLS_MAX = 20, QUIET_ROUNDS = 200 };
    skip_without_pages();
    struct client *client = start();
    count_up(client, 14);
    const pid_t parked = find_parked(client), group = getsid(parked);
    size_t kills = 0;
    cr_assert_not(client_session_rollback(client, NULL, 2).is_error);
    for (int quiet = 0; quiet < QUIET_ROUNDS && kills < KILLS_MAX; quiet++) {
        pid_t pids[PIDS_MAX];
        const size_t count = client_descendants(client, pids, PIDS_MAX);
        for (size_t i = 0; i < count; i++)
            if (pids[i] != parked && process_is_worker(pids[i]) && getsid(pids[i]) == group) {
                kill(pids[i], SIGKILL);
                quiet = 0;
                kills++;
            }
        client_stderr(client);
        usleep(1000);
    }
    cr_assert_geq(kills, 1);
    family_expect_idle(client);
    struct evaluation next = client_evaluate(client, "(if (boundp '*x*) (list *x*) '(0))");
    cr_assert(strcmp(next.text, "=> (13)") == 0 || strstr(next.text, LOST), "%s", next.text);
    client_expect_works(client);
    client_finish(client);
}

/* --- calls that write more than can be copied --- */

/* Writes some 2,000 pages, in which nothing remains. */
#define CHURN "(dotimes (i 6) (make-list 80000))"

/* Until HEAD is stopped, since it makes its copies before. */
static void await_rest(struct client *client, pid_t head) {
    for (int i = 0; i < 10000 && !process_is_stopped(head); i++)
        usleep(1000);
    cr_assert(process_is_stopped(head), "%s", client_stderr(client));
}

static long churn(struct client *client, pid_t head, int number) {
    await_rest(client, head);
    const long before = process_faults(head);
    client_session_expect(client, NULL, CHURN "(incf *x*)", formatted("=> %d", number));
    return process_faults(head) - before;
}

/* Of the first such calls it is not known. */
Test(pages, a_head_makes_its_copies_of_what_the_next_call_writes_before_it) {
    enum { CALLS = 12, KNOWN = 4, FEW = 500, MANY = 1000 };
    skip_without_pages();
    struct client *client = start();
    long least = LONG_MAX;
    count_up(client, 4);
    const pid_t head = family_head(client, NULL); /* makes a call */
    for (int i = 0; i < CALLS; i++) {
        const long last = churn(client, head, 5 + i);
        if (i == 0)
            cr_assert_gt(last, MANY, "%ld", last);
        if (i >= KNOWN && last < least)
            least = last;
    }
    cr_assert_lt(least, FEW);
    for (int back = 1; back <= HISTORY; back++) {
        cr_assert_not(client_session_rollback(client, NULL, 1).is_error);
        client_session_expect(client, client_session_copy(client, NULL, -1), "*x*",
                              formatted("=> %d", 4 + CALLS - back));
    }
    client_finish(client);
}

/* The session has states that are pages again. */
Test(pages, a_head_makes_no_copies_for_small_calls) {
    enum { CALLS = HISTORY + 4 };
    skip_without_pages();
    struct client *client = start();
    count_up(client, 4);
    const pid_t head = family_head(client, NULL);
    for (int i = 0; i < 4; i++)
        churn(client, head, 5 + i);
    for (int i = 9; i < 9 + CALLS; i++) {
        await_rest(client, head);
        client_session_expect(client, NULL, "(incf *x*)", formatted("=> %d", i));
    }
    client_session_settle(client, NULL);
    family_workers(client, SPARE + 2, NULL, 0);
    client_finish(client);
}

/* --- at random --- */

/* What a session holds: numbers, and blocks of memory in which all elements are equal but one. */
enum { NUMBERS = 8, BLOCKS = 6, WORLDS_MAX = 2048, TEXT_MAX = 2000, CODE_MAX = 2000 };

static const char setup[] =
    "(defvar *v* (make-array 8 :initial-element 0))"
    "(defvar *b* (make-array 6 :initial-element nil))"
    "(defun look-at (block)"
    "  (when block"
    "    (let* ((x (elt block 0)) (odd (position x block :test-not #'eql)))"
    "      (list (length block) x (count x block) odd (and odd (elt block odd))))))"
    "(defun look ()"
    "  (let ((*print-pretty* nil))"
    "    (format nil \"~{~a~^ ~}; ~{~a~^ ~}\" (coerce *v* 'list) (map 'list #'look-at *b*))))";

struct world {
    long numbers[NUMBERS];
    struct block {
        long length, element;  /* LENGTH of 0: none */
        long odd, odd_element; /* ODD of 0: none */
    } blocks[BLOCKS];
};

struct stage {
    struct client *client;
    struct world worlds[WORLDS_MAX]; /* by the number of the state */
    size_t number, oldest, line;
    size_t returns;
    char session[64];
};

static void write_world(const struct world *world, char text[TEXT_MAX]) {
    size_t used = 0;
    for (size_t i = 0; i < NUMBERS; i++)
        used += (size_t)snprintf(text + used, TEXT_MAX - used, "%s%ld", i ? " " : "",
                                 world->numbers[i]);
    for (size_t i = 0; i < BLOCKS; i++) {
        const struct block *block = &world->blocks[i];
        used += (size_t)snprintf(text + used, TEXT_MAX - used, i ? " " : "; ");
        if (!block->length)
            used += (size_t)snprintf(text + used, TEXT_MAX - used, "NIL");
        else if (!block->odd)
            used += (size_t)snprintf(text + used, TEXT_MAX - used, "(%ld %ld %ld NIL NIL)",
                                     block->length, block->element, block->length);
        else
            used += (size_t)snprintf(text + used, TEXT_MAX - used, "(%ld %ld %ld %ld %ld)",
                                     block->length, block->element, block->length - 1, block->odd,
                                     block->odd_element);
    }
}

/* The text must have the world in it. */
static void expect_world(struct stage *stage, const char *text, const struct world *world) {
    char wanted[TEXT_MAX];
    if (client_failure(stage->client))
        return;
    write_world(world, wanted);
    if (!strstr(text, wanted))
        client_fail(stage->client, "line %zu, state %zu: wanted %s, got %.1500s", stage->line,
                    stage->number, wanted, text);
    if (strstr(text, LOST))
        client_fail(stage->client, "line %zu: %.300s", stage->line, text);
}

static void advance(struct stage *stage, const struct world *world) {
    stage->worlds[++stage->number] = *world;
    if (stage->number - stage->oldest > HISTORY)
        stage->oldest = stage->number - HISTORY;
}

/* A call that does CODE and leaves WORLD. */
static void call(struct stage *stage, const char *code, const struct world *world) {
    struct evaluation got =
        client_session_evaluate(stage->client, NULL, formatted("(progn %s (look))", code));
    if (got.line)
        expect_world(stage, got.text, world);
    advance(stage, world);
}

static void look(struct stage *stage) {
    const struct world world = stage->worlds[stage->number];
    stage->returns++;
    call(stage, "", &world);
}

struct order {
    size_t which;
    long size, value;
};

static void do_set(struct stage *stage, const struct order *order) {
    struct world world = stage->worlds[stage->number];
    const size_t i = order->which % NUMBERS;
    world.numbers[i] = order->value;
    call(stage, formatted("(setf (aref *v* %zu) %ld)", i, order->value), &world);
}

static void do_define(struct stage *stage, const struct order *order) {
    struct world world = stage->worlds[stage->number];
    const size_t i = order->which % NUMBERS;
    world.numbers[i] = order->value;
    call(stage,
         formatted("(defun f%zu (x) (list x %ld)) (setf (aref *v* %zu) (second (f%zu 1)))",
                   order->which % 50, order->value, i, order->which % 50),
         &world);
}

/* 1 KB to 8 MB, small ones more often. */
static void do_make(struct stage *stage, const struct order *order) {
    static const struct {
        const char *head, *tail;
        long bytes; /* of an element */
    } forms[] = {{"make-array", ":element-type '(unsigned-byte 8)", 1},
                 {"make-list", "", 16},
                 {"make-array", "", 8}};
    struct world world = stage->worlds[stage->number];
    const size_t i = order->which % BLOCKS, form = order->which / BLOCKS % COUNT_OF(forms);
    const long length = (1024L << order->size % 14) / forms[form].bytes;
    const long element = order->value % 200;
    world.blocks[i] = (struct block){.length = length, .element = element};
    call(stage,
         formatted("(setf (aref *b* %zu) (%s %ld :initial-element %ld %s))", i, forms[form].head,
                   length, element, forms[form].tail),
         &world);
}

static void do_drop(struct stage *stage, const struct order *order) {
    struct world world = stage->worlds[stage->number];
    world.blocks[order->which % BLOCKS] = (struct block){0};
    call(stage, formatted("(setf (aref *b* %zu) nil)", order->which % BLOCKS), &world);
}

/* Writes one element in the midst of a block. */
static void do_poke(struct stage *stage, const struct order *order) {
    struct world world = stage->worlds[stage->number];
    const size_t i = order->which % BLOCKS;
    struct block *block = &world.blocks[i];
    if (!block->length)
        return;
    const char *back =
        block->odd ? formatted("(setf (elt (aref *b* %zu) %ld) %ld)", i, block->odd, block->element)
                   : "";
    block->odd = 1 + order->value * 7919 % (block->length - 1);
    block->odd_element = (block->element + 1) % 200;
    call(stage,
         formatted("%s (setf (elt (aref *b* %zu) %ld) %ld)", back, i, block->odd,
                   block->odd_element),
         &world);
}

static void do_collect(struct stage *stage, const struct order *order) {
    const struct world world = stage->worlds[stage->number];
    call(stage, order->value % 2 ? "(ext:gc t)" : "(dotimes (i 300) (make-list 1000)) (ext:gc t)",
         &world);
}

/* As many times as it takes to be known by. */
static void do_churn(struct stage *stage, const struct order *order) {
    for (size_t i = 0; i < 1 + order->which % 4; i++) {
        const struct world world = stage->worlds[stage->number];
        call(stage, CHURN, &world);
    }
}

static void do_recurse(struct stage *stage, const struct order *order) {
    const struct world world = stage->worlds[stage->number];
    call(stage,
         formatted("(labels ((f (n) (if (= n 0) 0 (+ 1 (f (1- n)))))) (f %ld))",
                   order->value % 3000),
         &world);
}

/* A condition keeps what was done before. */
static void do_fail(struct stage *stage, const struct order *order) {
    static const char *const codes[] = {"(error \"x\")", "(labels ((f (n) (+ 1 (f n)))) (f 1))",
                                        "(car 1)"};
    struct world world = stage->worlds[stage->number];
    const size_t i = order->which % NUMBERS;
    world.numbers[i] = order->value;
    struct evaluation got = client_session_evaluate(
        stage->client, NULL,
        formatted("(setf (aref *v* %zu) %ld) %s", i, order->value, codes[order->size % 3]));
    if (got.line && (!got.is_error || !strstr(got.text, "[ERROR] ")))
        client_fail(stage->client, "line %zu: no condition: %.300s", stage->line, got.text);
    advance(stage, &world);
}

/* The process ends, and nothing of the call stays. */
static void do_end(struct stage *stage, const struct order *order) {
    static const struct {
        const char *code;
        double timeout_s;
    } ways[] = {{"(ext:quit 3)", 0}, {CRASH, 0}, {ENDLESS, 0.05}, {VIOLATION, 0}};
    const size_t way = (size_t)order->size % 4;
    struct evaluation got = client_session_evaluate_within(
        stage->client, NULL,
        formatted("(fill *v* %ld) (fill *b* nil) (ext:gc t) %s", order->value, ways[way].code),
        ways[way].timeout_s);
    if (got.line && !strstr(got.text, "as it was before the call"))
        client_fail(stage->client, "line %zu: it did not end: %.300s", stage->line, got.text);
    look(stage);
}

static void do_roll_back(struct stage *stage, const struct order *order) {
    const size_t most = stage->number - stage->oldest;
    const size_t steps = 1 + order->which % HISTORY;
    if (steps > most || stage->number - steps < 1) /* state 0 has nothing in it */
        return;
    struct evaluation got = client_session_rollback(stage->client, NULL, (long)steps);
    if (got.line && got.is_error)
        client_fail(stage->client, "line %zu: %.300s", stage->line, got.text);
    stage->number -= steps;
    look(stage);
}

static void do_copy(struct stage *stage, const struct order *order) {
    const size_t back = order->which % (HISTORY + 1);
    if (back > stage->number - stage->oldest || stage->number - back < 1)
        return;
    const char *copy = client_session_copy(stage->client, NULL, (long)(stage->number - back));
    if (!copy || client_failure(stage->client))
        return;
    const struct world *world = &stage->worlds[stage->number - back];
    struct evaluation got = client_session_evaluate(stage->client, copy, "(look)");
    if (got.line)
        expect_world(stage, got.text, world);
    client_session_send(stage->client, "\"spoil\"", copy, "(fill *b* 1) (fill *v* 2) (ext:gc t)",
                        0);
    client_evaluate_await(stage->client, "\"spoil\"");
    client_session_close(stage->client, copy);
    stage->returns++;
}

static void do_inspect(struct stage *stage, const struct order *order) {
    const size_t back = order->which % (HISTORY + 1);
    if (back > stage->number - stage->oldest || stage->number - back < 1)
        return;
    struct evaluation got = client_tool(
        stage->client, "inspect-lisp",
        formatted(
            "{\"operation\":\"object\",\"form\":\"(prog1 (look) (fill *v* 9))\",\"state\":%zu}",
            stage->number - back));
    if (got.line)
        expect_world(stage, got.text, &stage->worlds[stage->number - back]);
    stage->returns++;
}

static const struct {
    const char *word;
    void (*does)(struct stage *stage, const struct order *order);
    unsigned percent;
} words[] = {
    {"set", do_set, 22},        {"define", do_define, 8},       {"churn", do_churn, 3},
    {"make", do_make, 13},      {"drop", do_drop, 4},           {"poke", do_poke, 10},
    {"collect", do_collect, 4}, {"recurse", do_recurse, 3},     {"fail", do_fail, 4},
    {"end", do_end, 8},         {"rollback", do_roll_back, 11}, {"copy", do_copy, 5},
    {"inspect", do_inspect, 5},
};

enum { WORDS = sizeof words / sizeof *words, STEPS_OF_ONE = 120 };

static void obey(struct stage *stage, struct text line) {
    char word[16] = "";
    struct order order = {0};
    // NOLINTNEXTLINE(cert-err34-c): the numbers are our own
    sscanf(line.bytes, "%15s %zu %ld %ld", word, &order.which, &order.size, &order.value);
    for (size_t i = 0; i < WORDS; i++)
        if (strcmp(words[i].word, word) == 0)
            words[i].does(stage, &order);
}

/* Plays SCRIPT to a server of its own. Returns what was wrong, malloc'd, or NULL. */
static char *play(const struct script *script, size_t *returns) {
    struct stage *stage = calloc(1, sizeof *stage);
    cr_assert(stage);
    stage->client =
        client_start_ready(&(struct client_options){.arguments = arguments, .collect = true}, NULL);
    client_evaluate(stage->client, setup);
    advance(stage, &stage->worlds[0]);
    for (size_t i = 0; i < script->count && !client_failure(stage->client); i++) {
        stage->line = i;
        obey(stage, script->lines[i]);
    }
    if (!client_failure(stage->client))
        client_end(stage->client);
    const char *failure = client_failure(stage->client);
    char *fault = failure ? strdup(failure) : NULL;
    *returns += stage->returns;
    client_free(stage->client);
    free(stage);
    return fault;
}

static bool fails(const struct script *script, void *context) {
    char *fault = play(script, context);
    free(fault);
    return fault != NULL;
}

static struct script make_script(struct random *random) {
    struct script script = {0};
    for (size_t i = 0; i < STEPS_OF_ONE; i++) {
        size_t word = 0, dice = random_below(random, 100);
        while (dice >= words[word].percent)
            dice -= words[word++].percent;
        /* The product of two makes large blocks rare. */
        const size_t size = random_below(random, 14) * random_below(random, 14) / 13;
        script_add_line(&script,
                        formatted("%s %zu %zu %zu", words[word].word, random_below(random, 1000),
                                  size, random_below(random, 1000)));
    }
    return script;
}

static void report(struct script *script, char *fault) {
    enum { ATTEMPTS = 150 };
    size_t returns = 0;
    fprintf(stderr, "failed: %s\nshrinking...\n", fault);
    script_shrink(script, fails, &returns, ATTEMPTS);
    for (size_t i = 0; i < script->count; i++)
        fprintf(stderr, "%.*s\n", (int)script->lines[i].length, script->lines[i].bytes);
    char *last = play(script, &returns);
    cr_assert_fail("%s", last ? last : fault);
}

Test(pages, states_are_as_they_were_after_random_calls) {
    enum { STEPS = 360, STEPS_THOROUGH = 20000 };
    struct random random = random_for("pages");
    size_t returns = 0;
    const size_t steps = random_trials(STEPS, STEPS_THOROUGH);
    for (size_t done = 0; done < steps; done += STEPS_OF_ONE) {
        struct script script = make_script(&random);
        char *fault = play(&script, &returns);
        if (fault)
            report(&script, fault);
        script_free(&script);
    }
    cr_assert_gt(returns, steps / 10);
}
