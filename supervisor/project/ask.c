/* Asking the client, in the way of its era. Never asks what the client did not say it can do, and
 * believes no state that is not of this process's making. */
#include "supervisor/project/ask.h"
#include "supervisor/base/clock.h"
#include "supervisor/json/json_file.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/project/abilities.h"
#include "supervisor/project/answer.h"
#include "supervisor/project/invocation.h"
#include "supervisor/project/progress.h"
#include "supervisor/project/project.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request of ours to a legacy client. */
struct question {
    struct question *next;
    uint64_t number;
    struct run *run;
    char key[RUN_KEY_MAX_BYTES + 1];
};

/* --- what a client can do --- */

/* What a method needs, and the first revision that has it. */
static const struct need {
    const char *method, *mode, *capability, *part;
    enum since since;
} needs[] = {
    {"elicitation/create", "url", "elicitation", "url", SINCE_2025_11},
    {"elicitation/create", NULL, "elicitation", "form", SINCE_2025_06},
    {"sampling/createMessage", NULL, "sampling", NULL, SINCE_2024_11},
    {"roots/list", NULL, "roots", NULL, SINCE_2024_11},
};

static const struct need *need_of(struct json_object *question) {
    const char *method = json_object_get_string(json_tree_member(question, "method"));
    const char *mode =
        json_object_get_string(json_tree_member(json_tree_member(question, "params"), "mode"));
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (strcmp(needs[i].method, method) == 0 &&
            (!needs[i].mode || (mode && strcmp(needs[i].mode, mode) == 0)))
            return &needs[i];
    return NULL;
}

static struct json_object *capabilities_of(const struct need *need) {
    struct json_object *capabilities = json_object_new_object();
    struct json_object *parts = json_object_new_object();
    if (need->part)
        json_object_object_add(parts, need->part, json_object_new_object());
    json_object_object_add(capabilities, need->capability, parts);
    return capabilities;
}

/* May RUN's client be asked this? If not, what it lacks is noted. */
static bool may_ask(struct run *run, struct json_object *question) {
    const struct need *need = need_of(question);
    if (!need)
        return false;
    struct json_object *required = capabilities_of(need);
    bool able = revision_of(run->request)->since >= need->since &&
                abilities_include(run->abilities, required);
    if (able || run->lacking)
        json_object_put(required);
    else
        run->lacking = required;
    return able;
}

/* --- answers to the run --- */

static void answer_object(struct run *run, struct json_object *answer) {
    size_t length = 0;
    const char *text = json_object_to_json_string_length(
        answer, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &length);
    ask_forget(run);
    call_answer(run->call, (struct span){(const unsigned char *)text, length});
    json_object_put(answer);
}

static void answer_failure(struct run *run, int code, const char *message) {
    struct json_object *answer = json_object_new_object(), *error = json_object_new_object();
    json_object_object_add(error, "code", json_object_new_int(code));
    json_object_object_add(error, "message", json_object_new_string(message));
    json_object_object_add(answer, "error", error);
    answer_object(run, answer);
}

static void answer_responses(struct run *run) {
    struct json_object *answer = json_object_new_object();
    json_object_object_add(answer, "responses", json_object_get(run->responses));
    answer_object(run, answer);
}

/* --- legacy: requests of ours --- */

static void tell_cancelled(struct server *server, uint64_t number) {
    struct buffer *out = output_line_begin(&server->output);
    buffer_append_format(out,
                         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                         "\"requestId\":\"ask-%" PRIu64 "\",\"reason\":\"The call that asked has "
                         "ended.\"}}",
                         number);
    output_line_end(&server->output, (struct span){0});
}

void ask_forget(struct run *run) {
    struct question **link = &run->server->project->questions;
    while (*link) {
        struct question *question = *link;
        if (question->run != run) {
            link = &question->next;
            continue;
        }
        if (!run->server->draining)
            tell_cancelled(run->server, question->number);
        *link = question->next;
        free(question);
    }
    json_object_put(run->questions);
    json_object_put(run->responses);
    run->questions = run->responses = NULL;
}

static bool send_question(struct run *run, const char *key, struct json_object *asked) {
    struct project *project = run->server->project;
    struct question *question = calloc(1, sizeof *question);
    if (!question)
        return false;
    question->number = ++project->last_question;
    question->run = run;
    snprintf(question->key, sizeof question->key, "%s", key);
    question->next = project->questions;
    project->questions = question;
    struct buffer *out = output_line_begin(&run->server->output);
    buffer_append_format(
        out, "{\"jsonrpc\":\"2.0\",\"id\":\"ask-%" PRIu64 "\",\"method\":", question->number);
    json_write_tree(out, json_tree_member(asked, "method"));
    buffer_append_text(out, ",\"params\":");
    json_write_tree(out, json_tree_member(asked, "params"));
    buffer_append_text(out, "}");
    output_line_end(&run->server->output, (struct span){0});
    return true;
}

