/* The table itself. The allowed calls are listed here a second time, so that no accidental change
 * of syscalls.def allows more; every call has a name, a verdict and a reason. */
#include "policy/syscalls.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

/* Lists of words, each between two spaces. */

/* The calls with an ALLOW row of any kind. */
static const char allowed[] =
    " brk clock_gettime clock_nanosleep close exit exit_group futex dup2 dup3 getcwd getegid "
    "geteuid getgid getpid getppid getrandom getrusage gettid gettimeofday getuid madvise mmap "
    "mprotect mremap munmap prctl prlimit64 pselect6 read recvmsg restart_syscall rt_sigprocmask "
    "rt_sigreturn sched_yield tgkill time write writev ";

/* Those of them that depend on their arguments. */
static const char ruled[] = " clock_gettime clock_nanosleep dup2 dup3 futex getrusage madvise mmap "
                            "mprotect mremap prctl prlimit64 pselect6 tgkill ";

/* Calls that are allowed for the setup only, wholly or in part. */
static const char setup[] = " prctl seccomp sendmsg ";

/* Calls that grants allow in addition. */
static const struct {
    const char *name;
    uint32_t grants;
    bool ruled;
} granted[] = {{"mmap", POLICY_GRANT_NATIVE, true},      {"openat", POLICY_GRANT_READ, true},
               {"newfstatat", POLICY_GRANT_READ, false}, {"fstat", POLICY_GRANT_READ, false},
               {"lseek", POLICY_GRANT_READ, false},      {"getdents64", POLICY_GRANT_READ, false},
               {"readlink", POLICY_GRANT_READ, false},   {"readlinkat", POLICY_GRANT_READ, false},
               {"access", POLICY_GRANT_READ, false},     {"faccessat", POLICY_GRANT_READ, false},
               {"fcntl", POLICY_GRANT_READ, true},       {"fcntl", POLICY_GRANT_READ, true},
               {"openat", POLICY_GRANT_WRITE, true},     {"mkdir", POLICY_GRANT_WRITE, false},
               {"mkdirat", POLICY_GRANT_WRITE, false},   {"rmdir", POLICY_GRANT_WRITE, false},
               {"unlink", POLICY_GRANT_WRITE, false},    {"unlinkat", POLICY_GRANT_WRITE, false},
               {"rename", POLICY_GRANT_WRITE, false},    {"renameat", POLICY_GRANT_WRITE, false},
               {"ftruncate", POLICY_GRANT_WRITE, false}, {"fsync", POLICY_GRANT_WRITE, false}};

/* What each argument of these calls can name, from the manual pages: a number (n), memory (m), a
 * descriptor (d), a path (p), an object that may belong to others (o), or nothing, but it selects
 * what the call does (s). */
static const struct {
    const char *name;
    const char *arguments;
} signatures[] = {
    {"access", "pn"},
    {"brk", "m"},
    {"clock_gettime", "om"},
    {"clock_nanosleep", "onmm"},
    {"close", "d"},
    {"dup2", "dd"},
    {"dup3", "ddn"},
    {"exit", "n"},
    {"exit_group", "n"},
    {"faccessat", "dpn"},
    {"fcntl", "dsn"},
    {"fstat", "dm"},
    {"fsync", "d"},
    {"ftruncate", "dn"},
    {"futex", "msnmmn"},
    {"getcwd", "mn"},
    {"getdents64", "dmn"},
    {"getegid", ""},
    {"geteuid", ""},
    {"getgid", ""},
    {"getpid", ""},
    {"getppid", ""},
    {"getrandom", "mnn"},
    {"getrusage", "om"},
    {"gettid", ""},
    {"gettimeofday", "mm"},
    {"getuid", ""},
    {"lseek", "dnn"},
    {"madvise", "mns"},
    {"mkdir", "pn"},
    {"mkdirat", "dpn"},
    {"mmap", "mnssdn"},
    {"mprotect", "mns"},
    {"mremap", "mnnsm"},
    {"munmap", "mn"},
    {"newfstatat", "dpmn"},
    {"openat", "dpsn"},
    {"prctl", "snnnn"},
    {"prlimit64", "onmm"},
    {"pselect6", "nmmmmm"},
    {"read", "dmn"},
    {"readlink", "pmn"},
    {"readlinkat", "dpmn"},
    {"recvmsg", "dmn"},
    {"rename", "pp"},
    {"renameat", "dpdp"},
    {"restart_syscall", ""},
    {"rmdir", "p"},
    {"rt_sigprocmask", "nmmn"},
    {"rt_sigreturn", ""},
    {"sched_yield", ""},
    {"seccomp", "ssm"},
    {"sendmsg", "dmn"},
    {"tgkill", "oos"},
    {"time", "m"},
    {"unlink", "p"},
    {"unlinkat", "dpn"},
    {"write", "dmn"},
    {"writev", "dmn"},
};

