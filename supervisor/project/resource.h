/* What else needs to know of resources. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_RESOURCE_H
#define ECLAVE_SUPERVISOR_PROJECT_RESOURCE_H

struct request;

/* Answers that there is no resource of URI: -32002 in the legacy era, -32602 in the modern one. */
void resource_not_found(struct request *request, const char *uri);

#endif
