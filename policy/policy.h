/* What a worker may do, and the layers that confine it to that. This library knows neither JSON-RPC
 * nor Lisp.
 *
 * The layers (layers.def) are independent of one another and are put on in three places:
 * policy_launch starts a process in the control group and the namespaces; that process loads what
 * it needs and calls policy_prepare once; each of its forks calls policy_enter before it reads
 * untrusted input. policy_try does all three for one function. */
#ifndef ECLAVE_POLICY_POLICY_H
#define ECLAVE_POLICY_POLICY_H

#include "common/error.h"
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* --- layers.c: the layers, the policy, and the report on them --- */

enum policy_layer {
#define LAYER(id, ...) POLICY_LAYER_##id,
#include "policy/layers.def"
#undef LAYER
    POLICY_LAYER_COUNT
};

#define POLICY_LAYER_BIT(layer) (UINT32_C(1) << (layer))
#define POLICY_LAYERS_ALL       (POLICY_LAYER_BIT(POLICY_LAYER_COUNT) - 1)

const char *policy_layer_name(enum policy_layer layer);
/* What the layer prevents, in a few words. */
const char *policy_layer_stops(enum policy_layer layer);
/* The bits of the layers that may be missing. */
uint32_t policy_optional_layers(void);

/* What the operator may grant; nothing is granted by default. */
enum {
    POLICY_GRANT_READ = 1,  /* reading directories */
    POLICY_GRANT_WRITE = 2, /* the scratch directory */
    POLICY_GRANT_NATIVE = 4 /* mapping code that the supervisor has sealed */
};

/* The scratch directory as a worker sees it. */
#define POLICY_SCRATCH "/scratch"

/* The users that the forks of root take one each. Nothing else is given a number in this range:
 * https://systemd.io/UIDS-GIDS/ lists it as unused. */
#define POLICY_USERS_FIRST UINT32_C(0x70000000)
#define POLICY_USERS_COUNT UINT32_C(0x08000000)

/* Plain data; owns nothing. */
struct policy {
    uint32_t layers;     /* bits: layers to put on */
    uint32_t required;   /* bits: layers that must not be missing, beside the others that
                            are not optional */
    bool degraded;       /* a filter without notifications */
    bool native;         /* the forks may map code that the supervisor has sealed */
    bool compiles;       /* the forks are confined by compiler.def: each compiles one unit */
    uint32_t user;       /* uid and gid to take if running as root; 0: keep them */
    bool separate_users; /* each fork takes a uid and gid of its own instead of `user`, from
                            POLICY_USERS_FIRST on, if the kernel maps them all */
    uint64_t address_space_bytes;  /* of one process; 0: no limit */
    uint64_t all_memory_bytes;     /* of all processes together (control group); 0: no limit */
    uint32_t all_processes;        /* their number (control group); 0: no limit */
    uint64_t session_memory_bytes; /* of the processes of one session (control group of its own, in
                                      version 2); 0: it has none */
    uint64_t scratch_bytes;        /* size of each worker's own POLICY_SCRATCH; 0: none */
    const char *const *readable;   /* directories to grant: absolute paths without symbolic links */
    size_t readable_count;
};

/* The bits of what POLICY grants. */
uint32_t policy_grants(const struct policy *policy);

enum policy_state { POLICY_OFF, POLICY_ACTIVE, POLICY_UNAVAILABLE };

/* The state of each layer. Plain data; all zero: all off. */
struct policy_report {
    struct {
        enum policy_state state;
        char why[160]; /* if POLICY_UNAVAILABLE */
    } layers[POLICY_LAYER_COUNT];
};

/* The bits of the layers in STATE. */
uint32_t policy_layers_in(const struct policy_report *report, enum policy_state state);

/* What a launched process has prepared for its forks. */
struct policy_prepared;

