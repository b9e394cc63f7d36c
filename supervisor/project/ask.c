/* Asks the client in the way of its era. */
#include "supervisor/project/ask.h"
#include "supervisor/base/clock.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/project/capabilities.h"
#include "supervisor/project/invocation.h"
#include "supervisor/project/progress.h"
#include "supervisor/project/project.h"
#include "supervisor/project/question.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char no_input[] = "The client sends nothing any more.";

/* May the client be asked this? If not, the capability that is missing is noted. */
static bool may_ask(struct invocation *invocation, struct json_object *question) {
    if (!question_is_known(question, revision_of(invocation->request)))
        return false;
    struct json_object *required = question_capability(question);
    bool able = capabilities_include(invocation->capabilities, required);
    if (able || invocation->missing)
        json_object_put(required);
    else
        invocation->missing = required;
    return able;
}

/* --- answers to the definition --- */

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

/* A request to a legacy client that has no response yet. */
struct asked {
    LIST_ENTRY(asked) link;
    uint64_t number;
    struct invocation *invocation;
    char key[RUN_KEY_MAX_BYTES + 1];
};

static void send_cancelled(struct server *server, uint64_t number) {
    struct buffer *out = output_notification_begin(&server->output, "notifications/cancelled");
    buffer_append_format(
        out, "\"requestId\":\"ask-%" PRIu64 "\",\"reason\":\"The call that asked has ended.\"",
        number);
    output_notification_end(&server->output);
}

void ask_forget(struct invocation *invocation) {
    struct server *server = invocation->server;
    for (struct asked *asked = LIST_FIRST(&server->project->asked), *next; asked; asked = next) {
        next = LIST_NEXT(asked, link);
        if (asked->invocation != invocation)
            continue;
        if (!server->draining)
            send_cancelled(server, asked->number);
        LIST_REMOVE(asked, link);
        free(asked);
    }
    json_object_put(invocation->questions);
    json_object_put(invocation->responses);
    invocation->questions = invocation->responses = NULL;
}

