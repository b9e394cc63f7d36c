/* Reading and writing of journals. */
#include "supervisor/state/journal.h"
#include "common/descriptor.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

static const char magic[16] = "eclave journal\n\1"; /* the last byte is the version */

struct header {
    char magic[sizeof magic];
    unsigned char nonce[16]; /* no two files share their seals */
};

struct record_header {
    uint32_t length;
    unsigned char seal[JOURNAL_SEAL_BYTES];
};

/* SEAL becomes the seal of what it sealed and these bytes after it. */
static void seal_bytes(unsigned char *seal, const unsigned char *key, const void *bytes,
                       size_t length) {
    const uint32_t size = (uint32_t)length;
    crypto_generichash_state state;
    crypto_generichash_init(&state, key, JOURNAL_KEY_BYTES, JOURNAL_SEAL_BYTES);
    crypto_generichash_update(&state, seal, JOURNAL_SEAL_BYTES);
    crypto_generichash_update(&state, (const unsigned char *)&size, sizeof size);
    crypto_generichash_update(&state, bytes, length);
    crypto_generichash_final(&state, seal, JOURNAL_SEAL_BYTES);
}

/* The bytes read, fewer than SIZE at the end of the file; -1 with errno. */
static ssize_t read_at(int fd, void *bytes, size_t size, uint64_t offset) {
    size_t have = 0;
    while (have < size) {
        ssize_t got = pread(fd, (char *)bytes + have, size - have, (off_t)(offset + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

static void start(struct journal *journal, int fd, const unsigned char *key,
                  const struct header *header) {
    *journal = (struct journal){.fd = fd, .key = key, .end = sizeof *header};
    seal_bytes(journal->seal, key, header, sizeof *header);
}

bool journal_begin(struct journal *journal, int fd, const unsigned char *key, struct error *error) {
    struct header header;
    memcpy(header.magic, magic, sizeof magic);
    randombytes_buf(header.nonce, sizeof header.nonce);
    if (!write_all_at(fd, &header, sizeof header, 0))
        return error_set(error, errno, "cannot be written");
    start(journal, fd, key, &header);
    return true;
}

bool journal_open(struct journal *journal, int fd, const unsigned char *key, struct error *error) {
    struct header header;
    const ssize_t got = read_at(fd, &header, sizeof header, 0);
    if (got < 0)
        return error_set(error, errno, "cannot be read");
    if (got != (ssize_t)sizeof header || memcmp(header.magic, magic, sizeof magic - 1) != 0)
        return error_set(error, 0, "is not a journal");
    if (header.magic[sizeof magic - 1] != magic[sizeof magic - 1])
        return error_set(error, 0, "is of another version of eclave");
    start(journal, fd, key, &header);
    return true;
}

int journal_next(struct journal *journal, struct buffer *record, struct error *error) {
    struct record_header header;
    unsigned char seal[JOURNAL_SEAL_BYTES];
    record->length = 0;
    ssize_t got = read_at(journal->fd, &header, sizeof header, journal->end);
    if (got == 0)
        return 0;
    if (got != (ssize_t)sizeof header || header.length > JOURNAL_RECORD_MAX) {
        error_set(error, got < 0 ? errno : 0, "no whole record");
        return -1;
    }
    unsigned char *room = buffer_reserve(record, header.length);
    got = room ? read_at(journal->fd, room, header.length, journal->end + sizeof header) : -1;
    if (got != (ssize_t)header.length) {
        error_set(error, got < 0 ? errno : 0, "no whole record");
        return -1;
    }
    record->length = header.length;
    memcpy(seal, journal->seal, sizeof seal);
    seal_bytes(seal, journal->key, record->data, record->length);
    if (sodium_memcmp(seal, header.seal, sizeof seal) != 0) {
        record->length = 0;
        error_set(error, 0, "a record is damaged or foreign");
        return -1;
    }
    memcpy(journal->seal, seal, sizeof seal);
    journal->end += sizeof header + header.length;
    return 1;
}

bool journal_append(struct journal *journal, struct span record, bool *torn, struct error *error) {
    struct record_header header = {.length = (uint32_t)record.length};
    *torn = false;
    if (record.length > JOURNAL_RECORD_MAX)
        return error_set(error, EFBIG, "cannot be written");
    memcpy(header.seal, journal->seal, sizeof header.seal);
    seal_bytes(header.seal, journal->key, record.bytes, record.length);
    if (!write_all_at(journal->fd, &header, sizeof header, journal->end) ||
        !write_all_at(journal->fd, record.bytes, record.length, journal->end + sizeof header)) {
        error_set(error, errno, "cannot be written");
        *torn = ftruncate(journal->fd, (off_t)journal->end) != 0;
        return false;
    }
    memcpy(journal->seal, header.seal, sizeof journal->seal);
    journal->end += sizeof header + record.length;
    return true;
}

uint64_t journal_bytes(struct span record) {
    return sizeof(struct record_header) + record.length;
}

bool journal_return(struct journal *journal, const struct journal *before) {
    *journal = *before;
    return ftruncate(journal->fd, (off_t)journal->end) == 0;
}
