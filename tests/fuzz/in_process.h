/* The whole server in this process, for the targets that are its client: nothing is cut off but
 * the workers. What the client says, what the server says and what a worker does are the target's.
 * Each object that is linked with in_process.c wants the wraps in CMakeLists.txt. */
#ifndef ECLAVE_TESTS_FUZZ_IN_PROCESS_H
#define ECLAVE_TESTS_FUZZ_IN_PROCESS_H

#include "common/buffer.h"
#include "common/frame.h"
#include "supervisor/base/loop.h"
#include "supervisor/settings/settings.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/json.h"

/* The first two bytes of the input choose how the run goes. */
enum option {
    OPTION_BATCHES = 1,
    OPTION_MINIMAL = 2,
    OPTION_CALLS_WAIT = 4, /* else there is no worker at once */
    OPTION_TIGHT = 8,      /* request.max_bytes and json.max_depth at their least */
    OPTION_LOG_JSON = 16,
    OPTION_LOG_ALL = 32,
    OPTION_READ_PIECES = 64,
    OPTION_WRITE_PIECES = 128,
    PIECE = 0x7f00, /* how big the pieces are */
    /* Short answers, silence, workers that never answer, time that passes: the model counts only.
     */
    OPTION_LOOSE = 0x8000
};

/* A worker's end of what it shares with the server. */
struct fake_worker {
    struct worker_process *worker; /* NULL: reaped */
    int channel, outputs[2];
    bool killed;
    struct loop_watch watch; /* of the channel; only where it is listened to */
    void *context;           /* the target's */
};

struct in_process {
    struct fuzz_input input;
    unsigned options;
    size_t piece;
    struct buffer output, log;
    /* How the target is asked for input: up to SIZE bytes, and how many they are. Where it returns
     * NULL there is none yet. */
    const uint8_t *(*take)(size_t size, size_t *taken);
    bool workers; /* a call gets one, as long as there are some left */
    /* The worker was sent a frame. NULL: workers read nothing and never answer. */
    void (*on_frame)(struct fake_worker *fake, const struct frame_header *header,
                     const unsigned char *payload);
    void (*on_gone)(struct fake_worker *fake); /* with on_frame: frees the context */
};
extern struct in_process in_process;

/* Begins a run with the options that DATA begins with. */
void in_process_begin(const uint8_t *data, size_t size);
/* Settings as the options have them. */
void in_process_settings(struct settings *settings);
/* Runs the server to its end, and checks its log and what it leaves open. */
void in_process_serve(const struct settings *settings);
void in_process_end(void);

/* Calls SEE for each line of the output, which is checked to be JSON. */
void in_process_each_line(void (*see)(struct text line, void *context), void *context);

#endif
