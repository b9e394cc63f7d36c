/* The guide and the prompt. Like the descriptions of the tools, they state what holds with these
 * settings and in this era. */
#include "supervisor/server/guide.h"

enum { NAMES_SHOWN = 64 };

static void append_lisp(struct buffer *text, const struct surroundings *here) {
    buffer_append_text(text, "# Common Lisp in eclave\n\n## This Lisp\n\nThis is ");
    describe_version(text);
    buffer_append_text(text, ", an implementation of ANSI Common Lisp. Code is interpreted or "
                             "compiled to bytecode; nothing is compiled to machine code. ");
    describe_libraries(text, here->settings, NAMES_SHOWN);
    buffer_append_text(text, " ");
    describe_files(text, here->settings, NAMES_SHOWN);
    buffer_append_text(text,
                       " Data goes into the code, and what is printed or returned comes back. "
                       "Standard input is at its end.\n");
}

static void append_calls(struct buffer *text, const struct surroundings *here) {
    buffer_append_text(text, "\n## Calls and sessions\n\n"
                             "`evaluate-lisp` reads and evaluates the forms of `code` one at a "
                             "time, so that `defpackage` and `in-package` affect the forms after "
                             "them. A session is one process: it keeps definitions, variables and "
                             "the current package.\n\n");
    if (here->implicit)
        buffer_append_format(text, "- A call without `session` runs in `%s`.\n", here->implicit);
    else
        buffer_append_format(text,
                             "- A call without `session` runs in a new session, which the last "
                             "line of the answer names: `; session NAME`. A call that passes the "
                             "name on continues there and keeps it; of the others, only the newest "
                             "%lld stay.\n",
                             (long long)here->settings->session_unnamed_max);
    buffer_append_text(text, "- Any name of 1 to 64 of the characters A-Z a-z 0-9 _ . - can be a "
                             "session's: its first call opens it. It stays until it is closed.\n"
                             "- Calls of one session run in order. Calls of different sessions run "
                             "side by side.\n");
    if (here->copies)
        buffer_append_text(text,
                           "- `open-session {\"from\": \"work\", \"name\": \"try\"}` copies a "
                           "session in milliseconds. The two are independent afterwards.\n");
    if (here->rolls_back)
        buffer_append_format(text,
                             "- `rollback-session {\"session\": \"work\", \"steps\": 1}` undoes "
                             "calls that were kept, up to %lld.\n",
                             (long long)here->settings->session_history);
    if (here->settings->state.count)
        buffer_append_text(text, "- Sessions are saved. After the server has ended, the next one "
                                 "brings a session back at its first call, by evaluating its calls "
                                 "again; `SESSION-RESTORED` says what was done.\n");
    buffer_append_text(text, "- `eclave:///sessions/NAME/transcript` has the last calls of a "
                             "session.\n");
}

static void append_ends(struct buffer *text, const struct surroundings *here) {
    bool as_result = here->settings->timeout_reply == TIMEOUT_REPLY_RESULT;
    buffer_append_text(text, "\n## How a call ends\n\n| the code | the answer | the session |\n"
                             "|---|---|---|\n"
                             "| returned | what was printed, warnings, `=> value` for each value | "
                             "keeps the changes |\n"
                             "| signalled an error | `[ERROR] TYPE`, message, backtrace | keeps "
                             "what the forms before the failing one did |\n");
    const char *undone = here->undoes ? "as before the call" : "starts afresh";
    buffer_append_format(text, "| ran out of time | %s with the last output | %s |\n",
                         as_result ? "`[ERROR] TIMEOUT`" : "error -32004", undone);
    buffer_append_format(text, "| printed too much | %s with the last output | %s |\n",
                         as_result ? "`[ERROR] OUTPUT-LIMIT`" : "error -32603", undone);
    buffer_append_format(text,
                         "| exited, crashed, broke the rules, exhausted memory | `[ERROR] "
                         "PROCESS-EXIT`, `WORKER-CRASH`, `SANDBOX-VIOLATION`, `MEMORY-LIMIT` | %s "
                         "|\n| was cancelled | – | %s |\n",
                         undone, undone);
}

