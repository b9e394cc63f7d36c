/* See session_play.h. Every answer is awaited in the end. */
#include "tests/support/session_play.h"
#include "tests/support/client_sessions.h"
#include "tests/support/eras.h"
#include "tests/support/family.h"
#include "tests/support/lines.h"
#include "tests/support/session_model.h"
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PENDING_MAX = 16, TEXT_MAX = 400, CODE_MAX = 3000, NUMBERS_MAX = 5, WATCHDOG_S = 60 };

/* An answer that has not come yet. */
struct expectation {
    char id[24];
    int error_code; /* of the protocol; 0: a result */
    bool is_error;  /* of a result */
    bool whole;     /* TEXT is all of its text, not a part of it */
    char text[TEXT_MAX];
};

struct stage {
    struct client *client;
    struct model model;
    char slots[SESSION_PLAY_SLOTS][MODEL_NAME_MAX];
    struct expectation pending[PENDING_MAX];
    size_t pending_count, ids, line;
    bool records; /* --session-record auto */
};

/* Awaiting. */

static void await_one(struct stage *stage, const struct expectation *expected) {
    struct evaluation got = client_evaluate_await(stage->client, expected->id);
    if (!got.line)
        return;
    bool right = got.error_code == expected->error_code && got.is_error == expected->is_error &&
                 (expected->whole ? strcmp(got.text, expected->text) == 0
                                  : strstr(got.text, expected->text) != NULL);
    if (!right)
        client_fail(stage->client, "line %zu, call %s: wanted %s%s\"%s\" (error %d), got %.600s",
                    stage->line, expected->id, expected->is_error ? "an error with " : "",
                    expected->whole ? "" : "something with ", expected->text, expected->error_code,
                    got.line);
}

static void await_all(struct stage *stage) {
    for (size_t i = 0; i < stage->pending_count; i++)
        await_one(stage, &stage->pending[i]);
    stage->pending_count = 0;
}

/* The expectation of the next call, with its id. */
static struct expectation *expect(struct stage *stage) {
    if (stage->pending_count == PENDING_MAX)
        await_all(stage);
    struct expectation *expected = &stage->pending[stage->pending_count++];
    *expected = (struct expectation){.error_code = 0};
    snprintf(expected->id, sizeof expected->id, "%zu", ++stage->ids);
    return expected;
}

__attribute__((format(printf, 4, 5))) static void
expect_text(struct expectation *expected, bool is_error, bool whole, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(expected->text, sizeof expected->text, format, arguments);
    va_end(arguments);
    expected->is_error = is_error;
    expected->whole = whole;
}

/* Sessions. */

static const char *handle_of(const struct stage *stage, size_t slot) {
    return slot ? stage->slots[slot] : NULL;
}

/* The session that a call is for. */
struct target {
    struct model_session *session; /* NULL: the call is refused */
    bool opened;                   /* by the call */
    const char *refusal;
};

/* MAKES: the call opens a session by a name that was never used. */
static struct target target_of(struct stage *stage, size_t slot, bool makes) {
    struct target target = {.session = model_find(&stage->model, stage->slots[slot])};
    if (slot == 0) {
        struct model_session *own = model_own(&stage->model);
        target.session = own ? own : model_make_own(&stage->model);
        return target;
    }
    const enum model_end end = model_end_of(&stage->model, stage->slots[slot]);
    if (target.session && !model_keep(&stage->model, target.session))
        target = (struct target){.refusal = "[ERROR] SESSION-LIMIT\n"};
    else if (target.session)
        return target;
    else if (end != MODEL_NEVER || !makes)
        target.refusal = end == MODEL_CLOSED    ? "was closed by close-session."
                         : end == MODEL_DROPPED ? "was dropped: only the newest"
                                                : "There is no session ";
    else if ((target.session = model_open(&stage->model, stage->slots[slot])) != NULL)
        target.opened = true;
    else
        target.refusal = "[ERROR] SESSION-LIMIT\n";
    return target;
}

/* False when the call is refused, which the answer must say. */
static bool accepts(const struct target *target, struct expectation *expected) {
    if (!target->session)
        expect_text(expected, true, false, "%s", target->refusal);
    return target->session != NULL;
}

/* Lisp. */

