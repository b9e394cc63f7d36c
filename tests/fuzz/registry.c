/* Fuzz target: the files of a project. The input is a byte of options and then files, each a line
 * "=== PATH" and its contents; those after a line "=== again" are written after the first scan. The
 * directory is real. Each scan ends, its entries can be shown to clients, its refusals have
 * printable reasons, and a second scan has the same result as a first one would. */
#include "supervisor/content/shape.h"
#include "supervisor/json/json_write.h"
#include "supervisor/project/catalog.h"
#include "supervisor/registry/beneath.h"
#include "supervisor/registry/scan.h"
#include "supervisor/server/builtins.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/json.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum option {
    OPTION_TIGHT = 1,   /* low limits of entries and bytes */
    OPTION_SETTLED = 2, /* a last scan, for which no file needs to be read again */
    OPTION_PLAIN = 4    /* no reserved names */
};

enum { FILES_MAX = 64, NAME_MAX_BYTES = 255, STEPS_MAX = 100000, DEPTH_MAX = 100 };

static const char *const revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
static const struct digest_key key = {{1, 2}};

static char root[] = "/tmp/eclave-fuzz-registry-XXXXXX";
static int root_fd = -1;

/* The files written so far. */
static struct {
    char *paths[FILES_MAX];
    size_t count;
    unsigned options;
} tree;

/* --- the directory --- */

/* Folders of a project, and one for files that only register.json can name. */
static const char *const folders[] = {"tools", "resources", "prompts", "completions", "other"};
enum { FOLDERS = sizeof folders / sizeof *folders };

static void remove_root(void) {
    for (size_t i = 0; i < FOLDERS; i++)
        unlinkat(root_fd, folders[i], AT_REMOVEDIR);
    close(root_fd);
    rmdir(root);
}

static void make_root(void) {
    FUZZ_CHECK(mkdtemp(root), "no directory");
    root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < FOLDERS; i++)
        FUZZ_CHECK(mkdirat(root_fd, folders[i], 0700) == 0, "no folder");
    atexit(remove_root);
}

/* Whether PATH may be written: nothing outside the directory may. */
static bool is_path(const char *path) {
    const char *slash = strchr(path, '/');
    if (!slash)
        return strcmp(path, "register.json") == 0;
    bool found = false;
    for (size_t i = 0; i < FOLDERS; i++)
        found = found || (strlen(folders[i]) == (size_t)(slash - path) &&
                          memcmp(folders[i], path, (size_t)(slash - path)) == 0);
    const char *name = slash + 1;
    return found && *name && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0 && strlen(name) <= NAME_MAX_BYTES;
}

