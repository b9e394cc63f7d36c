/* What a worker may do, and how it is held to it. This library knows neither JSON-RPC nor Lisp.
 *
 * Several layers, each of which stands without the others (layers.def), are put on in three places:
 * policy_launch starts a process inside the control group and the namespaces; that process loads
 * what it needs and calls policy_prepare, once; each of its forks calls policy_enter before it
 * reads anything foreign. policy_try does all three for a single function. */
#ifndef ECLAVE_POLICY_POLICY_H
#define ECLAVE_POLICY_POLICY_H

#include "common/error.h"
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum policy_layer {
#define LAYER(id, ...) POLICY_LAYER_##id,
#include "policy/layers.def"
#undef LAYER
    POLICY_LAYER_COUNT
};

#define POLICY_LAYER_BIT(layer) (UINT32_C(1) << (layer))
#define POLICY_LAYERS_ALL       (POLICY_LAYER_BIT(POLICY_LAYER_COUNT) - 1)

const char *policy_layer_name(enum policy_layer layer);
/* What it keeps away, in a few words. */
const char *policy_layer_stops(enum policy_layer layer);
/* Bits of the layers that may be missing. */
uint32_t policy_optional_layers(void);

/* What the operator grants beyond the default, which is nothing. */
enum {
    POLICY_GRANT_READ = 1, /* directories to read */
    POLICY_GRANT_WRITE = 2 /* the scratch directory */
};

/* Where the scratch directory of a worker is. */
#define POLICY_SCRATCH "/scratch"

/* What workers are held to. Plain data; nothing in it is owned. */
struct policy {
    uint32_t layers; /* bits: those to put on */
    uint32_t
        required;  /* bits: those not to do without; the ones that are not optional always are */
    bool degraded; /* a filter without notifications */
    uint32_t user; /* uid and gid to take when running as root; 0: keep */
    uint64_t address_space_bytes; /* of a process; 0: not limited */
    uint64_t all_memory_bytes;    /* of all processes together, by the control group; 0: no limit */
    uint32_t all_processes;       /* how many there may be, by the control group; 0: no limit */
    uint64_t scratch_bytes;       /* size of each worker's own POLICY_SCRATCH; 0: none */
    const char *const *readable;  /* directories to read: absolute, without symbolic links */
    size_t readable_count;
};

/* Bits of what POLICY grants. */
uint32_t policy_grants(const struct policy *policy);

enum policy_state { POLICY_OFF, POLICY_ACTIVE, POLICY_UNAVAILABLE };

/* How each layer was put on. Plain data, zero: all off. */
struct policy_report {
    struct {
        enum policy_state state;
        char why[160]; /* with POLICY_UNAVAILABLE */
    } layers[POLICY_LAYER_COUNT];
};

/* Bits of the layers that are in STATE. */
uint32_t policy_layers_in(const struct policy_report *report, enum policy_state state);

/* A process started by policy_launch, the first process of its namespaces, which does nothing (when
 * it ends, everything in there ends), and one between that ends by itself in a moment. All three
 * are children of the caller, who reaps them, the keeper last: the kernel keeps it until all others
 * in there are reaped. */
struct policy_launched {
    pid_t process;
    pid_t keeper; /* 0: none */
    pid_t between;
    int keeper_life; /* close it to end the keeper; -1: none */
    int tell;        /* for policy_launch_finish; -1: finished */
};

/* As fork, but the child is in the namespaces that POLICY asks for; BODY runs in it and must not
 * return. *report, and what BODY gets, tells how that layer went. False with *error when it is
 * required and not to be had; nothing is left then. */
bool policy_launch(const struct policy *policy,
                   void (*body)(void *context, const struct policy_report *report), void *context,
                   struct policy_launched *launched, struct policy_report *report,
                   struct error *error);
/* Waits until the process is in the control group as well, which goes on beside what the process
 * loads; called before anything foreign runs there. *report tells all of the launch. False with
 * *error when the control group is required and not to be had: the caller ends the process. */
bool policy_launch_finish(struct policy_launched *launched, struct policy_report *report,
                          struct error *error);
/* Ends and reaps the rest of a launch whose process is reaped already, and removes its control
 * group unless others are in it. */