/* How an integer is set and increased under each kind of name: @k is the key, @v the value. */
static const struct {
    const char *set, *add;
} kinds[MODEL_KINDS] = {
    {"(defparameter *v@k* @v)", "(incf *v@k* @v)"},
    {"(defun f@k () @v)", "(let ((n (+ (f@k) @v))) (defun f@k () n))"},
    {"(defmacro m@k () @v)", "(let ((n (+ (m@k) @v))) (defmacro m@k () n))"},
    {"(progn (unless (boundp '*table*) (defparameter *table* (make-hash-table)))"
     " (setf (gethash @k *table*) @v))",
     "(incf (gethash @k *table*) @v)"},
};

/* Prints all integers on one line. */
static const char look[] =
    "(flet ((v (s) (and (boundp s) (symbol-value s)))"
    "       (f (s) (and (fboundp s) (funcall s)))"
    "       (m (s) (and (macro-function s) (eval (list s))))"
    "       (h (k) (and (boundp '*table*) (values (gethash k (symbol-value '*table*))))))"
    "  (format nil \"~{~a~^ ~}\""
    "    (list (v '*v0*) (v '*v1*) (v '*v2*) (f 'f0) (f 'f1) (f 'f2)"
    "          (m 'm0) (m 'm1) (m 'm2) (h 0) (h 1) (h 2))))";

static void append_code(char *code, const char *form, size_t key, long value) {
    char *end = code + strlen(code);
    for (; *form; form++) {
        if (form[0] == '@')
            end += sprintf(end, "%ld", *++form == 'k' ? (long)key : value);
        else
            *end++ = *form;
    }
    *end = '\0';
}

/* OPENED: the name of the session that the call opened, or NULL. */
static void write_look(const struct model_world *world, char text[TEXT_MAX]) {
    *text = 0;
    for (size_t i = 0; i < (size_t)MODEL_KINDS * MODEL_KEYS; i++) {
        long value = world->values[i / MODEL_KEYS][i % MODEL_KEYS];
        size_t length = strlen(text);
        if (value == MODEL_UNSET)
            snprintf(text + length, TEXT_MAX - length, "%sNIL", i ? " " : "");
        else
            snprintf(text + length, TEXT_MAX - length, "%s%ld", i ? " " : "", value);
    }
}

static void expect_look(struct expectation *expected, const struct model_world *world,
                        const char *opened) {
    char text[TEXT_MAX];
    write_look(world, text);
    expect_text(expected, false, true, "=> \"%s\"%s%s%s", text, opened ? "\n; session " : "",
                opened ? opened : "", opened ? " (new)" : "");
}

/* An integer that a line sets or adds to. */
struct assignment {
    size_t kind, key;
    long value;
};

static void set_value(struct stage *stage, size_t slot, struct assignment what, bool add) {
    char code[CODE_MAX] = "";
    const struct target target = target_of(stage, slot, true);
    struct expectation *expected = expect(stage);
    append_code(code, add ? kinds[what.kind].add : kinds[what.kind].set, what.key, what.value);
    append_code(code, look, 0, 0);
    client_session_send(stage->client, expected->id, handle_of(stage, slot), code, 0);
    if (!accepts(&target, expected))
        return;
    struct model_world world = model_present(target.session);
    long *value = &world.values[what.kind][what.key];
    if (add && *value == MODEL_UNSET) {
        expect_text(expected, true, false, "[ERROR] ");
    } else {
        *value = what.value + (add ? *value : 0);
        expect_look(expected, &world, target.opened ? target.session->name : NULL);
    }
    model_advance(&stage->model, target.session, &world);
}

static void set_half(struct stage *stage, size_t slot, struct assignment what) {
    char code[CODE_MAX] = "";
    const struct target target = target_of(stage, slot, true);
    struct expectation *expected = expect(stage);
    append_code(code, kinds[what.kind].set, what.key, what.value);
    append_code(code, "(error \"half\")", 0, 0);
    append_code(code, kinds[what.kind].set, what.key, what.value + 1);
    client_session_send(stage->client, expected->id, handle_of(stage, slot), code, 0);
    if (!accepts(&target, expected))
        return;
    expect_text(expected, true, false, "[ERROR] SIMPLE-ERROR\nhalf");
    struct model_world world = model_present(target.session);
    world.values[what.kind][what.key] = what.value;
    model_advance(&stage->model, target.session, &world);
}

