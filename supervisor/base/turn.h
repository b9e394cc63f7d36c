/* The processor time of a turn of the loop: from one moment at which it looks for input to the
 * next. Only builds with tests measure it (ECLAVE_TURNS). The second turn above TURN_BOUND_MS, or
 * one above TURN_ONCE_FACTOR times that, ends the process with SIGILL, after a line on stderr that
 * names the callbacks, so that the test that ran it fails. One turn may be longer because the
 * kernel counts the work of reclaiming memory for others as time of the thread. On a busy host the
 * clock counts what the host took from this machine as well, so the bound is TURN_NOISE_FACTOR
 * times higher unless TEST_THOROUGH is set, as `scripts/test --thorough` sets it.
 *
 * The environment variable TURN_BOUND_MS sets another bound, 0 none. TURN_LOG names a file to which
 * the longest turn of each process is appended. */
#ifndef ECLAVE_SUPERVISOR_BASE_TURN_H
#define ECLAVE_SUPERVISOR_BASE_TURN_H

enum {
    TURN_BOUND_MS = 20,
    TURN_ONCE_FACTOR = 3,
    TURN_NOISE_FACTOR = 3,
    TURN_SANITIZED_FACTOR = 8 /* a sanitized build is slower */
};

#ifdef ECLAVE_TURNS
typedef void (*turn_callback)(void);

void turn_begin(void);
/* The processor time since the last call of these functions was CALLBACK's. */
void turn_count(turn_callback callback);
void turn_end(void);
/* Gives CALLBACK a name for the report. */
void turn_name(turn_callback callback, const char *name);
/* Appends to TURN_LOG. */
void turn_log(void);
#define TURN_COUNT(callback)      turn_count((turn_callback)(callback))
#define TURN_NAME(callback, name) turn_name((turn_callback)(callback), name)
/* CALLBACK, whose name is the text of the argument. */
#define TURN_NAMED(callback) (turn_name((turn_callback)(callback), #callback), (callback))
#else
static inline void turn_begin(void) {
}
static inline void turn_end(void) {
}
static inline void turn_log(void) {
}
#define TURN_COUNT(callback)      ((void)(callback))
#define TURN_NAME(callback, name) ((void)(callback))
#endif

#endif
