/* The parts of the prompt, by the file that implements them. */
#ifndef ECLAVE_SUPERVISOR_REPL_REPL_INTERNAL_H
#define ECLAVE_SUPERVISOR_REPL_REPL_INTERNAL_H

#include "supervisor/base/terminal.h"
#include "supervisor/repl/repl.h"
#include "supervisor/session/one_shot.h"
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>

enum {
    PACKAGE_BYTES = 128,
    STATES_MAX = 257 /* the most that session.history keeps, and the present one */
};

/* --- places.c: the sessions of the person --- */

struct place {
    char name[SESSION_NAME_BYTES]; /* of the session */
    /* The current package after each call, by the number of the state, modulo STATES_MAX. */
    struct {
        uint64_t number;
        char package[PACKAGE_BYTES]; /* empty: not known */
    } states[STATES_MAX];
    TAILQ_ENTRY(place) entry;
};

TAILQ_HEAD(places, place);

/* The place called NAME, or NULL. */
struct place *places_find(const struct places *places, struct span name);
/* A new one, called NAME, which is valid. NULL when out of memory. */
struct place *places_add(struct places *places, struct span name);
void places_free(struct places *places);
/* Notes the package after the call that made state NUMBER. */
void place_note(struct place *place, uint64_t number, struct span package);
/* The first state of COPY has the package of the state NUMBER of ORIGIN. */
void place_copy_package(struct place *copy, const struct place *origin, uint64_t number);
/* The package in state NUMBER, shortened for a prompt, into SHOWN. */
void place_package(const struct place *place, uint64_t number, struct buffer *shown);

/* --- repl.c: the conversation with the editor --- */

struct repl {
    const struct settings *settings;
    struct one_shot one_shot;
    struct colours colours;
    int channel; /* to the editor */
    struct loop_watch watch;
    struct loop_timer next; /* to the next prompt */
    struct places places;
    struct place *place; /* the current one */
    struct call *call;   /* running; or NULL */
    bool timed;          /* it was given to ,time */
    bool interrupted;    /* what was typed ahead of the next prompt is dropped */
    bool ended;
    bool undo_explained, quit_explained, timeout_explained;
    int status;
    char branch[SESSION_NAME_BYTES]; /* the name of the copy that is being made */
    uint64_t branched_at;            /* the number of the state that is copied */
};

/* The current session, or NULL when out of memory. */
struct session *repl_session(const struct repl *repl);
/* Evaluates CODE in the current session, and shows the result. */
void repl_evaluate(struct repl *repl, struct span code);
/* Submits a call to the current session. DONE must call repl_answered. */
void repl_submit(struct repl *repl, const struct call_request *request);
/* Shows the prompt, once the loop has done its other work. */
void repl_answered(struct repl *repl);
/* Ends the conversation. */
void repl_end(struct repl *repl);

/* --- commands.c --- */

/* Runs a line that begins with a comma. */
void repl_command(struct repl *repl, struct span line);

/* --- show.c: what is printed --- */

void show_banner(const struct repl *repl);
void show_evaluation(struct repl *repl, const struct evaluation *evaluation);
/* Prints a line of the repl itself. */
__attribute__((format(printf, 2, 3))) void show_note(const struct repl *repl, const char *format,
                                                     ...);
/* The same for a mistake. */
__attribute__((format(printf, 2, 3))) void show_mistake(const struct repl *repl, const char *format,
                                                        ...);

#endif
