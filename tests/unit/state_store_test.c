/* supervisor/state: what a damaged journal is read as, byte by byte; the records; the names of
 * directories. */
#include "supervisor/state/store.h"
#include "tests/support/lines.h"
#include "tests/support/random.h"
#include "tests/support/saved.h"

#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct store store;

static void begin(void) {
    struct error error;
    cr_assert_geq(sodium_init(), 0);
    saved_begin();
    cr_assert(store_open(&store, saved_path(), true, &error), "%s", error.text);
}

static void end(void) {
    store_close(&store);
    saved_end();
}

TestSuite(state_store, .init = begin, .fini = end);

static struct saved *open_session(const char *name, bool create) {
    struct saved *saved = NULL;
    struct error error;
    cr_assert_eq(saved_open(&store, name, false, create, &saved, &error), STORE_DONE, "%s",
                 error.text);
    return saved;
}

static bool append(struct saved *saved, const struct journal_record *record) {
    struct error error;
    struct buffer bytes = buffer_make(1 << 20);
    cr_assert(record_encode(&bytes, record));
    bool done = saved_append(saved, (struct span){bytes.data, bytes.length}, &error);
    buffer_free(&bytes);
    return done;
}

static void append_call(struct saved *saved, const char *text) {
    cr_assert(
        append(saved, &(struct journal_record){.kind = RECORD_CALL, .text = string_span(text)}));
}

/* The texts of the calls in force, with a space after each. */
static const char *calls_of(const struct saved *saved) {
    static char text[1000];
    struct journal_record record;
    struct buffer bytes = buffer_make(1 << 20);
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < saved->count; i++) {
        struct error error;
        cr_assert(saved_read(saved, i, &bytes, &error), "%s", error.text);
        cr_assert(record_decode((struct span){bytes.data, bytes.length}, &record));
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s ", (int)record.text.length,
                                 (const char *)record.text.bytes);
        cr_assert_lt(used, sizeof text);
    }
    buffer_free(&bytes);
    return text;
}

static void expect_calls(const char *name, const char *calls) {
    struct saved *saved = open_session(name, false);
    cr_assert_str_eq(calls_of(saved), calls);
    saved_close(saved);
}

Test(state_store, calls_returns_and_drops_make_the_list) {
    struct saved *saved = open_session("x", true);
    cr_assert(saved->created);
    append_call(saved, "a");
    append_call(saved, "b");
    append_call(saved, "c");
    cr_assert(append(saved, &(struct journal_record){.kind = RECORD_DROP, .number = 2}));
    append_call(saved, "d");
    cr_assert_str_eq(calls_of(saved), "a c d ");
    cr_assert(append(saved, &(struct journal_record){.kind = RECORD_RETURN, .number = 1}));
    append_call(saved, "e");
    cr_assert_not(append(saved, &(struct journal_record){.kind = RECORD_RETURN, .number = 3}));
    cr_assert_not(append(saved, &(struct journal_record){.kind = RECORD_DROP, .number = 0}));
    cr_assert_not(append(saved, &(struct journal_record){.kind = RECORD_DROP, .number = 3}));
    cr_assert_not(
        append(saved, &(struct journal_record){.kind = RECORD_OPEN, .text = string_span("x")}));
    saved_close(saved);
    expect_calls("x", "a e ");
}

Test(state_store, a_copy_a_short_one_and_a_long_one) {
    struct error error;
    struct saved *saved = open_session("x", true);
    append_call(saved, "a");
    append_call(saved, "b");
    struct saved *copy = saved_copy(saved, 1, "y", &error);
    cr_assert_not_null(copy, "%s", error.text);
    cr_assert_null(saved_copy(saved, 1, "y", &error)); /* it is open */
    append_call(copy, "c");
    saved_close(copy);
    cr_assert_null(saved_copy(saved, 1, "y", &error)); /* it is there */
    cr_assert(saved_shorten(saved, 0, &error), "%s", error.text);
    append_call(saved, "d");
    saved_close(saved);
    expect_calls("y", "a c ");
    expect_calls("x", "d ");
    /* Most of it is of no call: it is written anew when it is opened. */
    char *large = calloc(1, 900001);
    memset(large, 'z', 900000);
    saved = open_session("x", false);
    append_call(saved, large);
    append_call(saved, large);
    cr_assert(append(saved, &(struct journal_record){.kind = RECORD_RETURN, .number = 1}));
    saved_close(saved);
    expect_calls("x", "d ");
    struct stat status;
    cr_assert_eq(stat(saved_file("s-x", "journal"), &status), 0);
    cr_assert_lt(status.st_size, 1000);
    free(large);
}

