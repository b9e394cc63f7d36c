/* The directory of the saved sessions. */
#include "supervisor/state/store.h"
#include "common/cleanup.h"
#include "common/descriptor.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

static const char key_file[] = "key", new_journal[] = "journal.new";

static void cleanup_dir_value(DIR *const *dir) {
    if (*dir)
        closedir(*dir);
}
#define cleanup_dir __attribute__((cleanup(cleanup_dir_value)))

/* The entries of FD. */
static DIR *list_of(int fd) {
    const int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = own >= 0 ? fdopendir(own) : NULL;
    if (!dir && own >= 0)
        close(own);
    return dir;
}

/* --- names of directories --- */

enum { ENTRY_BYTES = 2 + 3 * STORE_NAME_CHARS + 1 };

/* The name of the directory of the session NAME. Capital letters are written as others too, since
 * not every file system tells them from small ones. */
static void encode_name(char entry[ENTRY_BYTES], const char *name, bool unnamed) {
    char *end = stpcpy(entry, unnamed ? "u-" : "s-");
    for (const char *next = name; *next; next++) {
        const unsigned char byte = (unsigned char)*next;
        const bool plain = islower(byte) || isdigit(byte) || strchr("_.-", byte);
        if (plain)
            *end++ = *next;
        else
            end += snprintf(end, sizeof "=00", "=%02x", byte);
    }
    *end = 0;
}

/* False if ENTRY is not the directory of a session. */
static bool decode_name(const char *entry, struct store_entry *found) {
    char again[ENTRY_BYTES];
    size_t length = 0;
    found->unnamed = entry[0] == 'u';
    if (strlen(entry) >= ENTRY_BYTES || (entry[0] != 's' && entry[0] != 'u') || entry[1] != '-')
        return false;
    for (const char *next = entry + 2; *next && length < STORE_NAME_CHARS; length++) {
        unsigned byte = (unsigned char)*next++;
        if (byte == '=') {
            if (!isxdigit((unsigned char)next[0]) || !isxdigit((unsigned char)next[1]))
                return false;
            const char digits[] = {next[0], next[1], 0};
            byte = (unsigned)strtoul(digits, NULL, 16);
            next += 2;
        }
        found->name[length] = (char)byte;
    }
    found->name[length] = 0;
    encode_name(again, found->name, found->unnamed);
    return length > 0 && strcmp(again, entry) == 0;
}

/* --- the directory --- */

/* Creates PATH and the directories that it is in, for this user only. */
static bool make_directories(const char *path, struct error *error) {
    char part[PATH_MAX];
    for (size_t length = 1; length <= strlen(path); length++) {
        if (path[length] && path[length] != '/')
            continue;
        snprintf(part, sizeof part, "%.*s", (int)length, path);
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return error_set(error, errno, "cannot create %.200s", part);
    }
    return true;
}

static bool is_private(int fd, mode_t type, struct error *error) {
    struct stat status;
    if (fstat(fd, &status) != 0)
        return error_set(error, errno, "cannot be examined");
    if ((status.st_mode & S_IFMT) != type)
        return error_set(error, 0, "is of another type");
    if (status.st_uid != geteuid())
        return error_set(error, 0, "belongs to another user");
    return (status.st_mode & 077) == 0 ||
           error_set(error, 0, "is open to other users (mode %03o; it must be %s)",
                     status.st_mode & 0777U, type == S_IFDIR ? "700" : "600");
}

/* Written under another name first, so that no other server reads a part of it. */
static bool make_key(int directory, struct error *error) {
    unsigned char key[JOURNAL_KEY_BYTES];
    char name[40];
    snprintf(name, sizeof name, "key.%ld", (long)getpid());
    randombytes_buf(key, sizeof key);
    unlinkat(directory, name, 0);
    cleanup_fd int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool made = fd >= 0 && write_all(fd, key, sizeof key) && fsync(fd) == 0;
    made = made && (linkat(directory, name, directory, key_file, 0) == 0 || errno == EEXIST);
    const int code = errno;
    if (fd >= 0)
        unlinkat(directory, name, 0);
    return made || error_set(error, code, "its key cannot be written");
}

