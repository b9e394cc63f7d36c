/* Harmless attacks that the layers must stop, carried out by `eclave doctor` and the tests. */
#ifndef ECLAVE_POLICY_ATTACKS_H
#define ECLAVE_POLICY_ATTACKS_H

#include "policy/policy.h"

/* The targets of the attacks: objects of this process, and a child in its place for attacks on a
 * process. */
struct policy_victim {
    pid_t pid;           /* the child */
    pid_t opener;        /* this process */
    int file;            /* to be stolen or inherited */
    int tcp, udp, local; /* bound sockets; -1: none could be created */
    uint16_t tcp_port, udp_port;
    int shared_memory;  /* System V; -1: none could be created */
    const char *secret; /* in memory and in the environment */
    int code;           /* for native code: a file in memory with code, unsealed */
    int session;        /* session id */
    char host[65];
};

struct policy_attack {
    const char *kind; /* "files", "processes", … */
    const char *name;
    uint32_t stopped_by; /* bits: layers that each stop it with all others off */
    uint32_t as_root;    /* bits: more such layers if this process is root */
    bool root_only;      /* only root could do it unconfined */
    long (*attempt)(const struct policy_victim *victim); /* negative with errno on failure */
    /* For a policy with native code: whether code was sealed for this process, or for another. */
    enum { ATTACK_WITHOUT_CODE, ATTACK_WITH_SEALED, ATTACK_WITH_FOREIGN } code;
};

/* The attacks in the order of attacks.def, *COUNT of them. */
const struct policy_attack *policy_attacks(size_t *count);

/* The same of supervisor_attacks.def, whose attacker is the supervisor. */
const struct policy_attack *policy_supervisor_attacks(size_t *count);

/* The same of native_attacks.def, whose attacker runs instructions of its choice under --native. */
const struct policy_attack *policy_native_attacks(size_t *count);

/* No attack, but its control: the code that was sealed for a process is mapped and run, which must
 * succeed behind all layers. */
const struct policy_attack *policy_native_control(void);

/* Creates the targets. False with *error. policy_victim_close must be called in either case. */
bool policy_victim_open(struct policy_victim *victim, struct error *error);
void policy_victim_close(struct policy_victim *victim);

/* Carries out ATTACK in a child, confined by POLICY or, if that is NULL, unconfined. */
struct policy_trial_end policy_attack_try(const struct policy_attack *attack,
                                          const struct policy *policy,
                                          const struct policy_victim *victim);

/* The same, confined as SUPERVISOR, or unconfined. */
struct policy_trial_end policy_supervisor_attack_try(const struct policy_attack *attack,
                                                     const struct policy_supervisor *supervisor,
                                                     const struct policy_victim *victim);

/* The layers that each must stop ATTACK alone when it is made by this process's user. */
uint32_t policy_attack_stopped_by(const struct policy_attack *attack);

/* A policy of LAYER alone, with limits that the attacks exceed. Root becomes nobody. */
struct policy policy_attack_layer(enum policy_layer layer);
/* POLICY with those limits. */
struct policy policy_attack_limits(const struct policy *policy);

/* Did the attack succeed? False also if it was not carried out: see `ran`. */
bool policy_attack_succeeded(const struct policy_trial_end *end);
/* The result in a word or two: "succeeds", "EACCES", "killed for execve". */
void policy_attack_describe(const struct policy_trial_end *end, char *text, size_t size);

#endif
