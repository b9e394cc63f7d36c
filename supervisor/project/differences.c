/* Compares snapshots. Only entries that have changed are examined for a URI. */
#include "supervisor/project/differences.h"

#include <stdlib.h>
#include <string.h>

static bool same(const struct registry_entry *before, const struct registry_entry *now) {
    if (before == now || !before || !now)
        return before == now;
    return digest_equal(before->content, now->content) &&
           digest_equal(before->listing, now->listing);
}

/* Walks both lists, which are sorted by key, in parallel. */
static void find_templates(struct differences *differences) {
    const struct entry_list *before = &differences->before->lists[REGISTRY_TEMPLATE];
    const struct entry_list *now = &differences->now->lists[REGISTRY_TEMPLATE];
    for (size_t i = 0, j = 0; i < before->count || j < now->count;) {
        const struct registry_entry *old = i < before->count ? before->entries[i] : NULL;
        const struct registry_entry *new = j < now->count ? now->entries[j] : NULL;
        int order = !old ? 1 : !new ? -1 : strcmp(old->key, new->key);
        i += order <= 0;
        j += order >= 0;
        if (order || !same(old, new))
            differences->templates[differences->template_count++] = order > 0 ? new : old;
    }
}

void differences_open(struct differences *differences, const struct snapshot *before,
                      const struct snapshot *now) {
    size_t most = before->lists[REGISTRY_TEMPLATE].count + now->lists[REGISTRY_TEMPLATE].count;
    *differences = (struct differences){.before = snapshot_ref(before), .now = snapshot_ref(now)};
    differences->templates = calloc(most + 1, sizeof(const struct registry_entry *));
    differences->unknown = !differences->templates;
    if (differences->templates)
        find_templates(differences);
}

static bool may_be_of_changed_template(const struct differences *differences, const char *uri) {
    struct template_match match;
    char made[URI_MAX_BYTES + 1];
    const char *normal = differences->template_count ? uri_normal(uri, made) : uri;
    for (size_t i = 0; i < differences->template_count; i++)
        if (uri_template_match(differences->templates[i]->key, uri, &match) ||
            uri_template_match(differences->templates[i]->key, normal, &match))
            return true;
    return differences->unknown;
}

bool differences_have(const struct differences *differences, const char *uri) {
    struct template_match match;
    const struct snapshot *before = differences->before, *now = differences->now;
    const struct registry_entry *old = snapshot_find(before, REGISTRY_RESOURCE, uri);
    const struct registry_entry *new = snapshot_find(now, REGISTRY_RESOURCE, uri);
    if (old || new)
        return !same(old, new);
    return may_be_of_changed_template(differences, uri) &&
           !same(snapshot_match(before, uri, &match), snapshot_match(now, uri, &match));
}

bool differences_close_some(struct differences *differences) {
    free(differences->templates);
    differences->templates = NULL;
    differences->template_count = 0;
    if (differences->before && !snapshot_drop_some(differences->before, 1))
        return false;
    differences->before = NULL;
    if (differences->now && !snapshot_drop_some(differences->now, 1))
        return false;
    differences->now = NULL;
    return true;
}

void differences_close(struct differences *differences) {
    while (!differences_close_some(differences))
        continue;
}
