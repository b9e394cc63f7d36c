/* The resources, the template and the prompt that every server has. They are entries like those of
 * a project, whose own must have other names. */
#ifndef ECLAVE_SUPERVISOR_SERVER_BUILTINS_H
#define ECLAVE_SUPERVISOR_SERVER_BUILTINS_H

#include "common/error.h"
#include "supervisor/registry/entry.h"
#include <stdbool.h>
#include <stddef.h>

struct builtins;
struct settings;

#define BUILTIN_GUIDE      "eclave:///guide"
#define BUILTIN_POLICY     "eclave:///policy"
#define BUILTIN_SESSIONS   "eclave:///sessions/"
#define BUILTIN_TRANSCRIPT BUILTIN_SESSIONS "{name}/transcript"
#define BUILTIN_PROMPT     "lisp-session"

/* NULL with *error only when out of memory. */
struct builtins *builtins_open(const struct settings *settings, struct error *error);
/* NULL does nothing. */
void builtins_close(struct builtins *builtins);

/* Does KEY belong to what is built in, tools included? All URIs below BUILTIN_SESSIONS do. */
bool builtins_have(enum registry_kind kind, const char *key);

/* The entry number INDEX of KIND, or the one of this KEY; borrowed. NULL: there is none. */
struct registry_entry *builtins_at(const struct builtins *builtins, enum registry_kind kind,
                                   size_t index);
struct registry_entry *builtins_find(const struct builtins *builtins, enum registry_kind kind,
                                     const char *key);

#endif
