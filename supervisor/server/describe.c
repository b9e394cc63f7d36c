/* The texts of tools/list and the instructions. A tool or argument has one row; a condition in the
 * text is a condition on the surroundings, never a sentence about both cases. */
#include "supervisor/server/describe.h"
#include "policy/policy.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/server.h"

#include <string.h>

enum { NAMES_SHOWN = 8, NAMES_IN_INSTRUCTIONS = 4, NAME_BYTES_SHOWN = 100 };

struct surroundings describe_settings(const struct settings *settings, const char *implicit) {
    bool forks = !settings->degraded;
    return (struct surroundings){.settings = settings,
                                 .implicit = implicit,
                                 .undoes = forks,
                                 .rolls_back = forks && settings->session_history > 0,
                                 .copies = forks && !settings->scratch_mb};
}

struct surroundings describe_surroundings(const struct server *server,
                                          const struct request *request) {
    return describe_settings(server->settings, tool_implicit_session(server, request));
}

/* --- parts --- */

void describe_size(struct buffer *text, int64_t bytes) {
    double mib = (double)bytes / (1 << 20);
    buffer_append_format(text, mib >= 10 ? "%.0f MiB" : "%.2g MiB", mib);
}

void describe_version(struct buffer *text) {
    buffer_append_text(text, "ECL " ECLAVE_ECL_VERSION);
}

/* Appends NAMES, the first after LEAD and the others after a comma: at most MOST of them and none
 * that is very long, then the number of the others. */
static void append_names(struct buffer *text, const char *lead, const char *const *names,
                         size_t count, size_t most) {
    size_t shown = 0;
    for (size_t i = 0; i < count && shown < most; i++)
        if (strlen(names[i]) <= NAME_BYTES_SHOWN)
            buffer_append_format(text, "%s%s", shown++ ? ", " : lead, names[i]);
    if (shown < count)
        buffer_append_format(text, "%s%zu more", shown ? " and " : lead, count - shown);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void describe_libraries(struct buffer *text, const struct settings *settings, size_t most) {
    const struct name_list *systems = &settings->systems;
    const struct path_list *preload = &settings->preload;
    const char *names[NAME_LIST_MAX + PATH_LIST_MAX] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < systems->count; i++)
        names[count++] = systems->names[i];
    for (size_t i = 0; i < preload->count; i++)
        names[count++] = base_name(preload->paths[i]);
    append_names(text, "Loaded: ", names, count, most);
    buffer_append_text(text, count ? "." : "No library is loaded.");
    if (!systems->count && !settings->allow_read.count)
        buffer_append_text(text, " There is no ASDF and no Quicklisp.");
}

void describe_files(struct buffer *text, const struct settings *settings, size_t most) {
    const struct path_list *readable = &settings->allow_read;
    buffer_append_text(text, readable->count || settings->scratch_mb
                                 ? "No network, other programs or threads."
                                 : "No files, network, other programs or threads.");
    append_names(text, " Files can be read and loaded below ", (const char *const *)readable->paths,
                 readable->count, most);
    if (readable->count)
        buffer_append_text(text, ".");
    if (settings->scratch_mb)
        buffer_append_format(text,
                             " Each session may keep files of %lld MiB in " POLICY_SCRATCH
                             ", which no rollback restores.",
                             (long long)settings->scratch_mb);
}

static void append_time_limit(struct buffer *text, const struct settings *settings) {
    buffer_append_format(text, "%lld s", (long long)settings->call_timeout_s);
    if (settings->call_timeout_max_s > settings->call_timeout_s)
        buffer_append_format(text, " (`timeout` up to %lld s)",
                             (long long)settings->call_timeout_max_s);
}

static void append_undone(struct buffer *text, const struct surroundings *here) {
    buffer_append_text(text, "A call that runs out of time or memory, crashes, exits, floods or is "
                             "cancelled ");
    buffer_append_text(text, here->undoes
                                 ? "is undone: the session is as it was before the call."
                                 : "ends its session: the next call finds nothing defined.");
}

/* An example with MEMBERS, and with the session where that is required. */
static void append_example(struct buffer *text, const struct surroundings *here,
                           const char *members) {
    const char *session = here->implicit ? "" : "\"session\": \"work\"";
    buffer_append_format(text, " Example: {%s%s%s}", session, *session && *members ? ", " : "",
                         members);
}

/* --- the tools --- */

