/* Compiles a schema into nodes, one for each schema in it. */
#include "supervisor/schema/schema_internal.h"

#include <stdlib.h>

bool schema_refuse(const struct schema_compiler *compiler, const struct schema_node *node,
                   const char *keyword, const char *format, ...) {
    char text[sizeof compiler->error->text];
    struct schema_place place = {&node->place, keyword, 0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return schema_fail(compiler->error, "the schema", keyword ? &place : &node->place, "%s", text);
}

bool schema_grow(struct schema_compiler *compiler, size_t bytes, size_t work) {
    static const struct schema_place root = {0};
    compiler->schema->bytes += bytes;
    if (compiler->schema->bytes > SCHEMA_BYTES_MAX)
        return schema_fail(compiler->error, "the schema", &root,
                           "is too big: with the repetitions in its patterns expanded, it takes "
                           "more than %d KiB",
                           SCHEMA_BYTES_MAX / 1024);
    if (!schema_spend(&compiler->work, work))
        return schema_fail(compiler->error, "the schema", &root,
                           "is too big: its patterns and its lists of names and values are too "
                           "long in total");
    return true;
}

static bool add_node(struct schema_compiler *compiler, struct schema_node *node) {
    struct schema_nodes *nodes = &compiler->schema->nodes;
    if (nodes->count == SCHEMA_NODES_MAX) {
        schema_refuse(compiler, node, NULL, "there are more than %d schemas", SCHEMA_NODES_MAX);
        free(node);
        return false;
    }
    nodes->list[nodes->count++] = node;
    enum { OVERHEAD = 64 }; /* of the allocator, and a pointer in the parent and in the list */
    return schema_grow(compiler, sizeof *node + OVERHEAD, SCHEMA_COST_NODE);
}

static void place_node(struct schema_node *node, struct schema_node *parent, const char *keyword,
                       const char *name, size_t index) {
    if (!parent)
        return;
    node->place = (struct schema_place){&parent->place, keyword, 0};
    if (!name && index == SIZE_MAX)
        return;
    node->keyword_place = node->place;
    node->place = (struct schema_place){&node->keyword_place, name, index};
}

static struct schema_node *make_node(void) {
    static const struct schema_range any = {0, SIZE_MAX};
    struct schema_node *node = calloc(1, sizeof *node);
    if (node)
        node->length = node->items_count = node->members_count = any;
    if (node)
        node->contains_count = (struct schema_range){1, SIZE_MAX};
    return node;
}

static bool read_schema(struct schema_compiler *compiler, struct schema_node *node,
                        struct json_object *json) {
    if (json_object_is_type(json, json_type_boolean)) {
        node->refuses_all = !json_object_get_boolean(json);
        return true;
    }
    if (!json_object_is_type(json, json_type_object))
        return schema_refuse(compiler, node, NULL,
                             "a schema must be an object, true or false, not %s",
                             schema_brief(json).text);
    json_object_object_foreach(json, name, value) {
        if (!schema_read_keyword(compiler, node, name, value))
            return false;
    }
    return true;
}

struct schema_node *schema_compile_node(struct schema_compiler *compiler, struct json_object *json,
                                        struct schema_node *parent, const char *keyword,
                                        const char *name, size_t index) {
    struct schema *schema = compiler->schema;
    struct schema_node *node = make_node();
    if (!node) {
        error_set(compiler->error, ENOMEM, "schema");
        return NULL;
    }
    node->json = json;
    place_node(node, parent, keyword, name, index);
    if (!add_node(compiler, node))
        return NULL;
    if (json && !lh_table_lookup_entry(schema->by_json, json))
        lh_table_insert(schema->by_json, json, node);
    if (compiler->depth == SCHEMA_DEPTH_MAX) {
        schema_refuse(compiler, node, NULL, "schemas are nested deeper than %d", SCHEMA_DEPTH_MAX);
        return NULL;
    }
    compiler->depth++;
    bool fine = read_schema(compiler, node, json);
    compiler->depth--;
    return fine ? node : NULL;
}

static void free_members(const struct schema_members *members) {
    for (size_t i = 0; i < members->count; i++)
        pattern_free(members->list[i].pattern);
    free(members->list);
}

static void free_node(struct schema_node *node) {
    enum { LISTS = 5 };
    const struct schema_members *const members[LISTS] = {
        &node->property_list, &node->pattern_properties, &node->dependent_schemas,
        &node->definitions, &node->old_definitions};
    for (size_t i = 0; i < LISTS; i++)
        free_members(members[i]);
    free(node->prefix_items.list);
    free(node->all_of.list);
    free(node->any_of.list);
    free(node->one_of.list);
    pattern_free(node->pattern);
    schema_set_close(&node->values);
    if (node->properties)
        lh_table_free(node->properties);
    free(node);
}

/* Frees what only the compiler needs. */
static void drop_tables(struct schema *schema) {
    if (schema->by_json)
        lh_table_free(schema->by_json);
    if (schema->anchors)
        lh_table_free(schema->anchors);
    schema->by_json = schema->anchors = NULL;
}

void schema_free(struct schema *schema) {
    if (!schema)
        return;
    for (size_t i = 0; i < schema->nodes.count; i++)
        free_node(schema->nodes.list[i]);
    free(schema->nodes.list);
    drop_tables(schema);
    json_object_put(schema->json);
    free(schema);
}

static struct schema *make_schema(struct json_object *json) {
    struct schema *schema = calloc(1, sizeof *schema);
    if (!schema)
        return NULL;
    schema->json = json_object_get(json);
    schema->nodes.list = calloc(SCHEMA_NODES_MAX, sizeof(void *));
    schema->by_json = lh_kptr_table_new(16, NULL);
    schema->anchors = lh_kchar_table_new(16, NULL);
    if (schema->nodes.list && schema->by_json && schema->anchors)
        return schema;
    schema_free(schema);
    return NULL;
}

static void finish(struct schema *schema) {
    struct schema_nodes *nodes = &schema->nodes;
    for (size_t i = 0; i < nodes->count; i++) {
        struct schema_node *node = nodes->list[i];
        node->combines = node->reference || node->all_of.count || node->any_of.count ||
                         node->one_of.count || node->negated || node->condition;
    }
    void *smaller = reallocarray(nodes->list, nodes->count, sizeof(void *));
    nodes->list = smaller ? smaller : nodes->list;
    drop_tables(schema);
}

struct schema *schema_compile(struct json_object *json, struct error *error) {
    struct schema *schema = make_schema(json);
    struct schema_compiler compiler = {
        .schema = schema, .work = SCHEMA_COMPILE_MAX, .error = error};
    if (!schema) {
        error_set(error, ENOMEM, "schema");
        return NULL;
    }
    schema->root = schema_compile_node(&compiler, json, NULL, NULL, NULL, SIZE_MAX);
    if (schema->root && schema_resolve(&compiler)) {
        finish(schema);
        return schema;
    }
    schema_free(schema);
    return NULL;
}

size_t schema_bytes(const struct schema *schema) {
    return sizeof *schema + schema->bytes;
}