static void write_file(char *path, const uint8_t *bytes, size_t size) {
    int fd = is_path(path) && tree.count < FILES_MAX
                 ? openat(root_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                 : -1;
    if (fd < 0) {
        free(path);
        return;
    }
    FUZZ_CHECK(write(fd, bytes, size) == (ssize_t)size, "no room for a file");
    close(fd);
    tree.paths[tree.count++] = path;
}

static void remove_files(void) {
    for (size_t i = 0; i < tree.count; i++) {
        unlinkat(root_fd, tree.paths[i], 0);
        free(tree.paths[i]);
    }
    tree.count = 0;
}

static const char mark[] = "=== ";
enum { MARK_BYTES = sizeof mark - 1 };

/* The offset of the next mark. */
static size_t find_mark(const struct fuzz_input *input) {
    for (size_t at = 0; at + MARK_BYTES <= input->left; at++)
        if ((at == 0 || input->bytes[at - 1] == '\n') &&
            memcmp(input->bytes + at, mark, MARK_BYTES) == 0)
            return at;
    return input->left;
}

/* Writes the files up to the end, or to the line "=== again". */
static void write_files(struct fuzz_input *input) {
    size_t taken;
    fuzz_bytes(input, find_mark(input), &taken);
    while (input->left) {
        const uint8_t *newline = memchr(input->bytes, '\n', input->left);
        size_t line = newline ? (size_t)(newline - input->bytes) : input->left;
        const uint8_t *name = fuzz_bytes(input, line + 1, &taken) + MARK_BYTES;
        char *path = strndup((const char *)name, line - MARK_BYTES);
        const uint8_t *bytes = fuzz_bytes(input, find_mark(input), &taken);
        if (strcmp(path, "again") == 0) {
            free(path);
            return;
        }
        write_file(path, bytes, taken);
    }
}

/* --- scans --- */

static struct scan_limits limits(void) {
    return tree.options & OPTION_TIGHT
               ? (struct scan_limits){.bytes = 600, .entries = 2, .resource_bytes = 100}
               : (struct scan_limits){.bytes = 1 << 20, .entries = 500, .resource_bytes = 1 << 20};
}

static void check_words(const char *words) {
    FUZZ_CHECK(*words, "no reason");
    FUZZ_CHECK(json_utf8_valid(text_of(words)), "not UTF-8: %s", words);
    for (const char *at = words; *at; at++)
        FUZZ_CHECK((unsigned char)*at >= ' ' && *at != 0x7f &&
                       !(at[0] == '\xc2' && (unsigned char)at[1] < 0xa0),
                   "a control in %s", words);
}

static struct snapshot *empty(void) {
    struct snapshot *snapshot = snapshot_make();
    for (unsigned stage = 0; stage < SNAPSHOT_STAGES; stage++)
        snapshot_finish(snapshot, stage, &key);
    return snapshot;
}

/* Scans the directory; NULL with *error when that fails. */
static struct snapshot *look(const struct snapshot *before, struct error *error) {
    const bool plain = tree.options & OPTION_PLAIN;
    const struct entry_options options = {.is_reserved = plain ? NULL : builtins_have, .key = &key};
    const struct scan_limits most = limits();
    struct watch watch = {.fd = -1, .descriptors = {-1, -1, -1, -1, -1}};
    struct scan scan;
    enum scan_progress progress = SCAN_MORE;
    FUZZ_CHECK(scan_begin(&scan, root, &most, &options, before, &watch, error), "%s", error->text);
    for (unsigned steps = 0; progress == SCAN_MORE; steps++) {
        FUZZ_CHECK(steps < STEPS_MAX, "it never ends");
        progress = scan_step(&scan, error);
    }
    struct snapshot *made = progress == SCAN_DONE ? scan.made : NULL;
    if (made)
        scan.made = NULL;
    else
        check_words(error->text);
    scan_end(&scan);
    return made;
}

/* --- the result of a scan --- */

static void check_shown(const struct revision *revision, const struct registry_entry *entry) {
    cleanup_buffer struct buffer out = buffer_make(1 << 24);
    catalog_show(&out, revision, entry);
    const struct text text = {(const char *)out.data, out.length};
    const char *fault = json_fault(text, DEPTH_MAX);
    FUZZ_CHECK(!out.failed && !fault, "%s: %.*s", fault, (int)text.length, text.bytes);
    FUZZ_CHECK(json_kind(text) == VALUE_OBJECT && !json_has_twins(text), "%.*s", (int)text.length,
               text.bytes);
    FUZZ_CHECK(!json_has_lone_surrogate(text), "half a character: %.*s", (int)text.length,
               text.bytes);
}

static void check_key(const struct registry_entry *entry) {
    if (entry->kind == REGISTRY_RESOURCE)
        FUZZ_CHECK(uri_check(entry->key, NULL), "no URI: %s", entry->key);
    else if (entry->kind == REGISTRY_TEMPLATE)
        FUZZ_CHECK(uri_template_check(entry->key, NULL), "no template: %s", entry->key);
    else
        FUZZ_CHECK(shape_is_name(entry->key, NULL) && strcmp(entry->key, entry->name) == 0,
                   "no name: %s", entry->key);
}

static void check_entry(const struct registry_entry *entry, enum registry_kind kind) {
    FUZZ_CHECK(entry->kind == kind && entry->references >= 1, "%s is another's", entry->file);
    FUZZ_CHECK(json_object_is_type(entry->metadata, json_type_object), "no metadata");
    FUZZ_CHECK((kind == REGISTRY_RESOURCE) <= (entry->mime_type && entry->body.bytes), "no file");
    FUZZ_CHECK(entry->timeout_s >= 0 && entry->timeout_s <= 86400, "%f s", entry->timeout_s);
    FUZZ_CHECK(kind == REGISTRY_RESOURCE || !entry->body.bytes || entry->body.is_text,
               "a source that is not UTF-8");
    FUZZ_CHECK(!entry->is_lisp || entry->body.bytes, "nothing to evaluate");
    check_words(entry->file);
    check_key(entry);
    check_shown(revision_modern, entry);
    for (size_t i = 0; i < sizeof revisions / sizeof *revisions; i++) {
        struct json_object *date = json_object_new_string(revisions[i]);
        check_shown(revision_negotiate(date), entry);
        json_object_put(date);
    }
}

static void check_snapshot(const struct snapshot *snapshot) {
    const struct scan_limits most = limits();
    size_t total = 0, bytes = 0;
    for (enum registry_kind kind = 0; kind < REGISTRY_KINDS; kind++) {
        const struct entry_list *list = &snapshot->lists[kind];
        /* Resources and templates come from one folder. */
        FUZZ_CHECK(list->count <= most.entries, "too many entries");
        for (size_t i = 0; i < list->count; i++) {
            const struct registry_entry *entry = list->entries[i];
            check_entry(entry, kind);
            FUZZ_CHECK(i == 0 || strcmp(list->entries[i - 1]->key, entry->key) < 0, "out of order");
            FUZZ_CHECK(snapshot_find(snapshot, kind, entry->key) == entry, "it is not found");
            bytes += entry->bytes;
        }
        total += list->count;
    }
    FUZZ_CHECK(total == snapshot->total && bytes == snapshot->bytes && bytes <= most.bytes,
               "miscounted");
    for (size_t i = 0; i < snapshot->refusals.count; i++) {
        check_words(snapshot->refusals.items[i].file);
        check_words(snapshot->refusals.items[i].text);
    }
}

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), size = strlen(ending);
    return length > size && strcmp(text + length - size, ending) == 0;
}

