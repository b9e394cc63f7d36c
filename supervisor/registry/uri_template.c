/* Matches templates against URIs, from left to right without backtracking. */
#include "supervisor/registry/uri_template.h"
#include "common/utf8.h"
#include "supervisor/content/uri.h"

#include <ctype.h>
#include <string.h>

/* One {expression}. */
struct expression {
    struct span name;
    bool reserved;     /* {+name} */
    const char *after; /* the text after the closing brace; NULL: no expression */
};

/* The expression that begins at TEXT. */
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
        expression.after = at + length + 1;
    }
    return expression;
}

static bool same_name(struct span left, struct span right) {
    return left.length == right.length && memcmp(left.bytes, right.bytes, left.length) == 0;
}

bool uri_template_check(const char *text, struct error *error) {
    struct span names[TEMPLATE_VARIABLES_MAX];
    size_t count = 0;
    if (!uri_check_characters(text, URI_MAX_BYTES, true, error))
        return false;
    for (const char *at = text; *at;) {
        struct expression expression = expression_at(at);
        if (*at != '{' && *at != '}') {
            at++;
            continue;
        }
        if (!expression.after)
            return error_set(error, 0, "only {name} and {+name} are supported");
        if (count == TEMPLATE_VARIABLES_MAX)
            return error_set(error, 0, "it has more than %d variables", TEMPLATE_VARIABLES_MAX);
        if (*expression.after == '{')
            return error_set(error, 0, "two variables must have text between them");
        for (size_t i = 0; i < count; i++)
            if (same_name(names[i], expression.name))
                return error_set(error, 0, "a variable occurs twice");
        names[count++] = expression.name;
        at = expression.after;
    }
    return count > 0 || error_set(error, 0, "it has no variable");
}

static int hex_value(char digit) {
    return isdigit((unsigned char)digit) ? digit - '0' : tolower((unsigned char)digit) - 'a' + 10;
}

/* Decodes the escapes in LENGTH bytes. */
static bool decode(const char *text, size_t length, struct template_value *value) {
    size_t size = 0;
    for (size_t i = 0; i < length; i++) {
        bool escape = length - i > 2 && uri_is_escape(text + i);
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

/* The number of bytes that the variable may take at most. */
static size_t reach(const struct expression *expression, const char *uri) {
    size_t length = 0;
    while (uri[length] &&
           (expression->reserved || uri_is_unreserved(uri[length]) || uri[length] == '%'))
        length++;
    return length;
}

/* The number of bytes that the variable takes; 0: no match. */
static size_t extent(const struct expression *expression, const char *uri) {
    const char *literal = expression->after;
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
        size_t taken = expression.after ? extent(&expression, uri) : 0;
        if (!taken || !decode(uri, taken, &match->values[count]))
            return false;
        match->values[count++].name = expression.name;
        uri += taken;
        template = expression.after;
    }
    match->count = count;
    return *uri == 0;
}
