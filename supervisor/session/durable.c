/* Sessions that outlive the server: a call is saved before it is answered, and the calls that are
 * saved are evaluated again, in a fresh process, where the state of a session is not in its
 * processes: at its first use in a new server, and after its processes were lost.
 *
 * The calls in force in the journal are those that the state of the session consists of. If there
 * are more of them than its number tells, they are to be brought back. */
#include "common/cleanup.h"
#include "supervisor/session/session_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LOCK_WAIT_MS = 3000, LOCK_RETRY_MS = 50 }; /* a server that was killed may be ending still */

/* What is known of a call that is being brought back. */
struct replay {
    bool was_condition;
    char condition[64];
    struct buffer answers;
    struct span answers_left;
};

bool durable_saves(const struct session *session) {
    return session->saved.number != 0;
}

uint64_t durable_place(const struct session *session, uint64_t number) {
    return number + (session->began_fresh ? 0 : session->saved.base);
}

static uint64_t place(const struct session *session) {
    return durable_place(session, session->number);
}

bool durable_is_behind(const struct session *session) {
    return durable_saves(session) && place(session) < session->saved.count;
}

bool durable_is_due(const struct session *session) {
    const struct call *next = TAILQ_FIRST(&session->queue);
    if (!durable_saves(session) || !next || next->kind == CALL_CLOSE)
        return false;
    return !session->saved.open || session->saved.drops || session->saved.failure[0] ||
           (durable_is_behind(session) && next->kind != CALL_RESET);
}

static void ask(struct session *session, struct keeper_request *request, keeper_done done) {
    request->session = session->saved.number;
    request->unnamed = session->kind == SESSION_UNNAMED;
    session_enter(session, SESSION_SAVING);
    keeper_ask(session->all->keeper, request, done, session);
}

/* --- writing --- */

/* The journal says what it was asked to, or does not. */
static void on_saved(void *context, struct keeper_reply *reply) {
    struct session *session = context;
    char failure[ERROR_TEXT_BYTES];
    durable_then then = session->saved.then;
    session->saved.then = NULL;
    snprintf(failure, sizeof failure, "%s", reply->failure ? reply->failure : "");
    session_enter(session, SESSION_IDLE);
    then(session, reply->failure ? failure : NULL);
}

static void save(struct session *session, struct keeper_request *request, durable_then then) {
    session->saved.then = then;
    ask(session, request, on_saved);
}

static void save_record(struct session *session, struct journal_record *record, durable_then then) {
    cleanup_buffer struct buffer bytes = buffer_make(JOURNAL_RECORD_MAX);
    record->time_s = time(NULL);
    if (!record_encode(&bytes, record)) { /* the keeper refuses it, as too long or malformed */
        bytes.length = 0;
    }
    struct keeper_request request = {.operation = KEEPER_APPEND,
                                     .bytes = {bytes.data, bytes.length}};
    save(session, &request, then);
}

void durable_save_call(struct session *session, durable_then then) {
    const struct call *call = session->running;
    struct journal_record record = {.kind = RECORD_CALL,
                                    .is_run = call->kind == CALL_RUN,
                                    .run = (uint32_t)call->run.kind,
                                    .wants_value = call->run.wants_value,
                                    .text = {call->payload.data, call->payload.length},
                                    .condition = call->kept->message.condition,
                                    .answers = {call->answers.data, call->answers.length}};
    save_record(session, &record, then);
}

void durable_return(struct session *session, uint64_t number, durable_then then) {
    struct journal_record record = {.kind = RECORD_RETURN,
                                    .number = durable_place(session, number)};
    save_record(session, &record, then);
}

void durable_reset(struct session *session, durable_then then) {
    struct keeper_request request = {.operation = KEEPER_SHORTEN};
    save(session, &request, then);
}

void durable_copy(struct session *session, const struct session *copy, uint64_t number,
                  durable_then then) {
    struct keeper_request request = {.operation = KEEPER_COPY,
                                     .number = durable_place(session, number),
                                     .other = copy->saved.number,
                                     .bytes = string_span(copy->name)};
    save(session, &request, then);
}

void durable_remove(struct session *session, durable_then then) {
    struct keeper_request request = {.operation = KEEPER_REMOVE,
                                     .bytes = string_span(session->name)};
    save(session, &request, then);
}