/* Called in a launched process once it has loaded what it needs. Replaces the root directory (with
 * namespaces), forbids new capabilities and new executable memory, lowers the limits of limits.def,
 * wipes the environment, builds the filters, drops the capabilities that no fork needs, and
 * determines which optional layers each fork can put on. Forks inherit all of it and verify it.
 * REPORT is the one from policy_launch and is completed. NULL with *error if a required layer is
 * unavailable. Free with policy_prepared_free. */
struct policy_prepared *policy_prepare(const struct policy *policy, struct policy_report *report,
                                       struct error *error);
void policy_prepared_free(struct policy_prepared *prepared);

/* Called before each fork: gives it the next user, if POLICY asked for separate ones. The forks of
 * that fork share its user. */
void policy_next_fork(struct policy_prepared *prepared);

/* Confines the calling process for good and reads each layer back. Signal handlers must be
 * installed before; afterwards the process has descriptors 0 to 3 only.
 *
 * *LISTENER becomes the notification descriptor (-1 without one). The caller sends it to the
 * supervisor, closes it and calls policy_seal, which takes sendmsg and seccomp away, before it
 * reads any untrusted byte. False with *error: the caller must exit.
 *
 * The pid of a fork of a confined process is not the one in its filter, so its abort is a notified
 * tgkill, which the supervisor checks against the pid that the kernel reports. */
bool policy_enter(const struct policy_prepared *prepared, int *listener, struct error *error);

/* --- launch.c, cgroup.c --- */

/* A process started by policy_launch and its two helpers: the starter, which exits by itself, and
 * the init of the pid namespace, which does nothing; when it exits, the kernel kills every process
 * in the namespace. All three are children of the caller, which reaps them, init last: the kernel
 * keeps it until all others in the namespace are reaped. */
struct policy_launched {
    pid_t process;
    pid_t starter; /* 0: not known to the caller */
    pid_t init;    /* 0: none */
    int init_life; /* pipe; closing it ends init; -1: none */
    int reports;   /* pipe, read by policy_launch_finish; -1: finished */
    bool grouped;  /* the policy has the layer of control groups */
};

/* What the new process does; it must not return. *REPORT has the state of the namespaces. */
typedef void policy_launch_body(void *context, const struct policy_report *report);

/* As fork, but the child is in the namespaces that POLICY asks for and calls BODY. *REPORT has the
 * state of that layer. False with *error, and no process left, if the layer is required and
 * unavailable. */
bool policy_launch(const struct policy *policy, policy_launch_body *body, void *context,
                   struct policy_launched *launched, struct policy_report *report,
                   struct error *error);
/* Waits until the process is in the control group too, which happens while it loads what it needs.
 * Must be called before the process runs untrusted code. *REPORT then covers the whole launch.
 * False with *error if the control group is required and unavailable: the caller ends the process.
 */
bool policy_launch_finish(struct policy_launched *launched, struct policy_report *report,
                          struct error *error);
/* Ends and reaps the helpers of a launch whose process is already reaped, and removes its control
 * group unless other processes are in it. */
void policy_launch_end(struct policy_launched *launched);

/* Removes the control group of this program's launches. Returns whether nothing is left of it: it
 * stays while a process is in it. */
bool policy_cgroup_remove(void);

/* --- oom.c: out of memory --- */

/* What the kernel kills first when memory runs out: parked processes, then workers. The supervisor
 * keeps its own place, after them. */
enum policy_oom_order { POLICY_OOM_WORKER, POLICY_OOM_PARKED };

/* Puts the process PID (0: this one) at that place, which its forks inherit. False if this process
 * may not: as an ordinary user it cannot move a confined process, and all workers stay equal. */
bool policy_oom_prefer(pid_t pid, enum policy_oom_order order);

/* A descriptor by which policy_oom_kills counts the processes that the kernel has killed because
 * memory ran out: in the control group of the workers, or without one on the whole machine. -1 if
 * neither can be read. */
int policy_oom_open(void);
uint64_t policy_oom_kills(int fd);

/* --- launcher.c --- */

/* A process that launches for this one, which can then give up the rights that it takes. What it
 * starts are children of this process. When the channel closes, it removes the control group as
 * soon as that is empty, and exits. */
