/* URI templates (RFC 6570) as resources need them: literal text, {name} (level 1) and {+name}
 * (level 2). They are read backwards: a URI is matched, and what stands for each name is found. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_URI_TEMPLATE_H
#define ECLAVE_SUPERVISOR_REGISTRY_URI_TEMPLATE_H

#include "common/buffer.h"
#include "common/error.h"
#include "supervisor/content/uri.h"
#include <stdbool.h>
#include <stddef.h>

enum { TEMPLATE_NAMES_MAX = 8, TEMPLATE_NAME_BYTES = 64 };

/* One value of a match: of NAME, with its escapes undone. */
struct template_value {
    struct span name;             /* points into the template */
    char text[URI_MAX_BYTES + 1]; /* UTF-8, without zero bytes inside */
};

struct template_match {
    struct template_value values[TEMPLATE_NAMES_MAX]; /* in the order of the template */
    size_t count;
};

/* Is TEXT a template of these two kinds, with a scheme, at least one name, no name twice and some
 * literal text between each two? At most URI_MAX_BYTES. */
bool uri_template_check(const char *text, struct error *error);

/* Does URI match TEMPLATE, which was checked? Each name but the last takes the shortest text that
 * lets the literal behind it follow, and at least one character: of {name} unreserved characters
 * and escapes, of {+name} any. What an escape stands for must be UTF-8 and not U+0000. MATCH, about
 * 16 KiB, means something only with true. */
bool uri_template_match(const char *template, const char *uri, struct template_match *match);

#endif
