/* Numbers of objects. An object that cannot be read back prints with its address in ECL, which
 * differs in every run; here it prints with the number "@1", "@2" … in the order in which the
 * objects of an answer are first printed, the same for the same object. */
#ifndef ECLAVE_WORKER_NUMBERS_H
#define ECLAVE_WORKER_NUMBERS_H

#include <ecl/ecl.h>

enum {
    NUMBERS_MAX = 10000,     /* of one answer; further objects print as "@..." */
    NUMBERS_CODE_MAX = 5000, /* of these, for objects that the code itself prints */
};

/* Begins an answer. Until numbers_settle, the objects of the last one are found by their numbers;
 * an object that code prints is not held, so that printing does not fill the heap. */
void numbers_begin(void);

/* Until numbers_begin, objects of the last answer print with their numbers and are found by them,
 * and others print as "@...". */
void numbers_freeze(void);

/* The code has ended, and its result is printed. From now on the objects of this answer that still
 * exist are held and found by their numbers, and those of the last one are released. */
void numbers_settle(void);

/* Releases all objects. */
void numbers_forget(void);

/* The Lisp function ECLAVE:NUMBERED-OBJECT. Two values: the object with this number in the last
 * answer and T, or NIL and NIL. */
cl_object numbers_find(cl_object number);

#endif