struct policy_launcher {
    int channel; /* -1: none */
    pid_t pid;   /* a child of this process, which reaps it; 0: none */
};

/* Passed with each launch. */
enum { POLICY_LAUNCHER_DESCRIPTORS = 2 };

/* As policy_launch_body. DESCRIPTORS are copies of those passed, with numbers above 3. */
typedef void policy_launcher_body(void *context, const int descriptors[POLICY_LAUNCHER_DESCRIPTORS],
                                  const struct policy_report *report);

/* Starts the launcher. It has copies of POLICY and *CONTEXT as they are now, and no descriptor but
 * its channel. False with *error. */
bool policy_launcher_start(struct policy_launcher *launcher, const struct policy *policy,
                           policy_launcher_body *body, void *context, struct error *error);
/* Closes the channel. The caller reaps the launcher. */
void policy_launcher_close(struct policy_launcher *launcher);

/* As policy_launch, but `starter` is not known; the caller reaps it as any other child. */
bool policy_launcher_launch(const struct policy_launcher *launcher,
                            const int descriptors[POLICY_LAUNCHER_DESCRIPTORS],
                            struct policy_launched *launched, struct policy_report *report,
                            struct error *error);
/* Has NUMBER (SIGKILL, SIGUSR1, SIGSTOP or SIGCONT) sent to PID if that is a child of this process.
 * Does not wait for it. False if the launcher has ended. */
bool policy_launcher_signal(const struct policy_launcher *launcher, pid_t pid, int number);
/* As policy_oom_prefer, for a child of this process. Does not wait for it. */
bool policy_launcher_prefer(const struct policy_launcher *launcher, pid_t pid,
                            enum policy_oom_order order);
/* Has PID, if that is a child of this process, and so its later children, moved into the control
 * group of the session numbered SESSION, where sessions have groups. Does not wait for it. */
bool policy_launcher_group(const struct policy_launcher *launcher, pid_t pid, uint64_t session);
/* As policy_oom_open. */
int policy_launcher_open_oom(const struct policy_launcher *launcher);

/* --- supervisor.c: the confinement of the process that launches and reads untrusted input --- */

/* Plain data; owns nothing. */
struct policy_supervisor {
    uint32_t layers;   /* bits: layers to put on */
    uint32_t required; /* bits: layers that must not be missing, beside the others that are
                          not optional */
    const char *const *readable; /* directories to read, besides /proc */
    size_t readable_count;
    const char *moving; /* a directory among these to whose place a link may lead: its siblings
                           are readable too, unless they are in the root; or NULL */
    bool scoped;        /* policy_supervisor_scope succeeded */
    bool native;        /* it seals code for workers */
};

/* Called before the launcher is started: from now on the kernel lets the calling process and its
 * descendants signal each other only, so that it can signal its children itself. False where the
 * kernel cannot do this (Landlock, from Linux 6.12), or without the layer: only the launcher can
 * signal children once this process is confined. */
bool policy_supervisor_scope(const struct policy_supervisor *supervisor);

/* Confines the calling process, which keeps DIRECTORY (a path) for the supervisor: it gives up its
 * capabilities and the right to gain any, to execute what it writes, and, with Landlock, to reach
 * any other file. False with *error. */
bool policy_confine_keeper(const char *directory, struct error *error);

/* The bits of the layers that such a process can put on itself. */
uint32_t policy_supervisor_layers(void);

/* Confines the calling process for good. It must have started its launcher, and opened all files
 * that it writes to. *REPORT, unless it is NULL, becomes the state of its layers. False with *error
 * if a layer cannot be put on that is required or not optional; others may then be in force. */
bool policy_supervise(const struct policy_supervisor *supervisor, struct policy_report *report,
                      struct error *error);

/* For a process that only measures others: gives up every capability but the one to inspect them.
 */
bool policy_retain_tracing(struct error *error);