static void evaluate(struct buffer *text, const struct surroundings *here) {
    const struct settings *settings = here->settings;
    buffer_append_text(text, "Evaluate Common Lisp (");
    describe_version(text);
    buffer_append_text(text, ") in a confined process. Answers with what was printed, warnings, "
                             "and `=> value` for each value of the last form. ");
    describe_libraries(text, settings, NAMES_SHOWN);
    buffer_append_text(text, " ");
    describe_files(text, settings, NAMES_SHOWN);
    buffer_append_text(text, "\nAn error answers `[ERROR] TYPE`, a message and a backtrace; what "
                             "the forms before the failing one did is kept. ");
    append_undone(text, here);
    if (here->implicit)
        buffer_append_format(text,
                             "\nDefinitions stay in the session `%s` unless you name another.",
                             here->implicit);
    else
        buffer_append_format(text,
                             "\nTo keep definitions, pass the same `session` in each call. A call "
                             "without it runs in a new session, which the last line names (`; "
                             "session NAME`); pass that on to continue there. Of those that no "
                             "call continues, the newest %lld stay.",
                             (long long)settings->session_unnamed_max);
    buffer_append_text(text, "\nLimits: ");
    append_time_limit(text, settings);
    buffer_append_format(text, ", %lld MiB of heap, ", (long long)settings->session_memory_mb);
    describe_size(text, settings->output_max_bytes);
    buffer_append_format(text,
                         " printed. Lists show 100 elements and 10 levels, a value %lld "
                         "characters, an answer %lld; what is left out is counted, and read-output "
                         "reads it. An unreadable object shows as #<FOO @1>, which inspect-lisp "
                         "takes. `*` is the last value.",
                         (long long)settings->value_max_chars, (long long)settings->text_max_chars);
    buffer_append_text(text, "\nExample: (defun sq (x) (* x x)) (sq 7) answers => 49");
}

static void code(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "Source of one or more forms, read and evaluated one at a time.");
}

static void package(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text,
                       "Package to read and evaluate in, for this call only. in-package lasts.");
}

static void timeout(struct buffer *text, const struct surroundings *here) {
    buffer_append_text(text, "Seconds this call may run.");
    if (here->settings->timeout_reply == TIMEOUT_REPLY_RESULT)
        buffer_append_text(text, " Beyond, the answer is `[ERROR] TIMEOUT`.");
}

static void evaluate_session(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "A name of your choice (1-64 of A-Z a-z 0-9 _ . -), opened by its "
                             "first call, or the name in an earlier answer.");
}

static void open_session(struct buffer *text, const struct surroundings *here) {
    buffer_append_text(text, "Open a session");
    if (here->copies)
        buffer_append_text(text,
                           ": fresh, or with `from` as an independent copy of another one, in "
                           "milliseconds, to try something without touching the original. "
                           "Example: {\"from\": \"work\", \"name\": \"try\"}");
    else
        buffer_append_text(text, " that begins fresh. Sessions cannot be copied here.");
}

static void open_name(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "Its name, 1-64 of A-Z a-z 0-9 _ . -; else one is made up.");
}

static void open_from(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "Session to copy.");
}

static void open_at(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text,
                       "With `from`: copy its state after this many kept calls, a number from "
                       "list-sessions, instead of the present one.");
}

static void rollback(struct buffer *text, const struct surroundings *here) {
    buffer_append_text(text, "Restore the state before the last `steps` calls of a session, "
                             "definitions included. Calls that were undone do not count.");
    append_example(text, here, "\"steps\": 1");
}

static void rollback_steps(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "Number of calls to undo.");
}

static void inspect(struct buffer *text, const struct surroundings *here) {
    buffer_append_text(
        text,
        "Ask about the code and the objects of a session: what a name is, where it is used, "
        "what the last error was, with its local variables, what an object holds, what a form "
        "expands to or costs.");
    buffer_append_text(text, here->undoes ? " Nothing that it runs stays."
                                          : " What it runs stays, as with evaluate-lisp.");
    append_example(text, here, "\"operation\": \"callers\", \"name\": \"sq\"");
}

static void inspect_operation(struct buffer *text, const struct surroundings *here) {
    buffer_append_text(text, "What to answer. All take `name` but these: symbols, definitions, "
                             "last-error and package need nothing; object needs `object` or "
                             "`form`; macroexpand-1, macroexpand-all, time and profile need "
                             "`form`; disassemble needs `name` or `form`");
    buffer_append_text(text, here->rolls_back ? "; changes needs `state`." : ".");
}

