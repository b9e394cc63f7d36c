/* Resolves each $ref of a schema to a place in the same schema. */
#include "common/cleanup.h"
#include "supervisor/content/uri.h"
#include "supervisor/schema/schema_internal.h"

#include <stdlib.h>

static const char keyword[] = "$ref";

/* Decodes %XX in place. False for an incomplete escape or a zero byte. */
static bool decode_percent(char *text) {
    char *to = text;
    for (; *text; text++) {
        char digits[3] = {0};
        if (*text != '%') {
            *to++ = *text;
            continue;
        }
        if (!uri_is_escape(text) || strncmp(text, "%00", 3) == 0)
            return false;
        memcpy(digits, text + 1, 2);
        *to++ = (char)strtoul(digits, NULL, 16);
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

/* Finds the value that TOKEN names in JSON. Changes TOKEN. */
static bool find_token(struct json_object *json, char *token, struct json_object **found) {
    if (!decode_token(token))
        return false;
    if (json_object_is_type(json, json_type_object))
        return json_object_object_get_ex(json, token, found);
    return json_object_is_type(json, json_type_array) && find_element(json, token, found);
}

/* Follows POINTER, which begins with "/". Changes it. */
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
        return schema_refuse(compiler, node, keyword, "there is nothing at \"%.60s\"", text);
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

/* The name of a member next to $ref that draft-07 ignores and 2020-12 does not; or NULL. */
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
        return schema_refuse(compiler, node, other, "draft-07 ignores members next to $ref");
    if (text[0] != '#')
        return schema_refuse(compiler, node, keyword,
                             "\"%.60s\" is not in this schema (#…); other schemas are neither "
                             "fetched nor read from files",
                             text);
    cleanup_free char *fragment = strdup(text + 1);
    if (!fragment)
        return error_set(compiler->error, ENOMEM, "schema");
    if (!decode_percent(fragment))
        return schema_refuse(compiler, node, keyword, "\"%.60s\" is not a valid reference", text);
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

/* Enters the schemas that NODE applies to the same value. */
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
                             "this schema applies itself to the same value endlessly");
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