void policy_launch_end(struct policy_launched *launched);
/* Removes what this process's launches have left in the control group's file system. Only when all
 * their processes are reaped. */
void policy_launch_clean(void);

/* What a launched process has prepared for its forks. */
struct policy_ground;

/* In the launched process, once it has loaded all it needs: takes the host's files out of its sight
 * (with namespaces), forbids new capabilities and code made at run time, lowers the limits of
 * limits.def, wipes the environment, builds the filters, and finds out about the layers that each
 * fork puts on. What is done here to this process its forks inherit, and look at. REPORT comes from
 * policy_launch. NULL with *error when a required layer is not to be had. Free with
 * policy_ground_free. */
struct policy_ground *policy_prepare(const struct policy *policy, struct policy_report *report,
                                     struct error *error);
void policy_ground_free(struct policy_ground *ground);

/* Confines the calling process for good, in the one order that works (enter.c says why). Reads each
 * layer back. What the process needs of signal handlers must be so before; its descriptors are 0 to
 * 3 afterwards.
 *
 * On return *listener is the notification descriptor (-1 without one), which the caller hands to
 * the supervisor with sendmsg and closes; then it calls policy_seal, which takes sendmsg and
 * seccomp away. No foreign byte may be read before that. False with *error: the caller must end
 * itself.
 *
 * A fork of a confined process has another pid than its filter knows, so its abort is a notified
 * tgkill, which the supervisor can tell from an attack by the pid of the caller. */
bool policy_enter(const struct policy_ground *ground, int *listener, struct error *error);
bool policy_seal(const struct policy_ground *ground, struct error *error);

/* What one system call gets. The order is that of severity. */
enum policy_verdict {
    POLICY_ALLOW,  /* runs */
    POLICY_REFUSE, /* fails with an errno; an ordinary Lisp error and a log line */
    POLICY_KILL    /* only an attack uses it: the worker ends, the call is named */
};

struct policy_answer {
    enum policy_verdict verdict;
    int error;          /* errno value with POLICY_REFUSE, else 0 */
    const char *name;   /* of the call; "unknown" when this architecture has no such number */
    const char *reason; /* one line from the table */
};

/* What the table, the same that the filter was made of, says about one call notified for the
 * process PID, as that process knows itself (0: not known), under GRANTS. ALLOW comes for what only
 * a look at PID can tell: a process that signals itself. A supervisor that expects a fork looks for
 * its clone before it asks here, where every clone is refused. */
struct policy_answer policy_judge(uint32_t grants, const struct seccomp_data *call, pid_t pid);
/* Does PID matter to what policy_judge says about call NUMBER? */
bool policy_judges_by_pid(int number);

/* How the child PID of this process, which is in the namespaces of a policy, knows itself; PID when
 * that cannot be told. */
pid_t policy_pid_within(pid_t pid);

/* The name of a system call of this architecture, "unknown" when there is none. */
const char *policy_call_name(int number);

/* How a function ended that ran under a policy. */
struct policy_trial_end {
    bool ran;                    /* the function was reached */
    struct error error;          /* why not */
    struct policy_report report; /* how far that is known */
    int status;                  /* as waitpid has it */
    bool overdue;                /* ended here, because it took too long */
    bool killed;                 /* ended here, because of a call that kills */
    struct policy_answer killer; /* that call */
    size_t refused;              /* notifications that were answered with an errno */
};

struct policy_trial {
    const struct policy *policy; /* NULL: not confined at all */
    int (*body)(void *context);  /* its return value, 0 to 255, is the exit status */
    void *context;
    void (*observe)(
        pid_t process); /* called here when it is confined and waits to begin; or NULL */
};

/* Where the function finds its end of a socket pair; standard input and outputs are the null
 * device, other descriptors are as here. */
enum { POLICY_TRIAL_CHANNEL = 3 };

/* Runs one function in a process that is confined just as a worker is, with a supervisor that does
 * nothing but answer its notifications from the table; returns when it has ended. Leaves no process
 * and no descriptor. */
struct policy_trial_end policy_try(const struct policy_trial *trial);

/* Can this process's children be confined by POLICY here? Has one try a call that must fail. False
 * with the reason. *report (may be NULL) tells how each layer went. */
bool policy_probe(const struct policy *policy, struct policy_report *report, struct error *error);

#endif
