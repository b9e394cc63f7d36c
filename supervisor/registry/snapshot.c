/* Snapshots: making, reading and freeing them. */
#include "supervisor/registry/snapshot.h"
#include "supervisor/base/terminal.h"
#include "supervisor/registry/entry_internal.h"

#include <stdio.h>

enum { SHOWN_MAX_BYTES = 512, NAME_SHOWN = 100 };

struct snapshot *snapshot_make(void) {
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (snapshot)
        snapshot->references = 1;
    return snapshot;
}

/* The reference count of an immutable snapshot changes all the same. */
static struct snapshot *writable(const struct snapshot *snapshot) {
    return (struct snapshot *)(uintptr_t)snapshot;
}

struct snapshot *snapshot_ref(const struct snapshot *snapshot) {
    writable(snapshot)->references++;
    return writable(snapshot);
}

static void free_list(struct entry_list *list) {
    for (size_t i = 0; i < list->held; i++)
        entry_unref(list->entries[i]);
    free(list->entries);
}

static void free_notices(const struct notice_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].file);
        free(list->items[i].text);
    }
    free(list->items);
}

void snapshot_unref(const struct snapshot *snapshot) {
    if (!snapshot || --writable(snapshot)->references > 0)
        return;
    for (enum registry_kind kind = 0; kind < REGISTRY_KINDS; kind++)
        free_list(&writable(snapshot)->lists[kind]);
    free_notices(&snapshot->refusals);
    free_notices(&snapshot->stale);
    free_notices(&snapshot->warnings);
    free(snapshot->by_file);
    free(writable(snapshot));
}

bool snapshot_drop_some(struct snapshot *snapshot, size_t count) {
    for (enum registry_kind kind = 0; kind < REGISTRY_KINDS && snapshot->references == 1; kind++) {
        struct entry_list *list = &snapshot->lists[kind];
        for (; list->held; list->held--, count--) {
            if (count == 0)
                return false;
            entry_unref(list->entries[list->held - 1]);
        }
    }
    snapshot_unref(snapshot);
    return true;
}

/* --- reading --- */

static int compare_key(const void *key, const void *slot) {
    const struct registry_entry *const *entry = slot;
    return strcmp(key, (*entry)->key);
}

static int compare_file(const void *file, const void *slot) {
    const struct registry_entry *const *entry = slot;
    return strcmp(file, (*entry)->file);
}

const struct registry_entry *snapshot_find(const struct snapshot *snapshot, enum registry_kind kind,
                                           const char *key) {
    char normal[URI_MAX_BYTES + 1];
    const struct entry_list *list = &snapshot->lists[kind];
    key = kind == REGISTRY_RESOURCE ? uri_normal(key, normal) : key;
    struct registry_entry *const *slot =
        list->count
            ? bsearch(key, list->entries, list->count, sizeof(struct registry_entry *), compare_key)
            : NULL;
    return slot ? *slot : NULL;
}

struct registry_entry *snapshot_find_file(const struct snapshot *snapshot, const char *file) {
    struct registry_entry *const *slot =
        snapshot->total ? bsearch(file, snapshot->by_file, snapshot->total,
                                  sizeof(struct registry_entry *), compare_file)
                        : NULL;
    return slot ? *slot : NULL;
}

const struct registry_entry *snapshot_match(const struct snapshot *snapshot, const char *uri,
                                            struct template_match *match) {
    char made[URI_MAX_BYTES + 1];
    const struct entry_list *list = &snapshot->lists[REGISTRY_TEMPLATE];
    const char *normal = list->count ? uri_normal(uri, made) : uri;
    bool differs = strcmp(normal, uri) != 0;
    for (size_t i = 0; i < list->count; i++)
        if (uri_template_match(list->entries[i]->key, uri, match) ||
            (differs && uri_template_match(list->entries[i]->key, normal, match)))
            return list->entries[i];
    return NULL;
}

