/* URIs (RFC 3986). */
#ifndef ECLAVE_SUPERVISOR_CONTENT_URI_H
#define ECLAVE_SUPERVISOR_CONTENT_URI_H

#include "common/error.h"
#include <stdbool.h>
#include <stddef.h>

enum { URI_MAX_BYTES = 2048 };

/* An unreserved character: a letter, a digit or one of -._~ */
bool uri_is_unreserved(char byte);
/* TEXT begins with a percent sign and two hexadecimal digits. */
bool uri_is_escape(const char *text);

/* These check TEXT and return false with *error (may be NULL): "it has no scheme". */

/* At most MAXIMUM bytes, a scheme, and only characters of URIs; BRACES: { and } too. */
bool uri_check_characters(const char *text, size_t maximum, bool braces, struct error *error);
/* The same for at most URI_MAX_BYTES, without braces. */
bool uri_check(const char *text, struct error *error);
/* The same, with a valid authority and fragment: clients parse the URIs of a list. */
bool uri_check_strictly(const char *text, size_t maximum, struct error *error);

/* URI in the form in which equivalent ones are equal (RFC 3986, section 6.2.2): letter case of
 * scheme, host and escapes, escapes of unreserved characters, dot segments. In OUT; URI itself if
 * it is none of at most URI_MAX_BYTES. */
const char *uri_normal(const char *uri, char out[URI_MAX_BYTES + 1]);

/* PREFIX and FILE, a plain path, with the escapes that a URI needs. False if it does not fit. */
bool uri_of_file(const char *prefix, const char *file, char uri[URI_MAX_BYTES + 1]);

#endif
