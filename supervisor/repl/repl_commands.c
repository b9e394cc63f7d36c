/* The commands of the prompt. */
#include "supervisor/base/nearest.h"
#include "supervisor/repl/repl_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- ,undo and ,reset --- */

static void on_undone(void *context, const struct evaluation *evaluation) {
    struct repl *repl = context;
    const struct session *session = repl_session(repl);
    const struct session_facts facts = session ? session_facts(session) : (struct session_facts){0};
    if (evaluation->outcome == OUTCOME_VALUE)
        show_note(repl, "session %s is back at state %llu", repl->place->name,
                  (unsigned long long)facts.number);
    else if (evaluation->outcome == OUTCOME_REFUSED)
        show_mistake(repl, "at most %zu call%s of session %s can be taken back now", facts.history,
                     facts.history == 1 ? "" : "s", repl->place->name);
    else
        show_mistake(repl, "%s", evaluation->cause);
    repl_answered(repl);
}

static void undo(struct repl *repl, struct span argument) {
    char text[24];
    char *end = text;
    snprintf(text, sizeof text, "%.*s", (int)argument.length, (const char *)argument.bytes);
    errno = 0;
    long long steps = argument.length ? strtoll(text, &end, 10) : 1;
    if (*end || errno || steps < 1 || argument.length >= sizeof text) {
        show_mistake(repl, ",undo takes the number of calls to take back, from 1");
        repl_answered(repl);
        return;
    }
    repl_submit(repl,
                &(struct call_request){
                    .kind = CALL_ROLLBACK, .steps = steps, .done = on_undone, .context = repl});
}

static void on_reset(void *context, const struct evaluation *evaluation) {
    struct repl *repl = context;
    if (evaluation->outcome == OUTCOME_VALUE)
        show_note(repl, "session %s begins afresh", repl->place->name);
    else
        show_mistake(repl, "%s", evaluation->cause);
    repl_answered(repl);
}

static void reset(struct repl *repl, struct span argument) {
    (void)argument;
    repl_submit(repl,
                &(struct call_request){.kind = CALL_RESET, .done = on_reset, .context = repl});
}

/* --- ,branch, ,session and ,sessions --- */

/* Whether NAME can be that of a new session. If not, shows why. */
static bool may_add(struct repl *repl, struct span name) {
    size_t count = 0;
    struct place *place;
    TAILQ_FOREACH(place, &repl->places, entry)
    count++;
    if (!session_name_is_valid(name))
        show_mistake(repl, "the name of a session has " SESSION_NAME_RULE);
    else if (count >= (size_t)repl->settings->session_max)
        show_mistake(repl, "there are already %zu sessions (session.max)", count);
    else
        return true;
    return false;
}

static void on_branched(void *context, const struct evaluation *evaluation) {
    struct repl *repl = context;
    const struct place *origin = repl->place;
    struct place *place = NULL;
    if (evaluation->outcome == OUTCOME_VALUE)
        place = places_add(&repl->places, string_span(repl->branch));
    if (place) {
        place_copy_package(place, origin, repl->branched_at);
        repl->place = place;
        show_note(repl, "this is %s, a copy of %s; ,session %s goes back", place->name,
                  origin->name, origin->name);
    } else {
        show_mistake(repl, "%s", evaluation->cause[0] ? evaluation->cause : "out of memory");
    }
    repl_answered(repl);
}

static void branch(struct repl *repl, struct span name) {
    const struct place *known = places_find(&repl->places, name);
    if (known)
        show_mistake(repl, "there is a session %s; ,session %s switches to it", known->name,
                     known->name);
    else if (repl->settings->scratch_mb)
        show_mistake(repl, "a session with a scratch directory cannot be copied: the copy would "
                           "share its files");
    if (known || repl->settings->scratch_mb || !may_add(repl, name)) {
        repl_answered(repl);
        return;
    }
    const struct session *origin = repl_session(repl);
    repl->branched_at = origin ? session_facts(origin).number : 0;
    snprintf(repl->branch, sizeof repl->branch, "%.*s", (int)name.length, (const char *)name.bytes);
    repl_submit(repl, &(struct call_request){.kind = CALL_COPY,
                                             .at = -1,
                                             .name = string_span(repl->branch),
                                             .done = on_branched,
                                             .context = repl});
}

