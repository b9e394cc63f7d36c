/* Goes through the names of one folder and tells which of them make an entry. Opens no file. */
#include "supervisor/registry/discover.h"
#include "supervisor/registry/beneath.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_A_STEP = 128, NAMES_AN_ENTRY = 4, NAMES_MORE = 1000, PATH_BYTES = 300 };

static const char meta_ending[] = ".meta.json";

bool discovery_begin(struct discovery *discovery, enum project_folder folder, int fd,
                     size_t maximum, struct error *error) {
    *discovery = (struct discovery){.folder = folder, .maximum = maximum, .stream = fdopendir(fd)};
    if (discovery->stream)
        return true;
    error_set(error, errno, "%s cannot be searched", folder_name(folder));
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

static bool ends_with(const char *name, const char *ending) {
    size_t length = strlen(name), size = strlen(ending);
    return length > size && strcmp(name + length - size, ending) == 0;
}

/* Does a file of this name belong to an entry? */
static bool is_wanted(enum project_folder folder, const char *name) {
    if (name[0] == '.' || name[strlen(name) - 1] == '~')
        return false;
    switch (folder) {
    case FOLDER_RESOURCES:
        return true;
    case FOLDER_PROMPTS:
        return ends_with(name, ".lisp") || ends_with(name, ".json") || ends_with(name, ".txt");
    default:
        return ends_with(name, ".lisp") || ends_with(name, ".json");
    }
}

static bool keep_name(struct discovery *discovery, const char *name, struct error *error) {
    if (discovery->count >= NAMES_AN_ENTRY * discovery->maximum + NAMES_MORE)
        return error_set(error, 0, "%s holds more than %zu entries", folder_name(discovery->folder),
                         discovery->maximum);
    if (discovery->count == discovery->capacity) {
        size_t wanted = discovery->capacity ? 2 * discovery->capacity : NAMES_A_STEP;
        char **larger = reallocarray(discovery->names, wanted, sizeof *larger);
        if (!larger)
            return error_set(error, ENOMEM, "the names in %s", folder_name(discovery->folder));
        discovery->names = larger;
        discovery->capacity = wanted;
    }
    char *copy = strdup(name);
    if (!copy)
        return error_set(error, ENOMEM, "the names in %s", folder_name(discovery->folder));
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

/* Takes up to NAMES_A_STEP names out of the folder. */
static enum discovery_progress read_names(struct discovery *discovery, struct error *error) {
    for (int i = 0; i < NAMES_A_STEP; i++) {
        errno = 0;
        const struct dirent *found = readdir(discovery->stream);
        if (found && is_wanted(discovery->folder, found->d_name) &&
            !keep_name(discovery, found->d_name, error))
            return DISCOVERY_FAILED;
        if (found)
            continue;
        if (errno) {
            error_set(error, errno, "%s cannot be searched", folder_name(discovery->folder));
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

/* NAME without the last CUT bytes and with ENDING in their place. */
static void replace_ending(char out[PATH_BYTES], const char *name, size_t cut, const char *ending) {
    snprintf(out, PATH_BYTES, "%.*s%s", (int)(strlen(name) - cut), name, ending);
}

static char *path_of(const struct discovery *discovery, const char *name) {
    char *path;
    return asprintf(&path, "%s/%s", folder_name(discovery->folder), name) < 0 ? NULL : path;
}

/* The names that belong together; "" where there is none. */
struct group {
    char stem[PATH_BYTES], body[PATH_BYTES], sidecar[PATH_BYTES];
};

/* The group that NAME opens; false when NAME only is the metadata of another file. */
static bool group_names(const struct discovery *discovery, const char *name, struct group *group) {
    bool resource = discovery->folder == FOLDER_RESOURCES;
    const char *ending = resource ? meta_ending : ".json";
    char other[PATH_BYTES];
    *group = (struct group){0};
    if (ends_with(name, ending)) {
        replace_ending(group->stem, name, strlen(ending), "");
        replace_ending(group->sidecar, name, 0, "");
        replace_ending(other, group->stem, 0, resource ? "" : ".lisp");
        bool found = has_name(discovery, other);
        replace_ending(other, group->stem, 0, ".txt");
        return !found && !(discovery->folder == FOLDER_PROMPTS && has_name(discovery, other));
    }
    size_t cut = resource ? 0 : strlen(strrchr(name, '.'));
    replace_ending(group->stem, name, cut, "");
    replace_ending(group->body, name, 0, "");
    replace_ending(other, group->stem, 0, ending);
    if (has_name(discovery, other))
        memcpy(group->sidecar, other, sizeof other);
    return true;
}

static enum discovery_progress make_job(const struct discovery *discovery,
                                        const struct group *group, struct job *job,
                                        struct error *error) {
    *job = (struct job){.folder = discovery->folder, .stem = strdup(group->stem)};
    if (group->body[0])
        job->body = path_of(discovery, group->body);
    if (group->sidecar[0])
        job->sidecar = path_of(discovery, group->sidecar);
    if (!job->stem || (group->body[0] && !job->body) || (group->sidecar[0] && !job->sidecar)) {
        job_free(job);
        error_set(error, ENOMEM, "the entries in %s", folder_name(discovery->folder));
        return DISCOVERY_FAILED;
    }
    bool fine = discovery->folder == FOLDER_RESOURCES ? beneath_path_is_plain(job->stem, error)
                                                      : metadata_check_name(job->stem, error);
    return fine ? DISCOVERY_JOB : DISCOVERY_REFUSED;
}

enum discovery_progress discovery_step(struct discovery *discovery, struct job *job,
                                       struct error *error) {
    struct group group;
    if (discovery->stream)
        return read_names(discovery, error);
    if (discovery->next == discovery->count)
        return DISCOVERY_DONE;
    if (!group_names(discovery, discovery->names[discovery->next++], &group))
        return DISCOVERY_MORE;
    if (++discovery->entries > discovery->maximum) {
        error_set(error, 0, "%s holds more than %zu entries", folder_name(discovery->folder),
                  discovery->maximum);
        return DISCOVERY_FAILED;
    }
    return make_job(discovery, &group, job, error);
}
