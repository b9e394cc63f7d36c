/* Pages of entries, and the cursors between them. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_LIST_H
#define ECLAVE_SUPERVISOR_PROJECT_LIST_H

#include "supervisor/registry/entry.h"
#include <stdbool.h>
#include <stddef.h>

struct project;
struct request;
struct server;

/* How many entries of KIND there are; 0 without a project. */
size_t list_count(const struct project *project, enum registry_kind kind);

/* Appends the entries of KIND from START to END, with commas between them. */
void list_append(struct request *request, enum registry_kind kind, size_t start, size_t end);

/* Adds `nextCursor`, for the entries of KIND from INDEX on. */
void list_append_cursor(struct request *request, enum registry_kind kind, size_t index);

/* Where the cursor whose table entry is MARK goes on. False when it belongs to another list, or to
 * a state of it that is no more. */
bool list_open_cursor(const struct project *project, enum registry_kind kind, const char *mark,
                      size_t *index);

#endif
