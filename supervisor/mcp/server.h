/* One connection: the state that everything which serves it shares. */
#ifndef ECLAVE_SUPERVISOR_MCP_SERVER_H
#define ECLAVE_SUPERVISOR_MCP_SERVER_H

#include "supervisor/base/input.h"
#include "supervisor/base/loop.h"
#include "supervisor/mcp/client_log.h"
#include "supervisor/mcp/cursor.h"
#include "supervisor/mcp/output.h"
#include "supervisor/mcp/request.h"
#include "supervisor/mcp/revision.h"
#include "supervisor/mcp/task.h"
#include "supervisor/mcp/transcript.h"
#include "supervisor/process/pool.h"
#include "supervisor/session/session.h"
#include "supervisor/settings/settings.h"
#include <json-c/json.h>
#include <stdbool.h>

struct builtins;
struct method_table;
struct project;
struct rpc_line;

struct server {
    const struct settings *settings;
    const struct method_table *methods; /* the table that rpc.c dispatches by */
    struct loop loop;
    struct log log;
    struct input input;
    struct output output;
    struct pool pool;
    struct sessions sessions;
    struct requests requests;
    /* What is being read in turns of the loop; no other line is read meanwhile. */
    struct rpc_line *line;       /* a long line, or a long element of the batch */
    struct rpc_batch *reading;   /* the batch whose elements are being handled */
    struct loop_timer read_turn; /* its next turn */
    struct cursors cursors;
    struct transcripts transcripts;
    struct tasks tasks;
    struct builtins *builtins; /* the resources and prompts without a project */
    struct project *project;   /* the user's tools, resources and prompts; NULL without any, and in
                                  minimal mode */
    bool offers_project;       /* a scan of it has succeeded; if not, its tools only may come */
    struct loop_watch signal_watch;
    int signal_fd;

    struct client_log client_log;

    /* The legacy conversation. */
    const struct revision *revision;         /* NULL before `initialize` */
    bool initialized;                        /* `notifications/initialized` was received */
    struct json_object *client_capabilities; /* from `initialize`; NULL: none */
    bool declared_project;            /* `initialize` was answered with resources and prompts */
    bool client_closes_on_late_reply; /* the client closes the connection when it receives -32001 */

    /* The end. */
    bool shutting_down;           /* `shutdown` was served; new work is refused */
    bool draining;                /* no more input; running calls have their grace */
    bool finishing;               /* nothing runs; what is queued is being written */
    bool hurries;                 /* the end does not wait for calls or for the client */
    struct request *exit_request; /* `exit` with an id, which is answered last */
    struct loop_timer grace, resume, warm_up;
    int exit_status;

    bool awaits_project; /* its first scan has not ended; nothing is read before */
    bool minimal;
    char minimal_reason[ERROR_TEXT_BYTES]; /* with minimal */
    int64_t faults_left;                   /* for tests: answers to ping still to be corrupted */
};

/* Boots the zygote while the conversation continues, unless in minimal mode. Called when the client
 * shows that it will stay. */
void server_warm_up(struct server *server);

/* Ends the loop. CONTEXT is the server. */
void server_stop(void *context);
/* Calls OVER after shutdown.grace_s. Does nothing if the server hurries. */
void server_start_grace(struct server *server, void (*over)(void *context));
/* Ends the server: no more input, and what is queued is written for as long as the client reads. */
void server_finish(struct server *server);
/* No call runs, and no long line or batch is being read. */
bool server_is_idle(const struct server *server);
/* Resumes reading, and calls that were held back. CONTEXT is the server. */
void server_resume_input(void *context);
/* Stops reading while the client is behind with reading, and resumes in the loop's next round. */
void server_regulate_input(struct server *server);
/* The output's backlog changed, or the output ended. CONTEXT is the server. */
void server_output_changed(void *context);
/* Called by the loop before it waits: sends what the round queued. CONTEXT is the server. */
void server_before_wait(void *context);
/* Called when a call is done. Ends the server if it was only waiting for this call. */
void server_call_done(struct server *server);
/* Called when a long line or all elements of a batch were handled: the following lines are read, or
 * the server ends if it was only waiting for this. */
void server_read_done(struct server *server);

#endif
