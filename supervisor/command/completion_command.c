/* `eclave completion`: scripts that complete commands, options and arguments, generated from the
 * tables that --help prints. */
#include "supervisor/command/commands.h"

#include <stdio.h>
#include <string.h>

/* Prints "a|b|c" with blanks in place of the bars. */
static void print_words(const char *choices) {
    for (; choices && *choices; choices++)
        putchar(*choices == '|' ? ' ' : *choices);
}

/* Prints TEXT inside single quotes, in one line, with a backslash before each of SPECIAL. */
static void print_quoted(const char *text, const char *special) {
    for (; *text; text++) {
        if (strchr(special, *text))
            putchar('\\');
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text == '\n' ? ' ' : *text);
    }
}

/* Can the argument of a command be completed? */
static bool is_completed(const struct flag *argument) {
    return argument->value != FLAG_SWITCH && argument->value != FLAG_WORD;
}

static void print_flag_name(void *context, const struct flag *flag) {
    (void)context;
    printf(" %s", flag->name);
}

/* --- bash --- */

static const char bash_start[] =
    "# Completion of eclave for bash 4 and later, made by `eclave completion bash`.\n"
    "_eclave_words() {\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$current\")\n"
    "}\n"
    "\n"
    "_eclave_list() {\n"
    "    local head=\n"
    "    [[ $current != *,* ]] || head=${current%,*},\n"
    "    compopt -o nospace\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$head\" -W \"$1\" -- \"${current##*,}\")\n"
    "}\n"
    "\n"
    "_eclave_paths() {\n"
    "    compopt -o filenames\n"
    "    mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$current\")\n"
    "}\n"
    "\n"
    "_eclave() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command='' arguments=0 flags='' i\n"
    "    COMPREPLY=()\n"
    "    # Bash divides --flag=value into three words.\n"
    "    if [[ $current == = ]]; then\n"
    "        current=\n"
    "    elif [[ $before == = ]]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        case ${COMP_WORDS[i]} in\n"
    "        ";

static const char bash_middle[] =
    ")\n"
    "            [[ ${COMP_WORDS[i + 1]} != = ]] || ((i++))\n"
    "            ((i++))\n"
    "            ;;\n"
    "        -*) ;;\n"
    "        *) if [[ $command ]]; then ((arguments++)); else command=${COMP_WORDS[i]}; fi ;;\n"
    "        esac\n"
    "    done\n"
    "    case $before in\n";

/* Prints the flags that take a value as a pattern of `case`. */
static void bash_pattern(void *context, const struct flag *flag) {
    bool *begun = context;
    if (flag->value == FLAG_SWITCH)
        return;
    printf("%s%s", *begun ? " | " : "", flag->name);
    *begun = true;
}

static void bash_pattern_of(void *context, const char *name, const char *summary,
                            const struct flag *argument) {
    (void)summary, (void)argument;
    options_visit(name, bash_pattern, context);
}

/* Prints the command that completes a value. */
static void bash_value(const struct flag *flag) {
    switch (flag->value) {
    case FLAG_CHOICE:
    case FLAG_LIST:
        printf(flag->value == FLAG_LIST ? "_eclave_list '" : "_eclave_words '");
        print_words(flag->choices);
        putchar('\'');
        break;
    case FLAG_FILE:
        fputs("_eclave_paths -f", stdout);
        if (flag->choices) {
            fputs(" && mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W '", stdout);
            print_words(flag->choices);
            fputs("' -- \"$current\")", stdout);
        }
        break;
    case FLAG_DIRECTORY:
        fputs("_eclave_paths -d", stdout);
        break;
    case FLAG_SWITCH:
    case FLAG_WORD:
        fputs(":", stdout);
        break;
    }
}

static void bash_case(void *context, const struct flag *flag) {
    (void)context;
    if (flag->value == FLAG_SWITCH)
        return;
    printf("    %s)\n        ", flag->name);
    bash_value(flag);
    fputs("\n        return\n        ;;\n", stdout);
}

static void bash_cases_of(void *context, const char *name, const char *summary,
                          const struct flag *argument) {
    (void)summary, (void)argument;
    options_visit(name, bash_case, context);
}

