/* Putting the questions of a running definition to the client. A legacy client receives requests
 * of ours, whose responses project_take_response gets; a modern client receives a result that asks,
 * and sends its request again with the answers. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_ASK_H
#define ECLAVE_SUPERVISOR_PROJECT_ASK_H

#include <json-c/json.h>
#include <stdbool.h>

struct project;
struct request;
struct task;
struct invocation;

/* Asks QUESTIONS (in the shape of run.h) for INVOCATION. Those for which the client did not declare
 * the capability are left out; if that is all of them, the definition gets an error. */
void ask_client(struct invocation *invocation, struct json_object *questions);

/* Forgets the questions of an invocation that ends. */
void ask_forget(struct invocation *invocation);

/* Ends all waiting, because the client sends nothing any more. */
void ask_give_up(struct project *project);

/* Takes a response of the client; one to no question of ours is dropped. PROJECT may be NULL. */
void project_take_response(struct project *project, struct json_object *response);

/* Does this request continue one that was answered with questions? If so, it is served or refused
 * here. NAME and ARGUMENTS are those that its requestState is bound to. */
bool project_resume(struct request *request, const char *method, const char *name,
                    struct json_object *arguments, struct json_object *params);

/* Takes RESPONSES, an object, to the questions of TASK, and continues the task when none is open.
 * Those that answer no question, or are malformed, are left out. False if REQUEST, whose parameters
 * are PARAMS, was refused because they are too large. */
bool project_answer_task(struct request *request, struct task *task, struct json_object *responses,
                         struct json_object *params);

#endif
