/* The order of a scan: register.json, the folders, the files of each entry, the snapshot. Each
 * function step_… does one step and sets the next. */
#include "supervisor/registry/scan.h"
#include "common/cleanup.h"
#include "supervisor/registry/beneath.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool step_override_begin(struct scan *scan, struct error *error);
static bool step_folder_begin(struct scan *scan, struct error *error);
static bool step_candidate_begin(struct scan *scan, struct error *error);

bool scan_begin(struct scan *scan, const char *path, const struct scan_limits *limits,
                const struct entry_options *options, const struct snapshot *before,
                struct watch *watch, struct error *error) {
    *scan = (struct scan){.path = path,
                          .limits = *limits,
                          .options = *options,
                          .before = snapshot_ref(before),
                          .watch = watch,
                          .step = step_override_begin,
                          .root = limits->follows ? beneath_follow_root(path, error)
                                                  : beneath_open_root(path, error),
                          .reader.fd = -1,
                          .made = snapshot_make()};
    if (scan->root >= 0 && scan->made)
        return true;
    if (scan->root >= 0)
        error_set(error, ENOMEM, "cannot load the project");
    scan_end(scan);
    return false;
}

static void drop_candidates(struct scan *scan) {
    for (size_t i = scan->next_candidate; i < scan->candidate_count; i++)
        candidate_free(&scan->candidates[i]);
    free(scan->candidates);
    scan->candidates = NULL;
    scan->candidate_count = scan->candidate_capacity = scan->next_candidate = 0;
}

void scan_end(struct scan *scan) {
    if (scan->root >= 0)
        close(scan->root);
    file_reader_drop(&scan->reader);
    file_content_free(&scan->sidecar);
    entry_unref(scan->entry);
    override_end(&scan->override);
    discovery_end(&scan->discovery);
    drop_candidates(scan);
    snapshot_unref(scan->before);
    snapshot_unref(scan->made);
    *scan = (struct scan){.root = -1, .reader.fd = -1};
}

static bool refuse(struct scan *scan, const char *file, const char *reason, struct error *error) {
    return notices_add(&scan->made->refusals, file, reason) ||
           error_set(error, ENOMEM, "cannot load the project");
}

/* Is it a shortage in this process, which must not make an entry disappear? */
static bool is_shortage(const struct error *error) {
    return error->code == ENOMEM || error->code == EMFILE || error->code == ENFILE;
}

/* Takes over *CANDIDATE. */
static bool add_candidate(struct scan *scan, struct candidate *candidate, struct error *error) {
    struct candidate *table = table_grow(scan->candidates, scan->candidate_count,
                                         &scan->candidate_capacity, sizeof *table);
    if (!table) {
        candidate_free(candidate);
        return error_set(error, ENOMEM, "cannot load the project");
    }
    scan->candidates = table;
    scan->candidates[scan->candidate_count++] = *candidate;
    return true;
}

/* --- register.json --- */

/* Everything is discovered, as if the file did not exist; but a file that was in force may be half
 * saved, and must not bring back what it leaves out: the snapshot before stays. */
static bool refuse_override(struct scan *scan, const char *reason, struct error *error) {
    if (scan->before && scan->before->by_hand)
        return error_set(error, 0, "%s: %.200s", override_file, reason);
    override_end(&scan->override);
    drop_candidates(scan);
    memset(scan->overridden, 0, sizeof scan->overridden);
    scan->step = step_folder_begin;
    return refuse(scan, override_file, reason, error);
}

/* Is FILE, named in register.json, in one of the watched folders? */
static bool is_watched(const char *file) {
    for (enum project_folder folder = 0; folder < FOLDER_COUNT; folder++) {
        size_t length = strlen(folder_name(folder));
        if (strncmp(file, folder_name(folder), length) == 0 && file[length] == '/')
            return !strchr(file + length + 1, '/');
    }
    return false;
}