static bool is_among(const char *name, const char *list) {
    char word[64];
    snprintf(word, sizeof word, " %s ", name);
    return strstr(list, word) != NULL;
}

static bool has_terms(const struct policy_row *row) {
    return row->terms[0].kind != TERM_NONE;
}

static struct policy_ruling judge(int number, uint64_t first, uint64_t second, uint64_t third,
                                  uint64_t fourth) {
    struct seccomp_data call = {
        .nr = number, .arch = seccomp_arch_native(), .args = {first, second, third, fourth}};
    return policy_judge(0, &call, 0);
}

Test(table, allows_exactly_what_is_listed_here) {
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].verdict == POLICY_ALLOW && !rows[i].grants) {
            cr_assert(is_among(rows[i].name, allowed), "%s", rows[i].name);
            cr_assert_eq(is_among(rows[i].name, ruled), has_terms(&rows[i]), "%s", rows[i].name);
        }
        if (rows[i].setup)
            cr_assert(is_among(rows[i].name, setup), "%s", rows[i].name);
    }
}

Test(table, grants_exactly_what_is_listed_here) {
    size_t count, found = 0;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].grants)
            continue;
        cr_assert_lt(found, sizeof granted / sizeof *granted, "%s", rows[i].name);
        cr_assert_str_eq(rows[i].name, granted[found].name);
        cr_assert_eq(rows[i].grants, granted[found].grants, "%s", rows[i].name);
        cr_assert_eq(has_terms(&rows[i]), granted[found].ruled, "%s", rows[i].name);
        cr_assert_eq(rows[i].verdict, POLICY_ALLOW, "%s", rows[i].name);
        cr_assert_not(rows[i].setup, "%s", rows[i].name);
        /* The supervisor decides about each mapping of code. */
        cr_assert_eq(policy_row_is_notified(&rows[i]), rows[i].grants == POLICY_GRANT_NATIVE, "%s",
                     rows[i].name);
        found++;
    }
    cr_assert_eq(found, sizeof granted / sizeof *granted);
}

/* What is mapped then is for the supervisor to say. */
Test(ruling, code_is_mapped_only_with_the_grant) {
    struct seccomp_data call = {
        .nr = SYS_mmap,
        .arch = seccomp_arch_native(),
        .args = {4096, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, 4, 0}};
    cr_assert_eq(policy_judge(0, &call, 0).verdict, POLICY_KILL);
    cr_assert_eq(policy_judge(POLICY_GRANT_READ | POLICY_GRANT_WRITE, &call, 0).verdict,
                 POLICY_KILL);
    cr_assert_eq(policy_judge(POLICY_GRANT_NATIVE, &call, 0).verdict, POLICY_ALLOW);
    cr_assert(policy_maps_code(&call));
    static const struct {
        unsigned argument;
        uint64_t value;
    } others[] = {{2, PROT_READ | PROT_WRITE | PROT_EXEC},
                  {2, PROT_EXEC},
                  {3, MAP_SHARED | MAP_FIXED},
                  {3, MAP_PRIVATE},
                  {3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED},
                  {4, 3},
                  {4, 4 | 1ULL << 32}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct seccomp_data other = call;
        other.args[others[i].argument] = others[i].value;
        cr_assert_eq(policy_judge(POLICY_GRANT_NATIVE, &other, 0).verdict, POLICY_KILL, "%zu", i);
    }
}

