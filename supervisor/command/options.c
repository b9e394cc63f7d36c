/* The options of single commands. */
#include "supervisor/command/commands.h"

#include <ctype.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>

static const char framework_help[] = "TESTS is a file of Lisp with tests of this framework, one of:"
#define FRAMEWORK(name) " " name
#include "supervisor/batch/frameworks.def"
    ;

enum option_kind { OPTION_JOBS, OPTION_SECONDS, OPTION_STRING, OPTION_FILE, OPTION_SWITCH };

static const struct option {
    const char *command, *flag, *placeholder, *help;
    enum option_kind kind;
    size_t offset; /* in struct command_line */
} table[] = {
#define OPTION(command, field, kind_name, name, value_name, text)                                  \
    {(command),          (name),                                                                   \
     (value_name),       (text),                                                                   \
     OPTION_##kind_name, offsetof(struct command_line, field)},
#include "supervisor/command/options.def"
#undef OPTION
};

enum { OPTION_COUNT = sizeof table / sizeof *table };

static int64_t processors(void) {
    cpu_set_t set;
    int64_t count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < BATCH_JOBS_MAX ? count : BATCH_JOBS_MAX;
}

/* Whether ARGUMENT is this option. Then *value is the joined value ("-j4", "--junit=FILE"), or
 * NULL. */
static bool is_option(const struct option *option, const char *argument, const char **value) {
    size_t length = strlen(option->flag);
    *value = NULL;
    if (strncmp(argument, option->flag, length) != 0)
        return false;
    if (argument[length] == 0)
        return true;
    if (option->kind == OPTION_SWITCH)
        return false;
    bool is_long = option->flag[1] == '-';
    *value = argument + length + is_long;
    return !is_long || argument[length] == '=';
}

enum { SECONDS_MAX = 1000000000 };

static bool parse_count(const char *text, int64_t most, int64_t *count) {
    char *end;
    errno = 0;
    *count = strtoll(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == 0 && errno == 0 && *count >= 1 &&
           *count <= most;
}

static bool set_count(int64_t *slot, const struct option *option, const char *value,
                      struct error *error) {
    const int64_t most = option->kind == OPTION_JOBS ? BATCH_JOBS_MAX : SECONDS_MAX;
    return (value && parse_count(value, most, slot)) ||
           error_set(error, 0, "option %s needs a whole number from 1 to %lld", option->flag,
                     (long long)most);
}

static bool set_option(struct command_line *line, const struct option *option, const char *value,
                       struct error *error) {
    void *slot = (char *)line + option->offset;
    switch (option->kind) {
    case OPTION_SWITCH:
        *(bool *)slot = true;
        return true;
    case OPTION_STRING:
    case OPTION_FILE:
        *(const char **)slot = value;
        return value || error_set(error, 0, "option %s needs a value", option->flag);
    case OPTION_JOBS:
    case OPTION_SECONDS:
        return set_count(slot, option, value, error);
    }
    return false;
}

static const struct option *find_option(const char *command, const char *argument,
                                        const char **value) {
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (strcmp(table[i].command, command) == 0 && is_option(&table[i], argument, value))
            return &table[i];
    return NULL;
}

bool options_take(struct command_line *line, int *count, char **arguments, struct error *error) {
    const char *command = *count > 1 ? arguments[1] : "";
    *line = (struct command_line){.batch.jobs = processors()};
    int kept = 1, i = 1;
    for (; i < *count && strcmp(arguments[i], "--") != 0; i++) {
        const char *value;
        const struct option *option = find_option(command, arguments[i], &value);
        if (!option) {
            arguments[kept++] = arguments[i];
            continue;
        }
        if (!value && option->kind != OPTION_SWITCH && i + 1 < *count)
            value = arguments[++i];
        if (!set_option(line, option, value, error))
            return false;
    }
    while (i < *count)
        arguments[kept++] = arguments[i++];
    *count = kept;
    return true;
}

const char *options_value(int count, char **arguments, const char *flag) {
    const struct option option = {.flag = flag, .kind = OPTION_STRING};
    const char *found = NULL, *value;
    for (int i = 1; i < count && strcmp(arguments[i], "--") != 0; i++)
        if (is_option(&option, arguments[i], &value))
            found = value || i + 1 == count ? value : arguments[++i];
    return found;
}

bool options_takes_value(const char *command, const char *argument) {
    const char *value;
    const struct option *option = find_option(command, argument, &value);
    return option && !value && option->kind != OPTION_SWITCH;
}

const char *const *options_names(const char *command) {
    enum { COMMON = 4 };
    static const char *names[COMMON + OPTION_COUNT + 1] = {"-h", "--help", "-V", "--version"};
    size_t count = COMMON;
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (strcmp(table[i].command, command) == 0)
            names[count++] = table[i].flag;
    names[count] = NULL;
    return names;
}

void options_visit(const char *command, flag_visitor visit, void *context) {
    static const enum flag_value values[] = {[OPTION_JOBS] = FLAG_WORD,
                                             [OPTION_SECONDS] = FLAG_WORD,
                                             [OPTION_STRING] = FLAG_WORD,
                                             [OPTION_FILE] = FLAG_FILE,
                                             [OPTION_SWITCH] = FLAG_SWITCH};
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct flag flag = {
            .name = table[i].flag, .value = values[table[i].kind], .help = table[i].help};
        if (strcmp(table[i].command, command) == 0)
            visit(context, &flag);
    }
}

void options_help(FILE *out, const char *command) {
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        char left[40];
        if (strcmp(table[i].command, command) != 0)
            continue;
        snprintf(left, sizeof left, "%s %s", table[i].flag, table[i].placeholder);
        fprintf(out, "  %-26s %s\n", left, table[i].help);
    }
}

void options_manual(FILE *out) {
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (i == 0 || strcmp(table[i].command, table[i - 1].command) != 0)
            fprintf(out, ".SS For %s only\n", table[i].command);
        fputs(".TP\n.B ", out);
        for (const char *byte = table[i].flag; *byte; byte++)
            fprintf(out, "%s%c", *byte == '-' ? "\\" : "", *byte);
        fprintf(out, "%s%s\n%s\n", *table[i].placeholder ? " " : "", table[i].placeholder,
                table[i].help);
    }
}
