/* A rate limit: so many at once, so many a second or a minute in the long run. */
#ifndef ECLAVE_SUPERVISOR_BASE_RATE_H
#define ECLAVE_SUPERVISOR_BASE_RATE_H

#include "supervisor/base/clock.h"
#include <stdbool.h>
#include <stdint.h>

struct rate {
    int64_t cost_ns;   /* of one: the time divided by how many in it */
    int64_t burst_ns;  /* the most that can be saved up */
    int64_t credit_ns; /* saved up so far */
    int64_t seen_ns;   /* when that was last brought up to date */
};

static inline struct rate rate_make_slow(int64_t per_minute, int64_t at_once) {
    int64_t cost_ns = INT64_C(60000000000) / per_minute;
    return (struct rate){.cost_ns = cost_ns,
                         .burst_ns = cost_ns * at_once,
                         .credit_ns = cost_ns * at_once,
                         .seen_ns = clock_now_ns()};
}

static inline struct rate rate_make(int64_t per_second, int64_t at_once) {
    return rate_make_slow(per_second * 60, at_once);
}

/* May one more happen now? */
static inline bool rate_take(struct rate *rate) {
    int64_t now_ns = clock_now_ns();
    rate->credit_ns += now_ns - rate->seen_ns;
    rate->seen_ns = now_ns;
    if (rate->credit_ns > rate->burst_ns)
        rate->credit_ns = rate->burst_ns;
    if (rate->credit_ns < rate->cost_ns)
        return false;
    rate->credit_ns -= rate->cost_ns;
    return true;
}

#endif