static void ask_legacy(struct run *run) {
    run->failure[0] = 0;
    json_object_object_foreach(run->questions, key, question) {
        if (!send_question(run, key, question)) {
            answer_failure(run, RPC_INTERNAL_ERROR, "Out of memory.");
            return;
        }
    }
}

static bool is_asking(const struct project *project, const struct run *run) {
    for (const struct question *question = project->questions; question; question = question->next)
        if (question->run == run)
            return true;
    return false;
}

static void take_failure(struct run *run, struct json_object *error) {
    const char *message = json_plain_string(json_tree_member(error, "message"));
    run->failure_code = json_object_get_int(json_tree_member(error, "code"));
    snprintf(run->failure, sizeof run->failure, "%s",
             message && *message ? message : "The client refused the question.");
}

static void take_response(struct run *run, const char *key, struct json_object *response) {
    struct json_object *result = json_tree_member(response, "result");
    struct error error;
    if (!result) {
        take_failure(run, json_tree_member(response, "error"));
    } else if (json_held_bytes(run->responses) + json_held_bytes(result) > RUN_HELD_MAX_BYTES) {
        run->failure_code = RPC_INVALID_PARAMS;
        snprintf(run->failure, sizeof run->failure, "The answer has too many values.");
    } else if (!answer_check(json_tree_member(run->questions, key), result, &error)) {
        run->failure_code = RPC_INVALID_PARAMS;
        snprintf(run->failure, sizeof run->failure, "%s", error.text);
    } else {
        json_object_object_add(run->responses, key, json_object_get(result));
    }
}

void project_take_response(struct project *project, struct json_object *response) {
    const char *id = json_plain_string(json_tree_member(response, "id"));
    struct question **link = project ? &project->questions : NULL;
    char own[32];
    for (; id && link && *link; link = &(*link)->next) {
        struct question *question = *link;
        struct run *run = question->run;
        snprintf(own, sizeof own, "ask-%" PRIu64, question->number);
        if (strcmp(own, id) != 0)
            continue;
        take_response(run, question->key, response);
        *link = question->next;
        free(question);
        if (is_asking(project, run))
            return;
        if (run->failure[0])
            answer_failure(run, run->failure_code, run->failure);
        else
            answer_responses(run);
        return;
    }
}

/* --- modern: a result that asks --- */

static bool is_parked(const struct run *run) {
    return !run->request && run->questions;
}

/* Parked runs hold a worker each, so there are not many, and the oldest goes first. */
static void make_room(struct project *project) {
    size_t count = 0;
    struct run *oldest = NULL;
    for (struct run *run = project->runs; run; run = run->next)
        if (is_parked(run)) {
            count++;
            if (!oldest || run->parked_ns < oldest->parked_ns)
                oldest = run;
        }
    if (count > sessions_parked_max(project->server->settings)) {
        ask_forget(oldest);
        call_cancel(oldest->call, "Too many calls wait for their client.");
    }
}

static void ask_modern(struct run *run) {
    struct project *project = run->server->project;
    struct request *request = run->request;
    const struct settings *settings = run->server->settings;
    struct state state = {.run = run->number,
                          .round = ++run->round,
                          .expires_ns = clock_now_ns() + settings->call_timeout_max_s *
                                                             CLOCK_MS_PER_S * CLOCK_NS_PER_MS};
    char text[STATE_TEXT_BYTES];
    memcpy(state.binding, run->binding, sizeof state.binding);
    state_write(&project->key, &state, text);
    struct buffer *out = request_input_required(request);
    request_member(request, "inputRequests");
    json_write_tree(out, run->questions);
    request_member(request, "requestState");
    json_write_string(out, text);
    run->request = NULL;
    run->parked_ns = clock_now_ns();
    call_park(run->call, true);
    request_end(request);
    make_room(project);
}

/* Takes from GIVEN what was asked. False when something is missing, or is no answer to it: that is
 * asked again. */
static bool take_responses(struct run *run, struct json_object *given) {
    bool all = true;
    json_object_object_foreach(run->questions, key, question) {
        struct json_object *response = json_tree_member(given, key);
        if (answer_check(question, response, NULL))
            json_object_object_add(run->responses, key, json_object_get(response));
        else
            all = all && json_object_object_get_ex(run->responses, key, NULL);
    }
    return all;
}

