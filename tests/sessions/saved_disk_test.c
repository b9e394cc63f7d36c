/* The disk of a state directory is full, fails, tears a write, stops, or its process is killed, at
 * each write of a conversation in turn. The server keeps answering. In the next server every call
 * that was answered has its effect, and a call that was not has its whole effect or none. */
#include "common/image_file.h"
#include "tests/support/client_sessions.h"
#include "tests/support/disk_faults.h"
#include "tests/support/lines.h"
#include "tests/support/process.h"
#include "tests/support/random.h"
#include "tests/support/saved.h"
#include "tests/support/skip.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOG_MAX = 32, STEPS_MAX = 16, STEP_US = 10000, WAIT_US = 60000000 };

static void begin(void) {
    disk_faults_skip();
    saved_begin();
}

TestSuite(saved_disk, .init = begin, .fini = saved_end, .timeout = 7200);

/* --- what is asked for --- */

enum what { PUSH, ROLL_BACK, RESET, COPY, CLOSE };

static const struct {
    enum what what;
    int session; /* 0: a, 1: the copy of it, 2: one that the server names */
} conversation[] = {
    {PUSH, 0}, {PUSH, 0},  {PUSH, 0}, {ROLL_BACK, 0}, {COPY, 1}, {PUSH, 1},  {PUSH, 0},
    {PUSH, 2}, {RESET, 0}, {PUSH, 0}, {PUSH, 2},      {PUSH, 1}, {CLOSE, 1}, {PUSH, 0},
};
enum { SESSIONS = 3, STEPS = COUNT_OF(conversation) };

/* The numbers in the log of a session, oldest first. */
struct log {
    int numbers[LOG_MAX];
    size_t count;
    bool closed;
};

static struct session {
    char name[64]; /* "": there is none */
    struct log first;
    struct {
        enum what what;
        int number;
        bool answered;
    } steps[STEPS_MAX];
    size_t step_count;
} sessions[SESSIONS];

static void start_conversation(const char *name) {
    memset(sessions, 0, sizeof sessions);
    snprintf(sessions[0].name, sizeof sessions[0].name, "%s", name);
}

/* The log of SESSION with the steps that were answered, and those others whose bit is in OTHERS. */
static struct log log_of(const struct session *session, unsigned others) {
    struct log log = session->first;
    for (size_t i = 0; i < session->step_count; i++) {
        if (!session->steps[i].answered) {
            const bool came_true = others & 1;
            others >>= 1;
            if (!came_true)
                continue;
        }
        switch (session->steps[i].what) {
        case PUSH:
            log.numbers[log.count++] = session->steps[i].number;
            break;
        case ROLL_BACK:
            log.count -= log.count > 0;
            break;
        case RESET:
            log.count = 0;
            break;
        case CLOSE:
            log.count = 0;
            log.closed = true;
            break;
        case COPY:
            break;
        }
    }
    return log;
}

static unsigned count_unanswered(const struct session *session) {
    unsigned count = 0;
    for (size_t i = 0; i < session->step_count; i++)
        count += !session->steps[i].answered;
    return count;
}

/* Whether LINE, an answer, has the log. Each number is there twice, so that half of a call would
 * show. */
static bool is_log(const char *line, const struct log *log) {
    char wanted[LOG_MAX * 24 + 16], *end = wanted;
    end += sprintf(end, "=> \\\"%s", log->count ? "(" : "NIL");
    for (size_t i = log->count; i > 0; i--)
        end += sprintf(end, "%d %d%s", log->numbers[i - 1], log->numbers[i - 1], i > 1 ? " " : ")");
    strcpy(end, "\\\"");
    return strstr(line, wanted) != NULL;
}

#define LOOK                                                                                       \
    "(let ((*print-pretty* nil)) (princ-to-string (if (boundp '*log*) (symbol-value '*log*))))"

static const char *code_of_push(int number) {
    return formatted("(progn (defvar *log* nil) (push %d *log*) (push %d *log*) nil)", number,
                     number);
}

/* --- asking --- */

static struct disk_faults *faults;

/* An answer to ID. Meanwhile what needs no disk is answered, also while the disk stands still. */
static const char *await(struct client *client, const char *id) {
    const char *wanted = formatted("\"id\":%s,", id);
    for (int waited = 0; waited < WAIT_US; waited += STEP_US / 10) {
        if (faults && disk_faults_is_stopped(faults)) {
            client_ping(client);
            cr_assert_gt(client_session_count(client), 0);
            disk_faults_release(faults);
        }
        const char *line = client_take_line(client, NULL);
        if (line && strstr(line, wanted))
            return line;
        if (client_ended(client)) {
            while ((line = client_read_line_or_end(client, NULL)) != NULL)
                if (strstr(line, wanted))
                    return line;
            return NULL;
        }
        usleep(STEP_US / 10);
    }
    cr_assert(false, "no answer to %s", id);
    return NULL;
}

static int last_number;

/* Whether the step was answered as done; *LINE: its answer, NULL if the server has ended. */
static bool ask(struct client *client, const char *tool, const char *arguments, const char **line) {
    static int last_id = 1000;
    const char *id = formatted("%d", ++last_id);
    client_tool_send(client, id, tool, arguments);
    *line = await(client, id);
    return *line && strstr(*line, "\"isError\":false") != NULL;
}