static void let_go(struct stage *stage, size_t slot);

/* A stateless call without a session, alone: the name of its own goes into the slot. */
static void call_unnamed(struct stage *stage, size_t slot, struct assignment what) {
    char code[CODE_MAX] = "";
    await_all(stage);
    let_go(stage, slot);
    append_code(code, kinds[what.kind].set, what.key, what.value);
    append_code(code, "(list 1)", 0, 0);
    struct evaluation got = era_evaluate(stage->client, era_modern, NULL, code);
    if (!got.line || got.error_code || got.is_error ||
        strncmp(got.text, "=> (1)\n; session s-", 19) != 0) {
        client_fail(stage->client, "line %zu: no unnamed session: %.300s", stage->line, got.text);
        return;
    }
    snprintf(stage->slots[slot], sizeof stage->slots[slot], "%s",
             got.text + strlen("=> (1)\n; session "));
    struct model_session *session = model_make_unnamed(&stage->model, stage->slots[slot]);
    struct model_world world = model_present(session);
    world.values[what.kind][what.key] = what.value;
    model_advance(&stage->model, session, &world);
}

/* Sets an integer and looks, in a call of inspect-lisp on the state BACK calls ago, of which
 * nothing may stay. */
static void inspect(struct stage *stage, size_t slot, struct assignment what, unsigned long back) {
    char form[CODE_MAX] = "(progn ", text[TEXT_MAX];
    const struct target target = target_of(stage, slot, false);
    const struct model_session *session = target.session;
    unsigned long number = session && back <= session->number ? session->number - back : 1000000;
    struct expectation *expected = expect(stage);
    append_code(form, kinds[what.kind].set, what.key, what.value);
    append_code(form, look, 0, 0);
    append_code(form, ")", 0, 0);
    char *quoted = json_quote(form, strlen(form));
    client_tool_send(stage->client, expected->id, "inspect-lisp",
                     formatted("{\"operation\":\"object\",\"form\":%s,\"state\":%lu%s}", quoted,
                               number,
                               slot ? formatted(",\"session\":\"%s\"", stage->slots[slot]) : ""));
    free(quoted);
    if (!accepts(&target, expected))
        return;
    if (!model_holds(session, number)) {
        expect_text(expected, true, false, "state number %lu is not kept", number);
        return;
    }
    struct model_world world = model_state(session, number);
    world.values[what.kind][what.key] = what.value;
    write_look(&world, text);
    expect_text(expected, false, false, "\n[text]\n%s", text);
}

/* Ways to end a process. */
static const struct way {
    const char *code;
    double timeout_s;
    int error_code;   /* of the protocol; 0: a result */
    const char *text; /* in the answer */
    bool cancelled, queued;
} ways[SESSION_PLAY_WAYS] = {
    {"(ext:quit 0)", 0, 0, "[ERROR] PROCESS-EXIT\n", false, false},
    {"(ext:quit 9)", 0, 0, "[ERROR] PROCESS-EXIT\n", false, false},
    {ENDLESS, 0.02, -32004, "as it was before the call", false, false},
    {CRASH, 0, 0, "[ERROR] WORKER-CRASH\n", false, false},
    {"(ash 1 999999999999)", 0, 0, "[ERROR] WORKER-CRASH\n", false, false},
    {VIOLATION, 0, 0, "[ERROR] SANDBOX-VIOLATION\n", false, false},
    {FORGERY, 0, 0, "[ERROR] MALFORMED-OUTPUT\n", false, false},
    {"(loop (write-line \"a flood\"))", 0, -32603, "as it was before the call", false, false},
    {ENDLESS, 0, -32001, "Tool cancelled", true, false},
    {"", 0, -32001, "Tool cancelled", true, true},
};

static void cancel(struct stage *stage, const char *id) {
    client_send_format(stage->client, CANCEL("%s"), id);
}