/* --- images --- */

/* Writes TEXT as the image after NUMBER calls. */
static bool keep_image(struct saved *saved, uint64_t number, const char *text) {
    struct saved_image image = {.number = number, .facts = {.bytes = strlen(text)}};
    struct error error;
    int fd = saved_make_image(saved, &error);
    cr_assert(fd >= 0, "%s", error.text);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    memcpy(image.facts.digest, text, strlen(text));
    return saved_keep_image(saved, &image, &error);
}

/* Opens the session X, whose image is TEXT, after NUMBER calls; NULL: it has none. */
static struct saved *expect_image(uint64_t number, const char *text) {
    struct saved *saved = open_session("x", false);
    struct error error;
    int fd = saved_open_image(saved, &error);
    cr_assert_eq(saved->image.number, text ? number : 0);
    cr_assert_eq(fd >= 0, text != NULL);
    if (text) {
        char bytes[64] = "";
        cr_assert_eq(read(fd, bytes, sizeof bytes - 1), (ssize_t)strlen(text));
        cr_assert_str_eq(bytes, text);
        close(fd);
    }
    return saved;
}

Test(state_store, an_image_is_that_of_calls_in_force) {
    struct saved *saved = open_session("x", true);
    append_call(saved, "a");
    append_call(saved, "b");
    cr_assert(keep_image(saved, 1, "one"));
    cr_assert_not(keep_image(saved, 3, "three"));
    cr_assert_not(keep_image(saved, 0, "none"));
    append_call(saved, "c");
    saved_close(saved);
    saved = expect_image(1, "one");
    cr_assert(keep_image(saved, 3, "three"));
    saved_close(saved);
    saved = expect_image(3, "three");
    cr_assert(append(saved, &(struct journal_record){.kind = RECORD_RETURN, .number = 3}));
    saved_close(saved);
    saved = expect_image(3, "three");
    cr_assert(append(saved, &(struct journal_record){.kind = RECORD_RETURN, .number = 2}));
    append_call(saved, "d"); /* another third call */
    saved_close(saved);
    saved = expect_image(0, NULL);
    cr_assert(keep_image(saved, 2, "two"));
    cr_assert(append(saved, &(struct journal_record){.kind = RECORD_DROP, .number = 3}));
    saved_close(saved);
    saved = expect_image(2, "two");
    cr_assert(append(saved, &(struct journal_record){.kind = RECORD_DROP, .number = 1}));
    saved_close(saved);
    saved_close(expect_image(0, NULL));
    expect_calls("x", "b ");
}

static size_t count_images(const char *entry) {
    DIR *dir = opendir(saved_file(entry, ""));
    const struct dirent *file;
    size_t count = 0;
    while (dir && (file = readdir(dir)) != NULL)
        count += strncmp(file->d_name, "image.", 6) == 0;
    if (dir)
        closedir(dir);
    return count;
}

Test(state_store, a_journal_that_is_written_anew_names_its_image) {
    struct error error;
    struct saved *saved = open_session("x", true);
    append_call(saved, "a");
    append_call(saved, "b");
    cr_assert(keep_image(saved, 1, "one"));
    cr_assert(saved_shorten(saved, 1, &error));
    saved_close(saved);
    saved = expect_image(1, "one");
    struct saved *copy = saved_copy(saved, 1, "y", &error);
    cr_assert_eq(copy->image.number, 0);
    saved_close(copy);
    cr_assert(saved_shorten(saved, 0, &error));
    saved_close(saved);
    saved_close(expect_image(0, NULL));
    cr_assert_eq(count_images("s-x"), 0);
}

Test(state_store, files_that_the_journal_does_not_name_are_removed) {
    struct error error;
    struct saved *saved = open_session("x", true);
    append_call(saved, "a");
    cr_assert(keep_image(saved, 1, "one"));
    cr_assert(keep_image(saved, 1, "other"));
    cr_assert_eq(count_images("s-x"), 1);
    close(saved_make_image(saved, &error)); /* never kept */
    cr_assert_eq(count_images("s-x"), 2);
    saved_close(saved);
    saved = expect_image(1, "other");
    cr_assert_eq(count_images("s-x"), 1);
    saved_drop_image(saved);
    cr_assert_eq(count_images("s-x"), 0);
    saved_close(saved);
    saved = open_session("x", false); /* the journal names it still */
    cr_assert_lt(saved_open_image(saved, &error), 0);
    saved_close(saved);
    expect_calls("x", "a ");
}