static bool read_key(int directory, unsigned char key[JOURNAL_KEY_BYTES], bool create,
                     struct error *error) {
    struct error cause;
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    cleanup_fd int fd = openat(directory, key_file, flags);
    if (fd < 0 && errno == ENOENT && create) {
        if (!make_key(directory, error))
            return false;
        fd = openat(directory, key_file, flags);
    }
    if (fd < 0)
        return error_set(error, errno, "its key cannot be opened");
    if (!is_private(fd, S_IFREG, &cause))
        return error_set(error, 0, "its key %.300s", cause.text);
    return read(fd, key, JOURNAL_KEY_BYTES) == JOURNAL_KEY_BYTES ||
           error_set(error, 0, "its key is damaged");
}

static bool remove_files(int directory) {
    cleanup_dir DIR *dir = list_of(directory);
    if (!dir)
        return false;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.')
            unlinkat(directory, entry->d_name, 0);
    return true;
}

/* Removes what a process that was killed had begun to remove. */
static void sweep(int directory) {
    cleanup_dir DIR *dir = list_of(directory);
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, "x-", 2) != 0)
            continue;
        cleanup_fd int old =
            openat(directory, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (old >= 0 && remove_files(old))
            unlinkat(directory, entry->d_name, AT_REMOVEDIR);
    }
}

bool store_open(struct store *store, const char *path, bool create, struct error *error) {
    struct error cause;
    store->fd = -1;
    if (create && !make_directories(path, error))
        return false;
    cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set(error, errno, "cannot open %.200s", path);
    if (!is_private(fd, S_IFDIR, &cause) || !read_key(fd, store->key, create, &cause))
        return error_set(error, 0, "the state directory %.200s %.200s", path, cause.text);
    if (create && faccessat(fd, ".", W_OK, AT_EACCESS) != 0)
        return error_set(error, errno, "cannot write to the state directory %.200s", path);
    if (create)
        sweep(fd);
    store->fd = steal_fd(&fd);
    return true;
}

void store_close(struct store *store) {
    if (store->fd >= 0)
        close(store->fd);
    store->fd = -1;
    sodium_memzero(store->key, sizeof store->key);
}

