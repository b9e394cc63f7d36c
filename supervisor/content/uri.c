/* URIs (RFC 3986). */
#include "supervisor/content/uri.h"
#include "common/buffer.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool uri_is_unreserved(char byte) {
    return isalnum((unsigned char)byte) || (byte && strchr("-._~", byte));
}

static bool is_in_uri(char byte) {
    return uri_is_unreserved(byte) || (byte && strchr(":/?#[]@!$&'()*+,;=%", byte));
}

bool uri_is_escape(const char *text) {
    return text[0] == '%' && isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2]);
}

static size_t scheme_length(const char *text) {
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) ||
           (length && text[length] && strchr("+-.", text[length])))
        length++;
    return isalpha((unsigned char)text[0]) && text[length] == ':' ? length : 0;
}

bool uri_check_characters(const char *text, size_t maximum, bool braces, struct error *error) {
    if (strnlen(text, maximum + 1) > maximum)
        return error_set(error, 0, "it is longer than %zu bytes", maximum);
    if (!scheme_length(text))
        return error_set(error, 0, "it has no scheme");
    for (const char *byte = text; *byte; byte++) {
        if (*byte == '%' && !uri_is_escape(byte))
            return error_set(error, 0, "%% must be followed by two hexadecimal digits");
        if (!is_in_uri(*byte) && !(braces && (*byte == '{' || *byte == '}')))
            return error_set(error, 0, "byte %zu is not allowed in a URI", (size_t)(byte - text));
    }
    return true;
}

bool uri_check(const char *text, struct error *error) {
    return uri_check_characters(text, URI_MAX_BYTES, false, error);
}