static void bash_flags_of(void *context, const char *name, const char *summary,
                          const struct flag *argument) {
    (void)summary, (void)argument;
    printf("        %s) flags='", name);
    options_visit(name, print_flag_name, context);
    fputs("' ;;\n", stdout);
}

static void bash_argument_of(void *context, const char *name, const char *summary,
                             const struct flag *argument) {
    (void)context, (void)summary;
    if (!is_completed(argument))
        return;
    printf("    %s:0) ", name);
    bash_value(argument);
    fputs(" ;;\n", stdout);
}

static void print_command_name(void *context, const char *name, const char *summary,
                               const struct flag *argument) {
    (void)context, (void)summary, (void)argument;
    printf(" %s", name);
}

static void print_bash(void) {
    bool begun = false;
    fputs(bash_start, stdout);
    settings_visit_flags(bash_pattern, &begun);
    commands_visit(bash_pattern_of, &begun);
    fputs(bash_middle, stdout);
    settings_visit_flags(bash_case, NULL);
    commands_visit(bash_cases_of, NULL);
    fputs("    esac\n"
          "    if [[ $current == -* ]]; then\n"
          "        case $command in\n",
          stdout);
    commands_visit(bash_flags_of, NULL);
    fputs("        esac\n        _eclave_words \"$flags -h --help -V --version", stdout);
    settings_visit_flags(print_flag_name, NULL);
    fputs("\"\n        return\n    fi\n    case $command:$arguments in\n    :0) _eclave_words '",
          stdout);
    commands_visit(print_command_name, NULL);
    fputs("' ;;\n", stdout);
    commands_visit(bash_argument_of, NULL);
    fputs("    esac\n}\n\ncomplete -F _eclave eclave\n", stdout);
}

/* --- zsh --- */

/* Prints ":NAME:ACTION" for a value. */
static void zsh_value(const struct flag *flag) {
    switch (flag->value) {
    case FLAG_CHOICE:
        fputs(":word:(", stdout);
        print_words(flag->choices);
        putchar(')');
        break;
    case FLAG_LIST:
        fputs(":words:_sequence compadd - ", stdout);
        print_words(flag->choices);
        break;
    case FLAG_FILE:
        fputs(":file:", stdout);
        if (flag->choices) {
            fputs("{ compadd ", stdout);
            print_words(flag->choices);
            fputs("; _files }", stdout);
        } else {
            fputs("_files", stdout);
        }
        break;
    case FLAG_DIRECTORY:
        fputs(":directory:_files -/", stdout);
        break;
    case FLAG_WORD:
        fputs(":value: ", stdout);
        break;
    case FLAG_SWITCH:
        break;
    }
}

static void zsh_flag(void *context, const struct flag *flag) {
    (void)context;
    /* After a flag of one letter the value is separate or joined. */
    const char *joint = flag->value == FLAG_SWITCH ? "" : flag->name[1] == '-' ? "=" : "+";
    printf("        '*%s%s[", flag->name, joint);
    print_quoted(flag->help, "[]:\\");
    putchar(']');
    zsh_value(flag);
    fputs("'\n", stdout);
}

static void zsh_command(void *context, const char *name, const char *summary,
                        const struct flag *argument) {
    (void)context, (void)argument;
    printf("        '%s:", name);
    print_quoted(summary, ":\\");
    fputs("'\n", stdout);
}

static void zsh_arguments_of(void *context, const char *name, const char *summary,
                             const struct flag *argument) {
    (void)summary;
    printf("    %s)\n        own=(\n", name);
    options_visit(name, zsh_flag, context);
    if (is_completed(argument)) {
        fputs("        '1", stdout);
        zsh_value(argument);
        fputs("'\n", stdout);
    }
    fputs("        )\n        ;;\n", stdout);
}