Test(state_store, an_image_of_another_length_is_refused) {
    struct error error;
    struct saved *saved = open_session("x", true);
    append_call(saved, "a");
    int fd = saved_make_image(saved, &error);
    close(fd);
    const struct saved_image image = {.number = 1, .facts = {.bytes = 4}};
    cr_assert_not(saved_keep_image(saved, &image, &error));
    cr_assert(keep_image(saved, 1, "one"));
    saved_close(saved);
    saved = expect_image(1, "one");
    cr_assert_eq(truncate(saved_file("s-x", "image.6f6e650000000000"), 2), 0);
    cr_assert_lt(saved_open_image(saved, &error), 0);
    saved_close(saved);
}

Test(state_store, what_is_taken_back_was_never_there) {
    struct saved *saved = open_session("x", true);
    append_call(saved, "a");
    append_call(saved, "b");
    struct journal before = saved->journal;
    append_call(saved, "c");
    saved_take_back(saved, &before, 2);
    cr_assert_str_eq(calls_of(saved), "a b ");
    cr_assert(append(saved, &(struct journal_record){.kind = RECORD_RETURN, .number = 0}));
    saved_take_back(saved, &before, 2);
    append_call(saved, "d");
    cr_assert_str_eq(calls_of(saved), "a b d ");
    saved_close(saved);
    expect_calls("x", "a b d ");
}

/* --- damage --- */

static char *read_file(const char *path, size_t *size) {
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert(fd >= 0 && fstat(fd, &status) == 0);
    char *bytes = malloc((size_t)status.st_size + 1);
    *size = (size_t)read(fd, bytes, (size_t)status.st_size);
    close(fd);
    return bytes;
}

static void write_file(const char *path, const char *bytes, size_t size) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    cr_assert(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

/* Opens the session, which must have the calls "a b c " up to one of them; no more than *count is
 * allowed, and becomes their number. Then one call more can be saved, and is there. */
static void expect_prefix(size_t least, size_t *count) {
    static const char *const prefixes[] = {"", "a ", "a b ", "a b c "};
    struct saved *saved = NULL;
    struct error error;
    const enum store_end opened = saved_open(&store, "x", false, false, &saved, &error);
    if (opened != STORE_DONE) {
        cr_assert_eq(least, 0, "%s", error.text);
        expect_contains(error.text, "What is saved of session x cannot be used");
        *count = 0;
        return;
    }
    cr_assert_leq(saved->count, 3);
    cr_assert_geq(saved->count, least);
    cr_assert_str_eq(calls_of(saved), prefixes[saved->count]);
    *count = saved->count;
    append_call(saved, "new");
    saved_close(saved);
    expect_calls("x", formatted("%snew ", prefixes[*count]));
}

static void make_three(size_t ends[4]) {
    struct saved *saved = open_session("x", true);
    static const char *const texts[] = {"a", "b", "c"};
    ends[0] = (size_t)saved->journal.end;
    for (size_t i = 0; i < 3; i++) {
        append_call(saved, texts[i]);
        ends[i + 1] = (size_t)saved->journal.end;
    }
    saved_close(saved);
}

/* The calls whose records end at or before SIZE. */
static size_t whole_calls(const size_t ends[4], size_t size) {
    size_t count = 0;
    while (count < 3 && ends[count + 1] <= size)
        count++;
    return count;
}

Test(state_store, every_byte_may_be_damaged) {
    size_t ends[4], size, count;
    make_three(ends);
    char *path = strdup(saved_file("s-x", "journal"));
    char *bytes = read_file(path, &size);
    for (size_t i = 0; i < size; i++)
        for (unsigned bit = 0; bit < 8; bit += 7) {
            bytes[i] ^= (char)(1U << bit);
            write_file(path, bytes, size);
            bytes[i] ^= (char)(1U << bit);
            expect_prefix(whole_calls(ends, i), &count);
            cr_assert_eq(count, whole_calls(ends, i), "byte %zu", i);
        }
    free(path);
    free(bytes);
}

Test(state_store, the_file_may_end_anywhere_and_go_on_with_anything) {
    size_t ends[4], size, count;
    make_three(ends);
    char *path = strdup(saved_file("s-x", "journal"));
    char *bytes = read_file(path, &size);
    for (size_t i = 0; i <= size; i++) {
        write_file(path, bytes, i);
        expect_prefix(i < ends[0] ? 0 : whole_calls(ends, i), &count);
        cr_assert_eq(count, whole_calls(ends, i), "%zu bytes", i);
    }
    char *longer = calloc(1, size + 1000); /* zeros, as after a power cut */
    memcpy(longer, bytes, size);
    for (size_t more = 1; more < 1000; more += 37) {
        write_file(path, longer, size + more);
        expect_prefix(3, &count);
    }
    free(longer);
    free(path);
    free(bytes);
}

/* Of another session, and of another directory, whose key is another. */
Test(state_store, a_foreign_journal_is_refused) {
    size_t ends[4], size;
    struct error error;
    struct saved *saved;
    make_three(ends);
    saved_close(open_session("y", true));
    char *bytes = read_file(saved_file("s-x", "journal"), &size);
    write_file(saved_file("s-y", "journal"), bytes, size);
    cr_assert_eq(saved_open(&store, "y", false, false, &saved, &error), STORE_FAILED);
    expect_contains(error.text, "another session");
    store.key[0] ^= 1;
    cr_assert_eq(saved_open(&store, "x", false, false, &saved, &error), STORE_FAILED);
    store.key[0] ^= 1;
    bytes[15]++; /* the version */
    write_file(saved_file("s-x", "journal"), bytes, size);
    cr_assert_eq(saved_open(&store, "x", false, false, &saved, &error), STORE_FAILED);
    expect_contains(error.text, "is of another version of eclave");
    free(bytes);
}

Test(state_store, what_is_damaged_is_set_aside) {
    size_t ends[4], size, left;
    make_three(ends);
    char *path = strdup(saved_file("s-x", "journal"));
    char *bytes = read_file(path, &size);
    bytes[ends[1] + 3] ^= 1;
    write_file(path, bytes, size);
    struct saved *saved = open_session("x", false);
    cr_assert_eq(saved->left_out, size - ends[1]);
    saved_close(saved);
    char *rest = read_file(saved_file("s-x", "left-out.1"), &left);
    cr_assert_eq(left, size - ends[1]);
    cr_assert_arr_eq(rest, bytes + ends[1], left);
    free(rest);
    free(path);
    free(bytes);
}

/* --- names --- */

Test(state_store, any_name_is_a_directory_of_its_own) {
    static const char *const names[] = {"a",    "A", "=",  "=41", "..",  "/",  "a/b",
                                        "\xff", " ", "\n", "s-a", "key", "x-1"};
    size_t count;
    struct error error;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        saved_close(open_session(names[i], true));
    struct store_entry *list = store_list(&store, &count, &error);
    cr_assert_eq(count, COUNT_OF(names));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t found = 0;
        for (size_t j = 0; j < count; j++)
            found += strcmp(list[j].name, names[i]) == 0;
        cr_assert_eq(found, 1, "%s", names[i]);
        cr_assert_eq(store_remove(&store, names[i], NULL, false, &error), STORE_DONE);
    }
    free(list);
    list = store_list(&store, &count, &error);
    cr_assert_eq(count, 0);
    free(list);
}

