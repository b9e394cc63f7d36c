/* Output that a terminal may show. In untrusted text, what could control the terminal or change the
 * order or appearance of the text around it is escaped: controls, bidirectional marks, invisible
 * characters and line ends other than a newline as \uXXXX, bytes that are not UTF-8 as \xNN. */
#ifndef ECLAVE_SUPERVISOR_BASE_TERMINAL_H
#define ECLAVE_SUPERVISOR_BASE_TERMINAL_H

#include "common/buffer.h"
#include <stdbool.h>
#include <stdio.h>

enum shown_as {
    SHOWN_AS_LINE,  /* escapes newlines and tabs too */
    SHOWN_AS_NAME,  /* and backslashes, so that no two names look alike */
    SHOWN_AS_LINES, /* keeps newlines and tabs */
};

/* Appends TEXT. False if OUT is full; it then holds what fitted, with no escape cut. */
bool shown_append(struct buffer *out, struct span text, enum shown_as as);

/* Prints TEXT without the newlines at its end. INDENT begins each line but the first. */
void shown_print(FILE *out, struct span text, const char *indent);
/* The same for a string of one line. */
void shown_print_text(FILE *out, const char *text);

/* Prints the line "eclave: TEXT" on standard error. */
void shown_complain(const char *text);

/* Writes what a user asked for: escaped, by lines, if OUT is a terminal, else byte for byte. False
 * if it cannot be written. */
bool shown_write(FILE *out, struct span text);

/* The sequences that begin and end a colour; empty where there are none. */
struct colours {
    const char *good, *bad, *odd, *faint;
    const char *end;
};

/* Colours for OUT: none unless it is a terminal and NO_COLOR is unset or empty (no-color.org). */
struct colours colours_of(FILE *out);

#endif
