/* The table of commands. */
#include "supervisor/command/commands.h"
#include "supervisor/server/methods.h"
#include "supervisor/server/serve.h"

static int run_serve(const struct command_line *line) {
    return server_run(line->settings, &method_table);
}

static int run_batch(const struct command_line *line) {
    return batch_command(line->settings, &line->batch, line->count ? line->arguments[0] : NULL);
}

enum { USAGE_COLUMNS = 24 };

static const struct command {
    const char *name, *usage; /* after "eclave " */
    const char *summary;      /* for eclave --help: lines of up to 50 columns */
    const char *text;         /* for eclave COMMAND --help, before the options */
    int arguments_min, arguments_max;
    bool takes_file; /* the argument is a file or "-", so that "-x" is a mistake */
    int (*run)(const struct command_line *line); /* returns the exit status */
} commands[] = {
    {"serve", "[serve] [OPTIONS]", "MCP server on standard input and output",
     "Speaks MCP on standard input and output until the input ends, and logs to standard error.\n"
     "With --project DIR it also offers the tools, resources and prompts of that directory.\n",
     0, 0, false, run_serve},
    {"eval", "eval [OPTIONS] [-e CODE | FILE | -]", "evaluate code once",
     "Evaluates CODE, FILE or standard input once, in a fresh confined process, and prints the "
     "text\n"
     "that a client would receive. Exit status: 0 a value, 1 a condition, 3 the code ended its\n"
     "process with status 0, 124 the time limit, 137 the memory limit, 159 a forbidden system "
     "call,\n"
     "128+N a crash by signal N, 70 an internal error or lost output; any other status is that of\n"
     "the code.\n\n",
     0, 1, true, command_eval},
    {"batch", "batch [OPTIONS] [FILE | -]", "evaluate JSON lines, each in a fresh process",
     "Reads lines such as {\"id\":1,\"code\":\"(+ 1 2)\",\"expect\":\"3\"}, evaluates each in a "
     "fresh confined\n"
     "process, and writes a JSON line for each: outcome, output, values and costs.\n\n",
     0, 1, true, run_batch},
    {"tool", "tool --project DIR [OPTIONS] NAME [--args JSON|@FILE|-]", "call a tool of a project",
     "Calls the tool NAME of the project DIR as a client would. Text content is printed as it is,\n"
     "other content as lines of JSON. Progress, log messages and output of the code go to "
     "standard\n"
     "error. Exit status: as for eval.\n\n"
     "  --project DIR              directory of the project\n",
     1, 1, false, command_tool},
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
     2, 2, false, command_new},
    {"check", "check [OPTIONS] DIR",
     "show what clients see of a project, load its\nsources, run its tests",
     "Prints what clients see of the project DIR, and what is refused and why. Loads each source "
     "in "
     "a\n"
     "fresh confined process, reports those that fail, and warns about calls of undefined "
     "functions.\n"
     "Runs the tests in tools/NAME.test.jsonl. Exit status: 0 if all is well, 1 if not, 2 usage,\n"
     "70 no worker, 130 interrupted.\n",
     0, 1, false, command_check},
    {"doctor", "doctor [OPTIONS] [--json]", "attack this machine to test the confinement",
     "A child process attacks this machine: unconfined, behind each layer of confinement alone, "
     "and\n"
     "behind all layers. Exit status: 0 if code may be evaluated here, otherwise 1.\n\n",
     0, 0, false, command_doctor},
    {"policy", "policy [OPTIONS]", "print what code may do with these options",
     "Prints the policy that results from these options: layers, files, limits, and every system "
     "call\n"
     "with its verdict and the reason.\n",
     0, 0, false, command_policy},
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

/* NULL if there is none. */
static const struct command *find(const char *name) {
    for (size_t i = 0; name && i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

int command_run(struct command_line *line, int count, char **arguments) {
    const struct command *command = find(count ? arguments[0] : "serve");
    if (!command) {
        fprintf(stderr, "eclave: unknown command %.60s; see eclave --help\n", arguments[0]);
        return STATUS_USAGE;
    }
    line->count = count ? count - 1 : 0;
    line->arguments = arguments + 1;
    if (line->count > command->arguments_max ||
        (command->takes_file && line->count && line->arguments[0][0] == '-' &&
         line->arguments[0][1])) {
        fprintf(stderr, "eclave: unexpected argument %.60s; usage: eclave %s\n",
                line->arguments[line->count - 1], command->usage);
        return STATUS_USAGE;
    }
    int status = line->count < command->arguments_min ? COMMAND_MISUSED : command->run(line);
    if (status == COMMAND_MISUSED) {
        fprintf(stderr, "eclave: usage: eclave %s\n", command->usage);
        return STATUS_USAGE;
    }
    return status;
}

/* --- help --- */

static void print_summary(FILE *out, const struct command *command) {
    bool fits = strlen(command->usage) < USAGE_COLUMNS;
    const char *rest = command->summary;
    fprintf(out, "%s eclave %-*s", command == commands ? "Usage:" : "      ",
            fits ? USAGE_COLUMNS : 0, command->usage);
    for (bool first = fits; *rest; first = false) {
        size_t length = strcspn(rest, "\n");
        fprintf(out, "%s%.*s", first ? "" : "\n                                      ", (int)length,
                rest);
        rest += length + (rest[length] == '\n');
    }
    putc('\n', out);
}

static void print_all(FILE *out) {
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        print_summary(out, &commands[i]);
    fputs(
        "       eclave [COMMAND] --help | --version\n\n"
        "Each option is also an environment variable (ECLAVE_CALL_TIMEOUT_S) and a member of the\n"
        "JSON file that --policy names (\"call.timeout_s\"). The flag overrides the variable, and "
        "the\n"
        "variable overrides the file.\n",
        out);
    settings_help(out);
}

void command_help(FILE *out, const char *name) {
    const struct command *command = find(name);
    if (!command) {
        print_all(out);
        return;
    }
    fprintf(out, "Usage: eclave %s\n\n%s", command->usage, command->text);
    options_help(out, command->name);
    fputs("\nThe options for limits and confinement are listed by eclave --help.\n", out);
}