Test(state_store, what_is_no_session_is_not_listed) {
    static const char *const others[] = {"s-", "s-A", "s-=4", "s-=GG", "s-=61", "t-a", "s"};
    size_t count;
    struct error error;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        cr_assert_eq(mkdir(formatted("%s/%s", saved_path(), others[i]), 0700), 0);
    struct store_entry *list = store_list(&store, &count, &error);
    cr_assert_eq(count, 0);
    free(list);
}

/* --- records --- */

Test(state_store, hostile_records_are_refused_or_read_within_their_bytes) {
    struct random random = random_for("records");
    const struct journal_record whole = {.kind = RECORD_CALL,
                                         .is_run = true,
                                         .run = 2,
                                         .text = string_span("text"),
                                         .condition = string_span("TYPE"),
                                         .answers = string_span("123456789")};
    struct buffer bytes = buffer_make(1000);
    struct journal_record record;
    struct span answers, answer;
    cr_assert(record_encode(&bytes, &whole));
    for (size_t length = 0; length < bytes.length; length++) {
        unsigned char *part = malloc(length + 1); /* so that a read past it is seen */
        memcpy(part, bytes.data, length);
        if (record_decode((struct span){part, length}, &record))
            cr_assert(record.text.bytes && record.text.length == 4);
        free(part);
    }
    for (size_t i = 0; i < random_trials(20000, 1000000); i++) {
        unsigned char copy[200];
        memcpy(copy, bytes.data, bytes.length);
        for (size_t j = random_below(&random, 4); j < 4; j++)
            copy[random_below(&random, bytes.length)] = (unsigned char)random_bits(&random);
        if (!record_decode((struct span){copy, bytes.length}, &record))
            continue;
        answers = record.answers;
        while (record_take_answer(&answers, &answer))
            cr_assert_leq(answer.length, bytes.length);
    }
    buffer_free(&bytes);
}
