/* The whole server in this process, except the workers, for the targets that are its client. The
 * target supplies the input and the behaviour of the workers, and checks the output. Link with the
 * wraps in CMakeLists.txt. */
#ifndef ECLAVE_TESTS_FUZZ_IN_PROCESS_H
#define ECLAVE_TESTS_FUZZ_IN_PROCESS_H

#include "common/buffer.h"
#include "common/frame.h"
#include "supervisor/base/loop.h"
#include "supervisor/settings/settings.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/json.h"

/* The first two bytes of the input are options. */
enum option {
    OPTION_BATCHES = 1,
    OPTION_MINIMAL = 2,
    OPTION_CALLS_WAIT = 4, /* otherwise there is no worker */
    OPTION_TIGHT = 8,      /* the minimum of request.max_bytes and json.max_depth */
    OPTION_LOG_JSON = 16,
    OPTION_LOG_ALL = 32,
    OPTION_READ_PIECES = 64,
    OPTION_WRITE_PIECES = 128,
    PIECE = 0x7f00, /* the size of the pieces */
    /* Short answers, silence, workers that never answer, and time: the model only counts
     * answers. */
    OPTION_LOOSE = 0x8000
};

/* The worker's ends of its channel and its pipes. */
struct fake_worker {
    struct worker_process *worker; /* NULL: reaped */
    int channel, outputs[2];
    bool killed;
    struct loop_watch watch; /* of the channel, with on_frame */
    void *context;           /* the target's */
};

struct in_process {
    struct fuzz_input input;
    unsigned options;
    size_t piece;
    struct buffer output, log;
    /* Returns up to SIZE bytes of input and their number; NULL: none yet. */
    const uint8_t *(*take)(size_t size, size_t *taken);
    bool workers; /* a call gets one while there are any left */
    /* Called for a frame to the worker. NULL: workers read nothing and never answer. */
    void (*on_frame)(struct fake_worker *fake, const struct frame_header *header,
                     const unsigned char *payload);
    void (*on_gone)(struct fake_worker *fake); /* with on_frame: frees the context */
};
extern struct in_process in_process;

/* Begins a run with the options that DATA begins with. */
void in_process_begin(const uint8_t *data, size_t size);
/* Settings according to the options. */
void in_process_settings(struct settings *settings);
/* Runs the server to its end, and checks its log and its open descriptors. */
void in_process_serve(const struct settings *settings);
void in_process_end(void);

/* Calls SEE for each line of the output, which is checked to be JSON. */
void in_process_each_line(void (*see)(struct text line, void *context), void *context);

#endif