static void fail(struct stage *stage, size_t slot, struct assignment what, const struct way *way) {
    char code[CODE_MAX] = "", before[24] = "";
    const struct target target = target_of(stage, slot, true);
    append_code(code, kinds[what.kind].set, what.key, 999);
    append_code(code, way->code, 0, 0);
    if (way->queued && target.session) {
        struct expectation *expected = expect(stage);
        snprintf(before, sizeof before, "%s", expected->id);
        client_session_send(stage->client, before, handle_of(stage, slot), ENDLESS, 0);
        expect_text(expected, false, false, "Tool cancelled");
        expected->error_code = -32001;
    }
    struct expectation *expected = expect(stage);
    client_session_send(stage->client, expected->id, handle_of(stage, slot), code, way->timeout_s);
    if (way->cancelled && target.session)
        cancel(stage, expected->id);
    if (*before)
        cancel(stage, before);
    if (!accepts(&target, expected))
        return;
    expect_text(expected, way->error_code == 0, false, "%s", way->text);
    expected->error_code = way->error_code;
}

/* The session tools. */

static void send_tool(struct stage *stage, const struct expectation *expected, const char *tool,
                      size_t slot, long steps) {
    const char *session = slot ? formatted("\"session\":\"%s\"", stage->slots[slot]) : "";
    const char *number = steps ? formatted("\"steps\":%ld", steps) : "";
    client_tool_send(stage->client, expected->id, tool,
                     formatted("{%s%s%s}", session, *session && *number ? "," : "", number));
}

static void roll_back(struct stage *stage, size_t slot, size_t steps) {
    const struct target target = target_of(stage, slot, false);
    struct expectation *expected = expect(stage);
    send_tool(stage, expected, "rollback-session", slot, (long)steps);
    if (!accepts(&target, expected))
        return;
    size_t most = model_history(&stage->model, target.session);
    if (steps > most) {
        expect_text(expected, true, false, "can be rolled back by at most %zu calls", most);
        return;
    }
    model_roll_back(target.session, steps);
    expect_text(expected, false, false, "state number %lu.", target.session->number);
}

static void reset(struct stage *stage, size_t slot) {
    const struct target target = target_of(stage, slot, false);
    struct expectation *expected = expect(stage);
    send_tool(stage, expected, "reset-session", slot, 0);
    if (!accepts(&target, expected))
        return;
    expect_text(expected, false, false, "is reset to a fresh state.");
    model_reset(target.session);
}

static void close_it(struct stage *stage, size_t slot) {
    struct target target = {.session = slot ? model_find(&stage->model, stage->slots[slot]) : NULL};
    if (!target.session) /* an unnamed one is closed even if it could not be kept */
        target = target_of(stage, slot, false);
    struct expectation *expected = expect(stage);
    send_tool(stage, expected, "close-session", slot, 0);
    if (!accepts(&target, expected))
        return;
    expect_text(expected, false, false, "is closed.");
    await_all(stage); /* a call that came before the end would get another answer */
    model_close(&stage->model, target.session);
}

/* The slot refers to another session from now on. Its own one is closed if no line can name it
 * again. */
static void let_go(struct stage *stage, size_t slot) {
    struct model_session *former = model_find(&stage->model, stage->slots[slot]);
    if (!former || strncmp(former->name, "s-", 2) != 0)
        return;
    client_session_close(stage->client, former->name);
    model_close(&stage->model, former);
}

static void take_client_name(struct stage *stage, size_t slot, size_t name) {
    static const char *const names[SESSION_PLAY_NAMES] = {"alpha", "b.2", "C_3", "-d"};
    await_all(stage);
    let_go(stage, slot);
    snprintf(stage->slots[slot], sizeof stage->slots[slot], "%s", names[name]);
}

/* Sends open-session with the slot's own name if NAMED; FROM: members before it. SESSION is what
 * the model has made for it, with that name; NULL: no room. */
static void open_slot(struct stage *stage, size_t slot, bool named, const char *from,
                      struct model_session *session) {
    const char *name = named ? formatted("\"name\":\"%s\"", stage->slots[slot]) : "";
    struct evaluation opened =
        client_tool(stage->client, "open-session",
                    formatted("{%s%s%s}", from, *from && *name ? "," : "", name));
    if (!opened.line)
        return;
    if (!session) {
        if (!opened.is_error || !strstr(opened.text, "[ERROR] SESSION-LIMIT\n"))
            client_fail(stage->client, "line %zu: wanted no room for a session, got %.500s",
                        stage->line, opened.line);
        return;
    }
    if (opened.error_code || opened.is_error) {
        client_fail(stage->client, "line %zu: no session: %.500s", stage->line, opened.line);
        return;
    }
    const char *given =
        client_string(stage->client, opened.line, "result", "_meta", "session", NULL);
    if (named && given && strcmp(given, stage->slots[slot]) != 0)
        client_fail(stage->client, "line %zu: another name: %s", stage->line, given);
    snprintf(session->name, sizeof session->name, "%s", given ? given : "");
    if (!named)
        let_go(stage, slot);
    snprintf(stage->slots[slot], sizeof stage->slots[slot], "%s", session->name);
}

