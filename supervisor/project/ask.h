/* Questions of running definitions to the client. A legacy client gets requests of ours, whose
 * responses come by project_take_response; a modern one gets a result that asks, and sends its
 * request anew. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_ASK_H
#define ECLAVE_SUPERVISOR_PROJECT_ASK_H

#include <json-c/json.h>
#include <stdbool.h>

struct project;
struct request;
struct invocation;
struct invocation_form;

/* Asks QUESTIONS (run.h's shape) for RUN. What the client did not say it can do is not asked; when
 * that is all of it the run is told so. */
void ask_client(struct invocation *invocation, struct json_object *questions);

/* Forgets the questions of a run that ends. */
void ask_forget(struct invocation *invocation);

/* No answers come any more. */
void ask_give_up(struct project *project);

/* A response of the client. What answers no question of ours is dropped. PROJECT may be NULL. */
void project_take_response(struct project *project, struct json_object *response);

/* Is this request the next of one that was answered with questions? Then it is served or refused
 * here, and true is returned. NAME and ARGUMENTS are what it is bound by. */
bool project_resume(struct request *request, const char *method, const char *name,
                    struct json_object *arguments, struct json_object *params);

#endif