void snapshot_mark(const struct snapshot *snapshot, enum registry_kind kind, size_t index,
                   char mark[SNAPSHOT_MARK_BYTES]) {
    char hash[DIGEST_TEXT_BYTES];
    digest_write(snapshot->lists[kind].listing, hash);
    snprintf(mark, SNAPSHOT_MARK_BYTES, "%s %s %zu", registry_kind_word(kind), hash, index);
}

bool snapshot_open_mark(const struct snapshot *snapshot, enum registry_kind kind, const char *mark,
                        size_t *index) {
    char expected[SNAPSHOT_MARK_BYTES];
    const char *number = strrchr(mark, ' ');
    *index = number ? strtoul(number + 1, NULL, 10) : 0;
    snapshot_mark(snapshot, kind, *index, expected);
    return strcmp(mark, expected) == 0 && *index <= snapshot->lists[kind].count;
}

/* --- notices --- */

/* TEXT, or its beginning, with everything escaped that a log or terminal must not receive. NULL
 * when out of memory. */
static char *printable(const char *text, enum shown_as as) {
    cleanup_buffer struct buffer shown = buffer_make(SHOWN_MAX_BYTES);
    shown_append(&shown, (struct span){(const unsigned char *)text, strlen(text)}, as);
    if (!shown.length)
        return *text ? NULL : strdup("");
    return strndup((const char *)shown.data, shown.length);
}

bool notices_add(struct notice_list *list, const char *file, const char *text) {
    struct notice *table = table_grow(list->items, list->count, &list->capacity, sizeof *table);
    if (!table)
        return false;
    list->items = table;
    struct notice notice = {.file = printable(file, SHOWN_AS_NAME),
                            .text = printable(text, SHOWN_AS_LINE)};
    if (!notice.file || !notice.text) {
        free(notice.file);
        free(notice.text);
        return false;
    }
    list->items[list->count++] = notice;
    return true;
}

static int by_file_then_text(const void *left, const void *right) {
    const struct notice *one = left, *other = right;
    int order = strcmp(one->file, other->file);
    return order ? order : strcmp(one->text, other->text);
}

static void sort_notices(struct notice_list *list) {
    if (list->count)
        qsort(list->items, list->count, sizeof(struct notice), by_file_then_text);
}

bool notices_have(const struct notice_list *list, const char *file, const char *text) {
    const struct notice wanted = {.file = (char *)(uintptr_t)file, .text = (char *)(uintptr_t)text};
    return list->count &&
           bsearch(&wanted, list->items, list->count, sizeof wanted, by_file_then_text);
}

/* --- making --- */

bool snapshot_add(struct snapshot *snapshot, struct registry_entry *entry) {
    struct entry_list *list = &snapshot->lists[entry->kind];
    struct registry_entry **table =
        table_grow(list->entries, list->count, &list->capacity, sizeof(struct registry_entry *));
    if (!table) {
        entry_unref(entry);
        return false;
    }
    list->entries = table;
    list->entries[list->count++] = entry;
    list->held = list->count;
    snapshot->bytes += entry->bytes;
    return true;
}

/* Of two entries with one key the first is kept: a definition may have moved away from a file that
 * is now broken. */
static int by_key_then_file(const void *left, const void *right) {
    const struct registry_entry *const *one = left, *const *other = right;
    int order = strcmp((*one)->key, (*other)->key);
    if (!order)
        order = (*one)->stale - (*other)->stale;
    return order ? order : strcmp((*one)->file, (*other)->file);
}

static int by_file_then_key(const void *left, const void *right) {
    const struct registry_entry *const *one = left, *const *other = right;
    int order = strcmp((*one)->file, (*other)->file);
    return order ? order : strcmp((*one)->key, (*other)->key);
}

/* A completion that ENTRY names and that does not exist, or NULL. */
static const char *missing_completion(const struct snapshot *snapshot,
                                      const struct registry_entry *entry) {
    struct json_object *completions;
    if (!json_object_object_get_ex(entry->metadata, "completions", &completions))
        return NULL;
    struct json_object_iterator at = json_object_iter_begin(completions);
    const struct json_object_iterator end = json_object_iter_end(completions);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        struct json_object *value = json_object_iter_peek_value(&at);
        const char *name = json_object_get_string(value);
        if (json_object_is_type(value, json_type_string) &&
            !snapshot_find(snapshot, REGISTRY_COMPLETION, name))
            return name;
    }
    return NULL;
}