/* Is the name of the slot taken? Then open-session must say so. */
static bool is_taken(struct stage *stage, size_t slot) {
    if (!model_find(&stage->model, stage->slots[slot]))
        return false;
    struct evaluation refused = client_tool(stage->client, "open-session",
                                            formatted("{\"name\":\"%s\"}", stage->slots[slot]));
    if (refused.line && (!refused.is_error || !strstr(refused.text, "is open already")))
        client_fail(stage->client, "line %zu: wanted that %s is open already, got %.300s",
                    stage->line, stage->slots[slot], refused.text);
    return true;
}

static void open_fresh(struct stage *stage, size_t slot, bool named) {
    await_all(stage);
    if (named && is_taken(stage, slot))
        return;
    open_slot(stage, slot, named, "", model_open(&stage->model, named ? stage->slots[slot] : "?"));
}

static void copy(struct stage *stage, size_t slot, size_t from, unsigned long back, bool named) {
    await_all(stage);
    if (named && is_taken(stage, slot))
        return;
    const struct target target = target_of(stage, from, false);
    const struct model_session *source = target.session;
    unsigned long number = source && back <= source->number ? source->number - back : 1000000;
    const char *name = from ? stage->slots[from] : "main";
    const char *arguments = back ? formatted("\"from\":\"%s\",\"at\":%lu", name, number)
                                 : formatted("\"from\":\"%s\"", name);
    if (source && model_holds(source, number)) {
        open_slot(stage, slot, named, arguments,
                  model_copy(&stage->model, source, number, named ? stage->slots[slot] : "?"));
        return;
    }
    struct expectation *expected = expect(stage);
    client_tool_send(stage->client, expected->id, "open-session", formatted("{%s}", arguments));
    if (!accepts(&target, expected)) {
        await_all(stage);
        return;
    }
    if (model_has_room(&stage->model)) /* which is looked for first */
        expect_text(expected, true, false, "state number %lu is not kept", number);
    else
        expect_text(expected, true, false, "[ERROR] SESSION-LIMIT\n");
    await_all(stage);
}

/* Looking. */

static void list(struct stage *stage) {
    await_all(stage);
    size_t count = client_session_count(stage->client), wanted = model_count(&stage->model);
    if (count != wanted)
        client_fail(stage->client, "line %zu: %zu sessions instead of %zu", stage->line, count,
                    wanted);
    for (const struct model_session *session = stage->model.first; session;
         session = session->next) {
        struct session_row row = {0};
        size_t history = model_history(&stage->model, session);
        if (!client_session_row(stage->client, session->name, &row) ||
            row.number != session->number || row.history != history || row.busy)
            client_fail(stage->client,
                        "line %zu: %s has number %lu and history %lu instead of %lu and %zu%s",
                        stage->line, session->name, row.number, row.history, session->number,
                        history, row.busy ? " and is busy" : "");
    }
}

static void kill_idle(struct stage *stage, size_t slot) {
    if (slot && !model_find(&stage->model, stage->slots[slot]))
        return;
    const struct target target = target_of(stage, slot, false);
    if (!target.session)
        return;
    await_all(stage);
    pid_t head = family_head(stage->client, target.session->name);
    struct model_world world = model_present(target.session);
    model_advance(&stage->model, target.session, &world);
    client_session_settle(stage->client, target.session->name);
    if (head <= 1 || client_failure(stage->client))
        return;
    kill(head, SIGKILL);
    family_await_gone(stage->client, head);
}