static void print_zsh(void) {
    fputs("#compdef eclave\n"
          "# Completion of eclave for zsh, made by `eclave completion zsh`.\n"
          "_eclave() {\n"
          "    local curcontext=$curcontext state line context\n"
          "    local -A opt_args\n"
          "    local -a commands own settings=(\n",
          stdout);
    settings_visit_flags(zsh_flag, NULL);
    fputs("        '(-h --help)'{-h,--help}'[show help]'\n"
          "        '(-V --version)'{-V,--version}'[show the version]'\n"
          "    )\n"
          "    commands=(\n",
          stdout);
    commands_visit(zsh_command, NULL);
    fputs("    )\n"
          "    _arguments -C $settings '1:command:->command' '*::argument:->argument'\n"
          "    if [[ $state == command ]]; then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    [[ $state == argument ]] || return\n"
          "    case $words[1] in\n",
          stdout);
    commands_visit(zsh_arguments_of, NULL);
    fputs(
        "    esac\n"
        "    _arguments $settings $own\n"
        "}\n"
        "\n"
        "if [[ $funcstack[1] == _eclave ]]; then _eclave \"$@\"; else compdef _eclave eclave; fi\n",
        stdout);
}

/* --- fish --- */

/* Prints the options of `complete` for a value. */
static void fish_value(const struct flag *flag) {
    switch (flag->value) {
    case FLAG_CHOICE:
    case FLAG_LIST:
        fputs(" -x -a '", stdout);
        print_words(flag->choices);
        putchar('\'');
        break;
    case FLAG_FILE:
        fputs(" -r -F", stdout);
        if (flag->choices) {
            fputs(" -a '", stdout);
            print_words(flag->choices);
            putchar('\'');
        }
        break;
    case FLAG_DIRECTORY:
        fputs(" -x -a '(__fish_complete_directories)'", stdout);
        break;
    case FLAG_WORD:
        fputs(" -x", stdout);
        break;
    case FLAG_SWITCH:
        break;
    }
}

/* CONTEXT: the name of the command that the flag belongs to, as a span; or NULL. */
static void fish_flag(void *context, const struct flag *flag) {
    const struct span *command = context;
    fputs("complete -c eclave", stdout);
    if (command)
        printf(" -n '__eclave_is %s'", (const char *)command->bytes);
    printf(flag->name[1] == '-' ? " -l %s" : " -s %s", flag->name + 1 + (flag->name[1] == '-'));
    fish_value(flag);
    fputs(" -d '", stdout);
    print_quoted(flag->help, "\\");
    fputs("'\n", stdout);
}

static void fish_command(void *context, const char *name, const char *summary,
                         const struct flag *argument) {
    (void)context;
    printf("complete -c eclave -n __eclave_is -a %s -d '", name);
    print_quoted(summary, "\\");
    fputs("'\n", stdout);
    if (is_completed(argument)) {
        printf("complete -c eclave -n '__eclave_is %s'", name);
        if (argument->value == FLAG_FILE)
            fputs(" -F", stdout);
        else
            fish_value(argument);
        putchar('\n');
    }
    struct span command = string_span(name);
    options_visit(name, fish_flag, &command);
}

/* Prints the flags that take a value. */
static void fish_valued(void *context, const struct flag *flag) {
    (void)context;
    if (flag->value != FLAG_SWITCH)
        printf(" %s", flag->name);
}

static void fish_valued_of(void *context, const char *name, const char *summary,
                           const struct flag *argument) {
    (void)summary, (void)argument;
    options_visit(name, fish_valued, context);
}

static void print_fish(void) {
    fputs("# Completion of eclave for fish, made by `eclave completion fish`.\n"
          "function __eclave_is -d 'Whether the command is this one, or missing'\n"
          "    set -l before\n"
          "    for word in (commandline -opc)[2..-1]\n"
          "        if contains -- \"$before\"",
          stdout);
    settings_visit_flags(fish_valued, NULL);
    commands_visit(fish_valued_of, NULL);
    puts("\n"
         "            set before\n"
         "        else if string match -q -- '-*' $word\n"
         "            set before $word\n"
         "        else\n"
         "            test \"$word\" = \"$argv[1]\"\n"
         "            return\n"
         "        end\n"
         "    end\n"
         "    test -z \"$argv[1]\"\n"
         "end\n"
         "complete -c eclave -f\n"
         "complete -c eclave -s h -l help -d 'show help'\n"
         "complete -c eclave -s V -l version -d 'show the version'");
    settings_visit_flags(fish_flag, NULL);
    commands_visit(fish_command, NULL);
}

int command_completion(const struct command_line *line) {
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(line->arguments[0], shells[i].name) == 0) {
            shells[i].print();
            return 0;
        }
    return COMMAND_MISUSED;
}
