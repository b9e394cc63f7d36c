/* The compiler of native code, as the supervisor sees it: a program that forks a process for each
 * unit (compiler/compiler.c). The supervisor passes C source to such a process and an object back,
 * and looks into neither. Both come from what a worker controls. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_COMPILER_H
#define ECLAVE_SUPERVISOR_PROCESS_COMPILER_H

#include "common/unit.h"
#include "policy/policy.h"
#include "supervisor/base/log.h"
#include "supervisor/base/loop.h"
#include <stdbool.h>
#include <sys/queue.h>

/* A unit that is being compiled. */
struct compilation;

struct compiler {
    struct loop *loop;
    struct log *log;
    const struct policy_launcher *launcher;
    struct compiler_configuration configuration;
    enum { COMPILER_ABSENT, COMPILER_BOOTING, COMPILER_UP } state;
    struct policy_launched launched;
    int channel; /* -1: none */
    struct loop_watch watch;
    struct loop_timer timer;
    int spare; /* the channel of a process that waits for a unit; -1: none */
    LIST_HEAD(, compilation) compilations;
    size_t count;
    unsigned failures; /* in a row */
    bool closed;
};

/* POLICY is that of the workers. Starts nothing yet. */
void compiler_open(struct compiler *compiler, struct loop *loop, struct log *log,
                   const struct policy_launcher *launcher, const struct policy *policy);
/* Ends the program. What is being compiled fails, without a callback. */
void compiler_close(struct compiler *compiler);

/* Starts the program unless it runs, so that the first unit does not wait for it. */
void compiler_start(struct compiler *compiler);

/* Compiles TEXT of LENGTH bytes, from malloc, which it takes over. DONE is called once, later,
 * unless the compilation is cancelled: OBJECT is valid until it returns; SIZE 0: the source does
 * not compile, or not in time. NULL: there are too many, or no memory; then DONE is not called. */
struct compilation *compiler_begin(struct compiler *compiler, unsigned char *text, size_t length,
                                   void (*done)(void *context, const unsigned char *object,
                                                size_t size),
                                   void *context);
void compiler_cancel(struct compilation *compilation);

#endif