/* Waits until each session has its checkpoint, if that is a process. */
static void count_processes(struct stage *stage) {
    enum { SPARE = 1 };
    await_all(stage);
    if (stage->records)
        return;
    size_t workers = SPARE;
    for (const struct model_session *session = stage->model.first; session; session = session->next)
        workers += model_workers(session);
    if (!client_failure(stage->client))
        family_workers(stage->client, workers, NULL, 0);
}

/* Continues every session that may be. */
static void look_at_all(struct stage *stage) {
    await_all(stage);
    for (struct model_session *session = stage->model.first; session; session = session->next) {
        if (!model_keep(&stage->model, session))
            continue;
        struct expectation *expected = expect(stage);
        struct model_world world = model_present(session);
        client_session_send(stage->client, expected->id, session->name, look, 0);
        expect_look(expected, &world, NULL);
        model_advance(&stage->model, session, &world);
        await_all(stage);
    }
}

/* Lines. */

struct order {
    char word[16];
    long numbers[NUMBERS_MAX];
};

static struct order read_order(struct text line) {
    struct order order = {.word = ""};
    long *numbers = order.numbers;
    // NOLINTNEXTLINE(cert-err34-c): the numbers are our own
    sscanf(line.bytes, "%15s %ld %ld %ld %ld %ld", order.word, &numbers[0], &numbers[1],
           &numbers[2], &numbers[3], &numbers[4]);
    return order;
}

static size_t pick(const struct order *order, size_t index, size_t limit) {
    return (size_t)order->numbers[index] % limit;
}

static void obey(struct stage *stage, const struct order *order) {
    const char *word = order->word;
    size_t slot = pick(order, 0, SESSION_PLAY_SLOTS);
    size_t other_slot = 1 + pick(order, 0, SESSION_PLAY_SLOTS - 1); /* not the own */
    struct assignment what = {pick(order, 1, MODEL_KINDS), pick(order, 2, MODEL_KEYS),
                              order->numbers[3]};
    bool wait = true;
    if (strcmp(word, "set") == 0 || strcmp(word, "add") == 0) {
        set_value(stage, slot, what, word[0] == 'a');
        wait = order->numbers[4];
    } else if (strcmp(word, "half") == 0) {
        set_half(stage, slot, what);
        wait = order->numbers[4];
    } else if (strcmp(word, "inspect") == 0) {
        inspect(stage, slot, what, (unsigned long)order->numbers[3] % 4);
        wait = order->numbers[4];
    } else if (strcmp(word, "fail") == 0) {
        fail(stage, slot, what, &ways[pick(order, 3, SESSION_PLAY_WAYS)]);
        wait = order->numbers[4];
    } else if (strcmp(word, "rollback") == 0) {
        roll_back(stage, slot, 1 + pick(order, 1, MODEL_HISTORY_MAX));
        wait = order->numbers[2];
    } else if (strcmp(word, "reset") == 0) {
        reset(stage, slot);
        wait = order->numbers[1];
    } else if (strcmp(word, "close") == 0) {
        close_it(stage, slot);
        wait = order->numbers[1];
    } else if (strcmp(word, "name") == 0) {
        take_client_name(stage, other_slot, pick(order, 1, SESSION_PLAY_NAMES));
    } else if (strcmp(word, "unnamed") == 0) {
        call_unnamed(stage, other_slot, what);
    } else if (strcmp(word, "open") == 0) {
        open_fresh(stage, other_slot, pick(order, 1, 2));
    } else if (strcmp(word, "copy") == 0) {
        copy(stage, other_slot, pick(order, 1, SESSION_PLAY_SLOTS),
             pick(order, 2, MODEL_HISTORY_MAX), pick(order, 3, 2));
    } else if (strcmp(word, "list") == 0) {
        list(stage);
    } else if (strcmp(word, "kill") == 0) {
        kill_idle(stage, slot);
    } else if (strcmp(word, "count") == 0) {
        count_processes(stage);
    }
    if (wait)
        await_all(stage);
}