void durable_discard(struct session *session) {
    const struct keeper_request request = {.operation = KEEPER_REMOVE,
                                           .session = session->saved.number,
                                           .bytes = string_span(session->name)};
    if (durable_saves(session))
        keeper_ask(session->all->keeper, &request, NULL, NULL);
}

/* --- opening --- */

/* The call that waits cannot have what the session was. */
static void refuse_first(struct session *session, const char *why) {
    struct call *call = TAILQ_FIRST(&session->queue);
    if (!call)
        return;
    session_unqueue(call);
    call_decide(call, OUTCOME_REFUSED, "%s.", why);
    call_conclude(call, NULL, NULL, 0, false);
}

static void on_opened(void *context, struct keeper_reply *reply);

static void open_journal(struct session *session) {
    struct keeper_request request = {.operation = KEEPER_OPEN, .bytes = string_span(session->name)};
    ask(session, &request, on_opened);
}

static void on_retry(void *context) {
    struct session *session = context;
    session_enter(session, SESSION_IDLE);
    session_step(session);
}

static void on_opened(void *context, struct keeper_reply *reply) {
    struct session *session = context;
    struct session_saved *saved = &session->saved;
    const int64_t now_ns = clock_now_ns();
    if (reply->locked && !saved->locked_ns)
        saved->locked_ns = now_ns;
    if (reply->locked && (now_ns - saved->locked_ns) / CLOCK_NS_PER_MS < LOCK_WAIT_MS) {
        loop_timer_start(session->all->loop, &saved->retry, LOCK_RETRY_MS, on_retry, session);
        return;
    }
    saved->locked_ns = 0;
    session_enter(session, SESSION_IDLE);
    if (reply->failure) {
        refuse_first(session, reply->failure);
        if (!saved->listed) /* its name can be used again once it is free */
            session_abandon(session, reply->failure);
        session_step_later(session);
        return;
    }
    saved->open = true;
    saved->count = reply->count;
    saved->left_out = reply->left_out;
    if (reply->record.length == sizeof saved->image)
        memcpy(&saved->image, reply->record.bytes, sizeof saved->image);
    if (saved->listed && reply->created)
        snprintf(session->loss, sizeof session->loss,
                 "SESSION-LOST: what was saved of this session has been removed meanwhile; it "
                 "started afresh");
    else if (saved->left_out && !saved->count)
        durable_report(session);
    session_step(session);
}

/* --- bringing back --- */

void durable_changed(struct session *session, uint64_t count) {
    struct session_saved *saved = &session->saved;
    saved->count = count;
    saved->changes++;
    if (saved->image.number <= count)
        return;
    saved->image.number = 0;
    saved->image_cost_ns = 0;
}

/* Tells the next answer what was done. */
void durable_report(struct session *session) {
    struct session_saved *saved = &session->saved;
    char damage[120] = "", image[200] = "";
    if (saved->adopted)
        snprintf(image, sizeof image,
                 "this session was brought back from its image, of the state after call %llu, "
                 "before which it cannot be rolled back; ",
                 (unsigned long long)saved->adopted);
    else if (saved->image_failure[0])
        snprintf(image, sizeof image, "the image of this session was not used, since it %s; ",
                 saved->image_failure);
    if (saved->left_out)
        snprintf(damage, sizeof damage,
                 "; the last %llu bytes of its file were damaged or unfinished, and are left out",
                 (unsigned long long)saved->left_out);
    snprintf(session->loss, sizeof session->loss,
             "SESSION-RESTORED: %s%llu saved call%s evaluated again to bring this session back; "
             "%llu ended differently%s%s",
             image, (unsigned long long)saved->replayed, saved->replayed == 1 ? " was" : "s were",
             (unsigned long long)saved->differed, saved->difference, damage);
    const struct log_event event = {
        .level = LOG_NOTICE_LEVEL, .name = "session-restored", .session = session->name};
    log_write(session->all->log, &event, "%s", session->loss);
    saved->left_out = saved->replayed = saved->differed = saved->adopted = 0;
    saved->image_failure[0] = 0;
    saved->difference[0] = 0;
}

static const char *word_of(bool is_condition, const char *condition) {
    return is_condition ? condition : "a value";
}