/* True if every URI of SCHEME names a host. */
static bool needs_host(struct span scheme) {
    static const char *const schemes[] = {"http", "https", "ws", "wss", "ftp"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (scheme.length == strlen(schemes[i]) &&
            strncasecmp((const char *)scheme.bytes, schemes[i], scheme.length) == 0)
            return true;
    return false;
}

/* True for an IPv6 address in brackets. */
static bool is_address(const char *host, size_t length) {
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    if (length < 3 || length - 2 >= sizeof text || host[length - 1] != ']')
        return false;
    memcpy(text, host + 1, length - 2);
    text[length - 2] = 0;
    return inet_pton(AF_INET6, text, &address) == 1;
}

static bool is_host(const char *host, size_t length) {
    if (length && host[0] == '[')
        return is_address(host, length);
    for (size_t i = 0; i < length; i++)
        if (strchr("[]@:", host[i]))
            return false;
    return true;
}

static bool is_port(const char *port, size_t length) {
    enum { DIGITS_MAX = 5, PORT_MAX = 65535 };
    return length <= DIGITS_MAX && strspn(port, "0123456789") >= length &&
           strtol(port, NULL, 10) <= PORT_MAX;
}

/* Checks [user@]host[:port] of LENGTH bytes. */
static bool check_authority(const char *text, size_t length, bool needed, struct error *error) {
    const char *end = text + length, *at = memchr(text, '@', length);
    const char *host = at ? at + 1 : text;
    const char *closing = memchr(host, ']', (size_t)(end - host));
    const char *rest = closing ? closing : host;
    const char *colon = memchr(rest, ':', (size_t)(end - rest));
    size_t size = (size_t)((colon ? colon : end) - host);
    if (!size && needed)
        return error_set(error, 0, "it has no host");
    if (!is_host(host, size))
        return error_set(error, 0, "its host is invalid");
    return !colon || is_port(colon + 1, (size_t)(end - colon - 1)) ||
           error_set(error, 0, "its port is invalid");
}

bool uri_check_strictly(const char *text, size_t maximum, struct error *error) {
    if (!uri_check_characters(text, maximum, false, error))
        return false;
    size_t length = scheme_length(text);
    bool needed = needs_host((struct span){(const unsigned char *)text, length});
    const char *rest = text + length + 1;
    size_t authority = strncmp(rest, "//", 2) == 0 ? strcspn(rest + 2, "/?#") : 0;
    if (needed && strncmp(rest, "//", 2) != 0)
        return error_set(error, 0, "it has no host");
    if (strncmp(rest, "//", 2) == 0) {
        if (!check_authority(rest + 2, authority, needed, error))
            return false;
        rest += 2 + authority;
    }
    if (strpbrk(rest, "[]"))
        return error_set(error, 0, "it has a bracket outside its host");
    const char *fragment = strchr(rest, '#');
    return !fragment || !strchr(fragment + 1, '#') || error_set(error, 0, "it has a second #");
}

static const char hex_digits[] = "0123456789ABCDEF";

static unsigned hex_value(char digit) {
    return (unsigned)(strchr(hex_digits, toupper((unsigned char)digit)) - hex_digits);
}

/* Copies LENGTH bytes with the escapes that are needed; returns the new length. */
static size_t copy_normal(const char *from, size_t length, bool lower, char *to) {
    size_t size = 0;
    for (size_t i = 0; i < length; i++) {
        bool escaped = from[i] == '%';
        unsigned value =
            escaped ? 16 * hex_value(from[i + 1]) + hex_value(from[i + 2]) : (unsigned char)from[i];
        i += escaped ? 2 : 0;
        if (escaped && (value > SCHAR_MAX || !uri_is_unreserved((char)value))) {
            to[size++] = '%';
            to[size++] = hex_digits[value >> 4];
            to[size++] = hex_digits[value & 15];
        } else {
            to[size++] = (char)(lower ? tolower((int)value) : (int)value);
        }
    }
    return size;
}

/* Removes the segments "." and ".." of PATH, which begins with a slash, in place; returns the new
 * length. */
static size_t remove_dots(char *path, size_t length) {
    size_t size = 0;
    for (size_t at = 0, end; at < length; at = end) {
        for (end = at + 1; end < length && path[end] != '/';)
            end++;
        bool one = end - at == 2 && path[at + 1] == '.';
        bool two = end - at == 3 && path[at + 1] == '.' && path[at + 2] == '.';
        while (two && size && path[--size] != '/')
            continue;
        if (!one && !two) {
            memmove(path + size, path + at, end - at);
            size += end - at;
        } else if (end == length) {
            path[size++] = '/';
        }
    }
    return size;
}

const char *uri_normal(const char *uri, char out[URI_MAX_BYTES + 1]) {
    if (!uri_check(uri, NULL))
        return uri;
    const char *rest = uri + scheme_length(uri) + 1;
    size_t size = copy_normal(uri, (size_t)(rest - uri), true, out);
    bool has_authority = strncmp(rest, "//", 2) == 0;
    if (has_authority) {
        const char *end = rest + 2 + strcspn(rest + 2, "/?#");
        const char *at = memchr(rest, '@', (size_t)(end - rest));
        const char *host = at ? at : rest;
        size += copy_normal(rest, (size_t)(host - rest), false, out + size);
        size += copy_normal(host, (size_t)(end - host), true, out + size);
        rest = end;
    }
    size_t path = size, length = strcspn(rest, "?#");
    size += copy_normal(rest, length, false, out + size);
    out[size] = 0;
    /* Without an authority the rest of "/.//" would be taken for one. */
    if (out[path] == '/' && (has_authority || !strstr(out + path, "//")))
        size = path + remove_dots(out + path, size - path);
    size += copy_normal(rest + length, strlen(rest + length), false, out + size);
    out[size] = 0;
    return out;
}

bool uri_of_file(const char *prefix, const char *file, char uri[URI_MAX_BYTES + 1]) {
    size_t size = strlen(prefix);
    memcpy(uri, prefix, size);
    for (const char *byte = file; *byte; byte++) {
        if (size + 3 > URI_MAX_BYTES)
            return false;
        if (uri_is_unreserved(*byte) || *byte == '/') {
            uri[size++] = *byte;
            continue;
        }
        uri[size++] = '%';
        uri[size++] = hex_digits[(unsigned char)*byte >> 4];
        uri[size++] = hex_digits[(unsigned char)*byte & 15];
    }
    uri[size] = 0;
    return true;
}
