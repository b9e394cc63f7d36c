/* Lists of what the server offers: the built-in items, then those of the project, in pages. */
#ifndef ECLAVE_SUPERVISOR_SERVER_LISTS_H
#define ECLAVE_SUPERVISOR_SERVER_LISTS_H

#include "supervisor/registry/entry.h"
#include <json-c/json.h>
#include <stddef.h>

struct request;
struct server;

enum { LIST_ITEMS_MAX = 16 };

struct list {
    const char *member; /* of the result: "tools" */
    enum registry_kind kind;
    const void *items[LIST_ITEMS_MAX]; /* the built-in ones, in order */
    size_t count;
    const char *(*name)(const void *item); /* unique in the list */
    void (*append)(struct request *request, const void *item);
};

/* Answers REQUEST with the page of LIST that PARAMS ask for. */
void list_answer(struct server *server, struct request *request, struct json_object *params,
                 const struct list *list);

#endif