/* Adds up the files of the session in ENTRY. False if it is not there. */
static bool measure(const struct store *store, const char *entry, struct store_entry *found) {
    struct stat status;
    cleanup_fd int fd = openat(store->fd, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_dir DIR *dir = fd >= 0 ? list_of(fd) : NULL;
    if (!dir || fstatat(fd, "journal", &status, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    found->used_ns = (int64_t)status.st_mtim.tv_sec * NS_PER_S + status.st_mtim.tv_nsec;
    found->bytes = 0;
    for (const struct dirent *file; (file = readdir(dir)) != NULL;)
        if (fstatat(fd, file->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode))
            found->bytes += (uint64_t)status.st_size;
    return true;
}

struct store_entry *store_list(const struct store *store, size_t *count, struct error *error) {
    struct store_entry *list = calloc(STORE_SESSIONS_MAX, sizeof *list);
    cleanup_dir DIR *dir = list_of(store->fd);
    *count = 0;
    if (!list || !dir) {
        error_set(error, list ? errno : ENOMEM, "the state directory cannot be read");
        free(list);
        return NULL;
    }
    for (const struct dirent *entry; *count < STORE_SESSIONS_MAX && (entry = readdir(dir)) != NULL;)
        *count += decode_name(entry->d_name, &list[*count]) &&
                  measure(store, entry->d_name, &list[*count]);
    return list;
}

/* --- the list of calls --- */

static bool add_call(struct saved *saved, const struct journal *before) {
    if (saved->count == saved->capacity) {
        const size_t more = saved->capacity ? 2 * saved->capacity : 64;
        struct saved_call *calls = reallocarray(saved->calls, more, sizeof *calls);
        if (!calls)
            return false;
        saved->calls = calls;
        saved->capacity = more;
    }
    struct saved_call *call = &saved->calls[saved->count++];
    call->offset = before->end;
    memcpy(call->seal, before->seal, sizeof call->seal);
    return true;
}

/* Does what RECORD, which begins at BEFORE, says. False if it makes no sense. */
static bool apply(struct saved *saved, const struct journal_record *record,
                  const struct journal *before) {
    switch (record->kind) {
    case RECORD_CALL:
        return add_call(saved, before);
    case RECORD_RETURN:
        if (record->number > saved->count)
            return false;
        saved->count = (size_t)record->number;
        if (saved->image.number > record->number)
            saved->image.number = 0;
        return true;
    case RECORD_IMAGE:
        if (record->number < 1 || record->number > saved->count)
            return false;
        saved->image.number = record->number;
        memcpy(&saved->image.facts, record->text.bytes, sizeof saved->image.facts);
        return true;
    case RECORD_DROP:
        if (record->number < 1 || record->number > saved->count)
            return false;
        saved->count--;
        if (saved->image.number >= record->number)
            saved->image.number = 0;
        memmove(saved->calls + record->number - 1, saved->calls + record->number,
                (saved->count + 1 - (size_t)record->number) * sizeof *saved->calls);
        return true;
    default:
        return false;
    }
}

/* --- the files of a session --- */

static bool append_open(struct journal *journal, const char *name, struct error *error) {
    cleanup_buffer struct buffer bytes = buffer_make(1024);
    const struct journal_record open = {
        .kind = RECORD_OPEN, .time_s = time(NULL), .text = string_span(name)};
    bool torn;
    return (record_encode(&bytes, &open) || error_set(error, ENOMEM, "cannot be written")) &&
           journal_append(journal, (struct span){bytes.data, bytes.length}, &torn, error);
}

static bool append_image(struct journal *journal, const struct saved_image *image, bool *torn,
                         struct error *error) {
    cleanup_buffer struct buffer bytes = buffer_make(1024);
    const struct journal_record record = {
        .kind = RECORD_IMAGE,
        .number = image->number,
        .time_s = time(NULL),
        .text = {(const unsigned char *)&image->facts, sizeof image->facts}};
    return (record_encode(&bytes, &record) || error_set(error, ENOMEM, "cannot be written")) &&
           journal_append(journal, (struct span){bytes.data, bytes.length}, torn, error);
}

/* Writes SAVED's journal in its directory, with the first COUNT calls of SOURCE, and puts it in
 * place. SAVED's own journal and list are replaced, also if it is SOURCE. */
static bool write_journal(struct saved *saved, const struct saved *source, size_t count,
                          struct error *error) {
    const char *name = new_journal;
    cleanup_buffer struct buffer record = buffer_make(JOURNAL_RECORD_MAX);
    struct saved next = {.name = "", .directory = -1};
    bool torn, written;
    unlinkat(saved->directory, name, 0);
    cleanup_fd int fd =
        openat(saved->directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(error, errno, "its journal cannot be made");
    written = journal_begin(&next.journal, fd, saved->store->key, error) &&
              append_open(&next.journal, saved->name, error);
    for (size_t i = 0; written && i < count; i++) {
        const struct journal before = next.journal;
        written = saved_read(source, i, &record, error) &&
                  journal_append(&next.journal, (struct span){record.data, record.length}, &torn,
                                 error) &&
                  (add_call(&next, &before) || error_set(error, ENOMEM, "its journal"));
    }
    const bool has_image = source == saved && saved->image.number && saved->image.number <= count;
    written = written && (!has_image || append_image(&next.journal, &saved->image, &torn, error));
    /* An empty one loses nothing; it is made with the first call, which should not wait. */
    if (written && ((count && fdatasync(fd) != 0) ||
                    renameat(saved->directory, name, saved->directory, "journal") != 0))
        written = error_set(error, errno, "its journal cannot be written");
    if (!written) {
        unlinkat(saved->directory, name, 0);
        free(next.calls);
        return false;
    }
    if (saved->journal.fd >= 0)
        close(saved->journal.fd);
    free(saved->calls);
    saved->journal = next.journal;
    saved->journal.fd = steal_fd(&fd);
    saved->calls = next.calls;
    saved->count = next.count;
    saved->capacity = next.capacity;
    if (!has_image)
        saved->image.number = 0;
    saved->renamed = true;
    saved->torn = false;
    return true;
}

/* Copies what follows the last good record into a file beside the journal, and cuts it off. */
static bool set_aside(struct saved *saved, uint64_t size, struct error *error) {
    enum { FILES_MAX = 1000, PIECE_BYTES = 64 << 10 };
    char name[32], piece[PIECE_BYTES];
    int fd = -1;
    for (int i = 1; i <= FILES_MAX && fd < 0; i++) {
        snprintf(name, sizeof name, "left-out.%d", i);
        fd = openat(saved->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    cleanup_fd int own = fd;
    uint64_t offset = saved->journal.end;
    bool done = own >= 0;
    while (done && offset < size) {
        ssize_t got = pread(saved->journal.fd, piece, sizeof piece, (off_t)offset);
        done = got > 0 && write_all(own, piece, (size_t)got);
        offset += got > 0 ? (uint64_t)got : 0;
    }
    if (!done || fdatasync(own) != 0 ||
        ftruncate(saved->journal.fd, (off_t)saved->journal.end) != 0) {
        error_set(error, errno, "what is damaged in its journal cannot be set aside");
        if (own >= 0)
            unlinkat(saved->directory, name, 0);
        return false;
    }
    saved->left_out = size - saved->journal.end;
    return true;
}

/* Reads the records. False with *error if there is nothing that could be brought back. */
static bool read_records(struct saved *saved, struct error *error) {
    cleanup_buffer struct buffer bytes = buffer_make(JOURNAL_RECORD_MAX);
    struct error cause;
    struct journal_record record;
    struct stat status;
    struct journal before = saved->journal;
    bool begun = false;
    int more;
    while ((more = journal_next(&saved->journal, &bytes, &cause)) > 0) {
        const bool lawful = record_decode((struct span){bytes.data, bytes.length}, &record);
        if (!begun && (!lawful || record.kind != RECORD_OPEN ||
                       !span_equal(record.text, string_span(saved->name))))
            return error_set(error, 0, "its journal is that of another session");
        if (begun && (!lawful || !apply(saved, &record, &before))) {
            saved->journal = before;
            more = -1;
            break;
        }
        begun = true;
        before = saved->journal;
    }
    if (!begun)
        return error_set(error, 0, "its journal is damaged from its beginning on, or foreign");
    if (fstat(saved->journal.fd, &status) != 0)
        return error_set(error, errno, "its journal cannot be examined");
    return more == 0 || set_aside(saved, (uint64_t)status.st_size, error);
}

/* Bytes of the journal that are of no call in force. */
static uint64_t dead_bytes(const struct saved *saved) {
    uint64_t live = 0;
    cleanup_buffer struct buffer record = buffer_make(JOURNAL_RECORD_MAX);
    for (size_t i = 0; i < saved->count; i++)
        if (saved_read(saved, i, &record, NULL))
            live += journal_bytes((struct span){record.data, record.length});
    return saved->journal.end - live;
}

/* --- images --- */

static const char new_image[] = "image.new";

enum { FILE_NAME_BYTES = sizeof "image." + 16 };

/* Another image has another name, so that a journal never names a file that is another's. */
static void name_image(char name[FILE_NAME_BYTES], const struct saved_image *image) {
    memcpy(name, "image.", sizeof "image.");
    sodium_bin2hex(name + sizeof "image." - 1, 17, image->facts.digest, 8);
}

/* Removes the images that the journal does not name, and what a process that was killed had begun
 * to write. */
static void sweep_files(const struct saved *saved) {
    char name[FILE_NAME_BYTES] = "";
    cleanup_dir DIR *dir = list_of(saved->directory);
    if (saved->image.number)
        name_image(name, &saved->image);
    unlinkat(saved->directory, new_journal, 0);
    for (const struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        if (strncmp(entry->d_name, "image.", 6) == 0 && strcmp(entry->d_name, name) != 0)
            unlinkat(saved->directory, entry->d_name, 0);
}

int saved_make_image(const struct saved *saved, struct error *error) {
    unlinkat(saved->directory, new_image, 0);
    const int fd = openat(saved->directory, new_image,
                          O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        error_set(error, errno, "its image cannot be made");
    return fd;
}

/* The journal names it first: a file that it does not name would stay. One that it names and that
 * is not there is as none. */
bool saved_keep_image(struct saved *saved, const struct saved_image *image, struct error *error) {
    char name[FILE_NAME_BYTES];
    const struct saved_image before = saved->image;
    struct stat status;
    bool kept = !saved->torn && image->number >= 1 && image->number <= saved->count;
    if (!kept)
        error_set(error, 0, "its calls have changed since");
    if (kept && (fstatat(saved->directory, new_image, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
                 (uint64_t)status.st_size != image->facts.bytes))
        kept = error_set(error, 0, "its image is not there");
    kept = kept && append_image(&saved->journal, image, &saved->torn, error);
    name_image(name, image);
    if (kept && renameat(saved->directory, new_image, saved->directory, name) != 0)
        kept = error_set(error, errno, "its image cannot be put in place");
    if (kept)
        saved->image = *image;
    else
        unlinkat(saved->directory, new_image, 0);
    if (kept && before.number && memcmp(before.facts.digest, image->facts.digest, 8) != 0) {
        name_image(name, &before);
        unlinkat(saved->directory, name, 0);
    }
    saved->renamed = saved->renamed || kept;
    return kept;
}

int saved_open_image(const struct saved *saved, struct error *error) {
    char name[FILE_NAME_BYTES];
    struct stat status;
    name_image(name, &saved->image);
    cleanup_fd int fd = saved->image.number
                            ? openat(saved->directory, name,
                                     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                            : -1;
    if (fd < 0 || !is_private(fd, S_IFREG, error) || fstat(fd, &status) != 0 ||
        (uint64_t)status.st_size != saved->image.facts.bytes) {
        error_set(error, 0, fd < 0 ? "is not there" : "is damaged");
        return -1;
    }
    return steal_fd(&fd);
}

void saved_drop_new_image(const struct saved *saved) {
    unlinkat(saved->directory, new_image, 0);
}

void saved_drop_image(struct saved *saved) {
    saved->image.number = 0;
    sweep_files(saved);
}

static bool open_journal(struct saved *saved, struct error *error) {
    enum { DEAD_BYTES_MAX = 1 << 20 };
    struct error cause;
    saved->journal.fd = openat(saved->directory, "journal",
                               O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (saved->journal.fd < 0 && errno == ENOENT) {
        saved->created = true;
        return write_journal(saved, NULL, 0, error);
    }
    if (saved->journal.fd < 0)
        return error_set(error, errno, "its journal cannot be opened");
    const int fd = saved->journal.fd;
    if (!is_private(fd, S_IFREG, &cause) ||
        !journal_open(&saved->journal, fd, saved->store->key, &cause)) {
        saved->journal.fd = fd;
        return error_set(error, 0, "its journal %.300s", cause.text);
    }
    if (!read_records(saved, error))
        return false;
    if (saved->journal.end > DEAD_BYTES_MAX && dead_bytes(saved) > saved->journal.end / 2)
        write_journal(saved, saved, saved->count, &cause); /* if not, it stays as it is */
    return true;
}

/* --- opening --- */

/* Opens and locks the directory ENTRY. STORE_FAILED with errno. */
static enum store_end lock_directory(const struct store *store, const char *entry, int *fd) {
    struct stat opened, named;
    for (;;) {
        cleanup_fd int own =
            openat(store->fd, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (own < 0)
            return STORE_FAILED;
        if (flock(own, LOCK_EX | LOCK_NB) != 0)
            return errno == EWOULDBLOCK ? STORE_LOCKED : STORE_FAILED;
        /* it may have been removed or renamed since */
        if (fstat(own, &opened) == 0 &&
            fstatat(store->fd, entry, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
            opened.st_ino == named.st_ino && opened.st_dev == named.st_dev) {
            *fd = steal_fd(&own);
            return STORE_DONE;
        }
    }
}

/* Finds the session under either name of its directory, and locks it. */
static enum store_end find(const struct store *store, const char *name, bool *unnamed, int *fd) {
    const bool wanted = *unnamed;
    for (int i = 0; i < 2; i++) {
        char entry[ENTRY_BYTES];
        *unnamed = i == 1;
        encode_name(entry, name, *unnamed);
        const enum store_end end = lock_directory(store, entry, fd);
        if (end != STORE_FAILED || errno != ENOENT)
            return end;
    }
    *unnamed = wanted;
    errno = ENOENT;
    return STORE_FAILED;
}

static enum store_end locked(const char *name, struct error *error) {
    error_set(error, 0,
              "Session %s is in use by another server with the same state directory; choose "
              "another name, or end that server",
              name);
    return STORE_LOCKED;
}

/* The message does not begin with a name of a file, since clients see it. */
static enum store_end failed(const char *name, const struct error *cause, struct error *error) {
    error_set(error, 0, "What is saved of session %s cannot be used: %.300s", name, cause->text);
    return STORE_FAILED;
}

static bool make_directory(const struct store *store, const char *name, bool unnamed,
                           struct error *error) {
    char entry[ENTRY_BYTES];
    encode_name(entry, name, unnamed);
    return mkdirat(store->fd, entry, 0700) == 0 || errno == EEXIST ||
           error_set(error, errno, "its directory cannot be made");
}

enum store_end saved_open(const struct store *store, const char *name, bool unnamed, bool create,
                          struct saved **saved, struct error *error) {
    struct error cause;
    int fd = -1;
    enum store_end end = find(store, name, &unnamed, &fd);
    if (end == STORE_FAILED && errno == ENOENT && create) {
        if (!make_directory(store, name, unnamed, &cause))
            return failed(name, &cause, error);
        end = find(store, name, &unnamed, &fd);
    }
    if (end == STORE_LOCKED)
        return locked(name, error);
    if (end == STORE_FAILED) {
        error_set(&cause, errno, "its directory cannot be opened");
        return failed(name, &cause, error);
    }
    struct saved *made = calloc(1, sizeof *made);
    if (!made) {
        close(fd);
        error_set(&cause, ENOMEM, "it");
        return failed(name, &cause, error);
    }
    made->store = store;
    made->directory = fd;
    made->journal.fd = -1;
    made->unnamed = unnamed;
    snprintf(made->name, sizeof made->name, "%s", name);
    if (!open_journal(made, &cause)) {
        saved_close(made);
        return failed(name, &cause, error);
    }
    sweep_files(made);
    *saved = made;
    return STORE_DONE;
}

void saved_close(struct saved *saved) {
    if (!saved)
        return;
    if (saved->journal.fd >= 0)
        close(saved->journal.fd);
    close(saved->directory);
    free(saved->calls);
    free(saved);
}

/* --- looking --- */

bool store_visit(const struct store *store, const char *name, store_visitor visit, void *context,
                 struct error *error) {
    cleanup_buffer struct buffer bytes = buffer_make(JOURNAL_RECORD_MAX);
    struct journal journal;
    struct journal_record record;
    int fd = -1, more;
    for (int unnamed = 0; unnamed < 2 && fd < 0; unnamed++) {
        char entry[ENTRY_BYTES], path[ENTRY_BYTES + sizeof "/journal"];
        encode_name(entry, name, unnamed);
        snprintf(path, sizeof path, "%s/journal", entry);
        fd = openat(store->fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    }
    cleanup_fd int own = fd;
    if (own < 0)
        return error_set(error, 0, "no session of that name is saved");
    if (!journal_open(&journal, own, store->key, error))
        return false;
    while ((more = journal_next(&journal, &bytes, error)) > 0) {
        if (!record_decode((struct span){bytes.data, bytes.length}, &record))
            return error_set(error, 0, "a record is malformed");
        visit(context, &record);
    }
    return more == 0;
}

bool store_is_locked(const struct store *store, const struct store_entry *entry) {
    char name[ENTRY_BYTES];
    encode_name(name, entry->name, entry->unnamed);
    cleanup_fd int fd = openat(store->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0;
}

/* --- changes --- */

bool saved_append(struct saved *saved, struct span bytes, struct error *error) {
    struct journal_record record;
    const struct journal before = saved->journal;
    if (saved->torn)
        return error_set(error, 0, "its journal could not be repaired after a failed write");
    if (!record_decode(bytes, &record))
        return error_set(error, 0, "the record is malformed");
    if (!journal_append(&saved->journal, bytes, &saved->torn, error))
        return false;
    if (apply(saved, &record, &before))
        return true;
    saved->torn = !journal_return(&saved->journal, &before);
    return error_set(error, 0, "the record does not fit the journal");
}

void saved_take_back(struct saved *saved, const struct journal *before, size_t count) {
    cleanup_buffer struct buffer bytes = buffer_make(JOURNAL_RECORD_MAX);
    struct journal place = *before;
    struct journal_record record;
    const bool dropped = journal_next(&place, &bytes, NULL) <= 0 ||
                         !record_decode((struct span){bytes.data, bytes.length}, &record) ||
                         record.kind == RECORD_DROP; /* whose place in the list is lost */
    saved->torn = !journal_return(&saved->journal, before) || dropped;
    saved->count = count;
    if (saved->image.number > count)
        saved->image.number = 0;
}

bool saved_read(const struct saved *saved, size_t index, struct buffer *record,
                struct error *error) {
    struct error cause;
    if (index >= saved->count)
        return error_set(error, 0, "there is no such call");
    struct journal place = saved->journal;
    place.end = saved->calls[index].offset;
    memcpy(place.seal, saved->calls[index].seal, sizeof place.seal);
    return journal_next(&place, record, &cause) > 0 ||
           error_set(error, 0, "call %zu cannot be read: %.300s", index + 1, cause.text);
}

bool saved_return(struct saved *saved, size_t count, bool sync, struct error *error) {
    cleanup_buffer struct buffer bytes = buffer_make(1024);
    const struct journal_record record = {
        .kind = RECORD_RETURN, .number = count, .time_s = time(NULL)};
    const struct journal before = saved->journal;
    const size_t count_before = saved->count;
    if (!record_encode(&bytes, &record))
        return error_set(error, ENOMEM, "cannot be written");
    if (!saved_append(saved, (struct span){bytes.data, bytes.length}, error))
        return false;
    if (!sync || saved_sync(saved, error))
        return true;
    saved_take_back(saved, &before, count_before);
    return false;
}

bool saved_shorten(struct saved *saved, size_t count, struct error *error) {
    return write_journal(saved, saved, count < saved->count ? count : saved->count, error);
}

struct saved *saved_copy(const struct saved *saved, size_t count, const char *name,
                         struct error *error) {
    struct saved *copy;
    if (count > saved->count) {
        error_set(error, 0, "it has fewer calls");
        return NULL;
    }
    if (saved_open(saved->store, name, false, true, &copy, error) != STORE_DONE)
        return NULL;
    /* What another server left under this name is not this session's. */
    if (!copy->created || !write_journal(copy, saved, count, error)) {
        if (!copy->created)
            error_set(error, 0, "a session of that name is saved already");
        else
            store_remove(copy->store, name, copy, false, NULL);
        saved_close(copy);
        return NULL;
    }
    return copy;
}

bool saved_keep(struct saved *saved, struct error *error) {
    char from[ENTRY_BYTES], to[ENTRY_BYTES];
    if (!saved->unnamed)
        return true;
    encode_name(from, saved->name, true);
    encode_name(to, saved->name, false);
    if (renameat(saved->store->fd, from, saved->store->fd, to) != 0)
        return error_set(error, errno, "it cannot be renamed");
    saved->unnamed = false;
    saved->renamed = true;
    return true;
}

bool saved_sync(struct saved *saved, struct error *error) {
    if (fdatasync(saved->journal.fd) != 0 ||
        (saved->renamed && (fsync(saved->directory) != 0 || fsync(saved->store->fd) != 0)))
        return error_set(error, errno, "cannot be written to disk");
    saved->renamed = false;
    return true;
}

enum store_end store_remove(const struct store *store, const char *name, struct saved *saved,
                            bool sync, struct error *error) {
    char from[ENTRY_BYTES], to[40];
    unsigned char random[8];
    bool unnamed = saved ? saved->unnamed : false;
    cleanup_fd int fd = -1;
    const enum store_end end = saved ? STORE_DONE : find(store, name, &unnamed, &fd);
    if (end == STORE_LOCKED)
        return locked(name, error);
    if (end == STORE_FAILED && errno == ENOENT) {
        error_set(error, 0, "no session %s is saved", name);
        return STORE_FAILED;
    }
    randombytes_buf(random, sizeof random);
    char *digits = stpcpy(to, "x-");
    sodium_bin2hex(digits, 2 * sizeof random + 1, random, sizeof random);
    encode_name(from, name, unnamed);
    if (end == STORE_FAILED || renameat(store->fd, from, store->fd, to) != 0) {
        error_set(error, errno, "Session %s cannot be removed", name);
        return STORE_FAILED;
    }
    if (sync && fsync(store->fd) != 0) {
        error_set(error, errno, "Session %s cannot be removed", name);
        if (renameat(store->fd, to, store->fd, from) != 0 && saved)
            saved->torn = true; /* the next server removes it */
        return STORE_FAILED;
    }
    remove_files(saved ? saved->directory : fd);
    unlinkat(store->fd, to, AT_REMOVEDIR);
    return STORE_DONE;
}
