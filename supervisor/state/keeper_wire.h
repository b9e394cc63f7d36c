/* What passes between the supervisor and its keeper: a header, then `length` bytes. */
#ifndef ECLAVE_SUPERVISOR_STATE_KEEPER_WIRE_H
#define ECLAVE_SUPERVISOR_STATE_KEEPER_WIRE_H

#include "supervisor/state/keeper.h"

struct wire_request {
    uint32_t operation, unnamed;
    uint64_t session, other, number, length;
};

enum wire_end { WIRE_DONE, WIRE_LOCKED, WIRE_FAILED };

struct wire_reply {
    uint32_t
        end; /* enum wire_end; if not WIRE_DONE, a sentence follows, else a record or nothing */
    uint32_t created, has_descriptor; /* sent with the first byte */
    uint64_t count, left_out, length;
};

/* The process. Does not return. */
_Noreturn void keeper_run(int socket, struct store *store, bool sync, uint64_t limit_bytes);

#endif
