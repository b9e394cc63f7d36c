/* The attacks of attacks.def and supervisor_attacks.def. Each runs in its own child, makes raw
 * system calls where the C library would do more, and leaves nothing behind if it succeeds. */
#include "policy/attacks.h"
#include "common/child.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "policy/attack_table.h"
#include "policy/native_attacks.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    NOBODY = 65534,
    PAGE = ATTACK_PAGE,
    MANY = 64,
    /* Limits that use_memory and start_many exceed. */
    PROCESSES = 16,
    ALL_MEMORY = 96 << 20,
    ADDRESS_SPACE = 192 << 20,
    GREED = 256 << 20
};

/* --- files --- */

static long read_a_file(const struct policy_victim *victim) {
    (void)victim;
    return syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
}

static long look_at_a_file(const struct policy_victim *victim) {
    (void)victim;
    struct stat status;
    return syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", &status, 0);
}

static long write_a_file(const struct policy_victim *victim) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/eclave-attack-%d-%ld", victim->pid, syscall(SYS_getpid));
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return -1;
    long written = syscall(SYS_write, fd, path, 1);
    int code = errno;
    syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    errno = code;
    return written;
}

static long read_shadow(const struct policy_victim *victim) {
    (void)victim;
    return syscall(SYS_openat, AT_FDCWD, "/etc/shadow", O_RDONLY);
}

static long open_own_memory(const struct policy_victim *victim) {
    (void)victim;
    return syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR);
}

static long read_inherited(const struct policy_victim *victim) {
    char byte;
    return syscall(SYS_read, victim->file, &byte, 1);
}

/* --- programs --- */

static long run_a_program(const struct policy_victim *victim) {
    (void)victim;
    static char name[] = "true";
    char *const arguments[] = {name, NULL};
    char *const environment[] = {NULL};
    return syscall(SYS_execve, "/bin/true", arguments, environment); /* exits with 0: success */
}

static long may_gain_rights(const struct policy_victim *victim) {
    (void)victim;
    return syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L) == 0 ? 0 : refused();
}

static long make_code(const struct policy_victim *victim) {
    (void)victim;
    long page = syscall(SYS_mmap, 0L, (long)PAGE, (long)(PROT_READ | PROT_WRITE),
                        (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);
    return page < 0 && page > -PAGE
               ? -1
               : syscall(SYS_mprotect, page, (long)PAGE, (long)(PROT_READ | PROT_EXEC));
}

/* --- processes --- */

static long clone_self(void) {
    return syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
}

static long start_a_process(const struct policy_victim *victim) {
    (void)victim;
    long pid = clone_self();
    if (pid == 0)
        for (;;)
            syscall(SYS_exit_group, 0L);
    return pid;
}

/* The children wait for the end of a pipe, which is closed when this process ends. */
static long start_many(const struct policy_victim *victim) {
    (void)victim;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    for (int i = 0; i < MANY; i++) {
        long pid = clone_self();
        char byte;
        if (pid < 0)
            return -1;
        if (pid == 0) {
            syscall(SYS_close, (long)ends[1]);
            syscall(SYS_read, (long)ends[0], &byte, 1L);
            for (;;)
                syscall(SYS_exit_group, 0L);
        }
    }
    return 0;
}

static long signal_victim(const struct policy_victim *victim) {
    return syscall(SYS_kill, (long)victim->pid, 0L);
}

/* The signal is one that the supervisor sends, and has no effect on a process that runs. */
static long wake_victim(const struct policy_victim *victim) {
    return syscall(SYS_kill, (long)victim->pid, (long)SIGCONT);
}

static long signal_by_pidfd(const struct policy_victim *victim) {
    long process = syscall(SYS_pidfd_open, (long)victim->pid, 0L);
    return process < 0 ? -1 : syscall(SYS_pidfd_send_signal, process, 0L, NULL, 0L);
}

static long trace_victim(const struct policy_victim *victim) {
    return syscall(SYS_ptrace, (long)PTRACE_SEIZE, (long)victim->pid, NULL, NULL);
}

static long read_memory(const struct policy_victim *victim) {
    char byte;
    struct iovec mine = {.iov_base = &byte, .iov_len = 1};
    struct iovec its = {.iov_base = (void *)(uintptr_t)victim->secret, .iov_len = 1};
    return syscall(SYS_process_vm_readv, (long)victim->pid, &mine, 1L, &its, 1L, 0L);
}

static long steal_descriptor(const struct policy_victim *victim) {
    long process = syscall(SYS_pidfd_open, (long)victim->pid, 0L);
    return process < 0 ? -1 : syscall(SYS_pidfd_getfd, process, (long)victim->file, 0L);
}

static long see_victim(const struct policy_victim *victim) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", victim->pid);
    return syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
}