static bool may_run(const struct policy_row *row) {
    return row->verdict == POLICY_ALLOW || row->setup;
}

static const char *signature_of(const char *name) {
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
        if (strcmp(signatures[i].name, name) == 0)
            return signatures[i].arguments;
    return NULL;
}

/* The arguments of ROW in the letters of the list above. */
static void spell(const struct policy_row *row, char letters[POLICY_ARGUMENTS_MAX + 1]) {
    static const char names[] = {
        [POLICY_NOTHING] = '\0',   [POLICY_NUMBER] = 'n', [POLICY_MEMORY] = 'm',
        [POLICY_DESCRIPTOR] = 'd', [POLICY_PATH] = 'p',   [POLICY_OBJECT] = 'o',
        [POLICY_SELECTOR] = 's'};
    for (size_t i = 0; i < POLICY_ARGUMENTS_MAX; i++)
        letters[i] = names[row->arguments[i]];
    letters[POLICY_ARGUMENTS_MAX] = '\0';
}

/* The first argument of ROW that can name an object of others, or that selects what the call does,
 * without a term that prevents it; -1 if there is none. */
static int unruled_argument(const struct policy_row *row) {
    for (unsigned i = 0; i < POLICY_ARGUMENTS_MAX; i++) {
        bool object = row->arguments[i] == POLICY_OBJECT;
        bool held = !object && row->arguments[i] != POLICY_SELECTOR;
        for (size_t j = 0; j < POLICY_TERMS_MAX && row->terms[j].kind != TERM_NONE; j++) {
            const struct policy_term *term = &row->terms[j];
            if (term->argument == i)
                held = held || term->kind == TERM_SELF || !object || term->mask == UINT64_MAX;
        }
        if (!held)
            return (int)i;
    }
    return -1;
}

Test(table, states_what_each_argument_of_an_allowed_call_can_name) {
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < count; i++) {
        char letters[POLICY_ARGUMENTS_MAX + 1];
        const char *wanted = may_run(&rows[i]) ? signature_of(rows[i].name) : "";
        spell(&rows[i], letters);
        cr_assert_not_null(wanted, "%s", rows[i].name);
        cr_assert_str_eq(letters, wanted, "%s", rows[i].name);
    }
}

Test(table, lets_no_argument_name_what_belongs_to_others) {
    size_t count, named = 0;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < count; i++) {
        if (!may_run(&rows[i]))
            continue;
        cr_assert_eq(unruled_argument(&rows[i]), -1, "%s: argument %d is free", rows[i].name,
                     unruled_argument(&rows[i]));
        for (size_t j = 0; j < POLICY_ARGUMENTS_MAX; j++)
            named += rows[i].arguments[j] == POLICY_OBJECT;
    }
    cr_assert_geq(named, 8);
}

Test(table, would_not_pass_with_an_argument_that_is_free) {
    struct policy_row row = {.arguments = {POLICY_MEMORY, POLICY_OBJECT}};
    cr_assert_eq(unruled_argument(&row), 1);
    row.terms[0] = (struct policy_term){.kind = TERM_BITS, .argument = 0, .mask = UINT64_MAX};
    cr_assert_eq(unruled_argument(&row), 1, "a term of another argument");
    row.terms[0].argument = 1;
    cr_assert_eq(unruled_argument(&row), -1);
    row.terms[0].mask = UINT32_MAX;
    cr_assert_eq(unruled_argument(&row), 1, "a term of half of it");
    row.arguments[1] = POLICY_SELECTOR;
    cr_assert_eq(unruled_argument(&row), -1);
    row.terms[0].kind = TERM_NONE;
    cr_assert_eq(unruled_argument(&row), 1);
}

