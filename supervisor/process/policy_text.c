/* The policy as text, printed from the tables of which the kernel's filter and the layers are made.
 */
#include "supervisor/process/policy_text.h"
#include "policy/syscalls.h"
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

static void print_layers(FILE *out, const struct policy *policy) {
    fputs("LAYERS, in the order in which they are applied\n", out);
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++) {
        uint32_t bit = POLICY_LAYER_BIT(layer);
        bool needed = policy->required & bit || !(policy_optional_layers() & bit);
        fprintf(out, "  %-12s %-9s %s\n", policy_layer_name(layer),
                !(policy->layers & bit) ? "off"
                : needed                ? "required"
                                        : "optional",
                policy_layer_stops(layer));
    }
}

static void print_files(FILE *out, const struct policy *policy) {
    fputs("\nFILES\n", out);
    for (size_t i = 0; i < policy->readable_count; i++)
        fprintf(out, "  read   %s and everything below\n", policy->readable[i]);
    if (policy->scratch_bytes)
        fprintf(out, "  write  %s, %llu MiB in memory for each session\n", POLICY_SCRATCH,
                (unsigned long long)policy->scratch_bytes >> 20);
    if (!policy->readable_count && !policy->scratch_bytes)
        fputs("  none\n", out);
}

static void print_supervisor_files(FILE *out, const struct settings *settings) {
    const struct policy_supervisor supervisor = confinement_supervisor(settings);
    fputs("\nFILES OF THE SUPERVISOR, besides those that are open\n", out);
    fputs("  read   /proc\n", out);
    for (size_t i = 0; i < supervisor.readable_count; i++)
        fprintf(out, "  read   %s and everything below\n", supervisor.readable[i]);
    for (size_t i = 0; i < settings->state.count; i++)
        fprintf(out, "  write  %s, by a process of its own, which reaches nothing else\n",
                settings->state.paths[i]);
}

static void print_limits(FILE *out, const struct policy *policy) {
    fputs("\nLIMITS\n", out);
    fprintf(out, "  %-10s %12llu  bytes of address space of one process\n", "AS",
            (unsigned long long)policy->address_space_bytes);
    fprintf(out, "  %-10s %12llu  %s\n", "FSIZE", (unsigned long long)policy->scratch_bytes,
            policy->scratch_bytes ? "bytes of a file in the scratch directory"
                                  : "no file can grow");
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        fprintf(out, "  %-10s %12llu  %s\n", limits[i].name, limits[i].most, limits[i].reason);
    fprintf(out, "  %-10s %12llu  bytes of memory of all processes (control group)\n", "memory",
            (unsigned long long)policy->all_memory_bytes);
    fprintf(out, "  %-10s %12u  processes (control group)\n", "processes", policy->all_processes);
}

/* Rows of a group are printed with one reason. */
static bool same_group(const struct policy_row *one, const struct policy_row *other) {
    return one->verdict == other->verdict && one->error == other->error &&
           one->setup == other->setup && one->seen == other->seen && one->grants == other->grants &&
           strcmp(one->rule, other->rule) == 0 && strcmp(one->reason, other->reason) == 0;
}

/* Prints WORD at COLUMN, or on a new line from column INDENT on. Returns the column after it. */
static int print_word(FILE *out, const char *word, int column, int indent) {
    int length = (int)strlen(word);
    if (column > indent && column + 1 + length > COLUMNS) {
        fprintf(out, "\n%*s", indent, "");
        column = indent;
    } else if (column > indent) {
        putc(' ', out);
        column++;
    }
    fputs(word, out);
    return column + length;
}

/* Prints the errno, the reason and the rule of a group. */
static void print_reason(FILE *out, const struct policy_row *row, int column) {
    char text[400];
    int indent = REASON_COLUMN;
    if (column >= indent) {
        putc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", indent - column, "");
    int used =
        snprintf(text, sizeof text, "%s%s%s",
                 row->verdict == POLICY_REFUSE && !row->setup ? strerrorname_np(row->error) : "",
                 row->verdict == POLICY_REFUSE && !row->setup ? ": " : "", row->reason);
    if (*row->rule && used > 0 && (size_t)used < sizeof text)
        snprintf(text + used, sizeof text - (size_t)used, "; only with %s", row->rule);
    column = indent;
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        column = print_word(out, word, column, indent);
    putc('\n', out);
}

/* Prints the wanted rows by group, except those of other architectures. */
static void print_rows(FILE *out, const char *title, const struct policy_row *rows, size_t count,
                       uint32_t grants, bool (*wanted)(const struct policy_row *row)) {
    enum { INDENT = 4 };
    fprintf(out, "\n%s\n", title);
    for (size_t i = 0, end; i < count; i = end) {
        int column = 0;
        for (end = i; end < count && same_group(&rows[i], &rows[end]); end++) {
            const struct policy_row *row = &rows[end];
            if (row->number < 0 || !policy_row_applies(row, grants) || !wanted(row))
                continue;
            if (column == 0)
                column = fprintf(out, "%*s", INDENT, "");
            column = print_word(out, row->name, column, INDENT);
        }
        if (column)
            print_reason(out, &rows[i], column);
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

static void print_worker_calls(FILE *out, uint32_t grants) {
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    fputs("\nSYSTEM CALLS. Arguments are numbered from 0, and all 64 bits are compared.\n"
          "EQUAL(a, v): argument a is v. BITS(a, r, o): argument a has all bits of r, and\n"
          "no others but those of o. SELF(a): argument a is the process itself.\n",
          out);
    print_rows(out, "  RUN", rows, count, grants, is_allowed);
    print_rows(out, "  FAIL with this errno, as an ordinary Lisp error", rows, count, grants,
               is_refused);
    print_rows(out, "  KILL the worker (reported by name)", rows, count, grants, is_killing);
    print_rows(out, "  RUN until the worker is confined, before it reads any untrusted byte", rows,
               count, grants, is_setup);
    fputs("\n  A call that is not listed, or is of another architecture, kills the worker.\n", out);
}

/* With Landlock. */
static void print_supervisor_calls(FILE *out, uint32_t grants) {
    size_t count;
    const struct policy_row *rows = policy_supervisor_rows(&count);
    grants = POLICY_GRANT_READ | (grants & POLICY_GRANT_NATIVE);
    fputs("\nSYSTEM CALLS OF THE SUPERVISOR, once it reads from a client\n", out);
    print_rows(out, "  RUN", rows, count, grants, is_allowed);
    print_rows(out, "  FAIL with this errno", rows, count, grants, is_refused);
    fputs("\n  Any other call kills the supervisor.\n", out);
}

static void print_compiler_calls(FILE *out) {
    size_t count;
    const struct policy_row *rows = policy_compiler_rows(&count);
    fputs("\nSYSTEM CALLS OF A PROCESS THAT COMPILES ONE UNIT\n", out);
    print_rows(out, "  RUN", rows, count, 0, is_allowed);
    print_rows(out, "  FAIL with this errno", rows, count, 0, is_refused);
    fputs("\n  Any other call kills the process, and the code stays bytecode.\n", out);
}

void policy_text_print(FILE *out, const struct settings *settings) {
    const struct policy policy = confinement_policy(settings);
    print_layers(out, &policy);
    print_files(out, &policy);
    print_limits(out, &policy);
    print_worker_calls(out, policy_grants(&policy));
    print_supervisor_files(out, settings);
    print_supervisor_calls(out, policy_grants(&policy));
    if (policy.native)
        print_compiler_calls(out);
}
