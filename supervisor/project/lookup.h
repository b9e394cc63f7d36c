/* Finding what a request names, and the answers where it is not there. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_LOOKUP_H
#define ECLAVE_SUPERVISOR_PROJECT_LOOKUP_H

#include "supervisor/registry/entry.h"
#include <stdbool.h>

struct project;
struct request;

/* The entry of that kind and key in the present snapshot, borrowed; NULL: there is none, or no
 * project. */
const struct registry_entry *project_find(const struct project *project, enum registry_kind kind,
                                          const char *key);

/* Answers REQUEST, which is a list's or asks for what is not known, with the newest failure of a
 * refresh (spec/003, Operational Safeguards). False when there is none that was not told of. */
bool project_refuse_unread(struct project *project, struct request *request);

/* Answers that there is no resource of URI: -32002 in the legacy era, -32602 in the modern one. */
void resource_not_found(struct request *request, const char *uri);

#endif