/* Moves the entries of a sorted list that must be refused after those that remain. */
static bool refuse_entries(struct snapshot *snapshot, struct entry_list *list) {
    size_t kept = 0;
    bool noted = true;
    for (size_t i = 0; i < list->count; i++) {
        struct registry_entry *entry = list->entries[i];
        char reason[SHOWN_MAX_BYTES];
        const char *missing = missing_completion(snapshot, entry);
        bool taken = kept && strcmp(list->entries[kept - 1]->key, entry->key) == 0;
        if (taken)
            snprintf(reason, sizeof reason, "the %s %.*s is already defined by %.*s",
                     registry_kind_word(entry->kind), NAME_SHOWN, entry->key, 2 * NAME_SHOWN,
                     list->entries[kept - 1]->file);
        else if (missing)
            snprintf(reason, sizeof reason, "\"completions\" names %.*s, which does not exist",
                     NAME_SHOWN, missing);
        if (taken || missing) {
            snapshot->bytes -= entry->bytes;
            noted = notices_add(&snapshot->refusals, entry->file, reason) && noted;
            continue;
        }
        list->entries[i] = list->entries[kept]; /* a refused one, or itself */
        list->entries[kept++] = entry;
    }
    list->count = kept;
    return noted;
}

static void digest_list(struct entry_list *list, const struct digest_key *key) {
    struct digester listing = digest_begin(key), content = digest_begin(key);
    for (size_t i = 0; i < list->count; i++) {
        const struct registry_entry *entry = list->entries[i];
        digest_add(&listing, entry->listing.bytes, sizeof entry->listing.bytes);
        digest_add_text(&content, entry->key);
        digest_add(&content, entry->content.bytes, sizeof entry->content.bytes);
    }
    list->listing = digest_end(&listing);
    list->content = digest_end(&content);
}

static bool index_files(struct snapshot *snapshot) {
    for (enum registry_kind kind = 0; kind < REGISTRY_KINDS; kind++)
        snapshot->total += snapshot->lists[kind].count;
    snapshot->by_file = calloc(snapshot->total + 1, sizeof(struct registry_entry *));
    if (!snapshot->by_file)
        return false;
    size_t count = 0;
    for (enum registry_kind kind = 0; kind < REGISTRY_KINDS; kind++)
        for (size_t i = 0; i < snapshot->lists[kind].count; i++)
            snapshot->by_file[count++] = snapshot->lists[kind].entries[i];
    qsort(snapshot->by_file, count, sizeof(struct registry_entry *), by_file_then_key);
    return true;
}

static bool finish_list(struct snapshot *snapshot, struct entry_list *list, unsigned stage,
                        const struct digest_key *key) {
    if (stage == 0 && list->count)
        qsort(list->entries, list->count, sizeof(struct registry_entry *), by_key_then_file);
    if (stage == 1)
        return refuse_entries(snapshot, list);
    if (stage == 2)
        digest_list(list, key);
    return true;
}

bool snapshot_finish(struct snapshot *snapshot, unsigned stage, const struct digest_key *key) {
    unsigned list = stage / SNAPSHOT_LIST_STAGES;
    if (list < REGISTRY_KINDS) /* completions first: entries of other kinds name them */
        return finish_list(snapshot, &snapshot->lists[REGISTRY_KINDS - 1 - list],
                           stage % SNAPSHOT_LIST_STAGES, key);
    struct digester all = digest_begin(key);
    for (enum registry_kind kind = 0; kind < REGISTRY_KINDS; kind++)
        digest_add(&all, snapshot->lists[kind].listing.bytes, DIGEST_BYTES);
    digest_write(digest_end(&all), snapshot->hash);
    sort_notices(&snapshot->refusals);
    sort_notices(&snapshot->stale);
    sort_notices(&snapshot->warnings);
    return index_files(snapshot);
}
