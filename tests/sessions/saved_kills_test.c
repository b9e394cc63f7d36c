/* A server is killed at random moments of a conversation, and the next one goes on: every call that
 * was answered has its effect, and a call that was not has its whole effect or none. */
#include "tests/support/client_sessions.h"
#include "tests/support/lines.h"
#include "tests/support/random.h"
#include "tests/support/saved.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SESSIONS = 3, OPERATIONS = 12, LOG_MAX = 4000, LIFE_TRIALS = 10, RECORDED_LIVES = 5 };

#ifdef __SANITIZE_ADDRESS__ /* each server boots Lisp */
enum { TRIALS = 100 };
#else
enum { TRIALS = 1000 };
#endif

/* What a session is: the numbers in its log, newest first. */
struct log {
    int numbers[LOG_MAX];
    size_t count;
};

enum kind { PUSH, ROLL_BACK, RESET };

/* A call that was sent, and the log before it. */
struct step {
    enum kind kind;
    int id, number;
    bool answered;
};

static struct session {
    char name[64];
    struct log log;       /* after all steps that came true */
    size_t can_roll_back; /* at least */
    struct step steps[OPERATIONS];
    size_t step_count;
} sessions[SESSIONS];

static int last_id, last_number;
static size_t by_image; /* sessions that came back so */
static bool slow;       /* calls take long enough to have images, which the kills meet */

TestSuite(saved_kills, .init = saved_begin, .fini = saved_end);

static void apply(struct log *log, const struct step *step) {
    if (step->kind == PUSH)
        log->numbers[log->count++] = step->number;
    else if (step->kind == ROLL_BACK && log->count)
        log->count--;
    else if (step->kind == RESET)
        log->count = 0;
}

/* Each call does its work twice, so that half of it would show. */
static void send_step(struct client *client, struct session *session, struct random *random) {
    struct step *step = &session->steps[session->step_count++];
    const size_t choice = random_below(random, 20);
    *step = (struct step){.kind = PUSH, .id = ++last_id, .number = ++last_number};
    if (choice < 4 && session->can_roll_back)
        step->kind = ROLL_BACK;
    else if (choice == 4)
        step->kind = RESET;
    const char *id = formatted("%d", step->id);
    if (step->kind == PUSH)
        client_session_send(client, id, session->name,
                            formatted("(progn (defvar *log* nil) (push %d *log*) (dotimes (i %zu) "
                                      "(list i)) %s (push %d *log*) nil)",
                                      step->number, random_below(random, 20000),
                                      slow ? "(sleep 0.03)" : "", step->number),
                            0);
    else
        client_tool_send(client, id, step->kind == ROLL_BACK ? "rollback-session" : "reset-session",
                         formatted(step->kind == ROLL_BACK ? "{\"session\":\"%s\",\"steps\":1}"
                                                           : "{\"session\":\"%s\"}",
                                   session->name));
    session->can_roll_back = step->kind == PUSH        ? session->can_roll_back + 1
                             : step->kind == ROLL_BACK ? session->can_roll_back - 1
                                                       : 0;
    if (session->can_roll_back > 8)
        session->can_roll_back = 8;
}

static void note_answer(struct client *client, const char *line) {
    if (!strstr(line, "\"result\"") || !strstr(line, "\"id\":"))
        return;
    const long long id = client_integer(client, line, "id", NULL);
    for (size_t i = 0; i < SESSIONS; i++)
        for (size_t j = 0; j < sessions[i].step_count; j++)
            if (sessions[i].steps[j].id == id) {
                sessions[i].steps[j].answered = true;
                cr_assert(strstr(line, "\"isError\":false"), "%s", line);
            }
}