/* A client that knows what it will be asked may answer with its first request, each question
 * once. */
static bool is_answered_already(struct run *run) {
    if (!json_object_is_type(run->given, json_type_object) || !take_responses(run, run->given))
        return false;
    json_object_object_foreach(run->questions, key, question) {
        (void)question;
        json_object_object_del(run->given, key);
    }
    return true;
}

void ask_client(struct run *run, struct json_object *questions) {
    struct json_object *asked = json_object_new_object();
    if (!run->request || run->server->draining) {
        json_object_put(asked);
        answer_failure(run, RPC_INTERNAL_ERROR, "The client sends nothing any more.");
        return;
    }
    json_object_put(run->lacking);
    run->lacking = NULL;
    json_object_object_foreach(questions, key, question) {
        if (may_ask(run, question))
            json_object_object_add(asked, key, json_object_get(question));
    }
    if (json_object_object_length(asked) == 0) {
        json_object_put(asked);
        answer_failure(run, RPC_METHOD_NOT_FOUND,
                       "The client did not declare the capability to be asked this.");
        return;
    }
    run->questions = asked;
    run->responses = json_object_new_object();
    if (!run->request->modern)
        ask_legacy(run);
    else if (is_answered_already(run))
        answer_responses(run);
    else
        ask_modern(run);
}

void ask_give_up(struct project *project) {
    for (struct run *run = project->runs, *next; run; run = next) {
        next = run->next;
        if (is_parked(run)) {
            ask_forget(run);
            call_cancel(run->call, "The client sends nothing any more.");
        } else if (run->questions) {
            answer_failure(run, RPC_INTERNAL_ERROR, "The client sends nothing any more.");
        }
    }
}

/* --- modern: the request that brings the answers --- */

static const char state_member[] = "requestState";

static struct run *find_parked(const struct project *project, const struct state *state) {
    for (struct run *run = project->runs; run; run = run->next)
        if (run->number == state->run && is_parked(run) && run->round == state->round)
            return run;
    return NULL;
}

/* What is wrong with the shape of `inputResponses`, or NULL. */
static const char *bad_responses(const struct run *run, struct json_object *given) {
    if (given && !json_object_is_type(given, json_type_object))
        return "inputResponses must be an object.";
    json_object_object_foreach(run->questions, key, question) {
        (void)question;
        struct json_object *response;
        if (json_object_object_get_ex(given, key, &response) &&
            !json_object_is_type(response, json_type_object))
            return "A response in inputResponses must be an object.";
    }
    return NULL;
}

static void resume(struct request *request, struct run *run, struct json_object *given,
                   struct json_object *params) {
    struct request *kept = request_keep(run->server, request);
    if (!kept) {
        request_error(request, RPC_INTERNAL_ERROR, "Out of memory.");
        return;
    }
    bool all = take_responses(run, given);
    kept->subject = run->form->subject;
    kept->passing = !run->entry->in_caller_session;
    kept->new_session = run->new_session;
    run->request = kept;
    progress_begin(run);
    json_object_put(run->abilities);
    run->abilities = json_object_get(abilities_of(request, params));
    if (!all) {
        ask_modern(run); /* the same again */
        return;
    }
    kept->call = run->call;
    call_park(run->call, false);
    answer_responses(run);
}

bool project_resume(struct request *request, const char *method, const char *name,
                    struct json_object *arguments, struct json_object *params) {
    struct project *project = request->server->project;
    struct json_object *member;
    unsigned char binding[STATE_HASH_BYTES];
    struct state state;
    if (!request->modern || !project || !json_object_object_get_ex(params, state_member, &member))
        return false;
    const char *text = json_plain_string(member);
    state_bind(&project->key, method, name, arguments, binding);
    const char *problem = !text ? "requestState must be a string."
                                : state_read(&project->key, text, binding, clock_now_ns(), &state);
    struct run *run = problem ? NULL : find_parked(project, &state);
    if (!problem && !run)
        problem = "requestState was used before, or the call that it continues has ended; send the "
                  "request anew.";
    if (problem) {
        tool_invalid_params(request, state_member, problem);
        return true;
    }
    struct json_object *given = json_tree_member(params, "inputResponses");
    if (abilities_refuse_large(request, run->responses, given, params))
        return true;
    problem = bad_responses(run, given);
    if (problem)
        tool_invalid_params(request, "inputResponses", problem);
    else
        resume(request, run, given, params);
    return true;
}