/* Whether ONE may precede OTHER, a row for the same call. Only the first applicable row takes
 * effect. */
static bool is_lawful_pair(const struct policy_row *one, const struct policy_row *other) {
    if (one->grants && !other->grants)
        return true;
    return (one->grants || !other->grants) && has_terms(one) && has_terms(other);
}

Test(table, has_a_reason_and_a_valid_form_in_every_row) {
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < count; i++) {
        const struct policy_row *row = &rows[i];
        size_t length = strlen(row->reason);
        cr_assert(length > 4 && length < 100 && !strchr(row->reason, '\n'), "%s", row->name);
        cr_assert_eq(row->verdict == POLICY_REFUSE, row->error != 0, "%s", row->name);
        cr_assert(!has_terms(row) || row->verdict == POLICY_ALLOW || row->setup, "%s", row->name);
        cr_assert_eq(row->setup, row->setup && row->error == EPERM, "%s", row->name);
        for (size_t j = i + 1; j < count; j++)
            if (strcmp(row->name, rows[j].name) == 0)
                cr_assert(is_lawful_pair(row, &rows[j]),
                          "%s has two rows and one is for any arguments", row->name);
            else
                cr_assert(row->number < 0 || row->number != rows[j].number, "%s is %s", row->name,
                          rows[j].name);
    }
}

Test(table, names_every_call_that_libseccomp_knows) {
    size_t known = 0;
    for (int number = 0; number < 1024; number++) {
        char *name = seccomp_syscall_resolve_num_arch(seccomp_arch_native(), number);
        if (name) {
            known++;
            cr_assert_str_eq(policy_syscall_name(number), name);
        }
        free(name);
    }
    cr_assert_gt(known, 280);
}

Test(table, does_not_name_unknown_numbers) {
    static const int numbers[] = {-1, -100, 512, 1023, INT32_MAX, INT32_MIN, 0x40000000};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cr_assert_str_eq(policy_syscall_name(numbers[i]), "unknown");
}

Test(judge, kills_calls_that_only_an_attack_uses_and_names_them) {
    char attacks[] =
        "execve execveat ptrace kill tkill rt_sigqueueinfo pidfd_send_signal pidfd_getfd "
        "process_vm_readv process_vm_writev bpf io_uring_setup keyctl add_key request_key "
        "userfaultfd perf_event_open mount unshare setns kcmp setuid setresuid "
        "personality memfd_create connect sendto";
    for (char *rest = attacks, *name; (name = strsep(&rest, " ")) != NULL;) {
        int number = seccomp_syscall_resolve_name_arch(seccomp_arch_native(), name);
        cr_assert_geq(number, 0, "%s", name);
        struct policy_ruling answer = judge(number, 0, 0, 0, 0);
        cr_assert_eq(answer.verdict, POLICY_KILL, "%s", name);
        cr_assert_eq(answer.error, 0);
        cr_assert_str_eq(answer.name, name);
        cr_assert_str_eq(policy_syscall_name(number), name);
    }
}

Test(judge, refuses_calls_that_ordinary_lisp_makes) {
    static const struct {
        int number;
        int error;
    } accidents[] = {{SYS_openat, EACCES},      {SYS_newfstatat, EACCES}, {SYS_readlinkat, EACCES},
                     {SYS_mkdirat, EACCES},     {SYS_unlinkat, EACCES},   {SYS_lseek, ESPIPE},
                     {SYS_ioctl, ENOTTY},       {SYS_dup, EPERM},         {SYS_pipe2, EPERM},
                     {SYS_socket, EACCES},      {SYS_clone, EAGAIN},      {SYS_clone3, ENOSYS},
                     {SYS_rt_sigaction, EPERM}, {SYS_wait4, ECHILD},      {SYS_uname, EPERM}};
    for (size_t i = 0; i < sizeof accidents / sizeof *accidents; i++) {
        struct policy_ruling answer = judge(accidents[i].number, 1, 2, 3, 4);
        cr_assert_eq(answer.verdict, POLICY_REFUSE, "%s", answer.name);
        cr_assert_eq(answer.error, accidents[i].error, "%s", answer.name);
    }
}

