/* The commands as they are told to people: one table for the help of the program and of each. */
#include "supervisor/command/help.h"
#include "supervisor/batch/options.h"
#include "supervisor/settings/settings.h"

#include <string.h>

enum { USAGE_COLUMNS = 24 };

static const struct help {
    const char *command, *usage; /* behind "eclave " */
    const char *summary;         /* lines of up to 50 columns */
    const char *text;            /* lines; the command's own options at the end */
    void (*options)(FILE *out);  /* more of these; or NULL */
} helps[] = {
    {"serve", "[serve] [OPTIONS]", "MCP server on stdin and stdout",
     "Speaks MCP until the end of its input, logs on standard error. With --project DIR it has\n"
     "tools, resources and prompts of your own besides evaluate-lisp.\n",
     NULL},
    {"eval", "eval [OPTIONS] [-e CODE | FILE | -]", "one confined evaluation",
     "Evaluates CODE, or FILE, or standard input, once in a fresh world, and prints what a client\n"
     "would be shown. Exit status: 0 a value, 1 a condition, 124 out of time, 137 out of memory,\n"
     "159 a forbidden system call, 128+N a crash, 70 internal, else that of the code itself.\n\n"
     "  -e CODE                    the code\n",
     NULL},
    {"batch", "batch [OPTIONS] [FILE | -]",
     "JSON lines in, JSON lines out, each in a world of\nits own; see eclave batch --help",
     "Evaluates {\"id\":…,\"code\":\"…\",\"expect\":\"…\"} line by line, each in a fresh confined\n"
     "world, and writes a line of what came of it.\n\n",
     batch_options_help},
    {"tool", "tool --project DIR [OPTIONS] NAME [--args JSON|@FILE|-]",
     "one tool of a project, once, with arguments from\nhere, a file or standard input",
     "Runs the tool NAME of the project DIR by the path that a client's call takes. Texts are\n"
     "printed as they are, all else as lines of JSON; progress, log and what the code prints go "
     "to\n"
     "standard error. Exit status: as of eval.\n\n"
     "  --project DIR              directory of the project\n"
     "  --args JSON|@FILE|-        the arguments, an object: here, in a file, on standard input;\n"
     "                             without it {}\n",
     NULL},
    {"new", "new KIND NAME [--project DIR]",
     "a tool, resource, template, prompt or completion\nto begin with",
     "Writes files to begin with into the project, or else into the current directory; nothing is\n"
     "overwritten. KIND is\n\n"
     "  tool                       tools/NAME.lisp, and its tests\n"
     "  resource                   resources/NAME, a text, and its metadata\n"
     "  template                   resources/NAME.lisp, which makes resources, and its metadata\n"
     "  prompt                     prompts/NAME.lisp\n"
     "  completion                 completions/NAME.lisp, for arguments of prompts and "
     "templates\n\n"
     "  --project DIR              directory of the project, which is made when it is missing\n",
     NULL},
    {"check", "check [OPTIONS] DIR",
     "what clients see of a project, what is refused and\nwhy; loads its sources, runs its tests",
     "Prints what clients see of the project DIR, then what is refused, and why; loads each "
     "source\n"
     "once, confined, and tells what fails and, as warnings, what it calls that is not defined;\n"
     "runs the tests in tools/NAME.test.jsonl. Exit status: 0 all is well, 1 it is not, 2 usage,\n"
     "70 no worker, 130 interrupted.\n",
     NULL},
    {"doctor", "doctor [OPTIONS] [--json]", "which layers this machine gives, proved by attacks",
     "Has a child attack this machine: unconfined, behind each layer alone, and behind all that "
     "are\n"
     "there. Exit status: 0 when code may be evaluated here, else 1.\n\n"
     "  --json                     one JSON object instead of a table\n",
     NULL},
    {"policy", "policy [OPTIONS]", "what code may do with these options, and why",
     "Prints what is in force with these options: layers, files, limits and every system call "
     "with\n"
     "what it gets and why.\n",
     NULL},
};

enum { HELP_COUNT = sizeof helps / sizeof *helps };

static void print_summary(FILE *out, const struct help *help) {
    bool fits = strlen(help->usage) < USAGE_COLUMNS;
    const char *rest = help->summary;
    fprintf(out, "%s eclave %-*s", help == helps ? "Usage:" : "      ", fits ? USAGE_COLUMNS : 0,
            help->usage);
    for (bool first = fits; *rest; first = false) {
        size_t length = strcspn(rest, "\n");
        fprintf(out, "%s%.*s", first ? "" : "\n                                      ", (int)length,
                rest);
        rest += length + (rest[length] == '\n');
    }
    putc('\n', out);
}

static void print_all(FILE *out) {
    for (size_t i = 0; i < HELP_COUNT; i++)
        print_summary(out, &helps[i]);
    fputs("       eclave --help | COMMAND --help | --version\n\n"
          "Options, each also a variable (--call-timeout-s is ECLAVE_CALL_TIMEOUT_S) and a member\n"
          "of the JSON file that --policy names (\"call.timeout_s\"); the flag is the strongest:\n",
          out);
    settings_help(out);
}

void help_print(FILE *out, const char *command) {
    const struct help *help = helps;
    while (help < helps + HELP_COUNT && !(command && strcmp(help->command, command) == 0))
        help++;
    if (help == helps + HELP_COUNT) {
        print_all(out);
        return;
    }
    fprintf(out, "Usage: eclave %s\n\n%s", help->usage, help->text);
    if (help->options)
        help->options(out);
    fputs("\nThe other options, for limits and confinement, are those of eclave --help.\n", out);
}