static bool send_question(struct invocation *invocation, const char *key,
                          struct json_object *question) {
    struct project *project = invocation->server->project;
    struct asked *asked = calloc(1, sizeof *asked);
    if (!asked)
        return false;
    asked->number = ++project->last_asked;
    asked->invocation = invocation;
    snprintf(asked->key, sizeof asked->key, "%s", key);
    LIST_INSERT_HEAD(&project->asked, asked, link);
    struct buffer *out = output_line_begin(&invocation->server->output);
    buffer_append_format(
        out, "{\"jsonrpc\":\"2.0\",\"id\":\"ask-%" PRIu64 "\",\"method\":", asked->number);
    json_write_tree(out, json_tree_member(question, "method"));
    buffer_append_text(out, ",\"params\":");
    json_write_tree(out, json_tree_member(question, "params"));
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

static bool is_waiting(const struct project *project, const struct invocation *invocation) {
    const struct asked *asked = NULL;
    LIST_FOREACH(asked, &project->asked, link) {
        if (asked->invocation == invocation)
            return true;
    }
    return false;
}

static void note_failure(struct invocation *invocation, int code, const char *message) {
    invocation->failure_code = code;
    snprintf(invocation->failure, sizeof invocation->failure, "%s", message);
}

static void take_response(struct invocation *invocation, const char *key,
                          struct json_object *response) {
    struct json_object *result = json_tree_member(response, "result");
    struct error error;
    if (!result) {
        struct json_object *refusal = json_tree_member(response, "error");
        const char *message = json_plain_string(json_tree_member(refusal, "message"));
        note_failure(invocation, json_object_get_int(json_tree_member(refusal, "code")),
                     message && *message ? message : "The client refused the question.");
    } else if (json_held_bytes(invocation->responses) + json_held_bytes(result) >
               INVOCATION_HELD_MAX_BYTES) {
        note_failure(invocation, RPC_INVALID_PARAMS, "The response has too many values.");
    } else if (!question_check(json_tree_member(invocation->questions, key), result, &error)) {
        note_failure(invocation, RPC_INVALID_PARAMS, error.text);
    } else {
        json_object_object_add(invocation->responses, key, json_object_get(result));
    }
}

static struct asked *find_asked(const struct project *project, const char *id) {
    struct asked *asked = NULL;
    char own[32];
    if (!project || !id)
        return NULL;
    LIST_FOREACH(asked, &project->asked, link) {
        snprintf(own, sizeof own, "ask-%" PRIu64, asked->number);
        if (strcmp(own, id) == 0)
            return asked;
    }
    return NULL;
}

void project_take_response(struct project *project, struct json_object *response) {
    struct asked *asked = find_asked(project, json_plain_string(json_tree_member(response, "id")));
    if (!asked)
        return;
    struct invocation *invocation = asked->invocation;
    take_response(invocation, asked->key, response);
    LIST_REMOVE(asked, link);
    free(asked);
    if (is_waiting(project, invocation))
        return;
    if (invocation->failure[0])
        answer_failure(invocation, invocation->failure_code, invocation->failure);
    else
        answer_responses(invocation);
}

/* --- modern: a result that asks, or a task that does --- */

static bool is_parked(const struct invocation *invocation) {
    return invocation->questions && (!invocation->request || invocation->request->task);
}

/* Cancels the oldest parked invocation if there are too many: each of them holds a worker. */
static void limit_parked(struct project *project) {
    size_t count = 0;
    struct invocation *invocation = NULL, *oldest = NULL;
    LIST_FOREACH(invocation, &project->invocations, link) {
        if (!is_parked(invocation))
            continue;
        count++;
        if (!oldest || invocation->parked_ns < oldest->parked_ns)
            oldest = invocation;
    }
    if (count > sessions_parked_max(project->server->settings)) {
        ask_forget(oldest);
        call_cancel(oldest->call, "Too many calls wait for their client.");
    }
}

static void park(struct invocation *invocation) {
    invocation->parked_ns = clock_now_ns();
    call_park(invocation->call, true);
}

/* The questions that have no response yet; the caller's. */
static struct json_object *open_questions(const struct invocation *invocation) {
    struct json_object *open = json_object_new_object();
    json_object_object_foreach(invocation->questions, key, question) {
        if (!json_object_object_get_ex(invocation->responses, key, NULL))
            json_object_object_add(open, key, json_object_get(question));
    }
    return open;
}

/* A new round, so that no requestState of an earlier one continues it. */
static void ask_by_task(struct invocation *invocation) {
    invocation->round++;
    task_ask(invocation->request->task, invocation->number, open_questions(invocation));
    park(invocation);
    limit_parked(invocation->server->project);
}

static void ask_by_result(struct invocation *invocation) {
    struct project *project = invocation->server->project;
    struct request *request = invocation->request;
    const struct settings *settings = invocation->server->settings;
    const struct request_state state = {.invocation = invocation->number,
                                        .round = ++invocation->round,
                                        .expires_ns = loop_now_ns(&invocation->server->loop) +
                                                      settings->call_timeout_max_s *
                                                          CLOCK_MS_PER_S * CLOCK_NS_PER_MS,
                                        .binding = invocation->binding};
    char text[REQUEST_STATE_BYTES];
    request_state_write(&project->key, &state, text);
    struct buffer *out = request_input_required(request);
    request_member(request, "inputRequests");
    json_write_tree(out, invocation->questions);
    request_member(request, "requestState");
    json_write_string(out, text);
    invocation->request = NULL;
    park(invocation);
    request_end(request);
    limit_parked(project);
}

static void ask_modern(struct invocation *invocation) {
    if (invocation->request->task)
        ask_by_task(invocation);
    else
        ask_by_result(invocation);
}

/* Takes from RESPONSES those to the questions. False if one is missing or malformed: the same
 * questions are asked again. */
static bool take_responses(struct invocation *invocation, struct json_object *responses) {
    bool all = true;
    json_object_object_foreach(invocation->questions, key, question) {
        struct json_object *response = json_tree_member(responses, key);
        if (question_check(question, response, NULL))
            json_object_object_add(invocation->responses, key, json_object_get(response));
        else
            all = all && json_object_object_get_ex(invocation->responses, key, NULL);
    }
    return all;
}

/* A client that knows the questions may answer them with its first request, each one once. */
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
    if (!invocation->request || invocation->server->draining) {
        answer_failure(invocation, RPC_INTERNAL_ERROR, no_input);
        return;
    }
    json_object_put(invocation->missing);
    invocation->missing = NULL;
    struct json_object *allowed = json_object_new_object();
    json_object_object_foreach(questions, key, question) {
        if (may_ask(invocation, question))
            json_object_object_add(allowed, key, json_object_get(question));
    }
    if (json_object_object_length(allowed) == 0) {
        json_object_put(allowed);
        answer_failure(invocation, RPC_METHOD_NOT_FOUND,
                       "The client did not declare the capability to be asked this.");
        return;
    }
    invocation->questions = allowed;
    invocation->responses = json_object_new_object();
    if (!invocation->request->modern)
        ask_legacy(invocation);
    else if (is_answered_already(invocation))
        answer_responses(invocation);
    else
        ask_modern(invocation);
}

