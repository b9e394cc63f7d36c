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

/* Checks length, scheme and characters; with BRACES, { and } are let through as well. */
bool uri_check_characters(const char *text, size_t maximum, bool braces, struct error *error);

/* Is TEXT, of any length, a URI (RFC 3986): a scheme, and only characters that a URI may have? */
bool uri_check_syntax(const char *text, struct error *error);

/* The same, of at most URI_MAX_BYTES. */
bool uri_check(const char *text, struct error *error);

/* The same of at most MAXIMUM bytes, and with an authority and a fragment as clients demand that
 * take URIs apart when they read a list. */
bool uri_check_strictly(const char *text, size_t maximum, struct error *error);

/* PREFIX and then FILE, a plain path, with the escapes that a URI wants. False when it does not
 * fit. */
bool uri_of_file(const char *prefix, const char *file, char uri[URI_MAX_BYTES + 1]);

#endif
