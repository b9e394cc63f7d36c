/* The policy of a supervisor and its workers, for people. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_POLICY_TEXT_H
#define ECLAVE_SUPERVISOR_PROCESS_POLICY_TEXT_H

#include <stdio.h>

struct settings;

/* Prints layers, files, limits and system calls. It does not depend on this machine. */
void policy_text_print(FILE *out, const struct settings *settings);

#endif
