/* bench-image [FORM]: boots ECL with one thread as a worker's image does, evaluates FORM, writes
 * "ready", and for each line it reads writes the milliseconds for a fork, the child's _exit and the
 * wait: the minimum for any fork of a booted Lisp. */
#include <ecl/ecl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void boot(char **arguments) {
    setenv("GC_MARKERS", "1", 1);
    ecl_set_option(ECL_OPT_SIGNAL_HANDLING_THREAD, 0);
    cl_boot(1, arguments);
}

/* Collects until the collector has released the garbage of FORM. */
static void evaluate(const char *form) {
    static const char collect[] = "(dotimes (i 3) (ext:gc t))";
    cl_safe_eval(ecl_read_from_cstring(form), ECL_NIL, ECL_NIL);
    cl_safe_eval(ecl_read_from_cstring(collect), ECL_NIL, ECL_NIL);
}

static bool fork_once(double *ms) {
    double begin = now_ms();
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    bool good = pid > 0 && waitpid(pid, NULL, 0) == pid;
    *ms = now_ms() - begin;
    return good;
}

int main(int count, char **arguments) {
    char line[16];
    double ms;
    boot(arguments);
    if (count > 1)
        evaluate(arguments[1]);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) && fork_once(&ms)) {
        printf("%.6f\n", ms);
        fflush(stdout);
    }
    return EXIT_SUCCESS;
}