static bool is_refused(const struct snapshot *snapshot, const char *path) {
    for (size_t i = 0; i < snapshot->refusals.count; i++)
        if (strcmp(snapshot->refusals.items[i].file, path) == 0)
            return true;
    return false;
}

/* A Lisp file is an entry or is refused, unless there is a register.json. */
static void check_nothing_lost(const struct snapshot *snapshot) {
    for (size_t i = 0; i < tree.count; i++)
        if (strcmp(tree.paths[i], "register.json") == 0)
            return;
    for (size_t i = 0; i < tree.count; i++) {
        const char *path = tree.paths[i], *name = strchr(path, '/') + 1;
        bool plain = ends_with(name, ".lisp") && name[0] != '.' && strncmp(path, "other/", 6) != 0;
        for (const char *at = name; *at; at++)
            plain = plain && *at > ' ' && *at <= '~' && *at != '\\'; /* shown unescaped */
        FUZZ_CHECK(!plain || snapshot_find_file(snapshot, path) || is_refused(snapshot, path),
                   "%s is lost", path);
    }
}

/* Both show the same to clients and to the log. */
static void check_same(const struct snapshot *one, const struct snapshot *other) {
    FUZZ_CHECK(one->total == other->total && one->bytes == other->bytes, "other entries");
    FUZZ_CHECK(strcmp(one->hash, other->hash) == 0, "another hash");
    for (enum registry_kind kind = 0; kind < REGISTRY_KINDS; kind++)
        FUZZ_CHECK(digest_equal(one->lists[kind].listing, other->lists[kind].listing) &&
                       digest_equal(one->lists[kind].content, other->lists[kind].content),
                   "another %s", registry_kind_word(kind));
    FUZZ_CHECK(one->refusals.count == other->refusals.count, "other refusals");
    for (size_t i = 0; i < one->refusals.count; i++)
        FUZZ_CHECK(notices_have(&other->refusals, one->refusals.items[i].file,
                                one->refusals.items[i].text),
                   "%s: %s is new", one->refusals.items[i].file, one->refusals.items[i].text);
}

/* Scans from nothing and from BEFORE, with the same result unless that has a definition which is
 * broken now: the version of it that is kept counts, too. Returns the second, or NULL. */
static struct snapshot *look_twice(const struct snapshot *before) {
    struct error error = {0}, other_error = {0};
    struct snapshot *nothing = empty();
    struct snapshot *first = look(nothing, &error), *second = look(before, &other_error);
    snapshot_unref(nothing);
    if (!second && strstr(other_error.text, "(registry.max_bytes)") && before->total > 0) {
        snapshot_unref(first);
        return NULL;
    }
    FUZZ_CHECK(!first == !second, "%s, or not: %s", error.text, other_error.text);
    if (!first) {
        FUZZ_CHECK(strcmp(error.text, other_error.text) == 0, "%s, or %s", error.text,
                   other_error.text);
        return NULL;
    }
    check_snapshot(first);
    check_snapshot(second);
    check_nothing_lost(first);
    if (second->stale.count == 0)
        check_same(first, second);
    snapshot_unref(first);
    return second;
}

/* So late that the times of files show every change: unchanged entries are kept. */
static void look_late(const struct snapshot *nothing) {
    fuzz_edges.now_ns = INT64_C(4000000000) * 1000000000;
    struct snapshot *before = look_twice(nothing);
    struct snapshot *now = before ? look_twice(before) : NULL;
    for (size_t i = 0; now && i < now->total; i++)
        FUZZ_CHECK(now->by_file[i] == before->by_file[i], "%s was read again",
                   now->by_file[i]->file);
    snapshot_unref(before);
    snapshot_unref(now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (root_fd < 0)
        make_root();
    struct fuzz_input input = {data, size};
    int open_before = fuzz_open_descriptors();
    fuzz_edges = (struct fuzz_edges){.now_ns = 1};
    tree.options = fuzz_byte(&input);
    struct snapshot *nothing = empty();
    write_files(&input);
    struct snapshot *before = look_twice(nothing);
    write_files(&input);
    struct snapshot *now = look_twice(before ? before : nothing);
    if (tree.options & OPTION_SETTLED)
        look_late(nothing);
    snapshot_unref(nothing);
    snapshot_unref(before);
    snapshot_unref(now);
    remove_files();
    FUZZ_CHECK(fuzz_open_descriptors() == open_before, "a descriptor was left open");
    return 0;
}
