/* A server's life: opening, the events of the loop, and the end in its variants. */
#include "supervisor/server/serve.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "supervisor/base/status.h"
#include "supervisor/mcp/modern.h"
#include "supervisor/mcp/server.h"
#include "supervisor/process/confinement.h"
#include "supervisor/project/ask.h"
#include "supervisor/project/project.h"
#include "supervisor/server/builtins.h"
#include "supervisor/server/rpc.h"
#include "supervisor/server/tools.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    EXIT_WAIT_MS = 5000, /* for `exit` after `shutdown`, once nothing runs */
    HURRY_MS = 40        /* for the answers to calls that were killed, if the client reads them */
};

/* --- the end --- */

static void on_exit_wait(void *context) {
    rpc_end_reading(context);
    server_finish(context);
}

/* Lines that are still being read continue to be read in turns, and their requests are refused. */
static void on_grace_over(void *context) {
    struct server *server = context;
    server->shutting_down = true;
    sessions_cancel_all(&server->sessions, "The server is shutting down.");
    if (!server->draining)
        loop_timer_start(&server->loop, &server->grace, EXIT_WAIT_MS, on_exit_wait, server);
}

void server_begin_shutdown(struct server *server) {
    if (server->shutting_down)
        return;
    server->shutting_down = true;
    server_start_grace(server, on_grace_over);
}

void server_drain(struct server *server) {
    if (server->draining)
        return;
    server->draining = true;
    LOG_TRACE(&server->log, &(const struct log_event){.name = "drain"},
              "no more input; %zu calls may end", server->sessions.active);
    input_stop(&server->input);
    project_drain(server->project);
    if (server_is_idle(server))
        server_finish(server);
    else if (!server->shutting_down)
        server_start_grace(server, on_grace_over);
}

static void on_hurry_over(void *context) {
    server_finish(context);
    server_stop(context);
}

/* Ends a drain: what still runs is killed and answered. */
static void hurry(struct server *server) {
    if (server->hurries)
        return;
    loop_timer_start(&server->loop, &server->grace, HURRY_MS, on_hurry_over, server);
    server->hurries = true;
    sessions_cancel_all(&server->sessions, "The server was told to end at once.");
}

/* The first signal begins a drain, as the end of input does. */
static void take_signal(struct server *server) {
    const bool is_ending = server->draining || server->shutting_down;
    server_drain(server);
    if (is_ending)
        hurry(server);
}

/* --- what the loop calls --- */

static void on_input_end(void *context) {
    server_drain(context);
}

static void on_signal(void *context, uint32_t events) {
    (void)events;
    struct server *server = context;
    for (int number; (number = signals_next(server->signal_fd)) != 0;) {
        if (number == SIGCHLD)
            pool_reap(&server->pool);
        else
            take_signal(server);
    }
}

/* --- opening --- */

static bool open_signals(struct server *server, struct error *error) {
    server->signal_fd = signals_open(error);
    return server->signal_fd >= 0 &&
           loop_watch_add(&server->loop, &server->signal_watch, server->signal_fd, EPOLLIN,
                          on_signal, server, error);
}

/* Chooses minimal mode where a worker cannot be confined. Where only the granted files prevent
 * that, the server does not start: false with *error. */
static bool choose_mode(struct server *server, struct error *error) {
    const struct settings *settings = server->settings;
    struct error why;
    if (server->settings->minimal) {
        server->minimal = true;
        snprintf(server->minimal_reason, sizeof server->minimal_reason,
                 "the setting minimal asks for it.");
    } else if (!confinement_is_possible(settings, &why)) {
        bool grants = settings->allow_read.count || settings->scratch_mb;
        if (grants && confinement_without_grants_is_possible(settings))
            return error_set(error, 0, "a worker cannot be confined here: %.180s", why.text);
        server->minimal = true;
        snprintf(server->minimal_reason, sizeof server->minimal_reason,
                 "a worker cannot be confined here: %.180s.", why.text);
    }
    if (server->minimal) {
        const struct log_event event = {.level = LOG_WARNING_LEVEL, .name = "minimal-mode"};
        log_write(&server->log, &event, "%s", server->minimal_reason);
        pool_dismiss_launcher(&server->pool);
    }
    return true;
}

/* Many sessions need more descriptors than the usual soft limit: each has the channels of its head,
 * checkpoints and fork, a listener and two pipes, and twice that while processes end. */
static void raise_descriptor_limit(const struct settings *settings) {
    enum { PER_SESSION = 8, PER_RUN = 16, OTHERS = 256 };
    descriptors_raise_limit(2 * confinement_sessions(settings) *
                                (PER_SESSION + (uint64_t)settings->session_history) +
                            PER_RUN * (uint64_t)settings->call_running_max + OTHERS);
}

/* False with *error. The caller closes what was opened: server_close restores the flags of the
 * standard streams, which other processes share. */
