/* The options of `eclave batch`. Never looks at a setting. */
#include "supervisor/batch/options.h"

#include <ctype.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>

enum option_kind { OPTION_JOBS, OPTION_PATH, OPTION_SWITCH };

static const struct option {
    const char *flag, *placeholder, *help;
    enum option_kind kind;
    size_t offset;
} table[] = {
#define OPTION(field, kind_name, name, value_name, text)                                           \
    {(name), (value_name), (text), OPTION_##kind_name, offsetof(struct batch_options, field)},
#include "supervisor/batch/options.def"
#undef OPTION
};

enum { OPTION_COUNT = sizeof table / sizeof *table };

static int64_t processors(void) {
    cpu_set_t set;
    int64_t count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < BATCH_JOBS_MAX ? count : BATCH_JOBS_MAX;
}

/* Is ARGUMENT this option? Then *value is what is joined to it ("-j4", "--junit=FILE"), or NULL. */
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

static bool parse_jobs(const char *text, int64_t *jobs) {
    char *end;
    errno = 0;
    *jobs = strtoll(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == 0 && errno == 0 && *jobs >= 1 &&
           *jobs <= BATCH_JOBS_MAX;
}

static bool set_option(struct batch_options *options, const struct option *option,
                       const char *value, struct error *error) {
    void *slot = (char *)options + option->offset;
    switch (option->kind) {
    case OPTION_SWITCH:
        *(bool *)slot = true;
        return true;
    case OPTION_PATH:
        *(const char **)slot = value;
        return value || error_set(error, 0, "option %s needs a value", option->flag);
    case OPTION_JOBS:
        return (value && parse_jobs(value, slot)) ||
               error_set(error, 0, "option %s needs a whole number of worlds from 1 to %d",
                         option->flag, BATCH_JOBS_MAX);
    }
    return false;
}

static const struct option *find_option(const char *argument, const char **value) {
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (is_option(&table[i], argument, value))
            return &table[i];
    return NULL;
}

bool batch_options_take(struct batch_options *options, int *count, char **arguments,
                        struct error *error) {
    *options = (struct batch_options){.jobs = processors()};
    int kept = 1, i = 1;
    for (; i < *count && strcmp(arguments[i], "--") != 0; i++) {
        const char *value;
        const struct option *option = find_option(arguments[i], &value);
        if (!option) {
            arguments[kept++] = arguments[i];
            continue;
        }
        if (!value && option->kind != OPTION_SWITCH && i + 1 < *count)
            value = arguments[++i];
        if (!set_option(options, option, value, error))
            return false;
    }
    while (i < *count)
        arguments[kept++] = arguments[i++];
    *count = kept;
    return true;
}

void batch_options_help(FILE *out) {
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        char left[40];
        snprintf(left, sizeof left, "%s %s", table[i].flag, table[i].placeholder);
        fprintf(out, "  %-18s %s\n", left, table[i].help);
    }
}

void batch_options_manual(FILE *out) {
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        fputs(".TP\n.B ", out);
        for (const char *byte = table[i].flag; *byte; byte++)
            fprintf(out, "%s%c", *byte == '-' ? "\\" : "", *byte);
        fprintf(out, " %s\n%s\n", table[i].placeholder, table[i].help);
    }
}