static bool step_override_entry(struct scan *scan, struct error *error) {
    struct candidate candidate = {0};
    struct error why = {0};
    switch (override_step(&scan->override, &candidate, &why)) {
    case OVERRIDE_CANDIDATE:
        scan->unwatched = scan->unwatched || (candidate.body && !is_watched(candidate.body));
        return add_candidate(scan, &candidate, error);
    case OVERRIDE_DONE: /* its text stays: the candidates point into it */
        scan->made->by_hand = true;
        scan->step = step_folder_begin;
        return true;
    default:
        return refuse_override(scan, why.text, error);
    }
}

static bool step_override_lists(struct scan *scan, struct error *error) {
    struct error why = {0};
    if (!override_find_lists(&scan->override, &why))
        return refuse_override(scan, why.text, error);
    for (enum project_folder folder = 0; folder < FOLDER_COUNT; folder++)
        scan->overridden[folder] = scan->override.lists[folder].bytes;
    scan->step = step_override_entry;
    return true;
}

static bool step_override_read(struct scan *scan, struct error *error) {
    struct file_content text;
    struct error why = {0};
    switch (file_reader_step(&scan->reader, &text, &why)) {
    case FILE_MORE:
        return true;
    case FILE_REFUSED:
        if (is_shortage(&why))
            return error_set(error, 0, "%s %.150s", override_file, why.text);
        if (why.code != ENOENT)
            return refuse_override(scan, why.text, error);
        scan->step = step_folder_begin;
        return true;
    default:
        break;
    }
    if (!override_begin(&scan->override, &text, scan->limits.entries, &why))
        return refuse_override(scan, why.text, error);
    scan->step = step_override_lists;
    return true;
}

static bool step_override_begin(struct scan *scan, struct error *error) {
    (void)error;
    /* Nothing tells when a link is turned. */
    scan->unwatched = !watch_folder(scan->watch, WATCH_ROOT, scan->root) || scan->limits.follows;
    file_reader_begin(&scan->reader, scan->root, override_file, OVERRIDE_MAX_BYTES,
                      scan->options.key);
    scan->step = step_override_read;
    return true;
}

/* --- folders --- */

static bool step_folder_names(struct scan *scan, struct error *error) {
    struct candidate candidate = {0};
    struct error why = {0};
    bool fine = true;
    switch (discovery_step(&scan->discovery, &candidate, &why)) {
    case DISCOVERY_MORE:
        return true;
    case DISCOVERY_CANDIDATE:
        return add_candidate(scan, &candidate, error);
    case DISCOVERY_REFUSED:
        fine = refuse(scan, candidate_file(&candidate), why.text, error);
        candidate_free(&candidate);
        return fine;
    case DISCOVERY_FAILED:
        *error = why;
        return false;
    case DISCOVERY_DONE:
        break;
    }
    discovery_end(&scan->discovery);
    scan->folder++;
    scan->step = step_folder_begin;
    return true;
}

/* A folder that does not exist is empty; of one that cannot be opened nothing is known. */
static bool skip_folder(struct scan *scan, int code, struct error *error) {
    const char *name = folder_name(scan->folder++);
    if (code == ENOENT)
        return true;
    if (code == ELOOP || code == ENOTDIR)
        return error_set(error, 0, "%s is not a directory, or is a symbolic link", name);
    return error_set(error, code, "cannot open the folder %s", name);
}

static bool step_folder_begin(struct scan *scan, struct error *error) {
    if (scan->folder == FOLDER_COUNT) {
        scan->step = step_candidate_begin;
        return true;
    }
    int fd = beneath_open_folder(scan->root, folder_name(scan->folder));
    if (fd < 0) {
        int code = errno;
        watch_forget(scan->watch, scan->folder);
        return skip_folder(scan, code, error);
    }
    if (!watch_folder(scan->watch, scan->folder, fd))
        scan->unwatched = true;
    if (scan->overridden[scan->folder]) {
        close(fd);
        scan->folder++;
        return true;
    }
    scan->step = step_folder_names;
    return discovery_begin(&scan->discovery, scan->folder, fd, scan->limits.entries, error);
}

/* --- entries --- */

static struct candidate *current(struct scan *scan) {
    return &scan->candidates[scan->next_candidate];
}