/* The clock id that the kernel derives from a pid. */
static long read_clock(const struct policy_victim *victim) {
    struct timespec time;
    return syscall(SYS_clock_gettime, ~(long)victim->pid * 8 + 2, &time);
}

static long has_no_death_signal(const struct policy_victim *victim) {
    (void)victim;
    int number = 0;
    long outcome = syscall(SYS_prctl, (long)PR_GET_PDEATHSIG, &number, 0L, 0L, 0L);
    return outcome == 0 && number != 0 ? refused() : outcome;
}

static long is_dumpable(const struct policy_victim *victim) {
    (void)victim;
    long outcome = syscall(SYS_prctl, (long)PR_GET_DUMPABLE, 0L, 0L, 0L, 0L);
    return outcome == 0 ? refused() : outcome;
}

static long is_in_session(const struct policy_victim *victim) {
    long session = syscall(SYS_getsid, 0L);
    /* 0: a session outside its namespaces */
    return session >= 0 && (session == 0 || session != victim->session) ? refused() : session;
}

/* --- network --- */

static long talk(int type, uint16_t port) {
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    long fd = syscall(SYS_socket, (long)AF_INET, (long)type, 0L);
    if (fd < 0)
        return -1;
    if (type == SOCK_STREAM)
        return syscall(SYS_connect, fd, &address, sizeof address);
    return syscall(SYS_sendto, fd, "", 0L, 0L, &address, sizeof address);
}

static long connect_tcp(const struct policy_victim *victim) {
    return talk(SOCK_STREAM, victim->tcp_port);
}

static long send_udp(const struct policy_victim *victim) {
    return talk(SOCK_DGRAM, victim->udp_port);
}

/* An abstract name, to which no directory permissions apply. Returns the length of the address. */
static socklen_t local_address(pid_t opener, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "eclave-%d", opener);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static long connect_local(const struct policy_victim *victim) {
    struct sockaddr_un address;
    socklen_t size = local_address(victim->opener, &address);
    long fd = syscall(SYS_socket, (long)AF_UNIX, (long)SOCK_STREAM, 0L);
    return fd < 0 ? -1 : syscall(SYS_connect, fd, &address, (long)size);
}

/* --- sharing --- */

static long attach_shared_memory(const struct policy_victim *victim) {
    return syscall(SYS_shmat, (long)victim->shared_memory, 0L, (long)SHM_RDONLY) == -1 ? -1 : 0;
}

static long map_shared(const struct policy_victim *victim) {
    (void)victim;
    return syscall(SYS_mmap, 0L, (long)PAGE, (long)(PROT_READ | PROT_WRITE),
                   (long)(MAP_SHARED | MAP_ANONYMOUS), -1L, 0L) == -1
               ? -1
               : 0;
}

static long learn_host(const struct policy_victim *victim) {
    struct utsname name;
    if (syscall(SYS_uname, &name) < 0)
        return -1;
    return strcmp(name.nodename, victim->host) == 0 ? 0 : refused();
}

static long read_environment(const struct policy_victim *victim) {
    return *victim->secret ? 0 : refused();
}

/* --- resources, rights, kernel --- */

