/* What each $ref of a schema means. Never leaves the schema: what names a file or a host is
 * refused, as is a schema that would apply itself to the same value for ever. */
#include "common/cleanup.h"
#include "supervisor/schema/parts.h"

#include <stdlib.h>

static const char keyword[] = "$ref";

static int hex_digit(char byte) {
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte = (char)(byte | 0x20);
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* Decodes %XX in place. False for what is none, or a zero byte. */
static bool decode_percent(char *text) {
    char *to = text;
    for (; *text; text++) {
        if (*text != '%') {
            *to++ = *text;
            continue;
        }
        int high = hex_digit(text[1]), low = high < 0 ? -1 : hex_digit(text[2]);
        if (low < 0 || (high == 0 && low == 0))
            return false;
        *to++ = (char)(high * 16 + low);
        text += 2;
    }
    *to = 0;
    return true;
}

/* Decodes ~0 and ~1 in place. */
static bool decode_token(char *token) {
    char *to = token;
    for (; *token; token++) {
        if (*token == '~' && token[1] != '0' && token[1] != '1')
            return false;
        *to++ = *token != '~' ? *token : *++token == '0' ? '~' : '/';
    }
    *to = 0;
    return true;
}

static bool find_element(struct json_object *array, const char *token, struct json_object **found) {
    size_t digits = strspn(token, "0123456789");
    if (!digits || token[digits] || digits > 9 || (token[0] == '0' && digits > 1))
        return false;
    size_t index = strtoul(token, NULL, 10);
    *found = json_object_array_get_idx(array, index);
    return index < json_object_array_length(array);
}

/* What TOKEN, which is changed, names in JSON. */
static bool find_token(struct json_object *json, char *token, struct json_object **found) {
    if (!decode_token(token))
        return false;
    if (json_object_is_type(json, json_type_object))
        return json_object_object_get_ex(json, token, found);
    return json_object_is_type(json, json_type_array) && find_element(json, token, found);
}

/* Follows POINTER, which begins with "/" and is changed. */
static bool find_pointer(struct json_object *json, char *pointer, struct json_object **found) {
    *found = json;
    while (pointer) {
        char *token = pointer + 1, *end = strchr(token, '/');
        if (end)
            *end = 0;
        if (!find_token(*found, token, found))
            return false;
        pointer = end;
    }
    return true;
}

static struct schema_node *find_node(const struct schema *schema, const void *json) {
    struct lh_entry *entry = json ? lh_table_lookup_entry(schema->by_json, json) : NULL;
    return entry ? (struct schema_node *)lh_entry_v(entry) : NULL;
}

static bool refer_by_pointer(const struct schema_compiler *compiler, struct schema_node *node,
                             char *pointer) {
    struct json_object *json;
    const char *text = json_object_get_string(node->reference_text);
    if (!find_pointer(compiler->schema->json, pointer, &json))
        return schema_refuse(compiler, node, keyword, "nothing is at \"%.60s\"", text);
    node->reference = find_node(compiler->schema, json);
    return node->reference ||
           schema_refuse(compiler, node, keyword, "there is no schema at \"%.60s\"", text);
}

static bool refer_by_anchor(const struct schema_compiler *compiler, struct schema_node *node,
                            const char *name) {
    struct lh_entry *entry = lh_table_lookup_entry(compiler->schema->anchors, name);
    if (!entry)
        return schema_refuse(compiler, node, keyword, "no schema has the $anchor \"%.60s\"", name);
    node->reference = (struct schema_node *)lh_entry_v(entry);
    return true;
}

/* Does something stand beside the node's $ref that draft-07 passes over and 2020-12 does not? */
static const char *neighbour(const struct schema_node *node) {
    static const char *const harmless[] = {"$ref",    "$schema",     "$id",      "$comment",
                                           "$defs",   "definitions", "title",    "description",
                                           "default", "examples",    "readOnly", "writeOnly"};
    json_object_object_foreach(node->json, name, value) {
        bool found = strncmp(name, "x-", 2) == 0;
        (void)value;
        for (size_t i = 0; i < sizeof harmless / sizeof *harmless && !found; i++)
            found = strcmp(name, harmless[i]) == 0;
        if (!found)
            return name;
    }
    return NULL;
}

static bool refer(const struct schema_compiler *compiler, struct schema_node *node) {
    const char *text = json_object_get_string(node->reference_text);
    const char *other = compiler->schema->is_draft_7 ? neighbour(node) : NULL;
    if (other)
        return schema_refuse(compiler, node, other, "draft-07 passes over what is beside $ref");
    if (text[0] != '#')
        return schema_refuse(compiler, node, keyword,
                             "\"%.60s\" is not in this schema (#…); nothing is fetched from a "
                             "network or read from a file",
                             text);
    cleanup_free char *fragment = strdup(text + 1);
    if (!fragment)
        return error_set(compiler->error, ENOMEM, "schema");
    if (!decode_percent(fragment))
        return schema_refuse(compiler, node, keyword, "\"%.60s\" is no reference", text);
    if (fragment[0] == 0)
        node->reference = compiler->schema->root;
    else
        return fragment[0] == '/' ? refer_by_pointer(compiler, node, fragment)
                                  : refer_by_anchor(compiler, node, fragment);
    return true;
}

/* --- cycles --- */

/* NOLINTBEGIN(misc-no-recursion): each node is entered once at most, SCHEMA_NODES_MAX in all */

static bool enter(const struct schema_compiler *compiler, struct schema_node *node);

static bool enter_all(const struct schema_compiler *compiler, const struct schema_nodes *nodes) {
    for (size_t i = 0; i < nodes->count; i++)
        if (!enter(compiler, nodes->list[i]))
            return false;
    return true;
}

/* Looks at all schemas that NODE applies to the very value that it is applied to. */
static bool enter_same_value(const struct schema_compiler *compiler,
                             const struct schema_node *node) {
    enum { SINGLE = 5 };
    struct schema_node *const single[SINGLE] = {node->reference, node->negated, node->condition,
                                                node->consequence, node->alternative};
    for (size_t i = 0; i < SINGLE; i++)
        if (single[i] && !enter(compiler, single[i]))
            return false;
    for (size_t i = 0; i < node->dependent_schemas.count; i++)
        if (!enter(compiler, node->dependent_schemas.list[i].node))
            return false;
    return enter_all(compiler, &node->all_of) && enter_all(compiler, &node->any_of) &&
           enter_all(compiler, &node->one_of);
}

static bool enter(const struct schema_compiler *compiler, struct schema_node *node) {
    if (node->mark == SCHEMA_LEFT)
        return true;
    if (node->mark == SCHEMA_ENTERED)
        return schema_refuse(compiler, node, NULL,
                             "this applies itself to the same value, without end");
    node->mark = SCHEMA_ENTERED;
    bool fine = enter_same_value(compiler, node);
    node->mark = SCHEMA_LEFT;
    return fine;
}

/* NOLINTEND(misc-no-recursion) */

bool schema_resolve(struct schema_compiler *compiler) {
    const struct schema_nodes *nodes = &compiler->schema->nodes;
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->list[i]->reference_text && !refer(compiler, nodes->list[i]))
            return false;
    return enter_all(compiler, nodes);
}
