/* The frames in the middle of a run: events, questions to the client, and its answers. Outside a
 * run the functions send nothing and return NIL. The contents are checked by the supervisor. */
#ifndef ECLAVE_WORKER_EXCHANGE_H
#define ECLAVE_WORKER_EXCHANGE_H

#include <ecl/ecl.h>
#include <stdint.h>

/* Begins the run of call number CALL on CHANNEL. */
void exchange_begin(int channel, uint32_t call);
void exchange_end(void);

/* The Lisp function ECLAVE:SEND-EVENT: sends TEXT, a string, and returns T. Exits the process on
 * failure. */
cl_object exchange_send_event(cl_object text);

/* The Lisp function ECLAVE:SEND-ASK: sends TEXT and returns the client's answer, a string. Exits
 * the process on failure. */
cl_object exchange_send_ask(cl_object text);

#endif
