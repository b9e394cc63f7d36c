/* Texts of others where a terminal may show them. What could command it, or change the order or the
 * sight of what stands around, is shown as \uXXXX, as JSON has it: controls, marks of direction,
 * invisible characters, ends of lines other than a newline; a byte that is no UTF-8 as \xNN. */
#ifndef ECLAVE_SUPERVISOR_BASE_SHOWN_H
#define ECLAVE_SUPERVISOR_BASE_SHOWN_H

#include "common/buffer.h"
#include <stdbool.h>
#include <stdio.h>

enum shown_as {
    SHOWN_AS_LINE,  /* newlines and tabs are escaped, too */
    SHOWN_AS_NAME,  /* and backslashes, so that no two names look alike */
    SHOWN_AS_LINES, /* newlines and tabs stay */
};

/* Appends TEXT. False when OUT is full: then it holds what fitted, no escape of it cut. */
bool shown_append(struct buffer *out, struct span text, enum shown_as as);

/* Prints TEXT. Each line but the first begins with INDENT; a newline at the end is left out. */
void shown_print(FILE *out, struct span text, const char *indent);
/* The same of a text that ends with a null byte and has one line. */
void shown_print_text(FILE *out, const char *text);

/* "eclave: TEXT" as a line of standard error. */
void shown_complain(const char *text);

/* What a person has asked to be printed: as lines when OUT is a terminal, else byte for byte. False
 * when it cannot be written. */
bool shown_write(FILE *out, struct span text);

#endif