void ask_give_up(struct project *project) {
    for (struct invocation *invocation = LIST_FIRST(&project->invocations), *next; invocation;
         invocation = next) {
        next = LIST_NEXT(invocation, link);
        if (is_parked(invocation)) {
            ask_forget(invocation);
            call_cancel(invocation->call, no_input);
        } else if (invocation->questions) {
            answer_failure(invocation, RPC_INTERNAL_ERROR, no_input);
        }
    }
}

/* --- modern: the request that brings the answers --- */

static const char state_member[] = "requestState";

static struct invocation *find_parked(const struct project *project,
                                      const struct request_state *state) {
    struct invocation *invocation = NULL;
    LIST_FOREACH(invocation, &project->invocations, link) {
        if (invocation->number == state->invocation && is_parked(invocation) &&
            invocation->round == state->round)
            return invocation;
    }
    return NULL;
}

/* Why `inputResponses` is malformed, or NULL. */
static const char *find_fault(const struct invocation *invocation, struct json_object *responses) {
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
    kept->named_session = invocation->named_session;
    invocation->request = kept;
    progress_begin(invocation);
    json_object_put(invocation->capabilities);
    invocation->capabilities = json_object_get(capabilities_of(request, params));
    if (!all) {
        ask_modern(invocation);
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
    struct request_state state;
    if (!request->modern || !project || !json_object_object_get_ex(params, state_member, &member))
        return false;
    const char *text = json_plain_string(member);
    const char *fault =
        text ? request_state_read(&project->key, text,
                                  request_state_binding(&project->key, method, name, arguments),
                                  loop_now_ns(&request->server->loop), &state)
             : "requestState must be a string.";
    struct invocation *invocation = fault ? NULL : find_parked(project, &state);
    if (!fault && !invocation)
        fault = "requestState was used before, or the call that it continues has ended; send the "
                "request anew.";
    if (fault) {
        request_error_invalid(request, state_member, fault);
        return true;
    }
    struct json_object *responses = json_tree_member(params, "inputResponses");
    if (capabilities_refuse_large(request, invocation->responses, responses, params))
        return true;
    fault = find_fault(invocation, responses);
    if (fault)
        request_error_invalid(request, "inputResponses", fault);
    else
        resume(request, invocation, responses, params);
    return true;
}

/* --- modern: the responses to a task --- */

bool project_answer_task(struct request *request, struct task *task, struct json_object *responses,
                         struct json_object *params) {
    struct project *project = request->server->project;
    struct invocation *invocation = NULL;
    if (!project || task->status != TASK_INPUT_REQUIRED)
        return true;
    LIST_FOREACH(invocation, &project->invocations, link) {
        if (invocation->number == task->asker)
            break;
    }
    if (!invocation || !is_parked(invocation))
        return true;
    if (capabilities_refuse_large(request, invocation->responses, responses, params))
        return false;
    if (take_responses(invocation, responses)) {
        task_ask(task, 0, NULL);
        call_park(invocation->call, false);
        answer_responses(invocation);
    } else {
        task_ask(task, invocation->number, open_questions(invocation));
    }
    return true;
}
