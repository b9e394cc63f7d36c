/* One run of a batch: lines come in, each is evaluated in a fresh world, records go out. At most a
 * window of lines is in hand at a time, so that neither a slow line, a slow reader nor a fast
 * writer makes memory grow. */
#ifndef ECLAVE_SUPERVISOR_BATCH_BATCH_H
#define ECLAVE_SUPERVISOR_BATCH_BATCH_H

#include "supervisor/base/input.h"
#include "supervisor/batch/done.h"
#include "supervisor/batch/junit.h"
#include "supervisor/batch/options.h"
#include "supervisor/batch/outbox.h"
#include "supervisor/batch/progress.h"
#include "supervisor/batch/tally.h"
#include "supervisor/session/one_shot.h"
#include "supervisor/settings/settings.h"
#include <stdbool.h>

struct batch_item;
struct batch_world;

struct batch {
    const struct settings *settings;
    const struct batch_options *options;
    struct one_shot one_shot;
    struct input input;
    struct outbox outbox;
    struct done done;
    struct tally tally;
    struct junit junit;
    struct progress progress;
    struct batch_world *worlds; /* options->jobs of them */
    struct batch_item *items;   /* in hand, in input order */
    size_t item_count;
    size_t item_bytes; /* of their lines and records */
    bool input_ended;
    bool stopping;     /* nothing more is read or started */
    bool interrupted;  /* that was somebody's wish */
    bool failed_fast;  /* that was --fail-fast */
    bool cut_short;    /* lines were read and left undone */
    bool closing;      /* everything is in the outbox */
    char failure[240]; /* why the run cannot go on; empty when it can */
};

/* Makes the worlds. False with *error. */
bool batch_open(struct batch *batch, struct error *error);
/* Frees the worlds and whatever is still in hand; nothing may run any more. */
void batch_close(struct batch *batch);

/* What the input has. */
void batch_take_line(void *context, const unsigned char *bytes, size_t size);
void batch_take_too_long(void *context);
void batch_take_end(void *context);

/* A line that an earlier run finished: counted and reported, not written again. */
void batch_take_done(void *context, const struct record *record, struct span text);

/* Moves everything on as far as it goes; ends the loop when all is done. Before each wait. */
void batch_step(void *context);

/* Lets what runs finish and starts nothing more; the second time ends what runs. */
void batch_interrupt(void *context);

/* The exit status of the run, CONTRACT section 9. */
int batch_status(const struct batch *batch);

/* `eclave batch [OPTIONS] [FILE | -]`: ARGUMENTS are those behind `batch` that are no options. */
int command_batch(const struct settings *settings, const struct batch_options *options, int count,
                  char **arguments);

#endif