static long use_memory(const struct policy_victim *victim) {
    (void)victim;
    volatile char *memory =
        (volatile char *)syscall(SYS_mmap, 0L, (long)GREED, (long)(PROT_READ | PROT_WRITE),
                                 (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);
    if (memory == MAP_FAILED)
        return -1;
    for (size_t at = 0; at < GREED; at += 4096)
        memory[at] = 1;
    return 0;
}

static long make_timer(const struct policy_victim *victim) {
    (void)victim;
    int timer;
    return syscall(SYS_timer_create, (long)CLOCK_MONOTONIC, NULL, &timer);
}

static long change_root(const struct policy_victim *victim) {
    (void)victim;
    return syscall(SYS_chroot, "/");
}

static long become_root(const struct policy_victim *victim) {
    (void)victim;
    return syscall(SYS_setuid, 0L);
}

static long become_nobody(const struct policy_victim *victim) {
    (void)victim;
    return syscall(SYS_setuid, (long)NOBODY);
}

/* Nothing is mounted. */
static long open_file_system(const struct policy_victim *victim) {
    (void)victim;
    return syscall(SYS_fsopen, "tmpfs", 0L);
}

static long make_namespace(const struct policy_victim *victim) {
    (void)victim;
    return syscall(SYS_unshare, (long)CLONE_NEWUSER);
}

static long open_ring(const struct policy_victim *victim) {
    (void)victim;
    struct io_uring_params parameters = {0};
    return syscall(SYS_io_uring_setup, 1L, &parameters);
}

static long catch_faults(const struct policy_victim *victim) {
    (void)victim;
    return syscall(SYS_userfaultfd, (long)UFFD_USER_MODE_ONLY);
}

static long reach_keys(const struct policy_victim *victim) {
    (void)victim;
    return syscall(SYS_keyctl, (long)KEYCTL_GET_KEYRING_ID, (long)KEY_SPEC_SESSION_KEYRING, 0L);
}

#ifdef __x86_64__
static long call_as_i386(const struct policy_victim *victim) {
    (void)victim;
    long outcome = 20; /* getpid on i386 */
    __asm__ volatile("int $0x80" : "+a"(outcome) : : "memory", "r8", "r9", "r10", "r11");
    errno = ENOSYS;
    return outcome;
}
#endif

/* --- the table --- */

static const struct policy_attack attacks[] = {
#define ATTACK(kind, name, layers, more, who, attempt)                                             \
    {kind, name, layers, more, who, attempt, ATTACK_WITHOUT_CODE},
#include "policy/attacks.def"
};

static const struct policy_attack supervisor_attacks[] = {
#include "policy/supervisor_attacks.def"
};

const struct policy_attack *policy_supervisor_attacks(size_t *count) {
    *count = sizeof supervisor_attacks / sizeof *supervisor_attacks;
    return supervisor_attacks;
}

const struct policy_attack *policy_attacks(size_t *count) {
    *count = sizeof attacks / sizeof *attacks;
    return attacks;
}

uint32_t policy_attack_stopped_by(const struct policy_attack *attack) {
    uint32_t layers = attack->stopped_by | (geteuid() == 0 ? attack->as_root : 0);
#ifdef __SANITIZE_ADDRESS__
    /* A sanitizer reserves terabytes of address space. */
    layers &= ~(attack->attempt == use_memory ? LIMITS : 0);
#endif
    return layers;
}

/* --- the targets --- */

static bool listen_inet(int type, int *fd, uint16_t *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    if (*fd < 0 || bind(*fd, (struct sockaddr *)&address, size) ||
        (type == SOCK_STREAM && listen(*fd, SOMAXCONN)) ||
        getsockname(*fd, (struct sockaddr *)&address, &size))
        return false;
    *port = address.sin_port;
    return true;
}

static bool listen_local(pid_t opener, int *fd) {
    struct sockaddr_un address;
    socklen_t size = local_address(opener, &address);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return *fd >= 0 && bind(*fd, (struct sockaddr *)&address, size) == 0 &&
           listen(*fd, SOMAXCONN) == 0;
}

/* Opens PATH with a number above those that a child assigns. */
static int open_high(const char *path) {
    enum { HIGH = 100 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? fd : descriptor_move_above(fd, HIGH);
}

/* Starts the child that is attacked. Its pid is not one of the first: those exist in every pid
 * namespace, so that an attack could hit another process and seem to succeed. */
static pid_t start_target(void) {
    enum { FIRST_PIDS = 16 };
    pid_t pid;
    while ((pid = fork()) >= 0) {
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            for (;;)
                pause();
        }
        if (pid > FIRST_PIDS)
            return pid;
        kill(pid, SIGKILL);
        reap_child(pid);
    }
    return -1;
}

bool policy_victim_open(struct policy_victim *victim, struct error *error) {
    static const char variable[] = "ECLAVE_ATTACK_SECRET";
    struct utsname name;
    *victim = (struct policy_victim){.opener = getpid(),
                                     .session = getsid(0),
                                     .file = open_high("/etc/passwd"),
                                     .tcp = -1,
                                     .udp = -1,
                                     .local = -1,
                                     .shared_memory = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600)};
    /* If these fail, the attacks on the network fail unconfined as well. */
    listen_inet(SOCK_STREAM, &victim->tcp, &victim->tcp_port);
    listen_inet(SOCK_DGRAM, &victim->udp, &victim->udp_port);
    listen_local(victim->opener, &victim->local);
    if (uname(&name) == 0)
        snprintf(victim->host, sizeof victim->host, "%s", name.nodename);
    if (setenv(variable, "secret", 1) == 0)
        victim->secret = getenv(variable);
    victim->pid = start_target();
    return (victim->file >= 0 && victim->secret && victim->pid > 0) ||
           error_set(error, errno, "attacks: cannot create the targets");
}

