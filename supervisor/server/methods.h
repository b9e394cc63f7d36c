/* The methods and notifications of both eras. */
#ifndef ECLAVE_SUPERVISOR_SERVER_METHODS_H
#define ECLAVE_SUPERVISOR_SERVER_METHODS_H

#include "supervisor/server/rpc.h"

extern const struct method_table method_table;

#endif