static bool next_candidate(struct scan *scan) {
    file_content_free(&scan->sidecar);
    candidate_free(current(scan));
    scan->next_candidate++;
    scan->step = step_candidate_begin;
    return true;
}

static bool add_entry(struct scan *scan, struct registry_entry *entry, struct error *error);

/* The entry that the current candidate had in the snapshot before; NULL if there is none. */
static struct registry_entry *find_before(const struct scan *scan,
                                          const struct candidate *candidate) {
    struct registry_entry *entry = snapshot_find_file(scan->before, candidate_file(candidate));
    return entry && entry->folder == candidate->folder ? entry : NULL;
}

/* Keeps the version before of the current candidate, whose files cannot be used as they are now.
 * That they are being written is no fault. */
static bool keep_stale(struct scan *scan, struct registry_entry *entry, const struct error *why,
                       struct error *error) {
    if (why->code != EAGAIN) {
        entry->stale = true;
        if (!notices_add(&scan->made->stale, entry->file, why->text))
            return error_set(error, ENOMEM, "cannot load the project");
    }
    return add_entry(scan, entry_ref(entry), error);
}

static bool drop_candidate(struct scan *scan, const struct error *why, struct error *error) {
    const struct candidate *candidate = current(scan);
    if (is_shortage(why))
        return error_set(error, 0, "%.80s %.140s", candidate_file(candidate), why->text);
    return refuse(scan, candidate_file(candidate), why->text, error) && next_candidate(scan);
}

/* A definition whose files are there and cannot be parsed may be half saved: the version before of
 * it stays. */
static bool refuse_candidate(struct scan *scan, const struct error *why, struct error *error) {
    struct registry_entry *entry = find_before(scan, current(scan));
    if (!entry || is_shortage(why) || why->code == EFBIG)
        return drop_candidate(scan, why, error);
    return keep_stale(scan, entry, why, error);
}

/* The bytes of a resource are no definition: what may not be read any more is not served, unless it
 * is only being written. */
static bool refuse_body(struct scan *scan, const struct error *why, struct error *error) {
    const struct registry_entry *entry = find_before(scan, current(scan));
    bool is_resource = entry && entry->kind == REGISTRY_RESOURCE;
    if (why->code == ENOENT || (is_resource && why->code != EAGAIN))
        return drop_candidate(scan, why, error);
    return refuse_candidate(scan, why, error);
}

static bool warn_of_timeout(struct scan *scan, const struct registry_entry *entry) {
    char text[120];
    if (entry->timeout_s <= scan->limits.timeout_s)
        return true;
    snprintf(text, sizeof text, "the timeout of %.10g s is reduced to %.10g s (call.timeout_max_s)",
             entry->timeout_s, scan->limits.timeout_s);
    return notices_add(&scan->made->warnings, entry->file, text);
}

static bool add_entry(struct scan *scan, struct registry_entry *entry, struct error *error) {
    if (entry->bytes > scan->limits.bytes - scan->made->bytes) {
        entry_unref(entry);
        return error_set(error, 0,
                         "the project takes more than %zu bytes, with its parsed metadata and "
                         "schemas (registry.max_bytes)",
                         scan->limits.bytes);
    }
    bool warned = warn_of_timeout(scan, entry), added = snapshot_add(scan->made, entry);
    return ((warned && added) || error_set(error, ENOMEM, "cannot load the project")) &&
           next_candidate(scan);
}

static bool refuse_entry(struct scan *scan, const struct error *why, struct error *error) {
    entry_unref(scan->entry);
    scan->entry = NULL;
    return refuse_candidate(scan, why, error);
}

static bool step_compile_output(struct scan *scan, struct error *error) {
    struct error why = {0};
    struct registry_entry *entry = scan->entry;
    if (!entry_compile_output(entry, &why))
        return refuse_entry(scan, &why, error);
    scan->entry = NULL;
    return add_entry(scan, entry, error);
}

static bool step_compile_input(struct scan *scan, struct error *error) {
    struct error why = {0};
    if (!entry_compile_input(scan->entry, &why))
        return refuse_entry(scan, &why, error);
    scan->step = step_compile_output;
    return true;
}

