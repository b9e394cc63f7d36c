/* What a call says to the supervisor before it ends, and what it is answered. Only a run may:
 * during an evaluation the functions return NIL. What is said is not looked at here. */
#ifndef ECLAVE_WORKER_EXCHANGE_H
#define ECLAVE_WORKER_EXCHANGE_H

#include <ecl/ecl.h>
#include <stdint.h>

/* Call number CALL, which came on CHANNEL, may send and ask from now on. */
void exchange_begin(int channel, uint32_t call);
/* It no longer may. */
void exchange_end(void);

/* The Lisp function ECLAVE:SEND-EVENT: sends TEXT, a string, and returns T. Ends the process when
 * it cannot. */
cl_object exchange_send_event(cl_object text);

/* The Lisp function ECLAVE:SEND-ASK: sends TEXT and waits for the answer, a string. Ends the
 * process when none comes. */
cl_object exchange_send_ask(cl_object text);

#endif