static void switch_session(struct repl *repl, struct span name) {
    struct place *place = places_find(&repl->places, name);
    if (!place && may_add(repl, name)) {
        place = places_add(&repl->places, name);
        if (place)
            show_note(repl, "this is %s, a new session", place->name);
        else
            show_mistake(repl, "out of memory");
    }
    if (place)
        repl->place = place;
    repl_answered(repl);
}

static void list_sessions(struct repl *repl, struct span argument) {
    (void)argument;
    const struct place *place;
    TAILQ_FOREACH(place, &repl->places, entry) {
        const struct session *found =
            sessions_find(&repl->one_shot.sessions, string_span(place->name));
        const struct session_facts facts = found ? session_facts(found) : (struct session_facts){0};
        printf("%s %-20s state %llu, %zu call%s can be taken back\n",
               place == repl->place ? "*" : " ", place->name, (unsigned long long)facts.number,
               facts.history, facts.history == 1 ? "" : "s");
    }
    repl_answered(repl);
}

/* --- the others --- */

static void time_form(struct repl *repl, struct span form) {
    repl->timed = true;
    repl_evaluate(repl, form);
}

static void quit(struct repl *repl, struct span argument) {
    (void)argument;
    repl_end(repl);
}

/* The editor replaces ,load FILE by the contents of the file. */
static void load(struct repl *repl, struct span argument) {
    (void)argument;
    show_mistake(repl, ",load takes the name of a file");
    repl_answered(repl);
}

static void help(struct repl *repl, struct span argument);

static const struct repl_command {
    const char *name, *argument, *help;
    bool needs_argument, has_none;
    void (*run)(struct repl *repl, struct span argument);
} commands[] = {
    {"undo", "[N]", "take back the last call, or the last N", false, false, undo},
    {"branch", "NAME", "copy this session and continue in the copy", true, false, branch},
    {"session", "NAME", "switch to a session, which is made if it is new", true, false,
     switch_session},
    {"sessions", "", "list the sessions", false, true, list_sessions},
    {"reset", "", "begin this session afresh", false, true, reset},
    {"load", "FILE", "evaluate a file of this machine, as one call", true, false, load},
    {"time", "FORM", "evaluate a form and show how long it took", true, false, time_form},
    {"help", "", "show this list", false, true, help},
    {"quit", "", "leave", false, true, quit},
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void help(struct repl *repl, struct span argument) {
    (void)argument;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        char left[32];
        snprintf(left, sizeof left, ",%s %s", commands[i].name, commands[i].argument);
        printf("  %-16s %s\n", left, commands[i].help);
    }
    printf(
        "The prompt shows the package, the session and the number of its state. Each call makes a\n"
        "new state; a call that runs out of time (%lld s), crashes or is stopped makes none.\n",
        (long long)repl->settings->call_timeout_s);
    repl_answered(repl);
}

static struct span trimmed(struct span text) {
    while (text.length && isspace(text.bytes[0])) {
        text.bytes++;
        text.length--;
    }
    while (text.length && isspace(text.bytes[text.length - 1]))
        text.length--;
    return text;
}

static void refuse_command(struct repl *repl, struct span name) {
    char word[NEAREST_MAX_BYTES];
    snprintf(word, sizeof word, "%.*s", (int)name.length, (const char *)name.bytes);
    struct nearest nearest = nearest_to(word);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        nearest_offer(&nearest, commands[i].name);
    const struct hint hint = nearest_hint(&nearest, "");
    show_mistake(repl, "unknown command %s%s", word, hint.text[0] ? hint.text : "; see ,help");
    repl_answered(repl);
}

void repl_command(struct repl *repl, struct span line) {
    struct span argument = trimmed(line), name = {argument.bytes + 1, 0};
    while (name.length + 1 < argument.length && !isspace(name.bytes[name.length]))
        name.length++;
    argument = trimmed((struct span){name.bytes + name.length, argument.length - 1 - name.length});
    const struct repl_command *command = NULL;
    for (size_t i = 0; i < COMMAND_COUNT && !command; i++)
        if (span_equal(name, string_span(commands[i].name)))
            command = &commands[i];
    if (!command) {
        refuse_command(repl, name);
    } else if ((command->needs_argument && !argument.length) ||
               (command->has_none && argument.length)) {
        show_mistake(repl, "usage: ,%s %s", command->name, command->argument);
        repl_answered(repl);
    } else {
        command->run(repl, argument);
    }
}
