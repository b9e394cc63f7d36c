/* The table of commands. */
#include "supervisor/command/commands.h"
#include "supervisor/base/nearest.h"
#include "supervisor/base/terminal.h"
#include "supervisor/repl/repl.h"
#include "supervisor/server/methods.h"
#include "supervisor/server/serve.h"

#include <limits.h>
#include <stdarg.h>
#include <unistd.h>

/* A client starts the server with pipes or sockets. */
static int run_serve(const struct command_line *line) {
    if (isatty(STDIN_FILENO))
        fputs("eclave: this is an MCP server, which a client starts. It now reads JSON-RPC "
              "messages\n"
              "eclave: from the terminal; Ctrl-D ends it. To type Lisp: eclave repl. To evaluate "
              "once:\n"
              "eclave: eclave eval -e '(+ 1 2)'. All commands: eclave help.\n",
              stderr);
    return server_run(line->settings, &method_table);
}

static int run_repl(const struct command_line *line) {
    return repl_run(line->settings);
}

static int run_help(const struct command_line *line) {
    return command_help(line->count ? line->arguments[0] : NULL);
}

static int run_batch(const struct command_line *line) {
    return batch_command(line->settings, &line->batch, line->count ? line->arguments[0] : NULL);
}

static int run_grade(const struct command_line *line) {
    if (line->count < 2)
        return COMMAND_MISUSED;
    return grade_command(line->settings, &line->batch, line->arguments[0], line->arguments + 1,
                         (size_t)line->count - 1);
}

enum { USAGE_COLUMNS = 24, COMMAND_WORDS_BYTES = 200 };

