/* Runs a seccomp filter program in user space, so that tests can evaluate it for any call without
 * making the call. Written from the kernel's description of the machine; it accepts any program. */
#ifndef ECLAVE_TESTS_BPF_EVALUATOR_H
#define ECLAVE_TESTS_BPF_EVALUATOR_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

/* The return value of PROGRAM for CALL in *action. False when the kernel would refuse the program:
 * an unknown instruction, a jump or a load out of range, an end without a return. */
bool bpf_evaluate(const struct sock_fprog *program, const struct seccomp_data *call,
                  uint32_t *action);

/* The effective one of the return values of two programs; LATER is that of the one installed last,
 * which wins between equals. */
uint32_t bpf_stricter(uint32_t earlier, uint32_t later);

#endif
