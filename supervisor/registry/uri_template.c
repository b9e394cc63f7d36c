/* Templates matched against URIs, left to right and without going back. Never allocates. */
#include "supervisor/registry/uri_template.h"
#include "common/utf8.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_unreserved(char byte) {
    return isalnum((unsigned char)byte) || (byte && strchr("-._~", byte));
}

static bool is_in_uri(char byte) {
    return is_unreserved(byte) || (byte && strchr(":/?#[]@!$&'()*+,;=%", byte));
}

static bool is_escape(const char *text) {
    return text[0] == '%' && isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2]);
}

static size_t scheme_length(const char *text) {
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) ||
           (length && text[length] && strchr("+-.", text[length])))
        length++;
    return isalpha((unsigned char)text[0]) && text[length] == ':' ? length : 0;
}

/* Checks size, scheme and the characters outside braces. */
static bool check_characters(const char *text, size_t maximum, bool braces, struct error *error) {
    if (strnlen(text, maximum + 1) > maximum)
        return error_set(error, 0, "it is longer than %zu bytes", maximum);
    if (!scheme_length(text))
        return error_set(error, 0, "it has no scheme");
    for (const char *byte = text; *byte; byte++) {
        if (*byte == '%' && !is_escape(byte))
            return error_set(error, 0, "a %% must stand before two hexadecimal digits");
        if (!is_in_uri(*byte) && !(braces && (*byte == '{' || *byte == '}')))
            return error_set(error, 0, "byte %zu may not be in a URI", (size_t)(byte - text));
    }
    return true;
}

bool uri_check_syntax(const char *text, struct error *error) {
    return check_characters(text, SIZE_MAX - 1, false, error);
}

bool uri_check(const char *text, struct error *error) {
    return check_characters(text, URI_MAX_BYTES, false, error);
}