static void inspect_name(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "Symbol, function, class or package: FOO, PKG::FOO, (setf FOO). For "
                             "apropos, a part of the name.");
}

static void inspect_form(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "A Lisp form.");
}

static void inspect_object(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "The @N of an object in the last answer.");
}

static void inspect_path(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "Part of the object to walk to, such as 0/2 or name/0.");
}

static void inspect_kind(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "For apropos and symbols: only function, macro, variable, class …");
}

static void inspect_package(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "Package to read names and forms in.");
}

static void inspect_limit(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "Lines of a section.");
}

static void inspect_state(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "Answer for this earlier state, a number from list-sessions; of "
                             "changes, what is different since.");
}

static void read_output(struct buffer *text, const struct surroundings *here) {
    buffer_append_format(text,
                         "Read what an answer of more than %lld characters left out, also of a "
                         "call that was undone. The answer names the arguments. The last 4 such "
                         "calls are kept.",
                         (long long)here->settings->text_max_chars);
    append_example(text, here, "\"from\": 20000");
}

static void read_call(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "Number of the call. Default: the last one that is kept.");
}

static void read_stream(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "Default: the first that is not empty.");
}

static void read_from(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "First character, from 0; negative: from the end.");
}

static void read_count(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "Characters. Default: as many as fit.");
}

static void list(struct buffer *text, const struct surroundings *here) {
    buffer_append_text(text, "List the open sessions: name, number of the present state, ");
    if (here->rolls_back)
        buffer_append_text(text, "calls that can be rolled back, ");
    buffer_append_text(text, "age, idle time, memory.");
}

static void reset(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "Return a session to a fresh process: no definitions, no history. "
                             "Example: {\"session\": \"work\"}");
}

static void close_session(struct buffer *text, const struct surroundings *here) {
    buffer_append_text(text, "End a session and free its memory.");
    if (here->implicit)
        buffer_append_format(text, " `%s` starts afresh with its next call.", here->implicit);
    buffer_append_text(text, " Example: {\"session\": \"try\"}");
}

static void any_session(struct buffer *text, const struct surroundings *here) {
    (void)here;
    buffer_append_text(text, "Name of the session.");
}

/* --- the table --- */

enum condition { ALWAYS, WITH_COPIES, WITH_STATES, WITH_COPIES_OF_STATES };

