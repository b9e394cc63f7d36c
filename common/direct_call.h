/* System calls on x86-64 that use neither the C library nor its data, which such code has not got
 * (the restorer) or replaces while it runs (a worker that adopts a session). */
#ifndef ECLAVE_COMMON_DIRECT_CALL_H
#define ECLAVE_COMMON_DIRECT_CALL_H

#include <stdint.h>

#ifdef __x86_64__

/* Returns what the kernel does: -errno for a failure. */
static inline long direct_call(long number, long a, long b, long c, long d, long e, long f) {
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    register long sixth __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

/* The same with arguments of any scalar type. */
#define DIRECT_CALL(number, a, b, c, d, e, f)                                                      \
    direct_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Calls FUNCTION, which does not return, with ARGUMENT on the stack that ends at STACK, a multiple
 * of 16. */
static inline _Noreturn void direct_continue(void (*function)(void *argument), void *argument,
                                             uint64_t stack) {
    __asm__ volatile("mov %1, %%rsp\n\txor %%ebp, %%ebp\n\tcall *%2\n\thlt"
                     :
                     : "D"(argument), "r"(stack), "r"(function)
                     : "memory");
    __builtin_unreachable();
}

#endif
#endif
