/* eclave-editor: the part of `eclave repl` that has the terminal. It edits lines, keeps their
 * history, reads the files that ,load names, and sends complete forms to the supervisor, its child,
 * which prints the results. So the supervisor, which reads what confined code sends, links no
 * terminal library and opens no file. */
#ifndef ECLAVE_EDITOR_EDITOR_H
#define ECLAVE_EDITOR_EDITOR_H

#include "common/buffer.h"
#include <histedit.h>
#include <signal.h>
#include <stdbool.h>
#include <termios.h>

/* --- history.c: what was typed in earlier sessions --- */

struct history_file {
    char path[4096]; /* empty: nothing is kept */
};

/* Finds $XDG_STATE_HOME/eclave/repl_history, or that in ~/.local/state, makes the directories, and
 * enters what it holds into KNOWN. Without such a file, or if it belongs to somebody else,
 * nothing is kept. */
void history_file_open(struct history_file *file, History *known);
/* Appends an entry, which may have several lines. */
void history_file_add(const struct history_file *file, struct span entry);

/* --- terminal.c: lines from the terminal --- */

enum line_end {
    LINE_READ,
    LINE_INTERRUPTED, /* by Ctrl-C */
    LINE_ENDED,       /* by Ctrl-D, or there is no terminal any more */
    LINE_STOPPED      /* the supervisor has ended, or a signal asked to end: see `signal` */
};

struct terminal {
    int channel;      /* readable while a line is edited: the supervisor has ended */
    EditLine *editor; /* NULL: a terminal without cursor control, whose driver edits */
    History *history;
    struct history_file file;
    struct termios normal;
    sigset_t unblocked; /* the signals while waiting; elsewhere they are blocked */
    int signal;         /* that asked to end; or 0 */
    bool coloured;
    char prompt[256];      /* of the line that is being edited */
    enum line_end cause;   /* why it ends, unless by Enter */
    struct buffer pending; /* without an editor: bytes read and not returned */
};

/* Takes over standard input, which is a terminal. */
void terminal_open(struct terminal *terminal, int channel);
/* Returns the terminal as it was. */
void terminal_close(struct terminal *terminal);

/* Shows PROMPT and appends a line with its newline to TEXT. */
enum line_end terminal_read(struct terminal *terminal, const char *prompt, struct buffer *text);
/* Waits until the channel is readable. What is typed meanwhile is kept and not shown. False if a
 * signal asked to end. */
bool terminal_wait(struct terminal *terminal);
/* Adds ENTRY to the history, unless it begins with a blank. */
void terminal_remember(struct terminal *terminal, struct span entry);

#endif