/* The same for one that reads the memory of others: also gives up every system call that this does
 * not take (imager.def). Landlock would forbid it to read them. */
bool policy_confine_imager(struct error *error);

/* Without a scope of signals: drops the capability that death signals take, if LAUNCHED reports
 * namespaces, whose init ends all processes. Otherwise the kernel ends them with the rights of this
 * process. */
bool policy_supervisor_settle(const struct policy_supervisor *supervisor,
                              const struct policy_report *launched, struct error *error);

/* --- namespaces.c --- */

/* The pid of the child PID of this process in the child's own pid namespace; PID if that cannot be
 * determined. */
pid_t policy_pid_within(pid_t pid);

/* --- seccomp.c --- */

/* Takes away the calls that only policy_enter and the transfer of the listener need. */
bool policy_seal(const struct policy_prepared *prepared, struct error *error);

/* --- syscalls.c: what the table says about one system call --- */

/* In order of severity. */
enum policy_verdict {
    POLICY_ALLOW,  /* runs */
    POLICY_REFUSE, /* fails with an errno: an ordinary Lisp error, and a log line */
    POLICY_KILL    /* only an attack makes the call: the worker is killed, the call is reported */
};

struct policy_ruling {
    enum policy_verdict verdict;
    int error;          /* with POLICY_REFUSE: the errno; else 0 */
    const char *name;   /* of the call; "unknown" if this architecture has no such number */
    const char *reason; /* one line, from the table */
};

/* The ruling on CALL, of which the kernel notified the supervisor, under GRANTS. PID is that of the
 * calling process in its own pid namespace (0: unknown). Uses the same table as the filter. A
 * supervisor that expects a fork checks for its clone first; here every clone is refused. */
struct policy_ruling policy_judge(uint32_t grants, const struct seccomp_data *call, pid_t pid);
/* Does the ruling on call NUMBER depend on PID? */
bool policy_judges_by_pid(int number);

/* Does CALL, which the supervisor was notified of and the table allows, map code? Then it may run
 * only if that code was sealed for the process. */
bool policy_maps_code(const struct seccomp_data *call);

/* The name of a system call of this architecture, "unknown" if there is none. */
const char *policy_syscall_name(int number);

/* --- trial.c: one function under a policy --- */

/* How the trial of a function ended. */
struct policy_trial_end {
    bool ran;                    /* the function was called */
    struct error error;          /* if not */
    struct policy_report report; /* as far as known */
    int status;                  /* as from waitpid */
    bool timed_out;              /* and was killed */
    bool killed;                 /* for a system call */
    struct policy_ruling killer; /* the ruling on that call */
    size_t refused;              /* notified calls that failed with an errno */
};

/* Native code of a trial. */
struct policy_trial_code {
    int sealed;   /* what the child may map, once; -1: nothing was sealed for it */
    int open;     /* without seccomp, the child has this at UNIT_CODE_FD instead */
    size_t bytes; /* of each */
};

struct policy_trial {
    const struct policy *policy;                /* as a worker; NULL: not */
    const struct policy_supervisor *supervisor; /* without POLICY: as a supervisor; NULL: not */
    int (*body)(void *context);                 /* returns the exit status, 0 to 255 */
    void *context;
    void (*observe)(pid_t process); /* called by the parent before the confined child calls BODY; or
                                       NULL */
    const struct policy_trial_code *code; /* NULL: none */
};

/* The function's end of a socket pair. Descriptors 0 to 2 are /dev/null; others are inherited. */
enum { POLICY_TRIAL_CHANNEL = 3 };

/* Runs one function in a child that is confined exactly as a worker or a supervisor is, answers its
 * notifications from the table, and returns when it has ended. Leaves no process and no descriptor.
 */
struct policy_trial_end policy_try(const struct policy_trial *trial);

/* Can a child of this process be confined by POLICY? Confines one and has it make a call that must
 * fail. False with *error. Fills *REPORT unless it is NULL. */
bool policy_probe(const struct policy *policy, struct policy_report *report, struct error *error);

#endif