/* Compares the end of a call with the saved one. */
static void compare(struct session *session, const struct replay *replay,
                    const struct evaluation *evaluation) {
    struct session_saved *saved = &session->saved;
    char condition[sizeof replay->condition];
    const bool is_condition = evaluation->outcome != OUTCOME_VALUE;
    const struct span type = evaluation->result.condition;
    if (evaluation->outcome == OUTCOME_CONDITION)
        snprintf(condition, sizeof condition, "%.*s", (int)type.length, (const char *)type.bytes);
    else
        snprintf(condition, sizeof condition, "%s",
                 is_condition ? outcome_table[evaluation->outcome].type : "");
    if (is_condition == replay->was_condition &&
        (!is_condition || strcmp(condition, replay->condition) == 0))
        return;
    if (saved->differed++ == 0)
        snprintf(saved->difference, sizeof saved->difference, " (call %llu was %.40s, now %.40s)",
                 (unsigned long long)saved->replayed,
                 word_of(replay->was_condition, replay->condition),
                 word_of(is_condition, condition));
}

/* Tells the waiting call why. The next call tries again. */
static void give_up(struct session *session, const struct evaluation *evaluation) {
    snprintf(session->saved.failure, sizeof session->saved.failure,
             "Session %s cannot be brought back now: %.300s", session->name, evaluation->cause);
}

static void on_replayed(void *context, const struct evaluation *evaluation) {
    struct session *session = context;
    struct session_saved *saved = &session->saved;
    switch (evaluation->outcome) {
    case OUTCOME_CANCELLED:
    case OUTCOME_NO_WORKER:
    case OUTCOME_REFUSED:
        give_up(session, evaluation);
        break;
    default:
        if (outcome_table[evaluation->outcome].ends_process &&
            saved->failed_at != place(session) + 1) { /* once more: it may not have been the code */
            saved->failed_at = place(session) + 1;
            break;
        }
        saved->replayed++;
        compare(session, saved->replay, evaluation);
        saved->drops = outcome_table[evaluation->outcome].ends_process;
        if (!saved->drops && !durable_is_behind(session))
            durable_report(session);
        break;
    }
    buffer_free(&saved->replay->answers);
    free(saved->replay);
    saved->replay = NULL;
    session_step_later(session);
}

/* A question of a call that is brought back has the answer of then. */
static void on_ask(void *context, struct json_object *questions) {
    static const char none[] =
        "{\"error\":{\"code\":-32603,\"message\":\"The client was not asked this before.\"}}";
    struct session *session = context;
    struct span answer;
    (void)questions;
    if (!record_take_answer(&session->saved.replay->answers_left, &answer))
        answer = (struct span){(const unsigned char *)none, sizeof none - 1};
    call_answer(session->running, answer);
}

/* The call of RECORD, which is to run now. NULL when out of memory. */
static struct call *make_replay(struct session *session, const struct journal_record *record) {
    struct call *call = calloc(1, sizeof *call);
    struct replay *replay = calloc(1, sizeof *replay);
    if (!call || !replay) {
        free(call);
        free(replay);
        return NULL;
    }
    replay->was_condition = record->condition.bytes != NULL;
    snprintf(replay->condition, sizeof replay->condition, "%.*s", (int)record->condition.length,
             (const char *)record->condition.bytes);
    replay->answers = buffer_make(record->answers.length);
    buffer_append(&replay->answers, record->answers.bytes, record->answers.length);
    replay->answers_left = (struct span){replay->answers.data, replay->answers.length};
    session->saved.replay = replay;
    call->session = session;
    call->kind = record->is_run ? CALL_RUN : CALL_EVALUATE;
    call->payload = buffer_make(FRAME_PAYLOAD_MAX);
    call->timeout_ms = session->all->settings->call_timeout_max_s * (int64_t)CLOCK_MS_PER_S;
    call->replays = true;
    call->run.kind = (enum run_kind)record->run;
    call->run.wants_value = record->wants_value;
    call->ask = on_ask;
    call->done = on_replayed;
    call->context = session;
    buffer_append(&call->payload, record->text.bytes, record->text.length);
    call->number = sessions_next_number(session->all);
    return call;
}