static const struct command {
    const char *name, *usage; /* after "eclave " */
    const char *summary;      /* for eclave --help: lines of up to 50 columns */
    const char *text;         /* for eclave COMMAND --help, before the options */
    int arguments_min, arguments_max;
    enum flag_value argument;                    /* for completion: what the first argument is */
    const char *words;                           /* of a FLAG_CHOICE; NULL: the commands */
    int (*run)(const struct command_line *line); /* returns the exit status */
} commands[] = {
    {"serve", "[serve] [OPTIONS]", "MCP server on standard input and output",
     "Speaks MCP on standard input and output until the input ends, and logs to standard error.\n"
     "With --project DIR it also offers the tools, resources and prompts of that directory.\n",
     0, 0, FLAG_SWITCH, NULL, run_serve},
    {"eval", "eval [OPTIONS] [-e CODE | FILE | -]", "evaluate code once",
     "Evaluates CODE, FILE or standard input once, in a fresh confined process, and prints the "
     "text\n"
     "that a client would receive. Exit status: 0 a value, 1 a condition, 3 the code ended its\n"
     "process with status 0, 124 the time limit, 137 the memory limit, 159 a forbidden system "
     "call,\n"
     "128+N a crash by signal N, 70 an internal error or lost output; any other status is that of\n"
     "the code.\n\n",
     0, 1, FLAG_FILE, NULL, command_eval},
    {"repl", "repl [OPTIONS]", "a prompt on this terminal, with undo",
     "Reads forms from the terminal, with editing and history, and evaluates them in a session. "
     "Each "
     "call\n"
     "can be taken back (,undo), and a session can be copied (,branch NAME); ,help lists the "
     "commands.\n"
     "Ctrl-C stops a call, which then has changed nothing. Exit status: 0.\n",
     0, 0, FLAG_SWITCH, NULL, run_repl},
    {"batch", "batch [OPTIONS] [FILE | -]", "evaluate JSON lines, each in a fresh process",
     "Reads lines such as {\"id\":1,\"code\":\"(+ 1 2)\",\"expect\":\"3\"}, evaluates each in a "
     "fresh confined\n"
     "process, and writes a JSON line for each: outcome, output, values and costs.\n\n",
     0, 1, FLAG_FILE, NULL, run_batch},
    {"grade", "grade [OPTIONS] TESTS SUBMISSION...", "grade submissions by tests",
     "Loads each SUBMISSION, a file or a directory with *.lisp, once in a fresh confined process, "
     "and runs\n"
     "each test of TESTS in a fork of it. TESTS is a file with a test such as\n"
     "{\"code\":\"(square 3)\",\"expect\":\"9\"} on each line, or a directory with tests.jsonl;\n"
     "with --framework, a file of Lisp, or a directory with tests.lisp. Writes a table to a "
     "terminal, and\n"
     "else a JSON line for each submission. Exit status: as for batch; 1 if a test did not pass\n"
     "somewhere.\n\n",
     2, INT_MAX, FLAG_FILE, NULL, run_grade},
    {"tool", "tool --project DIR [OPTIONS] NAME [--args JSON|@FILE|-]", "call a tool of a project",
     "Calls the tool NAME of the project DIR as a client would. Text content is printed as it is,\n"
     "other content as lines of JSON. Progress, log messages and output of the code go to "
     "standard\n"
     "error. Exit status: as for eval.\n\n"
     "  --project DIR              directory of the project\n",
     1, 1, FLAG_WORD, NULL, command_tool},
    {"new", "new KIND NAME [--project DIR]",
     "scaffold a tool, resource, template, prompt or\ncompletion",
     "Writes a scaffold into the project, or into the current directory. Existing files are never\n"
     "overwritten. KIND is one of\n\n"
     "  tool                       tools/NAME.lisp and its tests\n"
     "  resource                   resources/NAME, a text file, and its metadata\n"
     "  template                   resources/NAME.lisp, which makes resources, and its metadata\n"
     "  prompt                     prompts/NAME.lisp\n"
     "  completion                 completions/NAME.lisp, for arguments of prompts and "
     "templates\n\n"
     "  --project DIR              directory of the project; created if it does not exist\n",
     2, 2, FLAG_CHOICE, "tool|resource|template|prompt|completion", command_new},
    {"check", "check [OPTIONS] DIR",
     "show what clients see of a project, load its\nsources, run its tests",
     "Prints what clients see of the project DIR, and what is refused and why. Loads each source "
     "in "
     "a\n"
     "fresh confined process, reports those that fail, and warns about calls of undefined "
     "functions.\n"
     "Runs the tests in tools/NAME.test.jsonl. Exit status: 0 if all is well, 1 if not, 2 usage,\n"
     "70 no worker, 130 interrupted.\n",
     0, 1, FLAG_DIRECTORY, NULL, command_check},
    {"doctor", "doctor [OPTIONS] [--json]", "attack this machine to test the confinement",
     "A child process attacks this machine: unconfined, behind each layer of confinement alone, "
     "and\n"
     "behind all layers; with --native on, also as native code. Exit status: 0 if code may be\n"
     "evaluated here, otherwise 1.\n\n",
     0, 0, FLAG_SWITCH, NULL, command_doctor},
    {"policy", "policy [OPTIONS]", "print what code may do with these options",
     "Prints the policy that results from these options: layers, files, limits, and every system "
     "call\n"
     "with its verdict and the reason.\n",
     0, 0, FLAG_SWITCH, NULL, command_policy},
    {"sessions", "sessions list|show|remove --state DIR [NAME]", "look after saved sessions",
     "list prints the sessions that are saved in DIR, their sizes, and when they were last used; "
     "show\n"
     "prints the calls of the session NAME as Lisp; remove removes it. One that a server has open "
     "is\n"
     "not removed. Exit status: 0, or 1 if it cannot be done.\n\n"
     "  --state DIR                directory of the saved sessions\n",
     1, 2, FLAG_CHOICE, "list|show|remove", command_sessions},
    {"completion", "completion bash|zsh|fish", "print a completion script for a shell",
     "Prints a script that makes the shell complete the commands, options and arguments of eclave. "
     "An\n"
     "installed eclave has it in place. Otherwise, for bash: eval \"$(eclave completion bash)\"\n",
     1, 1, FLAG_CHOICE, "bash|zsh|fish", command_completion},
    {"help", "help [COMMAND]", "describe eclave or a command",
     "Prints what eclave --help or eclave COMMAND --help prints.\n", 0, 1, FLAG_CHOICE, NULL,
     run_help},
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

/* NULL if there is none. */
static const struct command *find(const char *name) {
    for (size_t i = 0; name && i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

bool command_exists(const char *name) {
    return find(name) != NULL;
}

__attribute__((format(printf, 1, 2))) static int refuse(const char *format, ...) {
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    shown_complain(text);
    return STATUS_USAGE;
}

static int refuse_command(const char *name) {
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        nearest_offer(&nearest, commands[i].name);
    const struct hint hint = nearest_hint(&nearest, "");
    return refuse("unknown command %.60s%s", name,
                  hint.text[0]     ? hint.text
                  : name[0] == '(' ? "; to evaluate it: eclave eval -e CODE"
                                   : "; see eclave --help");
}

int command_run(struct command_line *line, int count, char **arguments) {
    const struct command *command = find(count ? arguments[0] : "serve");
    if (!command)
        return refuse_command(arguments[0]);
    line->count = count ? count - 1 : 0;
    line->arguments = arguments + 1;
    if (line->count > command->arguments_max)
        return refuse("unexpected argument %.60s; usage: eclave %s",
                      line->arguments[command->arguments_max], command->usage);
    int status = line->count < command->arguments_min ? COMMAND_MISUSED : command->run(line);
    return status == COMMAND_MISUSED ? refuse("usage: eclave %s", command->usage) : status;
}

/* --- help --- */

static void print_summary(const struct command *command) {
    bool fits = strlen(command->usage) < USAGE_COLUMNS;
    const char *rest = command->summary;
    printf("%s eclave %-*s", command == commands ? "Usage:" : "      ", fits ? USAGE_COLUMNS : 0,
           command->usage);
    for (bool first = fits; *rest; first = false) {
        size_t length = strcspn(rest, "\n");
        printf("%s%.*s", first ? "" : "\n                                      ", (int)length,
               rest);
        rest += length + (rest[length] == '\n');
    }
    putchar('\n');
}

static void print_all(void) {
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        print_summary(&commands[i]);
    fputs(
        "       eclave [COMMAND] -h | --help | -V | --version\n\n"
        "Each option is also an environment variable (ECLAVE_CALL_TIMEOUT_S) and a member of the\n"
        "JSON file that --policy names (\"call.timeout_s\"). The flag overrides the variable, and "
        "the\n"
        "variable overrides the file.\n",
        stdout);
    settings_help(stdout);
}

int command_help(const char *name) {
    const struct command *command = find(name);
    if (!name) {
        print_all();
        return 0;
    }
    if (!command)
        return refuse_command(name);
    printf("Usage: eclave %s\n\n%s", command->usage, command->text);
    options_help(stdout, command->name);
    puts("\nThe options for limits and confinement are listed by eclave --help.");
    return 0;
}

static void append_command(char words[COMMAND_WORDS_BYTES], const char *name) {
    size_t used = strlen(words);
    snprintf(words + used, COMMAND_WORDS_BYTES - used, "%s%s", used ? "|" : "", name);
}

void commands_visit(command_visitor visit, void *context) {
    char names[COMMAND_WORDS_BYTES] = "";
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        append_command(names, commands[i].name);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct flag argument = {.value = commands[i].argument,
                                      .choices = commands[i].words ? commands[i].words : names};
        visit(context, commands[i].name, commands[i].summary, &argument);
    }
}