Test(judge, checks_arguments) {
    cr_expect_eq(judge(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS).verdict,
                 POLICY_ALLOW);
    cr_expect_eq(judge(SYS_mmap, 0, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS).verdict,
                 POLICY_KILL);
    cr_expect_eq(judge(SYS_mmap, 0, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS).verdict,
                 POLICY_KILL);
    cr_expect_eq(judge(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE).verdict, POLICY_KILL);
    cr_expect_eq(judge(SYS_prlimit64, 0, 3, 0, 0).verdict, POLICY_ALLOW);
    cr_expect_eq(judge(SYS_prlimit64, 1, 3, 0, 0).verdict, POLICY_KILL);
    cr_expect_eq(judge(SYS_prlimit64, 0, 3, 4096, 0).verdict, POLICY_KILL);
    cr_expect_eq(judge(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0).verdict, POLICY_ALLOW);
    cr_expect_eq(judge(SYS_prctl, PR_SET_PDEATHSIG, 0, 0, 0).verdict, POLICY_KILL);
    cr_expect_eq(judge(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0).verdict, POLICY_KILL);
    cr_expect_eq(judge(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0).error, EPERM);
    cr_expect_eq(judge(SYS_getrusage, (uint64_t)RUSAGE_CHILDREN, 0, 0, 0).verdict, POLICY_KILL);
    cr_expect_eq(judge(SYS_pselect6, 1, 0, 0, 0).verdict, POLICY_ALLOW);
    cr_expect_eq(judge(SYS_clock_getres, CLOCK_REALTIME, 0, 0, 0).error, EPERM);
}

/* Every id that the kernel knows, and those that it makes of processes and descriptors. */
Test(judge, allows_four_clocks) {
    static const char readable[] = {[CLOCK_REALTIME] = true,
                                    [CLOCK_MONOTONIC] = true,
                                    [CLOCK_PROCESS_CPUTIME_ID] = true,
                                    [CLOCK_REALTIME_COARSE] = true};
    for (uint64_t id = 0; id < 64; id++) {
        bool read = id < sizeof readable && readable[id];
        cr_expect_eq(judge(SYS_clock_gettime, id, 0, 0, 0).verdict,
                     read ? POLICY_ALLOW : POLICY_KILL, "%d", (int)id);
        cr_expect_eq(judge(SYS_clock_nanosleep, id, 0, 0, 0).verdict,
                     id == CLOCK_REALTIME ? POLICY_ALLOW : POLICY_KILL, "%d", (int)id);
        for (unsigned kind = 0; kind < 8; kind++) {
            uint64_t dynamic = ~id << 3 | kind;
            cr_expect_eq(judge(SYS_clock_gettime, dynamic, 0, 0, 0).verdict, POLICY_KILL);
            cr_expect_eq(judge(SYS_clock_gettime, (uint32_t)dynamic, 0, 0, 0).verdict, POLICY_KILL);
            cr_expect_eq(judge(SYS_clock_nanosleep, dynamic, 0, 0, 0).verdict, POLICY_KILL);
        }
    }
    cr_expect_eq(judge(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, 0, 0).verdict,
                 POLICY_KILL);
}

Test(judge, refuses_signals_to_unknown_processes) {
    cr_expect_eq(judge(SYS_tgkill, 0, 0, SIGABRT, 0).verdict, POLICY_KILL);
    cr_expect_eq(judge(SYS_tgkill, 1, 1, SIGABRT, 0).verdict, POLICY_KILL);
}

Test(judge, kills_unknown_calls) {
    cr_expect_eq(judge(9999, 0, 0, 0, 0).verdict, POLICY_KILL);
    cr_expect_eq(judge(-1, 0, 0, 0, 0).verdict, POLICY_KILL);
    cr_expect_str_eq(judge(9999, 0, 0, 0, 0).name, "unknown");
    struct seccomp_data call = {.nr = SYS_read, .arch = AUDIT_ARCH_I386};
    cr_expect_eq(policy_judge(0, &call, 0).verdict, POLICY_KILL);
    cr_expect_str_eq(policy_judge(0, &call, 0).name, "unknown");
}

