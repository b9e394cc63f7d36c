/* `eclave policy`: what is in force with these settings, from the very tables that the kernel's
 * filter and the layers are made of. Says nothing about this machine: that is doctor's. */
#include "policy/syscalls.h"
#include "supervisor/command/commands.h"
#include "supervisor/process/confinement.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 100, REASON_COLUMN = 24 };

static const struct {
    const char *name;
    unsigned long long most;
    const char *reason;
} limits[] = {
#define LIMIT(what, most, reason) {#what, most, reason},
#include "policy/limits.def"
};

static void print_layers(const struct policy *policy) {
    puts("LAYERS, in the order in which they are put on");
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++) {
        uint32_t bit = POLICY_LAYER_BIT(layer);
        bool needed = policy->required & bit || !(policy_optional_layers() & bit);
        printf("  %-12s %-9s %s\n", policy_layer_name(layer),
               !(policy->layers & bit) ? "off"
               : needed                ? "required"
                                       : "if there",
               policy_layer_stops(layer));
    }
}

static void print_files(const struct policy *policy) {
    puts("\nFILES");
    for (size_t i = 0; i < policy->readable_count; i++)
        printf("  read   %s and below\n", policy->readable[i]);
    if (policy->scratch_bytes)
        printf("  write  %s, %llu MiB in memory, of each session its own\n", POLICY_SCRATCH,
               (unsigned long long)policy->scratch_bytes >> 20);
    if (!policy_grants(policy))
        puts("  none");
}

static void print_limits(const struct policy *policy) {
    puts("\nLIMITS");
    printf("  %-10s %12llu  one process\n", "AS", (unsigned long long)policy->address_space_bytes);
    printf("  %-10s %12llu  no file grows%s\n", "FSIZE", (unsigned long long)policy->scratch_bytes,
           policy->scratch_bytes ? " beyond the scratch directory" : "");
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        printf("  %-10s %12llu  %s\n", limits[i].name, limits[i].most, limits[i].reason);
    printf("  %-10s %12llu  all processes together, with a control group\n", "memory",
           (unsigned long long)policy->all_memory_bytes);
    printf("  %-10s %12u  processes, with a control group\n", "processes", policy->all_processes);
}

/* Rows that say the same stand together. */
static bool same_group(const struct policy_row *one, const struct policy_row *other) {
    return one->verdict == other->verdict && one->error == other->error &&
           one->setup == other->setup && one->seen == other->seen && one->grants == other->grants &&
           strcmp(one->rule, other->rule) == 0 && strcmp(one->reason, other->reason) == 0;
}

/* Writes WORD behind what the line has already, or on a line of its own, INDENT columns in. The
 * column after it. */
static int print_word(const char *word, int column, int indent) {
    int length = (int)strlen(word);
    if (column > indent && column + 1 + length > COLUMNS) {
        printf("\n%*s", indent, "");
        column = indent;
    } else if (column > indent) {
        putchar(' ');
        column++;
    }
    fputs(word, stdout);
    return column + length;
}

/* What is said of a group: its errno, its reason, its rule. */
static void print_reason(const struct policy_row *row, int column) {
    char text[400];
    int indent = REASON_COLUMN;
    if (column >= indent) {
        putchar('\n');
        column = 0;
    }
    printf("%*s", indent - column, "");
    int used =
        snprintf(text, sizeof text, "%s%s%s",
                 row->verdict == POLICY_REFUSE && !row->setup ? strerrorname_np(row->error) : "",
                 row->verdict == POLICY_REFUSE && !row->setup ? ": " : "", row->reason);
    if (*row->rule && used > 0 && (size_t)used < sizeof text)
        snprintf(text + used, sizeof text - (size_t)used, "; only with %s", row->rule);
    column = indent;
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        column = print_word(word, column, indent);
    putchar('\n');
}

/* Prints the rows of one kind, those that this architecture has, group by group. */
static void print_rows(const char *title, uint32_t grants,
                       bool (*wanted)(const struct policy_row *row)) {
    enum { INDENT = 4 };
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    printf("\n%s\n", title);
    for (size_t i = 0, end; i < count; i = end) {
        int column = 0;
        for (end = i; end < count && same_group(&rows[i], &rows[end]); end++) {
            const struct policy_row *row = &rows[end];
            if (row->number < 0 || !policy_row_applies(row, grants) || !wanted(row))
                continue;
            if (column == 0)
                column = printf("%*s", INDENT, "");
            column = print_word(row->name, column, INDENT);
        }
        if (column)
            print_reason(&rows[i], column);
    }
}

static bool is_allowed(const struct policy_row *row) {
    return row->verdict == POLICY_ALLOW;
}

static bool is_refused(const struct policy_row *row) {
    return row->verdict == POLICY_REFUSE && !row->setup;
}

static bool is_killing(const struct policy_row *row) {
    return row->verdict == POLICY_KILL;
}

static bool is_setup(const struct policy_row *row) {
    return row->setup;
}

int command_policy(const struct settings *settings) {
    const struct policy policy = confinement_policy(settings);
    uint32_t grants = policy_grants(&policy);
    print_layers(&policy);
    print_files(&policy);
    print_limits(&policy);
    puts("\nSYSTEM CALLS. Arguments are counted from 0: EQUAL(a, v) is that value; BITS(a, r, o) "
         "has "
         "all\nthe bits r and none beside o; SELF(a) is the process itself. All 64 bits count.");
    print_rows("  RUN", grants, is_allowed);
    print_rows("  FAIL with that errno, as an ordinary Lisp error", grants, is_refused);
    print_rows("  END the worker, and are named", grants, is_killing);
    print_rows("  RUN only until the worker is confined, before any foreign byte is read", grants,
               is_setup);
    puts("\n  Every call that is not listed ends the worker. So does any call of another "
         "architecture.");
    return fflush(stdout) == 0 ? 0 : STATUS_INTERNAL;
}
