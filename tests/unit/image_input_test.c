/* blake2b and image_input: what of a file counts as a change. */
#include "common/blake2b.h"
#include "common/image_input.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Test(blake2b, is_that_of_libsodium_for_every_length_and_division) {
    enum { LONGEST = 600 };
    unsigned char bytes[LONGEST], expected[BLAKE2B_BYTES], got[BLAKE2B_BYTES];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + 1);
    for (size_t length = 0; length <= LONGEST; length++)
        for (size_t piece = 1; piece <= LONGEST; piece += 1 + piece / 2) {
            struct blake2b hash;
            crypto_generichash(expected, sizeof expected, bytes, length, NULL, 0);
            blake2b_begin(&hash);
            for (size_t at = 0; at < length; at += piece)
                blake2b_add(&hash, bytes + at, length - at < piece ? length - at : piece);
            blake2b_end(&hash, got);
            cr_assert_arr_eq(got, expected, sizeof got, "%zu bytes in pieces of %zu", length,
                             piece);
        }
}

static char folder[] = "/tmp/eclave-input-XXXXXX";
static char path[64];

static void set_up(void) {
    cr_assert_neq(mkdtemp(folder), NULL);
    snprintf(path, sizeof path, "%s/x", folder);
}

static void tear_down(void) {
    unlink(path);
    rmdir(path);
    rmdir(folder);
}

TestSuite(image_input, .init = set_up, .fini = tear_down);

static void write_text(const char *text) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

/* Both right after a change, and as it is when the time of the file tells. */
static struct image_input describe(const char *name, bool content) {
    struct image_input input;
    image_input_describe(name, content, &input);
    return input;
}

Test(image_input, the_bytes_of_a_file_count_and_nothing_else) {
    write_text("one");
    struct image_input one = describe(path, true);
    cr_expect_eq(one.kind, IMAGE_INPUT_FILE);
    cr_expect_eq(one.inode, 0, "a file that has just changed is not known by its time");
    cr_expect(image_input_holds(&one, path));
    write_text("two");
    cr_expect_not(image_input_holds(&one, path));
    unlink(path);
    cr_expect_not(image_input_holds(&one, path));
    write_text("one");
    cr_expect(chmod(path, 0640) == 0 && image_input_holds(&one, path));
    unlink(path);
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_expect_not(image_input_holds(&one, path));
}

Test(image_input, the_names_in_a_directory_count) {
    struct image_input empty = describe(folder, true);
    cr_expect_eq(empty.kind, IMAGE_INPUT_DIRECTORY);
    write_text("one");
    cr_expect_not(image_input_holds(&empty, folder));
    struct image_input full = describe(folder, true);
    write_text("two");
    cr_expect(image_input_holds(&full, folder));
    unlink(path);
    cr_expect(image_input_holds(&empty, folder));
    cr_expect_not(image_input_holds(&full, folder));
}

Test(image_input, absence_and_presence_count) {
    struct image_input absent = describe(path, false);
    cr_expect_eq(absent.kind, IMAGE_INPUT_ABSENT);
    cr_expect(image_input_holds(&absent, path));
    write_text("one");
    cr_expect_not(image_input_holds(&absent, path));
    struct image_input present = describe(path, false);
    cr_expect_eq(present.kind, IMAGE_INPUT_PRESENT);
    write_text("two");
    cr_expect(image_input_holds(&present, path));
    unlink(path);
    cr_expect_not(image_input_holds(&present, path));
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_expect_eq(describe(path, true).kind, IMAGE_INPUT_PRESENT, "a fifo is not waited for");
}

/* --- records --- */

static _Alignas(8) char records[512];

static size_t make_records(void) {
    size_t size = 0;
    static const char *const names[] = {"/a", "/bc", "/12345678"};
    memset(records, 0, sizeof records);
    for (size_t i = 0; i < 3; i++) {
        struct image_input *input = (void *)(records + size);
        input->kind = IMAGE_INPUT_PRESENT;
        input->path_bytes = (uint32_t)strlen(names[i]) + 1;
        memcpy(input + 1, names[i], input->path_bytes);
        size += image_input_bytes(input->path_bytes);
    }
    return size;
}

/* The number of records until the end or a bad one; *offset is where that is. */
static size_t count_records(size_t size, size_t *offset) {
    const char *name;
    size_t count = 0;
    for (*offset = 0; image_input_next(records, size, offset, &name); count++)
        cr_assert(name[0] == '/' && strlen(name) < sizeof records);
    return count;
}

Test(image_input, records_are_read_to_the_first_bad_one) {
    size_t offset, size = make_records();
    cr_expect_eq(count_records(size, &offset), 3);
    cr_expect_eq(offset, size);
    for (size_t cut = 0; cut < size; cut++) {
        count_records(cut, &offset);
        cr_expect(offset <= cut);
    }
    struct image_input *second = (void *)(records + image_input_bytes(sizeof "/a"));
#define BAD(change)                                                                                \
    do {                                                                                           \
        make_records();                                                                            \
        change;                                                                                    \
        cr_expect_eq(count_records(size, &offset), 1, "%s", #change);                              \
    } while (0)
    BAD(second->kind = IMAGE_INPUT_PRESENT + 1);
    BAD(second->path_bytes = 0);
    BAD(second->path_bytes = 3);
    BAD(second->path_bytes = 5);
    BAD(second->path_bytes = 300);
    BAD(second->path_bytes = UINT32_MAX);
    BAD(*(char *)(second + 1) = 'x');
}