/* The verdict of a call under each combination of grants. */
static void expect_verdicts(struct seccomp_data call, enum policy_verdict none,
                            enum policy_verdict reading, enum policy_verdict writing) {
    call.arch = seccomp_arch_native();
    const char *name = policy_syscall_name(call.nr);
    cr_expect_eq(policy_judge(0, &call, 0).verdict, none, "%s with nothing", name);
    cr_expect_eq(policy_judge(POLICY_GRANT_READ, &call, 0).verdict, reading, "%s with files", name);
    cr_expect_eq(policy_judge(POLICY_GRANT_READ | POLICY_GRANT_WRITE, &call, 0).verdict, writing,
                 "%s with a scratch directory", name);
}

/* The flags with which a file may be opened, each alone. */
Test(judge, allows_only_the_open_flags_listed_here) {
    const uint64_t both = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    const uint64_t writing = O_WRONLY | O_RDWR | O_CREAT | O_EXCL | O_TRUNC | O_APPEND;
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t flag = UINT64_C(1) << bit;
        bool reads = flag & (both | O_DIRECTORY);
        bool writes = flag & writing;
        struct seccomp_data call = {.nr = SYS_openat, .args = {(uint64_t)AT_FDCWD, 1, flag}};
        expect_verdicts(call, POLICY_REFUSE, reads ? POLICY_ALLOW : POLICY_REFUSE,
                        reads || writes ? POLICY_ALLOW : POLICY_REFUSE);
    }
}

Test(judge, opens_no_unnamed_file) {
    struct seccomp_data call = {.nr = SYS_openat, .args = {(uint64_t)AT_FDCWD, 1, O_TMPFILE}};
    expect_verdicts(call, POLICY_REFUSE, POLICY_REFUSE, POLICY_REFUSE);
    call.args[2] |= O_RDWR;
    expect_verdicts(call, POLICY_REFUSE, POLICY_REFUSE, POLICY_REFUSE);
}

Test(judge, grants_neither_links_nor_attributes_nor_other_access_to_files) {
    static const int refused[] = {SYS_openat2,  SYS_linkat,   SYS_symlinkat, SYS_renameat2,
                                  SYS_fchmod,   SYS_fchmodat, SYS_fchown,    SYS_fchownat,
                                  SYS_truncate, SYS_statx,    SYS_chdir,     SYS_fchdir,
                                  SYS_ioctl,    SYS_utimensat};
    static const int killed[] = {SYS_execve, SYS_execveat, SYS_mknodat,          SYS_mount,
                                 SYS_chroot, SYS_setxattr, SYS_name_to_handle_at};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        expect_verdicts((struct seccomp_data){.nr = refused[i]}, POLICY_REFUSE, POLICY_REFUSE,
                        POLICY_REFUSE);
    for (size_t i = 0; i < sizeof killed / sizeof *killed; i++)
        expect_verdicts((struct seccomp_data){.nr = killed[i]}, POLICY_KILL, POLICY_KILL,
                        POLICY_KILL);
}

Test(judge, allows_queries_of_descriptors_but_no_changes) {
    static const uint64_t commands[] = {F_DUPFD, F_SETFD, F_SETFL, F_SETLK, F_DUPFD_CLOEXEC};
    struct seccomp_data call = {.nr = SYS_fcntl, .args = {0, F_GETFL}};
    expect_verdicts(call, POLICY_REFUSE, POLICY_ALLOW, POLICY_ALLOW);
    call.args[1] = F_GETFD;
    expect_verdicts(call, POLICY_REFUSE, POLICY_ALLOW, POLICY_ALLOW);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        call.args[1] = commands[i];
        expect_verdicts(call, POLICY_REFUSE, POLICY_REFUSE, POLICY_REFUSE);
    }
}
