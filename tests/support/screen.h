/* A program in a terminal of tmux: what is typed, and what the screen then shows. One at a time.
 * The programs run as the user of user.h. */
#ifndef ECLAVE_TESTS_SUPPORT_SCREEN_H
#define ECLAVE_TESTS_SUPPORT_SCREEN_H

#include <stdbool.h>

enum { SCREEN_COLUMNS = 80, SCREEN_ROWS = 24 };

/* Runs COMMAND, a line of a shell in which $E is the program under test, in a terminal and in a new
 * directory, which is also HOME. End with screen_end. */
void screen_begin(const char *command);
/* Kills the terminal with what runs in it. May be called twice, or without screen_begin. */
void screen_end(void);

/* The directory. */
const char *screen_directory(void);

/* Types KEYS as they are, without a newline at its end. */
void screen_type(const char *keys);
/* Types KEYS and presses Enter. */
void screen_enter(const char *keys);
/* Presses a key: "Enter", "Up", "C-c" … */
void screen_press(const char *key);
/* Pastes LINES as a terminal does. */
void screen_paste(const char *lines);
/* Changes the size. */
void screen_resize(int columns, int rows);

/* What the terminal shows now and what has scrolled out of it, with wrapped lines joined and
 * without blanks at the ends of lines. Valid until the next call. */
const char *screen_text(void);
/* The same with the sequences for colours. */
const char *screen_coloured(void);

/* Waits until PART is on the screen; fails the test if that does not happen. */
void screen_wait(const char *part);
/* Waits until PART is there COUNT times. */
void screen_wait_times(const char *part, int count);
/* Waits until the last line that is not empty is LINE. */
void screen_wait_last(const char *line);
/* Waits until a confined worker computes. Ctrl-C before that would drop what is typed. */
void screen_wait_busy(void);
/* Waits until the command ends. Returns its exit status, or 128 and the signal. */
int screen_wait_end(void);

#endif