void policy_victim_close(struct policy_victim *victim) {
    const int descriptors[] = {victim->file, victim->tcp, victim->udp, victim->local};
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    if (victim->pid > 1) {
        kill(victim->pid, SIGKILL);
        reap_child(victim->pid);
    }
    if (victim->shared_memory >= 0)
        shmctl(victim->shared_memory, IPC_RMID, NULL);
}

/* --- carrying out an attack --- */

struct aim {
    const struct policy_attack *attack;
    const struct policy_victim *victim;
};

static int body(void *context) {
    const struct aim *aim = context;
    errno = 0;
    return aim->attack->attempt(aim->victim) < 0 ? errno : 0;
}

/* Native code attacks a policy that allows it, with code of its own. */
static struct policy_trial_end try_native(const struct policy_attack *attack,
                                          const struct policy *policy,
                                          const struct policy_victim *victim) {
    struct policy_victim own = *victim;
    struct policy with_native = {0};
    struct aim aim = {attack, &own};
    struct policy_trial_end end = {0};
    cleanup_fd int sealed = -1;
    cleanup_fd int open = -1;
    if (!native_attack_code(&sealed, &open, &end.error))
        return end;
    own.code = open;
    if (policy) {
        with_native = *policy;
        with_native.native = true;
    }
    const struct policy_trial_code code = {.sealed =
                                               attack->code == ATTACK_WITH_SEALED ? sealed : -1,
                                           .open = open,
                                           .bytes = ATTACK_CODE_BYTES};
    const struct policy_trial trial = {
        .policy = policy ? &with_native : NULL, .body = body, .context = &aim, .code = &code};
    return policy_try(&trial);
}

struct policy_trial_end policy_attack_try(const struct policy_attack *attack,
                                          const struct policy *policy,
                                          const struct policy_victim *victim) {
    struct aim aim = {attack, victim};
    const struct policy_trial trial = {.policy = policy, .body = body, .context = &aim};
    return attack->code == ATTACK_WITHOUT_CODE ? policy_try(&trial)
                                               : try_native(attack, policy, victim);
}

struct policy_trial_end policy_supervisor_attack_try(const struct policy_attack *attack,
                                                     const struct policy_supervisor *supervisor,
                                                     const struct policy_victim *victim) {
    struct aim aim = {attack, victim};
    const struct policy_trial trial = {.supervisor = supervisor, .body = body, .context = &aim};
    return policy_try(&trial);
}

struct policy policy_attack_limits(const struct policy *policy) {
    struct policy limited = *policy;
    limited.all_memory_bytes = ALL_MEMORY;
    limited.all_processes = PROCESSES;
#ifdef __SANITIZE_ADDRESS__
    limited.address_space_bytes = 0;
#else
    limited.address_space_bytes = ADDRESS_SPACE;
#endif
    return limited;
}

struct policy policy_attack_layer(enum policy_layer layer) {
    const struct policy policy = {.layers = POLICY_LAYER_BIT(layer),
                                  .required = POLICY_LAYER_BIT(layer),
                                  .user = geteuid() == 0 ? NOBODY : 0};
    return policy_attack_limits(&policy);
}

bool policy_attack_succeeded(const struct policy_trial_end *end) {
    return end->ran && !end->killed && !end->timed_out && WIFEXITED(end->status) &&
           WEXITSTATUS(end->status) == 0;
}

void policy_attack_describe(const struct policy_trial_end *end, char *text, size_t size) {
    if (!end->ran)
        snprintf(text, size, "not tried: %s", end->error.text);
    else if (end->killed)
        snprintf(text, size, "killed for %s", end->killer.name);
    else if (end->timed_out)
        snprintf(text, size, "times out");
    else if (WIFSIGNALED(end->status))
        snprintf(text, size, "killed by %s",
                 WTERMSIG(end->status) == SIGSYS    ? "the kernel"
                 : WTERMSIG(end->status) == SIGKILL ? "the control group"
                                                    : strsignal(WTERMSIG(end->status)));
    else if (WEXITSTATUS(end->status) == 0)
        snprintf(text, size, "succeeds");
    else
        snprintf(text, size, "%s", strerrorname_np(WEXITSTATUS(end->status)));
}