static bool make_entry(struct scan *scan, struct file_content *body, struct error *error) {
    struct error why = {0};
    scan->entry = entry_make(&scan->options, current(scan), body, &scan->sidecar, &why);
    file_content_free(body);
    scan->step = step_compile_input;
    return scan->entry || refuse_entry(scan, &why, error);
}

static bool step_body(struct scan *scan, struct error *error) {
    struct file_content body = {0};
    struct error why = {0};
    switch (file_reader_step(&scan->reader, &body, &why)) {
    case FILE_MORE:
        return true;
    case FILE_REFUSED:
        return refuse_body(scan, &why, error);
    default:
        return make_entry(scan, &body, error);
    }
}

static bool begin_body(struct scan *scan, struct error *error) {
    const struct candidate *candidate = current(scan);
    struct file_content none = {0};
    size_t most =
        candidate->folder == FOLDER_RESOURCES ? scan->limits.resource_bytes : SOURCE_MAX_BYTES;
    if (!candidate->body)
        return make_entry(scan, &none, error);
    file_reader_begin(&scan->reader, scan->root, candidate->body, most, scan->options.key);
    scan->step = step_body;
    return true;
}

static bool step_sidecar(struct scan *scan, struct error *error) {
    struct error why = {0};
    switch (file_reader_step(&scan->reader, &scan->sidecar, &why)) {
    case FILE_MORE:
        return true;
    case FILE_REFUSED:
        metadata_locate(current(scan), &why);
        return refuse_candidate(scan, &why, error);
    default:
        return begin_body(scan, error);
    }
}

/* The stamp of PATH; that of no file if PATH is NULL or cannot be examined. */
static struct file_stamp stamp_now(const struct scan *scan, const char *path) {
    struct stat status;
    if (!path || !beneath_stat(scan->root, path, &status))
        return (struct file_stamp){0};
    return file_stamp_of(&status);
}

static bool same_inline(const struct scan *scan, const struct candidate *candidate,
                        const struct registry_entry *entry) {
    return entry->is_inline == (candidate->inline_metadata.bytes != NULL) &&
           digest_equal(candidate_inline_digest(candidate, scan->options.key),
                        entry->inline_digest);
}

/* The entry in the snapshot before, if none of its files has changed since. */
static struct registry_entry *find_unchanged(const struct scan *scan,
                                             const struct candidate *candidate) {
    struct registry_entry *entry = find_before(scan, candidate);
    if (!entry || !same_inline(scan, candidate, entry))
        return NULL;
    const struct file_stamp body = stamp_now(scan, candidate->body);
    const struct file_stamp sidecar = stamp_now(scan, candidate->sidecar);
    return file_is_unchanged(&entry->body.stamp, &body) &&
                   file_is_unchanged(&entry->metadata_stamp, &sidecar)
               ? entry
               : NULL;
}

static bool step_finish(struct scan *scan, struct error *error) {
    unsigned stage = scan->stage++;
    if (scan->stage == SNAPSHOT_STAGES)
        scan->step = NULL;
    return snapshot_finish(scan->made, stage, scan->options.key) ||
           error_set(error, ENOMEM, "cannot load the project");
}

static bool step_candidate_begin(struct scan *scan, struct error *error) {
    if (scan->next_candidate == scan->candidate_count) {
        scan->step = step_finish;
        return true;
    }
    const struct candidate *candidate = current(scan);
    struct registry_entry *entry = find_unchanged(scan, candidate);
    if (entry) {
        entry->stale = false;
        return add_entry(scan, entry_ref(entry), error);
    }
    if (!candidate->sidecar)
        return begin_body(scan, error);
    file_reader_begin(&scan->reader, scan->root, candidate->sidecar, METADATA_MAX_BYTES,
                      scan->options.key);
    scan->step = step_sidecar;
    return true;
}

enum scan_progress scan_step(struct scan *scan, struct error *error) {
    if (!scan->step(scan, error))
        return SCAN_FAILED;
    return scan->step ? SCAN_MORE : SCAN_DONE;
}