static bool server_open(struct server *server, struct error *error) {
    const struct settings *settings = server->settings;
    const struct input_handler handler = {.line = rpc_handle_line,
                                          .too_long = rpc_handle_too_long,
                                          .end = on_input_end,
                                          .context = server};
    log_open(&server->log, (enum log_level)settings->log_level,
             (enum log_format)settings->log_format);
    raise_descriptor_limit(settings);
    server->log.hook = client_log_event;
    server->log.hook_context = server;
    server->log.hook_least = server->client_log.least;
    if (!loop_open(&server->loop, error))
        return false;
    server->loop.before_wait = server_before_wait;
    server->loop.before_wait_context = server;
    if (!open_signals(server, error) ||
        !pool_open(&server->pool, &server->loop, &server->log, settings, error) ||
        !output_open(&server->output, &server->loop, &server->log, settings, server_output_changed,
                     server, error) ||
        !input_open(&server->input, &server->loop, (size_t)settings->request_max_bytes, &handler,
                    error) ||
        !stdio_detach(error))
        return false;
    sessions_open(&server->sessions, &server->loop, &server->log, settings, &server->pool);
    server->sessions.keeps_output = true;
    transcripts_open(&server->transcripts);
    server->builtins = builtins_open(settings, error);
    return server->builtins != NULL;
}

/* Until the first scan of the project has ended nothing is read. */
static void before_wait_for_project(void *context) {
    struct server *server = context;
    if (project_is_settled(server->project)) {
        server->awaits_project = false;
        server->loop.before_wait = server_before_wait;
        server_resume_input(server);
    }
    server_before_wait(server);
}

/* Begins to scan the project, if there is one. */
static bool open_project(struct server *server, struct error *error) {
    if (server->minimal || !server->settings->project.count)
        return true;
    server->project = project_open(server, builtins_have, error);
    server->awaits_project = server->project != NULL;
    if (!server->project)
        return false;
    server->loop.before_wait = before_wait_for_project;
    input_pause(&server->input, true);
    return true;
}

/* In minimal mode nothing is evaluated, and what is possible of it must do. */
static bool confine(struct server *server, struct error *error) {
    const struct log_event event = {.level = LOG_WARNING_LEVEL, .name = "unconfined"};
    struct error why;
    if (server->settings->state.count && !server->minimal &&
        !sessions_save(&server->sessions, error))
        return false;
    if (sessions_confine_supervisor(&server->sessions, server->minimal ? &why : error))
        return true;
    if (server->minimal)
        log_write(&server->log, &event, "%s", why.text);
    return server->minimal;
}

/* Requests that are still in flight are answered if the server failed or hurries, so that the
 * client knows. */
static void free_requests(struct server *server) {
    struct request *request;
    rpc_drop_line(server);
    if (server->reading)
        rpc_batch_close(server, server->reading);
    while ((request = server->requests.in_flight) != NULL)
        if (server->exit_status == STATUS_INTERNAL)
            request_error(request, RPC_INTERNAL_ERROR, "The server has failed and is ending.");
        else if (server->hurries && !request->silent)
            request_error(request, RPC_CANCELLED, "The server was told to end at once.");
        else
            request_drop(request);
}

/* After the last flush. Answers that nobody read are no success. */
static void report_lost_output(struct server *server) {
    const struct output *output = &server->output;
    if (server->exit_status != 0 || (output->end != OUTPUT_LOST && output_backlog(output) == 0))
        return;
    fprintf(stderr, "eclave: answers were lost, writing to standard output: %s\n",
            output->failure ? strerror(output->failure) : "the client does not read");
    server->exit_status = STATUS_INTERNAL;
}

static void server_close(struct server *server) {
    server->pool.workers.left_alone = server->hurries;
    cursors_free(&server->cursors);
    transcripts_close(&server->transcripts);
    builtins_close(server->builtins);
    sessions_close(&server->sessions);
    project_close(server->project);
    json_object_put(server->client_capabilities);
    free_requests(server);
    tasks_free(&server->tasks);
    output_flush(&server->output);
    report_lost_output(server);
    pool_close(&server->pool);
    input_close(&server->input);
    output_close(&server->output);
    loop_watch_remove(&server->loop, &server->signal_watch);
    if (server->signal_fd >= 0)
        close(server->signal_fd);
    log_close(&server->log);
    loop_close(&server->loop);
}

int server_run(const struct settings *settings, const struct method_table *methods) {
    struct server server = {.settings = settings,
                            .methods = methods,
                            .loop.epoll_fd = -1,
                            .signal_fd = -1,
                            .client_log = client_log_make(),
                            .faults_left =
                                settings->fault == FAULT_NONE ? 0 : settings->fault_count};
    struct error error;
    if (!server_open(&server, &error) || !choose_mode(&server, &error) ||
        !open_project(&server, &error) || !confine(&server, &error)) {
        fprintf(stderr, "eclave: %s\n", error.text);
        server_close(&server);
        return STATUS_USAGE;
    }
    if (!loop_run(&server.loop, &error)) {
        fprintf(stderr, "eclave: %s\n", error.text);
        server.exit_status = STATUS_INTERNAL;
    }
    server_close(&server);
    return server.exit_status;
}
