/* The prompt: two processes. This one becomes the editor (editor/editor.h), which has the
 * terminal's input and is not confined; its child is a supervisor like any other, which prints the
 * results. */
#include "supervisor/repl/repl.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "common/editing.h"
#include "common/frame.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/status.h"
#include "supervisor/repl/repl_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROMPT_BYTES = 200, DESCRIPTORS_WANTED = 16384 };

static const char first_session[] = "main";

/* --- prompts and calls --- */

struct session *repl_session(const struct repl *repl) {
    struct sessions *all = (struct sessions *)&repl->one_shot.sessions;
    struct session *found = sessions_find(all, string_span(repl->place->name));
    return found ? found : sessions_own(all, repl->place->name);
}

void repl_end(struct repl *repl) {
    repl->ended = true;
    loop_stop(&repl->one_shot.loop);
}

static void send_prompt(void *context) {
    struct repl *repl = context;
    const struct session *session = repl_session(repl);
    const uint64_t number = session ? session_facts(session).number : 0;
    cleanup_buffer struct buffer prompt = buffer_make(PROMPT_BYTES);
    place_package(repl->place, number, &prompt);
    buffer_append_format(&prompt, "[%s %llu]> ", repl->place->name, (unsigned long long)number);
    const struct frame_header header = {
        .type = EDITING_PROMPT, .call = repl->interrupted, .length = (uint32_t)prompt.length};
    repl->interrupted = false;
    if (fflush(stdout) != 0 || !frame_send(repl->channel, &header, prompt.data, NULL, 0, NULL))
        repl_end(repl);
}

void repl_answered(struct repl *repl) {
    repl->call = NULL;
    repl->timed = false;
    if (!repl->ended)
        loop_timer_start(&repl->one_shot.loop, &repl->next, 0, send_prompt, repl);
}

void repl_submit(struct repl *repl, const struct call_request *request) {
    struct session *session = repl_session(repl);
    repl->call = session ? session_submit(session, request) : NULL;
    if (repl->call) {
        session_step(session);
        return;
    }
    show_mistake(repl, "out of memory");
    repl_answered(repl);
}

static void on_done(void *context, const struct evaluation *evaluation) {
    struct repl *repl = context;
    const struct session *session = repl_session(repl);
    if (session && evaluation->result.package.bytes)
        place_note(repl->place, session_facts(session).number, evaluation->result.package);
    show_evaluation(repl, evaluation);
    repl_answered(repl);
}

void repl_evaluate(struct repl *repl, struct span code) {
    repl_submit(
        repl, &(struct call_request){.code = code,
                                     .timeout_ms = repl->settings->call_timeout_s * CLOCK_MS_PER_S,
                                     .done = on_done,
                                     .context = repl});
}

/* --- events --- */

static void on_frame(void *context, uint32_t events) {
    (void)events;
    struct repl *repl = context;
    struct frame_header header;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
    cleanup_free unsigned char *payload = NULL;
    /* The editor, which is trusted, writes a frame at once. */
    if (frame_receive(repl->channel, &header, &payload, descriptors, &count, NULL) != 1) {
        repl_end(repl);
        return;
    }
    const struct span text = {payload ? payload : (const unsigned char *)"", header.length};
    if (repl->call || repl->next.active) /* which an editor never does */
        repl_end(repl);
    else if (header.type == EDITING_COMMAND)
        repl_command(repl, text);
    else
        repl_evaluate(repl, text);
}

static void on_interrupt(void *context, int number) {
    struct repl *repl = context;
    repl->interrupted = repl->call != NULL;
    if (repl->call)
        call_cancel(repl->call, "Interrupted.");
    if (number != SIGINT)
        repl_end(repl);
}

/* --- start and end --- */

static bool run(struct repl *repl, struct error *error) {
    struct one_shot *one_shot = &repl->one_shot;
    one_shot->interrupted = on_interrupt;
    one_shot->interrupted_context = repl;
    one_shot->sessions.reports_usage = false;
    one_shot->sessions.no_client = true;
    /* A line of the log would appear in what is being typed. */
    if (!repl->settings->log_level_set) {
        one_shot->log.least = LOG_ERROR_LEVEL;
        one_shot->sessions.unlogged = true;
    }
    if (!loop_watch_add(&one_shot->loop, &repl->watch, repl->channel, EPOLLIN, on_frame, repl,
                        error))
        return false;
    show_banner(repl);
    pool_start(&one_shot->pool);
    repl_answered(repl);
    bool ran = loop_run(&one_shot->loop, error);
    loop_timer_stop(&one_shot->loop, &repl->next);
    loop_watch_remove(&one_shot->loop, &repl->watch);
    return ran;
}

static int supervise(const struct settings *settings, int channel) {
    struct repl repl = {
        .settings = settings, .channel = channel, .colours = colours_of(stdout), .status = 0};
    struct error error;
    int status;
    TAILQ_INIT(&repl.places);
    descriptors_raise_limit(DESCRIPTORS_WANTED);
    if (!one_shot_open_confined(&repl.one_shot, settings, &status, &error)) {
        shown_complain(error.text);
        return status;
    }
    repl.place = places_add(&repl.places, string_span(first_session));
    if (!repl.place || !run(&repl, &error)) {
        shown_complain(repl.place ? error.text : "out of memory");
        repl.status = STATUS_INTERNAL;
    }
    one_shot_close(&repl.one_shot);
    places_free(&repl.places);
    return repl.status;
}

/* Does not return. */
_Noreturn static void become_editor(const char *path, int channel, pid_t supervisor,
                                    int64_t input_max) {
    char descriptor[16], pid[16], bytes[24];
    snprintf(descriptor, sizeof descriptor, "%d", channel);
    snprintf(pid, sizeof pid, "%d", supervisor);
    snprintf(bytes, sizeof bytes, "%lld", (long long)input_max);
    execl(path, path, descriptor, pid, bytes, NULL);
    perror("eclave: starting the editor");
    close(channel); /* at which the supervisor ends */
    waitpid(supervisor, NULL, 0);
    _exit(STATUS_INTERNAL);
}

static bool open_channel(int ends[2], struct error *error) {
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 ||
           error_set(error, errno, "making a channel to the editor");
}

int repl_run(const struct settings *settings) {
    char path[INSTALLED_PATH_BYTES];
    struct error error;
    int ends[2];
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        shown_complain("repl needs a terminal; to evaluate a file or standard input: eclave eval "
                       "FILE, or eclave eval -");
        return STATUS_USAGE;
    }
    if (!program_find("eclave-editor", path, &error) || !open_channel(ends, &error)) {
        shown_complain(error.text);
        return STATUS_INTERNAL;
    }
    fflush(NULL);
    pid_t supervisor = fork();
    if (supervisor < 0) {
        shown_complain("the supervisor cannot be started");
        return STATUS_INTERNAL;
    }
    if (supervisor > 0) {
        fcntl(ends[0], F_SETFD, 0); /* not closed at exec */
        close(ends[1]);
        become_editor(path, ends[0], supervisor, settings->request_max_bytes);
    }
    close(ends[0]);
    int status = supervise(settings, ends[1]);
    close(ends[1]);
    return status;
}