/* Whether TEXT, a list as Lisp prints it, is LOG with each number twice. */
static bool is_log(const char *text, const struct log *log) {
    char *wanted = malloc(40 * log->count + 16), *end = wanted;
    end += sprintf(end, log->count ? "=> \"(" : "=> \"NIL\"");
    for (size_t i = log->count; i > 0; i--)
        end +=
            sprintf(end, "%d %d%s", log->numbers[i - 1], log->numbers[i - 1], i > 1 ? " " : ")\"");
    const char *found = strstr(text, "=> ");
    const bool same = found && strlen(wanted) == strcspn(found, "\n") &&
                      strncmp(found, wanted, strlen(wanted)) == 0;
    free(wanted);
    return same;
}

/* Finds how many of the steps came true: at least those that were answered. */
static void check(struct client *client, struct session *session) {
    struct evaluation look = client_session_evaluate(
        client, session->name,
        "(let ((*print-pretty* nil)) (princ-to-string (if (boundp '*log*) (symbol-value "
        "'*log*))))");
    size_t least = 0, done = 0;
    for (size_t i = 0; i < session->step_count; i++)
        if (session->steps[i].answered)
            least = i + 1;
    struct log log = session->log;
    for (done = 0; done < session->step_count && done < least; done++)
        apply(&log, &session->steps[done]);
    while (!is_log(look.text, &log) && done < session->step_count)
        apply(&log, &session->steps[done++]);
    cr_assert(is_log(look.text, &log), "%s: %zu of %zu calls were answered, and the log is %s",
              session->name, least, session->step_count, look.text);
    session->log = log;
    session->step_count = 0;
    session->can_roll_back = 0; /* the look is a call */
    client_session_rollback(client, session->name, 1);
    by_image += strstr(look.text, "brought back from its image") != NULL;
    /* An image has the states before it in itself alone. */
    session->can_roll_back = strstr(look.text, "its image") ? 0 : log.count < 8 ? log.count : 8;
}

/* One life of a server: it is asked for much, and killed before it has answered all. */
static void live(struct client *client, struct random *random) {
    for (size_t i = 0; i < OPERATIONS; i++)
        for (size_t j = 0; j < SESSIONS; j++)
            if (random_percent(random, 70))
                send_step(client, &sessions[j], random);
    client_flush(client);
    const long pause_us = random_percent(random, 10) ? 200000 : random_between(random, 0, 30000);
    usleep((useconds_t)(slow ? random_between(random, 0, 1500000) : pause_us));
    client_kill(client, SIGKILL);
    client_wait(client);
    for (const char *line; (line = client_read_line_or_end(client, NULL)) != NULL;)
        note_answer(client, line);
    client_free(client);
}

static void play(const char *durable, size_t trials, struct random *random) {
    const char *const arguments[] = {"--durable", durable, NULL};
    for (size_t i = 0; i < trials; i++) {
        struct client *client = saved_serve(arguments);
        for (size_t j = 0; j < SESSIONS; j++)
            check(client, &sessions[j]);
        live(client, random);
    }
    struct client *client = saved_serve(arguments);
    for (size_t j = 0; j < SESSIONS; j++)
        check(client, &sessions[j]);
    client_finish(client);
}

static void play_lives(size_t lives, struct random *random) {
    for (size_t life = 0; life < lives; life++) { /* each with sessions of its own */
        if (life == RECORDED_LIVES)
            unsetenv("TEST_RECORD"); /* the lines are of the same kinds */
        for (size_t i = 0; i < SESSIONS; i++) {
            sessions[i] = (struct session){.step_count = 0};
            snprintf(sessions[i].name, sizeof sessions[i].name, "s%zu-%zu", life, i);
        }
        play(life % 2 ? "sync" : "async", LIFE_TRIALS, random);
    }
}

Test(saved_kills, what_was_answered_is_there_and_nothing_is_by_half, .timeout = 7200) {
    struct random random = random_for("saved_kills");
    play_lives(random_trials(TRIALS, 10000) / LIFE_TRIALS, &random);
}

Test(saved_kills, images_make_no_difference, .timeout = 7200) {
    struct random random = random_for("saved_kills");
    slow = true;
    play_lives(random_trials(20, 300) / LIFE_TRIALS, &random);
    fprintf(stderr, "%zu times a session came back by an image\n", by_image);
}
