/* Runs a seccomp filter program in user space, so that tests can ask it about every call without
 * making one. Written from the kernel's description of the machine, not from the code that builds
 * the programs; never trusts a program to be well made. */
#ifndef ECLAVE_TESTS_BPF_EVALUATOR_H
#define ECLAVE_TESTS_BPF_EVALUATOR_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

/* What PROGRAM returns for CALL: an action and its data, as the kernel gets it, in *action. False
 * when the program is not one that the kernel would take: an unknown instruction, a jump or a load
 * out of range, an end without a return. */
bool bpf_evaluate(const struct sock_fprog *program, const struct seccomp_data *call,
                  uint32_t *action);

/* Of the returns of two stacked programs the one that the kernel obeys; LATER is that of the
 * program that was installed last, which wins between equals. */
uint32_t bpf_stricter(uint32_t earlier, uint32_t later);

#endif
