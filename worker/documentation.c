/* Looks up a key in ECL's help.doc, a constant database (cdb). Every offset in the file is checked.
 */
#include "worker/documentation.h"
#include "common/cleanup.h"
#include "common/utf8.h"
#include "worker/convert.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* A cdb has 256 pairs (offset of a hash table, its number of slots), the records (key length, value
 * length, key, value), and the hash tables of pairs (hash, offset of the record). */
enum { PAIR_BYTES = 8, TABLES = 256, HASH_START = 5381 };

static struct span file;

/* The path of the file in ECL's library directory. False if it is too long. */
static bool find_file(char *path, size_t size) {
    static const char name[] = "help.doc";
    cl_object directory = si_copy_to_simple_base_string(si_get_library_pathname());
    size_t length = directory->base_string.fillp;
    if (length + sizeof name > size)
        return false;
    memcpy(path, directory->base_string.self, length);
    memcpy(path + length, name, sizeof name);
    return true;
}

void documentation_open(void) {
    char path[PATH_MAX];
    if (!find_file(path, sizeof path))
        return;
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0 || status.st_size < (off_t)TABLES * PAIR_BYTES)
        return;
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes != MAP_FAILED)
        file = (struct span){bytes, (size_t)status.st_size};
}

/* The little-endian word at OFFSET; 0 outside the file. */
static uint32_t word(size_t offset) {
    if (offset > file.length || file.length - offset < sizeof(uint32_t))
        return 0;
    const unsigned char *at = file.bytes + offset;
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t hash(struct span key) {
    uint32_t value = HASH_START;
    for (size_t i = 0; i < key.length; i++)
        value = (value + (value << 5)) ^ key.bytes[i];
    return value;
}

/* The value of the record at OFFSET if its key is KEY, else no bytes. */
static struct span record_value(size_t offset, struct span key) {
    size_t key_length = word(offset);
    size_t value_length = word(offset + sizeof(uint32_t));
    size_t at = offset + PAIR_BYTES;
    if (key_length != key.length || at > file.length || file.length - at < key_length ||
        file.length - at - key_length < value_length ||
        memcmp(file.bytes + at, key.bytes, key_length) != 0)
        return (struct span){0};
    return (struct span){file.bytes + at + key_length, value_length};
}

static struct span look_up(struct span key) {
    if (!file.length)
        return (struct span){0};
    uint32_t wanted = hash(key);
    size_t table = (size_t)(wanted % TABLES) * PAIR_BYTES;
    size_t start = word(table);
    size_t slots = word(table + sizeof(uint32_t));
    for (size_t i = 0; i < slots; i++) {
        size_t slot = start + (wanted / TABLES + i) % slots * PAIR_BYTES;
        size_t offset = word(slot + sizeof(uint32_t));
        if (offset == 0)
            break;
        if (word(slot) != wanted)
            continue;
        struct span value = record_value(offset, key);
        if (value.bytes)
            return value;
    }
    return (struct span){0};
}

cl_object documentation_text(cl_object key) {
    if (ecl_t_of(key) != t_base_string)
        return ECL_NIL;
    struct span value = look_up((struct span){key->base_string.self, key->base_string.fillp});
    if (!value.bytes || !utf8_is_valid(value.bytes, value.length))
        return ECL_NIL;
    return convert_utf8_to_string(value);
}