static bool evaluate(struct client *client, const struct session *session, const char *code,
                     const char **line) {
    return ask(client, "evaluate-lisp",
               formatted("{\"code\":\"%s\",\"session\":\"%s\"}", code, session->name), line);
}

/* A session that the call would be about may not have come to be. */
static void take_step(struct client *client, size_t index) {
    static const char *const tools[] = {
        [ROLL_BACK] = "rollback-session", [RESET] = "reset-session", [CLOSE] = "close-session"};
    struct session *session = &sessions[conversation[index].session];
    const enum what what = conversation[index].what;
    const char *line;
    if (what == COPY || !session->name[0]) {
        if (what != COPY && session != &sessions[2])
            return;
        if (ask(client, "open-session",
                what == COPY ? formatted("{\"from\":\"%s\"}", sessions[0].name) : "{}", &line)) {
            snprintf(session->name, sizeof session->name, "%s",
                     client_string(client, line, "result", "_meta", "session", NULL));
            if (what == COPY)
                session->first = log_of(&sessions[0], 0);
        }
        if (what == COPY || !session->name[0])
            return;
    }
    const int number = ++last_number;
    const size_t i = session->step_count++;
    session->steps[i].what = what;
    session->steps[i].number = number;
    session->steps[i].answered =
        what == PUSH ? evaluate(client, session, code_of_push(number), &line)
                     : ask(client, tools[what],
                           formatted(what == ROLL_BACK ? "{\"session\":\"%s\",\"steps\":1}"
                                                       : "{\"session\":\"%s\"}",
                                     session->name),
                           &line);
    if (session->steps[i].answered || !line)
        return;
    /* The session is as it was, or cannot be used while the disk is as it is. */
    const struct log log = log_of(session, 0);
    if (evaluate(client, session, LOOK, &line))
        cr_assert(is_log(line, &log), "%s after step %zu, which failed: %s", session->name, index,
                  line);
    else if (line)
        cr_assert(strstr(line, "cannot be saved") || strstr(line, "SESSION-ERROR"), "%s", line);
}

/* --- the faults --- */

/* It takes its name some time after it was forked. */
static pid_t process_of(struct client *client, const char *name) {
    pid_t pids[64];
    for (int waited = 0; waited < WAIT_US; waited += STEP_US) {
        const size_t count = client_descendants(client, pids, COUNT_OF(pids));
        for (size_t i = 0; i < count; i++)
            if (process_is_named(pids[i], name))
                return pids[i];
        usleep(STEP_US);
    }
    cr_assert(false, "no process %s", name);
    return 0;
}

/* In the directory of a session that is open is nothing that nobody will use. */
static void expect_no_leftovers(const struct session *session) {
    DIR *dir = opendir(saved_file(formatted("s-%s", session->name), ""));
    const struct dirent *file;
    while (dir && (file = readdir(dir)) != NULL)
        cr_assert(!strstr(file->d_name, ".new"), "%s/%s", session->name, file->d_name);
    if (dir)
        closedir(dir);
}

static void describe(const struct session *session) {
    static const char *const names[] = {"push", "roll back", "reset", "copy", "close"};
    for (size_t i = 0; i < session->step_count; i++)
        fprintf(stderr, "%s %d: %s\n", names[session->steps[i].what], session->steps[i].number,
                session->steps[i].answered ? "done" : "refused");
}

/* In a server whose disk works. STRICT: what was refused has no effect. */
static void check(struct client *client, struct session *session, bool strict) {
    const char *line;
    if (!session->name[0])
        return;
    const unsigned unanswered = count_unanswered(session);
    const bool looked = evaluate(client, session, LOOK, &line);
    cr_assert(line, "the server has ended");
    bool found = false;
    for (unsigned others = 0; !found && others < (strict ? 1U : 1U << unanswered); others++) {
        const struct log log = log_of(session, others);
        found = looked ? is_log(line, &log) : log.closed;
    }
    if (!found)
        describe(session);
    cr_assert(found, "%s, %u steps not answered: %s", session->name, unanswered, line);
    if (looked)
        cr_assert(evaluate(client, session, "(defvar *after* 1)", &line), "%s", line);
}

/* Holds the conversation while the keeper's disk has the fault of PLAN, and checks what the next
 * server has. Returns the number of the keeper's calls. */
