/* URI templates (RFC 6570) with {name} (level 1) and {+name} (level 2), used to match URIs: the
 * value of each variable is extracted. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_URI_TEMPLATE_H
#define ECLAVE_SUPERVISOR_REGISTRY_URI_TEMPLATE_H

#include "common/buffer.h"
#include "common/error.h"
#include "supervisor/content/uri.h"
#include <stdbool.h>
#include <stddef.h>

enum { TEMPLATE_VARIABLES_MAX = 8, TEMPLATE_NAME_BYTES = 64 };

/* The value of the variable NAME, with its escapes decoded. */
struct template_value {
    struct span name;             /* borrowed from the template */
    char text[URI_MAX_BYTES + 1]; /* UTF-8 without U+0000 */
};

struct template_match {
    struct template_value values[TEMPLATE_VARIABLES_MAX]; /* in the order of the template */
    size_t count;
};

/* Is TEXT, of at most URI_MAX_BYTES, a template with a scheme, at least one variable, no variable
 * twice, and literal text between any two? *error is a clause. */
bool uri_template_check(const char *text, struct error *error);

/* Does URI match TEMPLATE, which was checked? Each variable takes at least one character, and
 * except the last the fewest after which the following literal matches: {name} takes unreserved
 * characters and escapes, {+name} any. Escapes must decode to UTF-8 without U+0000. *match, about
 * 16 KiB, is valid only if true is returned. */
bool uri_template_match(const char *template, const char *uri, struct template_match *match);

#endif