static const struct {
    const char *tool, *argument; /* NULL: the tool itself */
    enum condition condition;
    bool names_session; /* required where there is no implicit one */
    void (*append)(struct buffer *text, const struct surroundings *here);
} rows[] = {
    {"evaluate-lisp", NULL, ALWAYS, false, evaluate},
    {"evaluate-lisp", "code", ALWAYS, false, code},
    {"evaluate-lisp", "package", ALWAYS, false, package},
    {"evaluate-lisp", "timeout", ALWAYS, false, timeout},
    {"evaluate-lisp", "session", ALWAYS, false, evaluate_session},
    {"open-session", NULL, ALWAYS, false, open_session},
    {"open-session", "name", ALWAYS, false, open_name},
    {"open-session", "from", WITH_COPIES, false, open_from},
    {"open-session", "at", WITH_COPIES_OF_STATES, false, open_at},
    {"rollback-session", NULL, WITH_STATES, false, rollback},
    {"rollback-session", "session", ALWAYS, true, any_session},
    {"rollback-session", "steps", ALWAYS, false, rollback_steps},
    {"inspect-lisp", NULL, ALWAYS, false, inspect},
    {"inspect-lisp", "operation", ALWAYS, false, inspect_operation},
    {"inspect-lisp", "name", ALWAYS, false, inspect_name},
    {"inspect-lisp", "form", ALWAYS, false, inspect_form},
    {"inspect-lisp", "object", ALWAYS, false, inspect_object},
    {"inspect-lisp", "path", ALWAYS, false, inspect_path},
    {"inspect-lisp", "kind", ALWAYS, false, inspect_kind},
    {"inspect-lisp", "package", ALWAYS, false, inspect_package},
    {"inspect-lisp", "limit", ALWAYS, false, inspect_limit},
    {"inspect-lisp", "state", WITH_STATES, false, inspect_state},
    {"inspect-lisp", "session", ALWAYS, true, any_session},
    {"inspect-lisp", "timeout", ALWAYS, false, timeout},
    {"read-output", NULL, ALWAYS, false, read_output},
    {"read-output", "call", ALWAYS, false, read_call},
    {"read-output", "session", ALWAYS, true, any_session},
    {"read-output", "stream", ALWAYS, false, read_stream},
    {"read-output", "from", ALWAYS, false, read_from},
    {"read-output", "count", ALWAYS, false, read_count},
    {"list-sessions", NULL, ALWAYS, false, list},
    {"reset-session", NULL, ALWAYS, false, reset},
    {"reset-session", "session", ALWAYS, true, any_session},
    {"close-session", NULL, ALWAYS, false, close_session},
    {"close-session", "session", ALWAYS, true, any_session},
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* ROW_COUNT if there is none. */
static size_t row_of(const struct tool *tool, const struct tool_argument *argument) {
    size_t i = 0;
    while (i < ROW_COUNT &&
           (strcmp(rows[i].tool, tool->name) != 0 || !rows[i].argument != !argument ||
            (argument && strcmp(rows[i].argument, argument->name) != 0)))
        i++;
    return i;
}

bool describe_offers(const struct surroundings *here, const struct tool *tool,
                     const struct tool_argument *argument) {
    size_t row = row_of(tool, argument);
    switch (row < ROW_COUNT ? rows[row].condition : ALWAYS) {
    case ALWAYS:
        return true;
    case WITH_COPIES:
        return here->copies;
    case WITH_STATES:
        return here->rolls_back;
    case WITH_COPIES_OF_STATES:
        return here->copies && here->rolls_back;
    }
    return true;
}

bool describe_requires(const struct surroundings *here, const struct tool *tool,
                       const struct tool_argument *argument) {
    size_t row = row_of(tool, argument);
    return argument->required || (row < ROW_COUNT && rows[row].names_session && !here->implicit);
}

bool describe_offers_choice(const struct surroundings *here, const char *choice) {
    return here->rolls_back || strcmp(choice, "changes") != 0;
}

void describe_append(struct buffer *text, const struct surroundings *here, const struct tool *tool,
                     const struct tool_argument *argument) {
    size_t row = row_of(tool, argument);
    if (row < ROW_COUNT)
        rows[row].append(text, here);
    else
        buffer_append_text(text, argument ? argument->description : tool->description);
}

bool describe_default(struct buffer *json, const struct surroundings *here,
                      const struct tool_argument *argument) {
    if (strcmp(argument->name, "session") == 0 && here->implicit)
        json_write_string(json, here->implicit);
    else if (strcmp(argument->name, "timeout") == 0)
        buffer_append_format(json, "%lld", (long long)here->settings->call_timeout_s);
    else if (strcmp(argument->name, "limit") == 0)
        buffer_append_text(json, "50");
    else
        return false;
    return true;
}

/* --- the instructions --- */

static void append_minimal(struct buffer *text, const struct server *server) {
    buffer_append_format(text,
                         "eclave is in minimal mode: no code can be evaluated here. Reason: %s",
                         server->minimal_reason);
}

void describe_instructions(struct buffer *text, const struct server *server,
                           const struct request *request) {
    const struct surroundings here = describe_surroundings(server, request);
    const struct settings *settings = here.settings;
    if (server->minimal) {
        append_minimal(text, server);
        return;
    }
    buffer_append_text(text,
                       "evaluate-lisp runs Common Lisp in sessions. Each is a confined "
                       "process of its own, and what a call defines stays for the later calls "
                       "of its session. ");
    if (here.implicit)
        buffer_append_format(text, "Calls that name no `session` share `%s`. ", here.implicit);
    else
        buffer_append_text(text, "Choose a name for each line of work and pass it as `session`; "
                                 "without one, a call runs in a new session. ");
    buffer_append_format(text,
                         "Calls of one session run in order, sessions side by side; at most %lld "
                         "sessions stay open, until they are closed. ",
                         (long long)settings->session_max);
    append_undone(text, &here);
    if (here.undoes)
        buffer_append_text(text, " Nothing has to be sent again.");
    if (here.rolls_back)
        buffer_append_format(text, " rollback-session undoes up to %lld calls that were kept.",
                             (long long)settings->session_history);
    if (here.copies)
        buffer_append_text(text, " open-session with `from` branches a session, to try something.");
    buffer_append_text(text, " ");
    describe_files(text, settings, NAMES_IN_INSTRUCTIONS);
    buffer_append_text(text, " A result with isError begins with `[ERROR] TYPE`. The resource "
                             "eclave:///guide describes this Lisp and its limits on one page, and "
                             "eclave:///sessions/NAME/transcript has the calls of a session.");
}