/* Do URIs of this scheme name a host always? */
static bool wants_host(struct span scheme) {
    static const char *const schemes[] = {"http", "https", "ws", "wss", "ftp"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (scheme.length == strlen(schemes[i]) &&
            strncasecmp((const char *)scheme.bytes, schemes[i], scheme.length) == 0)
            return true;
    return false;
}

/* An address in brackets. */
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
static bool check_authority(const char *text, size_t length, bool wanted, struct error *error) {
    const char *end = text + length, *at = memchr(text, '@', length);
    const char *host = at ? at + 1 : text;
    const char *closing = memchr(host, ']', (size_t)(end - host));
    const char *rest = closing ? closing : host;
    const char *colon = memchr(rest, ':', (size_t)(end - rest));
    size_t size = (size_t)((colon ? colon : end) - host);
    if (!size && wanted)
        return error_set(error, 0, "it has no host");
    if (!is_host(host, size))
        return error_set(error, 0, "its host is none");
    return !colon || is_port(colon + 1, (size_t)(end - colon - 1)) ||
           error_set(error, 0, "its port is none");
}

bool uri_check_strictly(const char *text, size_t maximum, struct error *error) {
    if (!check_characters(text, maximum, false, error))
        return false;
    size_t length = scheme_length(text);
    bool wanted = wants_host((struct span){(const unsigned char *)text, length});
    const char *rest = text + length + 1;
    size_t authority = strncmp(rest, "//", 2) == 0 ? strcspn(rest + 2, "/?#") : 0;
    if (wanted && strncmp(rest, "//", 2) != 0)
        return error_set(error, 0, "it has no host");
    if (strncmp(rest, "//", 2) == 0) {
        if (!check_authority(rest + 2, authority, wanted, error))
            return false;
        rest += 2 + authority;
    }
    if (strpbrk(rest, "[]"))
        return error_set(error, 0, "it has a bracket outside its host");
    const char *fragment = strchr(rest, '#');
    return !fragment || !strchr(fragment + 1, '#') || error_set(error, 0, "it has a second #");
}

/* One {expression}. */
struct expression {
    struct span name;
    bool reserved;      /* {+name} */
    const char *behind; /* what follows the closing brace */
};

/* The expression that begins at TEXT; behind is NULL when there is none. */
static struct expression expression_at(const char *text) {
    struct expression expression = {0};
    const char *at = text;
    if (*at++ != '{')
        return expression;
    expression.reserved = *at == '+';
    at += expression.reserved;
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_')
        length++;
    if (length && length < TEMPLATE_NAME_BYTES && at[length] == '}') {
        expression.name = (struct span){(const unsigned char *)at, length};
        expression.behind = at + length + 1;
    }
    return expression;
}

static bool same_name(struct span left, struct span right) {
    return left.length == right.length && memcmp(left.bytes, right.bytes, left.length) == 0;
}

bool uri_template_check(const char *text, struct error *error) {
    struct span names[TEMPLATE_NAMES_MAX];
    size_t count = 0;
    if (!check_characters(text, URI_MAX_BYTES, true, error))
        return false;
    for (const char *at = text; *at;) {
        struct expression expression = expression_at(at);
        if (*at != '{' && *at != '}') {
            at++;
            continue;
        }
        if (!expression.behind)
            return error_set(error, 0, "only {name} and {+name} are known");
        if (count == TEMPLATE_NAMES_MAX)
            return error_set(error, 0, "it has more than %d names", TEMPLATE_NAMES_MAX);
        if (*expression.behind == '{')
            return error_set(error, 0, "there must be text between two names");
        for (size_t i = 0; i < count; i++)
            if (same_name(names[i], expression.name))
                return error_set(error, 0, "a name stands twice");
        names[count++] = expression.name;
        at = expression.behind;
    }
    return count > 0 || error_set(error, 0, "it has no {name}");
}

static int hex_value(char digit) {
    return isdigit((unsigned char)digit) ? digit - '0' : tolower((unsigned char)digit) - 'a' + 10;
}

/* Undoes the escapes of LENGTH bytes. */
static bool decode(const char *text, size_t length, struct template_value *value) {
    size_t size = 0;
    for (size_t i = 0; i < length; i++) {
        bool escape = length - i > 2 && is_escape(text + i);
        if (text[i] == '%' && !escape)
            return false;
        int byte = escape ? 16 * hex_value(text[i + 1]) + hex_value(text[i + 2]) : text[i];
        i += escape ? 2 : 0;
        if (byte == 0)
            return false;
        value->text[size++] = (char)byte;
    }
    value->text[size] = 0;
    return size > 0 && utf8_is_valid((const unsigned char *)value->text, size);
}

/* How far from URI the name may reach at most. */
static size_t reach(const struct expression *expression, const char *uri) {
    size_t length = 0;
    while (uri[length] &&
           (expression->reserved || is_unreserved(uri[length]) || uri[length] == '%'))
        length++;
    return length;
}

/* The number of bytes from URI that the name takes, 0 for no match. */
static size_t extent(const struct expression *expression, const char *uri) {
    const char *literal = expression->behind;
    size_t size = strcspn(literal, "{"), most = reach(expression, uri);
    if (!literal[0])
        return uri[most] ? 0 : most;
    if (!literal[size]) { /* the last literal ends the URI */
        size_t length = strlen(uri);
        bool ends = length > size && strcmp(uri + length - size, literal) == 0;
        return ends && length - size <= most ? length - size : 0;
    }
    for (size_t taken = 1; taken <= most; taken++)
        if (strncmp(uri + taken, literal, size) == 0)
            return taken;
    return 0;
}

bool uri_template_match(const char *template, const char *uri, struct template_match *match) {
    size_t count = 0;
    if (strnlen(uri, URI_MAX_BYTES + 1) > URI_MAX_BYTES)
        return false;
    while (*template) {
        if (*template != '{') {
            if (*template ++ != *uri++)
                return false;
            continue;
        }
        struct expression expression = expression_at(template);
        size_t taken = expression.behind ? extent(&expression, uri) : 0;
        if (!taken || !decode(uri, taken, &match->values[count]))
            return false;
        match->values[count++].name = expression.name;
        uri += taken;
        template = expression.behind;
    }
    match->count = count;
    return *uri == 0;
}

bool uri_of_file(const char *prefix, const char *file, char uri[URI_MAX_BYTES + 1]) {
    static const char digits[] = "0123456789ABCDEF";
    size_t size = strlen(prefix);
    memcpy(uri, prefix, size);
    for (const char *byte = file; *byte; byte++) {
        if (size + 3 > URI_MAX_BYTES)
            return false;
        if (is_unreserved(*byte) || *byte == '/') {
            uri[size++] = *byte;
            continue;
        }
        uri[size++] = '%';
        uri[size++] = digits[(unsigned char)*byte >> 4];
        uri[size++] = digits[(unsigned char)*byte & 15];
    }
    uri[size] = 0;
    return true;
}