static void on_read(void *context, struct keeper_reply *reply) {
    struct session *session = context;
    struct journal_record record;
    struct call *call = NULL;
    session_enter(session, SESSION_IDLE);
    if (session->saved.asked != place(session)) { /* its processes were lost meanwhile */
        session_step_later(session);
        return;
    }
    const bool lawful = !reply->failure && record_decode(reply->record, &record) &&
                        record.kind == RECORD_CALL &&
                        (!record.is_run || record.run < RUN_KIND_COUNT);
    if (lawful)
        call = make_replay(session, &record);
    if (!call) {
        snprintf(session->saved.failure, sizeof session->saved.failure,
                 "Session %s cannot be brought back: %.300s", session->name,
                 reply->failure ? reply->failure
                 : lawful       ? "out of memory"
                                : "its journal has a malformed record");
        session_step_later(session);
        return;
    }
    session->running = call;
    session->loss[0] = 0;
    admission_take(call);
    session_evaluate(session);
}

/* --- by an image --- */

/* It holds the state of a process that has evaluated nothing. One that does not last is not used
 * for ever. */
static bool image_is_due(const struct session *session) {
    enum { ADOPTIONS_MAX = 3 };
    return session->saved.image.number && session->saved.adoptions < ADOPTIONS_MAX &&
           session->number == 0 && session->began_fresh;
}

static void refuse_image(struct session *session, const char *why) {
    struct session_saved *saved = &session->saved;
    const struct log_event event = {
        .level = LOG_NOTICE_LEVEL, .name = "session-image", .session = session->name};
    saved->image.number = 0;
    saved->image_cost_ns = saved->cost_ns; /* the calls are evaluated again, and count then */
    snprintf(saved->image_failure, sizeof saved->image_failure, "%.100s", why);
    log_write(session->all->log, &event, "the image is not used, since it %s",
              saved->image_failure);
}

static void on_adopted(void *context, const struct evaluation *evaluation) {
    struct session *session = context;
    struct session_saved *saved = &session->saved;
    char why[100];
    switch (evaluation->outcome) {
    case OUTCOME_VALUE:
        session->number = saved->adopted = saved->image.number;
        saved->adoptions++;
        saved->image_cost_ns = saved->cost_ns;
        if (!durable_is_behind(session))
            durable_report(session);
        break;
    case OUTCOME_CONDITION: /* the process has changed nothing */
        session->number = 0;
        snprintf(why, sizeof why, "%.*s", (int)evaluation->result.text.length,
                 (const char *)evaluation->result.text.bytes);
        refuse_image(session, why);
        break;
    case OUTCOME_CANCELLED:
    case OUTCOME_NO_WORKER:
    case OUTCOME_REFUSED:
        give_up(session, evaluation);
        break;
    default:
        refuse_image(session, "ended the process that became it");
        break;
    }
    session_step_later(session);
}

/* What becomes of a damaged one may go on forever. */
static int64_t adoption_limit_ms(const struct session *session) {
    enum { LEAST_MS = 10000, BYTES_PER_MS = 10 << 10 };
    const int64_t most_ms = session->all->settings->call_timeout_max_s * (int64_t)CLOCK_MS_PER_S;
    const int64_t limit_ms = LEAST_MS + (int64_t)(session->saved.image.facts.bytes / BYTES_PER_MS);
    return limit_ms < most_ms ? limit_ms : most_ms;
}

static void on_image(void *context, struct keeper_reply *reply) {
    struct session *session = context;
    const struct adopt_message *facts = &session->saved.image.facts;
    session_enter(session, SESSION_IDLE);
    struct call *call = reply->failure || !image_is_due(session) ? NULL : calloc(1, sizeof *call);
    if (!call) {
        if (reply->failure)
            refuse_image(session, reply->failure);
        session_step_later(session);
        return;
    }
    call->session = session;
    call->kind = CALL_EVALUATE;
    call->payload = buffer_make(FRAME_PAYLOAD_MAX);
    call->timeout_ms = adoption_limit_ms(session);
    call->replays = call->adopts = true;
    call->image_fd = reply->fd;
    reply->fd = -1;
    call->done = on_adopted;
    call->context = session;
    buffer_append(&call->payload, facts, sizeof *facts);
    call->number = sessions_next_number(session->all);
    session->running = call;
    session->loss[0] = 0;
    admission_take(call);
    session_evaluate(session);
}

