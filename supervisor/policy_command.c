/* `eclave policy`: what is in force with these settings, from the very tables that the kernel's
 * filter and the layers are made of. Says nothing about this machine: that is doctor's. */
#include "policy/table.h"
#include "supervisor/commands.h"
#include "supervisor/confinement.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 100 };

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

/* Prints NAME behind what stands in the line already; the column after it. */
static int print_name(const char *name, int column, bool first) {
    int length = (int)strlen(name);
    if (!first && column + length + 2 > COLUMNS) {
        printf(",\n      %s", name);
        return 6 + length;
    }
    printf("%s%s", first ? "" : ", ", name);
    return column + length + (first ? 0 : 2);
}

/* Prints the rows of one verdict, those that this architecture has, group by group. */
static void print_rows(const char *title, uint32_t grants,
                       bool (*wanted)(const struct policy_row *row)) {
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    printf("\n%s\n", title);
    for (size_t i = 0; i < count;) {
        size_t end = i;
        int column = 4;
        bool any = false;
        for (; end < count && same_group(&rows[i], &rows[end]); end++) {
            const struct policy_row *row = &rows[end];
            if (row->number < 0 || !policy_row_counts(row, grants) || !wanted(row))
                continue;
            if (!any)
                fputs("    ", stdout);
            column = print_name(row->name, column, !any);
            any = true;
        }
        if (any && rows[i].verdict == POLICY_REFUSE && !rows[i].setup)
            printf(" -> %s", strerrorname_np(rows[i].error));
        if (any)
            printf("\n        %s\n", rows[i].reason);
        if (any && *rows[i].rule)
            printf("        only with %s\n", rows[i].rule);
        i = end;
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