static void append_shown(struct buffer *text, const struct surroundings *here) {
    const struct settings *settings = here->settings;
    buffer_append_format(
        text,
        "\n## What is shown\n\nValues are printed pretty, circles marked, with at "
        "most 100 elements of a list and 10 levels, and %lld characters each; "
        "each value on a line of its own after `=> `. An object that cannot be "
        "read back has a number, `#<FOO @1>`; `(eclave::numbered-object 1)` is that "
        "object in the next call, and inspect-lisp shows it. `*`, `**` and `***` "
        "are the last values. An answer has at most %lld characters: output is "
        "shortened in its middle first. What is left out is counted at its place, "
        "and read-output reads it. Standard output is under `[stdout]`, error "
        "output and traces under `[stderr]`. A value of `(mcp:image OCTETS "
        "\"image/png\")`, `mcp:audio`, `mcp:resource` or `mcp:link`, alone or in "
        "a list, is sent as such.\n",
        (long long)settings->value_max_chars, (long long)settings->text_max_chars);
}

static void append_limits(struct buffer *text, const struct surroundings *here) {
    const struct settings *settings = here->settings;
    buffer_append_format(text,
                         "\n## Limits\n\n| limit | value |\n|---|---|\n"
                         "| time of a call | %lld s; with `timeout` up to %lld s |\n"
                         "| heap of a session | %lld MiB |\n| output of a call | ",
                         (long long)settings->call_timeout_s,
                         (long long)settings->call_timeout_max_s,
                         (long long)settings->session_memory_mb);
    describe_size(text, settings->output_max_bytes);
    buffer_append_text(text, " |\n| error output of a call | ");
    describe_size(text, settings->stderr_max_bytes);
    buffer_append_format(text,
                         " |\n| sessions that stay open | %lld |\n| calls that run at a time; "
                         "others wait | %lld |\n",
                         (long long)settings->session_max, (long long)settings->call_running_max);
    if (here->rolls_back)
        buffer_append_format(text, "| calls that can be rolled back | %lld |\n",
                             (long long)settings->session_history);
    if (settings->scratch_mb)
        buffer_append_format(text, "| files of a session | %lld MiB |\n",
                             (long long)settings->scratch_mb);
    buffer_append_text(text, "\n`eclave:///policy` lists the confinement in detail.\n");
}

void guide_append(struct buffer *text, const struct surroundings *here) {
    append_lisp(text, here);
    append_calls(text, here);
    append_ends(text, here);
    append_shown(text, here);
    append_limits(text, here);
}

void guide_append_prompt(struct buffer *text, const struct surroundings *here) {
    buffer_append_text(
        text,
        "Work on this task in Common Lisp, with the tools of eclave:\n\n{{task}}\n\n"
        "How to work:\n"
        "- Choose one short session name for the task, such as `work`, and pass it as "
        "`session` in each call of evaluate-lisp. What one call defines is there in the "
        "next.\n"
        "- Take small steps: define a function, call it with an example, and compare the "
        "answer with what you expect before you go on.\n"
        "- After an error, read its type and backtrace. What the forms before the failing one "
        "did is kept, so send only what is missing.\n");
    buffer_append_text(text, here->undoes
                                 ? "- A call that ran out of time, crashed, exited or flooded "
                                   "changed nothing. Correct the code and send it again.\n"
                                 : "- A call that ran out of time, crashed, exited or flooded ends "
                                   "the session: define everything again.\n");
    if (here->copies)
        buffer_append_text(
            text, "- Before a step that may spoil the state, branch: open-session {\"from\": "
                  "\"work\", \"name\": \"work-try\"}. Try it there; continue in the branch if it "
                  "is good, close it if not. To compare several ways, open a branch for each and "
                  "call them in parallel.\n");
    if (here->rolls_back)
        buffer_append_text(text, "- If a call that was kept turns out wrong, go back: "
                                 "rollback-session {\"session\": \"work\", \"steps\": 1}.\n");
    buffer_append_text(text, "- ");
    describe_files(text, here->settings, NAMES_SHOWN);
    buffer_append_text(
        text, " Put data into the code.\n\n"
              "When you are done, report the result and the final definitions. The resource "
              "eclave:///sessions/work/transcript has every call; eclave:///guide describes this "
              "Lisp and its limits.\n");
}