static void dropped(struct session *session, const char *failure) {
    if (failure) {
        snprintf(session->saved.failure, sizeof session->saved.failure,
                 "Session %s cannot be brought back: %.300s", session->name, failure);
    } else {
        session->saved.drops = false;
        if (session->saved.image.number > place(session)) /* it has the effects of that call */
            session->saved.image.number = 0;
        durable_changed(session, session->saved.count - 1);
        if (!durable_is_behind(session))
            durable_report(session);
    }
    session_step_later(session);
}

void durable_step(struct session *session) {
    struct session_saved *saved = &session->saved;
    if (saved->failure[0]) {
        char why[sizeof saved->failure];
        snprintf(why, sizeof why, "%s", saved->failure);
        saved->failure[0] = 0;
        refuse_first(session, why);
        session_step_later(session);
    } else if (!saved->open) {
        open_journal(session);
    } else if (saved->drops) {
        struct journal_record record = {.kind = RECORD_DROP, .number = place(session) + 1};
        save_record(session, &record, dropped);
    } else if (image_is_due(session)) {
        struct keeper_request request = {.operation = KEEPER_OPEN_IMAGE};
        ask(session, &request, on_image);
    } else {
        struct keeper_request request = {.operation = KEEPER_READ, .number = place(session)};
        saved->asked = request.number;
        ask(session, &request, on_read);
    }
}

void durable_lost(struct session *session) {
    if (session->saved.replayed) /* it could go on forever */
        snprintf(session->saved.failure, sizeof session->saved.failure,
                 "Session %s cannot be brought back: its worker ended between calls",
                 session->name);
    session->saved.replayed = 0;
}

/* --- all sessions --- */

void durable_begin(struct session *session) {
    if (session->all->keeper && !session_is_anonymous(session))
        session->saved.number = session->serial;
}

void durable_end(struct session *session) {
    if (!durable_saves(session))
        return;
    keeper_forget(session->all->keeper, session);
    durable_image_forget(session);
    loop_timer_stop(session->all->loop, &session->saved.retry);
    if (session->saved.replay) {
        buffer_free(&session->saved.replay->answers);
        free(session->saved.replay);
    }
}

static int compare_use(const void *one, const void *other) {
    const int64_t left = ((const struct store_entry *)one)->used_ns,
                  right = ((const struct store_entry *)other)->used_ns;
    return (left > right) - (left < right);
}

/* Makes a session of each that is saved; none has a process yet. */
static bool add_saved(struct sessions *all, const struct store *store, struct error *error) {
    size_t count;
    cleanup_free struct store_entry *list = store_list(store, &count, error);
    struct timespec now;
    if (!list || clock_gettime(CLOCK_REALTIME, &now) != 0)
        return false;
    qsort(list, count, sizeof *list, compare_use);
    for (size_t i = 0; i < count; i++) {
        const struct span name = string_span(list[i].name);
        if (!session_name_is_valid(name))
            continue;
        struct session *session =
            session_add(all, name, list[i].unnamed ? SESSION_UNNAMED : SESSION_KEPT);
        if (!session)
            return error_set(error, 0, "out of memory");
        session->saved.listed = true;
        session->saved.bytes = list[i].bytes;
        session->used_ns -= (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - list[i].used_ns;
        session->born_ns = session->used_ns;
    }
    const struct log_event event = {.level = LOG_INFO_LEVEL, .name = "state"};
    if (count)
        log_write(all->log, &event, "%zu session%s saved by earlier servers", count,
                  count == 1 ? " was" : "s were");
    return true;
}

bool sessions_save(struct sessions *all, struct error *error) {
    const struct settings *settings = all->settings;
    struct store store = {.fd = -1};
    struct keeper *keeper = calloc(1, sizeof *keeper);
    if (!keeper)
        return error_set(error, 0, "out of memory");
    const char *path = settings->state.paths[0];
    all->keeper = keeper; /* sessions that are made from now on are saved */
    if (!store_open(&store, path, true, error) || !add_saved(all, &store, error) ||
        !keeper_start(keeper, all->loop, &store, path, settings->durable == DURABLE_SYNC,
                      (uint64_t)settings->state_max_mb << 20, error))
        return false;
    durable_images_open(all);
    sessions_drop_unnamed(all, NULL); /* the last server was perhaps killed before it had */
    return true;
}
