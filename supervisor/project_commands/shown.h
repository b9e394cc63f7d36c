/* Texts of users on a terminal. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_COMMANDS_SHOWN_H
#define ECLAVE_SUPERVISOR_PROJECT_COMMANDS_SHOWN_H

#include "common/message.h"
#include <stdio.h>

/* Prints TEXT with \uXXXX in the place of what could command the terminal or change the order or
 * the sight of what stands around it: controls, marks of direction, invisible tags, lines that end
 * elsewhere than at a newline, and bytes that are no UTF-8. Each line but the first begins with
 * INDENT; a newline at the end is left out. */
void shown_print(FILE *out, struct span text, const char *indent);

#endif
