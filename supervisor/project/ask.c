/* Asking the client, in the way of its era. Never asks what the client did not say it can do, and
 * believes no state that is not of this process's making. */
#include "supervisor/project/ask.h"
#include "supervisor/base/clock.h"
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
    struct invocation *invocation;
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
static bool may_ask(struct invocation *invocation, struct json_object *question) {
    const struct need *need = need_of(question);
    if (!need)
        return false;
    struct json_object *required = capabilities_of(need);
    bool able = revision_of(invocation->request)->since >= need->since &&
                abilities_include(invocation->abilities, required);
    if (able || invocation->lacking)
        json_object_put(required);
    else
        invocation->lacking = required;
    return able;
}

/* --- answers to the run --- */

static void answer_object(struct invocation *invocation, struct json_object *answer) {
    size_t length = 0;
    const char *text = json_object_to_json_string_length(
        answer, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &length);
    ask_forget(invocation);
    call_answer(invocation->call, (struct span){(const unsigned char *)text, length});
    json_object_put(answer);
}

static void answer_failure(struct invocation *invocation, int code, const char *message) {
    struct json_object *answer = json_object_new_object(), *error = json_object_new_object();
    json_object_object_add(error, "code", json_object_new_int(code));
    json_object_object_add(error, "message", json_object_new_string(message));
    json_object_object_add(answer, "error", error);
    answer_object(invocation, answer);
}

static void answer_responses(struct invocation *invocation) {
    struct json_object *answer = json_object_new_object();
    json_object_object_add(answer, "responses", json_object_get(invocation->responses));
    answer_object(invocation, answer);
}

/* --- legacy: requests of ours --- */

static void tell_cancelled(struct server *server, uint64_t number) {
    struct buffer *out = output_notification_begin(&server->output, "notifications/cancelled");
    buffer_append_format(
        out, "\"requestId\":\"ask-%" PRIu64 "\",\"reason\":\"The call that asked has ended.\"",
        number);
    output_notification_end(&server->output);
}

void ask_forget(struct invocation *invocation) {
    struct question **link = &invocation->server->project->questions;
    while (*link) {
        struct question *question = *link;
        if (question->invocation != invocation) {
            link = &question->next;
            continue;
        }
        if (!invocation->server->draining)
            tell_cancelled(invocation->server, question->number);
        *link = question->next;
        free(question);
    }
    json_object_put(invocation->questions);
    json_object_put(invocation->responses);
    invocation->questions = invocation->responses = NULL;
}

static bool send_question(struct invocation *invocation, const char *key,
                          struct json_object *asked) {
    struct project *project = invocation->server->project;
    struct question *question = calloc(1, sizeof *question);
    if (!question)
        return false;
    question->number = ++project->last_question;
    question->invocation = invocation;
    snprintf(question->key, sizeof question->key, "%s", key);
    question->next = project->questions;
    project->questions = question;
    struct buffer *out = output_line_begin(&invocation->server->output);
    buffer_append_format(
        out, "{\"jsonrpc\":\"2.0\",\"id\":\"ask-%" PRIu64 "\",\"method\":", question->number);
    json_write_tree(out, json_tree_member(asked, "method"));
    buffer_append_text(out, ",\"params\":");
    json_write_tree(out, json_tree_member(asked, "params"));
    buffer_append_text(out, "}");
    output_line_end(&invocation->server->output, (struct span){0});
    return true;
}

static void ask_legacy(struct invocation *invocation) {
    invocation->failure[0] = 0;
    json_object_object_foreach(invocation->questions, key, question) {
        if (!send_question(invocation, key, question)) {
            answer_failure(invocation, RPC_INTERNAL_ERROR, "Out of memory.");
            return;
        }
    }
}

static bool is_asking(const struct project *project, const struct invocation *invocation) {
    for (const struct question *question = project->questions; question; question = question->next)
        if (question->invocation == invocation)
            return true;
    return false;
}

static void take_failure(struct invocation *invocation, struct json_object *error) {
    const char *message = json_plain_string(json_tree_member(error, "message"));
    invocation->failure_code = json_object_get_int(json_tree_member(error, "code"));
    snprintf(invocation->failure, sizeof invocation->failure, "%s",
             message && *message ? message : "The client refused the question.");
}

