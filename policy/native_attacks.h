/* The attempts of native_attacks.def. */
#ifndef ECLAVE_POLICY_NATIVE_ATTACKS_H
#define ECLAVE_POLICY_NATIVE_ATTACKS_H

#include "policy/attack_table.h"

enum { ATTACK_CODE_BYTES = 2 * ATTACK_PAGE };

/* Makes two files of ATTACK_CODE_BYTES with the same code: one sealed as for a worker, one that can
 * be written. The descriptors are the caller's, *OPEN above those that a child assigns. False with
 * *error. */
bool native_attack_code(int *sealed, int *open, struct error *error);

#endif
