/* Reads the names in a folder and groups those that make one entry. */
#include "supervisor/registry/discover.h"
#include "supervisor/content/shape.h"
#include "supervisor/registry/beneath.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_A_STEP = 128, NAMES_PER_ENTRY = 4, NAMES_MORE = 1000, PATH_BYTES = 300 };

static const char resource_sidecar[] = ".meta.json";

static bool refuse_count(const struct discovery *discovery, struct error *error) {
    return error_set(error, 0, "%s has more than %zu entries", folder_name(discovery->folder),
                     discovery->maximum);
}

static bool cannot_read(const struct discovery *discovery, int code, struct error *error) {
    return error_set(error, code, "cannot read the folder %s", folder_name(discovery->folder));
}

bool discovery_begin(struct discovery *discovery, enum project_folder folder, int fd,
                     size_t maximum, struct error *error) {
    *discovery = (struct discovery){.folder = folder, .maximum = maximum, .stream = fdopendir(fd)};
    if (discovery->stream)
        return true;
    cannot_read(discovery, errno, error);
    close(fd);
    return false;
}

void discovery_end(struct discovery *discovery) {
    if (discovery->stream)
        closedir(discovery->stream);
    for (size_t i = 0; i < discovery->count; i++)
        free(discovery->names[i]);
    free(discovery->names);
    *discovery = (struct discovery){0};
}

/* Does a file of this name belong to an entry? */
static bool belongs_to_entry(enum project_folder folder, const char *name) {
    if (name[0] == '.' || name[strlen(name) - 1] == '~')
        return false;
    switch (folder) {
    case FOLDER_RESOURCES:
        return true;
    case FOLDER_PROMPTS:
        return has_suffix(name, ".lisp") || has_suffix(name, ".json") || has_suffix(name, ".txt");
    default:
        return has_suffix(name, ".lisp") || has_suffix(name, ".json");
    }
}

static bool keep_name(struct discovery *discovery, const char *name, struct error *error) {
    if (discovery->count >= NAMES_PER_ENTRY * discovery->maximum + NAMES_MORE)
        return refuse_count(discovery, error);
    char **table =
        table_grow(discovery->names, discovery->count, &discovery->capacity, sizeof *table);
    if (table)
        discovery->names = table;
    char *copy = table ? strdup(name) : NULL;
    if (!copy)
        return cannot_read(discovery, ENOMEM, error);
    discovery->names[discovery->count++] = copy;
    return true;
}

static int compare_names(const void *left, const void *right) {
    const char *const *one = left, *const *other = right;
    return strcmp(*one, *other);
}

static bool has_name(const struct discovery *discovery, const char *name) {
    return bsearch(&name, discovery->names, discovery->count, sizeof(char *), compare_names);
}

/* Reads up to NAMES_A_STEP names. */
static enum discovery_progress read_names(struct discovery *discovery, struct error *error) {
    for (int i = 0; i < NAMES_A_STEP; i++) {
        errno = 0;
        const struct dirent *found = readdir(discovery->stream);
        if (found && belongs_to_entry(discovery->folder, found->d_name) &&
            !keep_name(discovery, found->d_name, error))
            return DISCOVERY_FAILED;
        if (found)
            continue;
        if (errno) {
            cannot_read(discovery, errno, error);
            return DISCOVERY_FAILED;
        }
        closedir(discovery->stream);
        discovery->stream = NULL;
        if (discovery->count)
            qsort(discovery->names, discovery->count, sizeof(char *), compare_names);
        break;
    }
    return DISCOVERY_MORE;
}

/* NAME with SUFFIX in place of its last CUT bytes. */
static void replace_suffix(char out[PATH_BYTES], const char *name, size_t cut, const char *suffix) {
    snprintf(out, PATH_BYTES, "%.*s%s", (int)(strlen(name) - cut), name, suffix);
}

static char *path_of(const struct discovery *discovery, const char *name) {
    char *path;
    return asprintf(&path, "%s/%s", folder_name(discovery->folder), name) < 0 ? NULL : path;
}

/* The names that make one entry; "" for a file that is missing. */
struct group {
    char stem[PATH_BYTES], body[PATH_BYTES], sidecar[PATH_BYTES];
};

/* The group that NAME begins; false if NAME is the sidecar of another file. */
static bool group_names(const struct discovery *discovery, const char *name, struct group *group) {
    bool resource = discovery->folder == FOLDER_RESOURCES;
    const char *suffix = resource ? resource_sidecar : ".json";
    char other[PATH_BYTES];
    *group = (struct group){0};
    if (has_suffix(name, suffix)) {
        replace_suffix(group->stem, name, strlen(suffix), "");
        replace_suffix(group->sidecar, name, 0, "");
        replace_suffix(other, group->stem, 0, resource ? "" : ".lisp");
        bool found = has_name(discovery, other);
        replace_suffix(other, group->stem, 0, ".txt");
        return !found && !(discovery->folder == FOLDER_PROMPTS && has_name(discovery, other));
    }
    size_t cut = resource ? 0 : strlen(strrchr(name, '.'));
    replace_suffix(group->stem, name, cut, "");
    replace_suffix(group->body, name, 0, "");
    replace_suffix(other, group->stem, 0, suffix);
    if (has_name(discovery, other))
        memcpy(group->sidecar, other, sizeof other);
    return true;
}

static enum discovery_progress make_candidate(const struct discovery *discovery,
                                              const struct group *group,
                                              struct candidate *candidate, struct error *error) {
    *candidate = (struct candidate){.folder = discovery->folder, .stem = strdup(group->stem)};
    if (group->body[0])
        candidate->body = path_of(discovery, group->body);
    if (group->sidecar[0])
        candidate->sidecar = path_of(discovery, group->sidecar);
    if (!candidate->stem || (group->body[0] && !candidate->body) ||
        (group->sidecar[0] && !candidate->sidecar)) {
        candidate_free(candidate);
        cannot_read(discovery, ENOMEM, error);
        return DISCOVERY_FAILED;
    }
    struct error why;
    if (discovery->folder == FOLDER_RESOURCES ? beneath_path_is_plain(candidate->stem, &why)
                                              : shape_is_name(candidate->stem, &why))
        return DISCOVERY_CANDIDATE;
    error_set(error, 0, "the name %s", why.text);
    return DISCOVERY_REFUSED;
}

enum discovery_progress discovery_step(struct discovery *discovery, struct candidate *candidate,
                                       struct error *error) {
    struct group group;
    if (discovery->stream)
        return read_names(discovery, error);
    if (discovery->next == discovery->count)
        return DISCOVERY_DONE;
    if (!group_names(discovery, discovery->names[discovery->next++], &group))
        return DISCOVERY_MORE;
    if (++discovery->entries > discovery->maximum) {
        refuse_count(discovery, error);
        return DISCOVERY_FAILED;
    }
    return make_candidate(discovery, &group, candidate, error);
}
