/* Attacks that do no harm where they succeed: what each layer is there to stop, tried for real by
 * `eclave doctor` and by the tests. */
#ifndef ECLAVE_POLICY_ATTACKS_H
#define ECLAVE_POLICY_ATTACKS_H

#include "policy/policy.h"

/* What the attacks are aimed at: things of this process, and one in its place to be signalled and
 * looked into. */
struct policy_victim {
    pid_t pid, opener;
    int file;            /* a descriptor to be stolen or inherited */
    int tcp, udp, local; /* sockets that wait; -1: could not be had */
    uint16_t tcp_port, udp_port;
    int shared_memory;  /* of System V; -1: could not be had */
    const char *secret; /* in memory, and in the environment */
    int session;
    char host[65];
};

struct policy_attack {
    const char *kind; /* "files", "processes", … */
    const char *name;
    uint32_t stopped_by; /* bits: layers of which each stops it with all others off */
    uint32_t as_root;    /* bits: more such layers, where this process is root */
    bool root_only;      /* nobody but root could do it anyway */
    long (*attempt)(const struct policy_victim *victim); /* negative with errno on failure */
};

/* The attacks in the order of attacks.def, *count of them. */
const struct policy_attack *policy_attacks(size_t *count);

/* Puts something there to attack. False with *error; close it in any case. */
bool policy_victim_open(struct policy_victim *victim, struct error *error);
void policy_victim_close(struct policy_victim *victim);

/* Has a child try ATTACK under POLICY, or unconfined when that is NULL. */
struct policy_trial_end policy_attack_try(const struct policy_attack *attack,
                                          const struct policy *policy,
                                          const struct policy_victim *victim);

/* The layers of which each must stop ATTACK alone, for this process's user. */
uint32_t policy_attack_stopped_by(const struct policy_attack *attack);

/* LAYER alone, with the limits at which the attacks aim. Root's processes become nobody. */
struct policy policy_attack_layer(enum policy_layer layer);
/* The same limits in the place of POLICY's own. */
struct policy policy_attack_limits(const struct policy *policy);

/* Did the attack come through? Not when it could not be tried: see `ran`. */
bool policy_attack_succeeded(const struct policy_trial_end *end);
/* How it went, in a word or two: "succeeds", "EACCES", "killed for execve". */
void policy_attack_describe(const struct policy_trial_end *end, char *text, size_t size);

#endif