static void take_response(struct invocation *invocation, const char *key,
                          struct json_object *response) {
    struct json_object *result = json_tree_member(response, "result");
    struct error error;
    if (!result) {
        take_failure(invocation, json_tree_member(response, "error"));
    } else if (json_held_bytes(invocation->responses) + json_held_bytes(result) >
               INVOCATION_HELD_MAX_BYTES) {
        invocation->failure_code = RPC_INVALID_PARAMS;
        snprintf(invocation->failure, sizeof invocation->failure,
                 "The answer has too many values.");
    } else if (!answer_check(json_tree_member(invocation->questions, key), result, &error)) {
        invocation->failure_code = RPC_INVALID_PARAMS;
        snprintf(invocation->failure, sizeof invocation->failure, "%s", error.text);
    } else {
        json_object_object_add(invocation->responses, key, json_object_get(result));
    }
}

void project_take_response(struct project *project, struct json_object *response) {
    const char *id = json_plain_string(json_tree_member(response, "id"));
    struct question **link = project ? &project->questions : NULL;
    char own[32];
    for (; id && link && *link; link = &(*link)->next) {
        struct question *question = *link;
        struct invocation *invocation = question->invocation;
        snprintf(own, sizeof own, "ask-%" PRIu64, question->number);
        if (strcmp(own, id) != 0)
            continue;
        take_response(invocation, question->key, response);
        *link = question->next;
        free(question);
        if (is_asking(project, invocation))
            return;
        if (invocation->failure[0])
            answer_failure(invocation, invocation->failure_code, invocation->failure);
        else
            answer_responses(invocation);
        return;
    }
}

/* --- modern: a result that asks --- */

static bool is_parked(const struct invocation *invocation) {
    return !invocation->request && invocation->questions;
}

/* Parked runs hold a worker each, so there are not many, and the oldest goes first. */
static void make_room(struct project *project) {
    size_t count = 0;
    struct invocation *oldest = NULL;
    for (struct invocation *invocation = project->invocations; invocation;
         invocation = invocation->next)
        if (is_parked(invocation)) {
            count++;
            if (!oldest || invocation->parked_ns < oldest->parked_ns)
                oldest = invocation;
        }
    if (count > sessions_parked_max(project->server->settings)) {
        ask_forget(oldest);
        call_cancel(oldest->call, "Too many calls wait for their client.");
    }
}

static void ask_modern(struct invocation *invocation) {
    struct project *project = invocation->server->project;
    struct request *request = invocation->request;
    const struct settings *settings = invocation->server->settings;
    struct state state = {.run = invocation->number,
                          .round = ++invocation->round,
                          .expires_ns = clock_now_ns() + settings->call_timeout_max_s *
                                                             CLOCK_MS_PER_S * CLOCK_NS_PER_MS};
    char text[STATE_TEXT_BYTES];
    memcpy(state.binding, invocation->binding, sizeof state.binding);
    state_write(&project->key, &state, text);
    struct buffer *out = request_input_required(request);
    request_member(request, "inputRequests");
    json_write_tree(out, invocation->questions);
    request_member(request, "requestState");
    json_write_string(out, text);
    invocation->request = NULL;
    invocation->parked_ns = clock_now_ns();
    call_park(invocation->call, true);
    request_end(request);
    make_room(project);
}

/* Takes from RESPONSES what was asked. False when something is missing, or is no answer to it: that
 * is asked again. */
static bool take_responses(struct invocation *invocation, struct json_object *responses) {
    bool all = true;
    json_object_object_foreach(invocation->questions, key, question) {
        struct json_object *response = json_tree_member(responses, key);
        if (answer_check(question, response, NULL))
            json_object_object_add(invocation->responses, key, json_object_get(response));
        else
            all = all && json_object_object_get_ex(invocation->responses, key, NULL);
    }
    return all;
}

/* A client that knows what it will be asked may answer with its first request, each question
 * once. */
