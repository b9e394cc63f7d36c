/* The entries of the registry as clients see them: found by key, listed in pages, and shown with
 * the members that a revision of the protocol has. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_CATALOG_H
#define ECLAVE_SUPERVISOR_PROJECT_CATALOG_H

#include "common/buffer.h"
#include "supervisor/mcp/revision.h"
#include "supervisor/registry/entry.h"
#include <stdbool.h>
#include <stddef.h>

struct project;
struct request;

/* The entry of this kind and key in the present snapshot, borrowed; NULL: there is none, or no
 * project. */
const struct registry_entry *project_find(const struct project *project, enum registry_kind kind,
                                          const char *key);

/* Answers REQUEST, for a list of KIND or an unknown name of it, with the error of the last scan, if
 * that failed and has not been reported, or if no scan has succeeded and KIND has no built-in
 * entries (doc/contract.md, section 10). False if there is none. */
bool project_refuse_unread(struct project *project, struct request *request,
                           enum registry_kind kind);

/* Answers that there is no resource of URI: -32002 in the legacy era, -32602 in the modern one. */
void resource_not_found(struct request *request, const char *uri);

/* How many entries of KIND there are; 0 without a project. */
size_t catalog_count(const struct project *project, enum registry_kind kind);

/* Appends the entries of KIND from START to END, separated by commas. */
void catalog_append(struct request *request, enum registry_kind kind, size_t start, size_t end);

/* Adds `nextCursor`, for the entries of KIND from INDEX on. */
void catalog_append_cursor(struct request *request, enum registry_kind kind, size_t index);

/* The index that the cursor for MARK stands for. False if it belongs to another list, or if the
 * list has changed. */
bool catalog_open_cursor(const struct project *project, enum registry_kind kind, const char *mark,
                         size_t *index);

/* Appends ENTRY as a JSON object. */
void catalog_show(struct buffer *out, const struct revision *revision,
                  const struct registry_entry *entry);

#endif