char *session_play(const struct script *script) {
    struct order first = {.word = ""};
    if (script->count)
        first = read_order(script->lines[0]);
    if (strcmp(first.word, "server") != 0)
        return NULL;
    struct stage stage = {.model = {.maximum = 1 + pick(&first, 0, SESSION_PLAY_SLOTS + 1),
                                    .history = pick(&first, 1, MODEL_HISTORY_MAX),
                                    .unnamed_max = 1 + pick(&first, 2, SESSION_PLAY_SLOTS)},
                          .records = pick(&first, 4, 2) == 0};
    const char *const arguments[] = {"--session-max",
                                     formatted("%zu", stage.model.maximum),
                                     "--session-unnamed-max",
                                     formatted("%zu", stage.model.unnamed_max),
                                     "--call-running-max",
                                     formatted("%zu", 1 + pick(&first, 3, SESSION_PLAY_SLOTS)),
                                     "--session-history",
                                     formatted("%zu", stage.model.history),
                                     "--output-max-bytes",
                                     "20000",
                                     "--session-record",
                                     stage.records ? "auto" : "off",
                                     NULL};
    for (size_t i = 0; i < SESSION_PLAY_SLOTS; i++)
        snprintf(stage.slots[i], sizeof stage.slots[i], "nobody-%zu", i);
    stage.client = client_start_ready(
        &(struct client_options){.arguments = arguments, .collect = true, .watchdog_s = WATCHDOG_S},
        NULL);
    for (size_t i = 1; i < script->count && !client_failure(stage.client); i++) {
        stage.line = i;
        struct order order = read_order(script->lines[i]);
        obey(&stage, &order);
    }
    if (!client_failure(stage.client))
        list(&stage);
    if (!client_failure(stage.client))
        look_at_all(&stage);
    if (!client_failure(stage.client))
        count_processes(&stage);
    if (!client_failure(stage.client))
        client_end(stage.client);
    const char *failure = client_failure(stage.client);
    if (!failure && strstr(client_stderr(stage.client), "session-state"))
        failure = "a session entered a state that may not follow the one before";
    char *fault = failure ? strdup(failure) : NULL;
    client_free(stage.client);
    model_free(&stage.model);
    return fault;
}

/* Making. */

/* How often each kind of line comes, of a hundred, and how many numbers it has. */
static const struct {
    unsigned percent;
    const char *word;
    size_t numbers;
} lines[] = {
    {22, "set", 5},     {6, "inspect", 5}, {18, "add", 5},  {6, "half", 5}, {16, "fail", 5},
    {9, "rollback", 3}, {1, "reset", 2},   {2, "close", 2}, {2, "open", 2}, {6, "copy", 4},
    {2, "name", 2},     {4, "unnamed", 4}, {2, "list", 0},  {3, "kill", 1}, {1, "count", 0},
};

static void add_random_line(struct random *random, struct script *script) {
    size_t dice = random_below(random, 100), i = 0;
    while (dice >= lines[i].percent)
        dice -= lines[i++].percent;
    long numbers[NUMBERS_MAX];
    for (size_t j = 0; j < NUMBERS_MAX; j++)
        numbers[j] = random_between(random, 0, 999);
    if (lines[i].numbers > 1) /* the last number is whether to wait for the answer */
        numbers[lines[i].numbers - 1] = random_percent(random, 50);
    if (strcmp(lines[i].word, "rollback") == 0)
        numbers[1] = random_percent(random, 90) ? random_between(random, 0, 1) : numbers[1];
    if (strcmp(lines[i].word, "copy") == 0)
        numbers[2] = random_percent(random, 90) ? random_between(random, 0, 2) : numbers[2];
    numbers[0] = random_percent(random, 30) ? 0 : random_between(random, 0, SESSION_PLAY_SLOTS - 1);
    char text[100];
    int length = snprintf(text, sizeof text, "%s", lines[i].word);
    for (size_t j = 0; j < lines[i].numbers; j++)
        length += snprintf(text + length, sizeof text - (size_t)length, " %ld", numbers[j]);
    script_add_line(script, text);
}

struct script session_play_make(struct random *random, size_t steps) {
    struct script script = {0};
    long maximum = random_percent(random, 10) ? 0 : random_between(random, 2, SESSION_PLAY_SLOTS);
    script_add_line(&script,
                    formatted("server %ld %ld %ld %ld", maximum, random_between(random, 0, 4),
                              random_between(random, 0, 2), random_between(random, 0, 4)));
    for (int slot = 0; slot < SESSION_PLAY_SLOTS - 1; slot++)
        script_add_line(&script, formatted("open %d 0", slot));
    for (size_t i = script.count; i <= steps; i++)
        add_random_line(random, &script);
    return script;
}
