/* The little that ECL's headers and the C source that its compiler writes need of the system's
 * headers, for the preamble of native code (make-preamble, which gives this file all of their
 * names). Sizes and layouts are those of Linux on 64-bit machines; functions that such source never
 * calls are missing. */
#ifndef ECLAVE_COMPILER_SYSTEM_H
#define ECLAVE_COMPILER_SYSTEM_H

#define NULL ((void *)0)

typedef unsigned long size_t;
typedef long ssize_t;
typedef long ptrdiff_t;
typedef int wchar_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
typedef long intmax_t;
typedef unsigned long uintmax_t;
typedef int pid_t;
typedef long off_t;
typedef long time_t;
typedef unsigned int mode_t;

/* Opaque, of the right size. */
typedef unsigned long pthread_t;
typedef union {
    char bytes[40];
    long align;
} pthread_mutex_t;
typedef union {
    char bytes[48];
    long long align;
} pthread_cond_t;
typedef union {
    char bytes[56];
    long align;
} pthread_rwlock_t;
typedef struct {
    unsigned long words[16];
} sigset_t;

/* stdio */
typedef struct _IO_FILE FILE;
int printf(const char *, ...);

/* setjmp */
struct __jmp_buf_tag {
    long registers[8];
    int saved;
    sigset_t mask;
};
typedef struct __jmp_buf_tag jmp_buf[1];
int _setjmp(struct __jmp_buf_tag *);
void longjmp(struct __jmp_buf_tag *, int);
void _longjmp(struct __jmp_buf_tag *, int);

/* gmp */
typedef unsigned long mp_limb_t;
typedef unsigned long mp_bitcnt_t;
typedef struct {
    int _mp_alloc;
    int _mp_size;
    unsigned long *_mp_d;
} __mpz_struct;
typedef __mpz_struct mpz_t[1];
typedef __mpz_struct *mpz_ptr;
typedef const __mpz_struct *mpz_srcptr;

/* atomic_ops */
typedef size_t AO_t;
#define AO_HAVE_compare_and_swap_full
#define AO_HAVE_compare_and_swap
#define AO_HAVE_fetch_and_add1
#define AO_HAVE_fetch_and_add
#define AO_HAVE_fetch_compare_and_swap
#define AO_HAVE_fetch_compare_and_swap_full
#define AO_HAVE_fetch_and_add1_full
#define AO_HAVE_fetch_and_add_full
#define AO_HAVE_fetch_compare_and_swap
#define AO_HAVE_fetch_compare_and_swap_full
#define AO_nop_full() ((void)0)

/* fenv */
#define FE_INVALID    1
#define FE_DIVBYZERO  4
#define FE_OVERFLOW   8
#define FE_UNDERFLOW  16
#define FE_INEXACT    32
#define FE_ALL_EXCEPT 61
typedef struct {
    char bytes[32];
} fenv_t;
int feenableexcept(int);
int fedisableexcept(int);
int feclearexcept(int);
int fetestexcept(int);
int fegetexcept(void);
int feholdexcept(fenv_t *);
int feupdateenv(const fenv_t *);
int fesetenv(const fenv_t *);

/* float, math */
#define DBL_MAX  1.7976931348623157e308
#define isnan(x) ((x) != (x))
double sin(double);
double cos(double);
double tan(double);
double asin(double);
double acos(double);
double atan(double);
double sinh(double);
double cosh(double);
double tanh(double);
double asinh(double);
double acosh(double);
double atanh(double);
double exp(double);
double log(double);
double log1p(double);
double sqrt(double);
double floor(double);
double ceil(double);
double fabs(double);
double trunc(double);
double rint(double);
double round(double);
double atan2(double, double);
double pow(double, double);
double fmod(double, double);
double ldexp(double, int);
double frexp(double, int *);
float sinf(float);
float cosf(float);
float tanf(float);
float asinf(float);
float acosf(float);
float atanf(float);
float sinhf(float);
float coshf(float);
float tanhf(float);
float asinhf(float);
float acoshf(float);
float atanhf(float);
float expf(float);
float logf(float);
float log1pf(float);
float sqrtf(float);
float floorf(float);
float ceilf(float);
float fabsf(float);
float truncf(float);
float rintf(float);
float roundf(float);
float atan2f(float, float);
float powf(float, float);
float fmodf(float, float);
float ldexpf(float, int);
float frexpf(float, int *);
long double sinl(long double);
long double cosl(long double);
long double tanl(long double);
long double asinl(long double);
long double acosl(long double);
long double atanl(long double);
long double sinhl(long double);
long double coshl(long double);
long double tanhl(long double);
long double asinhl(long double);
long double acoshl(long double);
long double atanhl(long double);
long double expl(long double);
long double logl(long double);
long double log1pl(long double);
long double sqrtl(long double);
long double floorl(long double);
long double ceill(long double);
long double fabsl(long double);
long double truncl(long double);
long double rintl(long double);
long double roundl(long double);
long double atan2l(long double, long double);
long double powl(long double, long double);
long double fmodl(long double, long double);
long double ldexpl(long double, int);
long double frexpl(long double, int *);

#endif