static bool is_answered_already(struct invocation *invocation) {
    if (!json_object_is_type(invocation->early_responses, json_type_object) ||
        !take_responses(invocation, invocation->early_responses))
        return false;
    json_object_object_foreach(invocation->questions, key, question) {
        (void)question;
        json_object_object_del(invocation->early_responses, key);
    }
    return true;
}

void ask_client(struct invocation *invocation, struct json_object *questions) {
    struct json_object *asked = json_object_new_object();
    if (!invocation->request || invocation->server->draining) {
        json_object_put(asked);
        answer_failure(invocation, RPC_INTERNAL_ERROR, "The client sends nothing any more.");
        return;
    }
    json_object_put(invocation->lacking);
    invocation->lacking = NULL;
    json_object_object_foreach(questions, key, question) {
        if (may_ask(invocation, question))
            json_object_object_add(asked, key, json_object_get(question));
    }
    if (json_object_object_length(asked) == 0) {
        json_object_put(asked);
        answer_failure(invocation, RPC_METHOD_NOT_FOUND,
                       "The client did not declare the capability to be asked this.");
        return;
    }
    invocation->questions = asked;
    invocation->responses = json_object_new_object();
    if (!invocation->request->modern)
        ask_legacy(invocation);
    else if (is_answered_already(invocation))
        answer_responses(invocation);
    else
        ask_modern(invocation);
}

void ask_give_up(struct project *project) {
    for (struct invocation *invocation = project->invocations, *next; invocation;
         invocation = next) {
        next = invocation->next;
        if (is_parked(invocation)) {
            ask_forget(invocation);
            call_cancel(invocation->call, "The client sends nothing any more.");
        } else if (invocation->questions) {
            answer_failure(invocation, RPC_INTERNAL_ERROR, "The client sends nothing any more.");
        }
    }
}

/* --- modern: the request that brings the answers --- */

static const char state_member[] = "requestState";

static struct invocation *find_parked(const struct project *project, const struct state *state) {
    for (struct invocation *invocation = project->invocations; invocation;
         invocation = invocation->next)
        if (invocation->number == state->run && is_parked(invocation) &&
            invocation->round == state->round)
            return invocation;
    return NULL;
}

/* What is wrong with the shape of `inputResponses`, or NULL. */
static const char *bad_responses(const struct invocation *invocation,
                                 struct json_object *responses) {
    if (responses && !json_object_is_type(responses, json_type_object))
        return "inputResponses must be an object.";
    json_object_object_foreach(invocation->questions, key, question) {
        (void)question;
        struct json_object *response;
        if (json_object_object_get_ex(responses, key, &response) &&
            !json_object_is_type(response, json_type_object))
            return "A response in inputResponses must be an object.";
    }
    return NULL;
}

static void resume(struct request *request, struct invocation *invocation,
                   struct json_object *responses, struct json_object *params) {
    struct request *kept = request_keep(invocation->server, request);
    if (!kept) {
        request_error(request, RPC_INTERNAL_ERROR, "Out of memory.");
        return;
    }
    bool all = take_responses(invocation, responses);
    kept->subject = invocation->form->subject;
    kept->transient = !invocation->entry->in_caller_session;
    kept->new_session = invocation->new_session;
    invocation->request = kept;
    progress_begin(invocation);
    json_object_put(invocation->abilities);
    invocation->abilities = json_object_get(abilities_of(request, params));
    if (!all) {
        ask_modern(invocation); /* the same again */
        return;
    }
    kept->call = invocation->call;
    call_park(invocation->call, false);
    answer_responses(invocation);
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
    struct invocation *invocation = problem ? NULL : find_parked(project, &state);
    if (!problem && !invocation)
        problem = "requestState was used before, or the call that it continues has ended; send the "
                  "request anew.";
    if (problem) {
        request_error_invalid(request, state_member, problem);
        return true;
    }
    struct json_object *responses = json_tree_member(params, "inputResponses");
    if (abilities_refuse_large(request, invocation->responses, responses, params))
        return true;
    problem = bad_responses(invocation, responses);
    if (problem)
        request_error_invalid(request, "inputResponses", problem);
    else
        resume(request, invocation, responses, params);
    return true;
}