static unsigned play(const struct disk_plan *plan) {
    struct client *client = saved_serve(STRINGS("--durable", "sync"));
    static unsigned conversations;
    start_conversation(formatted("a%u", ++conversations));
    faults = disk_faults_begin(process_of(client, "eclave-keeper"), plan);
    for (size_t i = 0; i < STEPS && !client_ended(client); i++)
        take_step(client, i);
    if (!client_ended(client))
        client_ping(client);
    const bool ended = client_ended(client);
    cr_assert(!ended || plan->fault == DISK_ENDS_PROCESS, "%s", client_stderr(client));
    const unsigned count = disk_faults_end(faults);
    faults = NULL;
    saved_kill(client);
    client = saved_serve(NULL);
    const bool strict =
        plan->fault == DISK_WORKS || plan->fault == DISK_FAILS_ONCE || plan->fault == DISK_STOPS;
    for (size_t i = 0; i < SESSIONS; i++)
        check(client, &sessions[i], strict);
    for (size_t i = 0; i < SESSIONS; i++) {
        cr_assert(!strict || plan->fault == DISK_FAILS_ONCE || !count_unanswered(&sessions[i]));
        if (!sessions[i].name[0])
            continue;
        expect_no_leftovers(&sessions[i]);
        client_tool(client, "close-session", formatted("{\"session\":\"%s\"}", sessions[i].name));
    }
    client_finish(client);
    return count;
}

/* At every call with TEST_THOROUGH=1, else at some. */
static void play_all(enum disk_fault fault, int error) {
    struct random random = random_for("saved_disk");
    const unsigned count = play(&(struct disk_plan){.directory = saved_path()});
    cr_assert_gt(count, STEPS);
    const size_t trials = random_trials(6, count);
    for (unsigned at = 1; at <= count; at++) {
        if (random_below(&random, count) >= trials)
            continue;
        fprintf(stderr, "fault %d, errno %d, at call %u of %u\n", fault, error, at, count);
        play(&(struct disk_plan){saved_path(), fault, at, error});
    }
}

Test(saved_disk, one_write_that_fails_undoes_its_call_alone) {
    play_all(DISK_FAILS_ONCE, EIO);
}

Test(saved_disk, a_disk_that_fails_from_then_on) {
    play_all(DISK_FAILS_FROM, EIO);
}

Test(saved_disk, a_disk_that_is_full_from_then_on) {
    play_all(DISK_FAILS_FROM, ENOSPC);
}

Test(saved_disk, a_disk_that_is_read_only_from_then_on) {
    play_all(DISK_FAILS_FROM, EROFS);
}

Test(saved_disk, a_write_that_is_torn) {
    play_all(DISK_TEARS, EIO);
}

Test(saved_disk, a_keeper_that_is_killed_before_a_write) {
    play_all(DISK_ENDS_PROCESS, 0);
}

Test(saved_disk, a_disk_that_stands_still_holds_up_nothing_else) {
    play_all(DISK_STOPS, 0);
}

/* --- images --- */

static bool has_image(const char *session) {
    char name[SAVED_NAME_BYTES];
    saved_find_image(formatted("s-%s", session), name);
    return *name;
}

static bool has_new_image(const char *session) {
    return access(saved_file(formatted("s-%s", session), "image.new"), F_OK) == 0;
}

/* A call that takes long enough for an image, whose writing meets the fault. The number of calls of
 * the imager. */
static unsigned play_image(const struct disk_plan *plan) {
    static unsigned count_played;
    char name[32];
    struct log log = {.numbers = {1, 2}, .count = 2};
    snprintf(name, sizeof name, "i%u", ++count_played);
    struct client *client = saved_serve(NULL);
    struct disk_faults *own = disk_faults_begin(process_of(client, "eclave-imager"), plan);
    client_session_evaluate(client, name,
                            "(progn (defvar *log* nil) (push 1 *log*) (push 1 *log*) (sleep 0.6))");
    for (int waited = 0;
         waited < WAIT_US && !has_image(name) && (!plan->at || disk_faults_count(own) < plan->at);
         waited += STEP_US)
        usleep(STEP_US);
    client_session_evaluate(client, name, code_of_push(2));
    const bool stands_still = plan->fault == DISK_STOPS && plan->at;
    for (int waited = 0; waited < WAIT_US && has_new_image(name) && !stands_still;
         waited += STEP_US)
        usleep(STEP_US);
    cr_assert(stands_still || !has_new_image(name), "the file of the image remains");
    if (stands_still)
        disk_faults_release(own);
    const unsigned count = disk_faults_end(own);
    saved_kill(client);
    client = saved_serve(NULL);
    const char *line = client_session_evaluate(client, name, LOOK).line;
    cr_assert(is_log(line, &log), "%s", line);
    client_session_close(client, name);
    client_finish(client);
    return count;
}

Test(saved_disk, an_image_that_cannot_be_written_costs_no_call, .disabled = !IMAGE_SUPPORTED) {
    static const enum disk_fault kinds[] = {DISK_FAILS_ONCE, DISK_TEARS, DISK_ENDS_PROCESS,
                                            DISK_STOPS};
    struct random random = random_for("saved_disk images");
    saved_skip_without_images();
    saved_use_images();
    client_finish(saved_serve(NULL)); /* writes the base image */
    const unsigned count = play_image(&(struct disk_plan){.directory = saved_path()});
    cr_assert_gt(count, 1);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const size_t trials = random_trials(1, count);
        for (unsigned at = 1; at <= count; at++) {
            if (at < count && random_below(&random, count) >= trials) /* the last: to disk */
                continue;
            fprintf(stderr, "fault %d at call %u of %u\n", kinds[i], at, count);
            play_image(&(struct disk_plan){saved_path(), kinds[i], at, EIO});
        }
    }
}
