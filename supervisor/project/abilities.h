/* What a client declared that it can do, and the answers where that is not enough. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_ABILITIES_H
#define ECLAVE_SUPERVISOR_PROJECT_ABILITIES_H

#include <json-c/json.h>
#include <stdbool.h>

struct registry_entry;
struct request;

/* The capabilities that REQUEST's client declared, borrowed; NULL: none. */
struct json_object *abilities_of(const struct request *request, struct json_object *params);

/* Does ABILITIES (NULL: none) hold what REQUIRED, an object of capabilities, names? */
bool abilities_include(struct json_object *abilities, struct json_object *required);

/* Answers REQUEST of the modern era, whose client did not declare the capabilities LACKING. */
void abilities_refuse_missing(struct request *request, struct json_object *lacking);
/* Does the client lack what ENTRY requires? Then the request has been answered. */
bool abilities_refuse_lacking(struct request *request, const struct registry_entry *entry,
                              struct json_object *params);
/* Does a request bring more JSON, RESPONSES and capabilities in PARAMS, than is held for a run,
 * which holds HELD already? Then it has been answered: the values of a text take some hundred times
 * its bytes. */
bool abilities_refuse_large(struct request *request, struct json_object *held,
                            struct json_object *responses, struct json_object *params);

#endif
