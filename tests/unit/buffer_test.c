/* common/buffer: grows to its maximum and no further; a failed append changes nothing. */
#include "common/buffer.h"
#include "tests/support/random.h"
#include <criterion/criterion.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void expect_contents(const struct buffer *buffer, const char *contents) {
    cr_assert_eq(buffer->length, strlen(contents));
    cr_assert(buffer->length == 0 || memcmp(buffer->data, contents, buffer->length) == 0);
}

Test(buffer, starts_empty_and_owns_nothing) {
    struct buffer buffer = buffer_make(10);
    cr_assert_eq(buffer.length, 0);
    cr_assert_null(buffer.data);
    cr_assert_not(buffer.failed);
    buffer_free(&buffer);
    buffer_free(&buffer);
    cr_assert_eq(buffer.maximum, 10);
}

Test(buffer, accepts_exactly_its_maximum) {
    cleanup_buffer struct buffer buffer = buffer_make(6);
    cr_assert(buffer_append(&buffer, "abc", 3));
    cr_assert(buffer_append_text(&buffer, "def"));
    cr_assert_not(buffer.failed);
    cr_assert_not(buffer_append(&buffer, "g", 1));
    cr_assert(buffer.failed);
    expect_contents(&buffer, "abcdef");
}

Test(buffer, a_failed_append_appends_nothing_and_is_remembered) {
    cleanup_buffer struct buffer buffer = buffer_make(5);
    buffer_append_text(&buffer, "abc");
    cr_assert_not(buffer_append_text(&buffer, "too long"));
    expect_contents(&buffer, "abc");
    cr_assert(buffer_append_text(&buffer, "de"));
    cr_assert(buffer.failed, "a later success must not hide the failure");
    expect_contents(&buffer, "abcde");
}

Test(buffer, sizes_that_would_overflow_are_refused) {
    cleanup_buffer struct buffer buffer = buffer_make(SIZE_MAX);
    buffer_append_text(&buffer, "abc");
    cr_assert_null(buffer_reserve(&buffer, SIZE_MAX));
    cr_assert_null(buffer_reserve(&buffer, SIZE_MAX - 2));
    cr_assert(buffer.failed);
    expect_contents(&buffer, "abc");
}

Test(buffer, appending_nothing_succeeds_even_without_a_buffer) {
    cleanup_buffer struct buffer buffer = buffer_make(4);
    cr_assert(buffer_append(&buffer, NULL, 0));
    cr_assert(buffer_append_text(&buffer, "full"));
    cr_assert(buffer_append(&buffer, NULL, 0));
    cr_assert(buffer_append_text(&buffer, ""));
    cr_assert_not(buffer.failed);
}

Test(buffer, a_maximum_of_zero_accepts_nothing) {
    cleanup_buffer struct buffer buffer = buffer_make(0);
    cr_assert_not(buffer_append(&buffer, "a", 1));
    cr_assert_eq(buffer.length, 0);
}

Test(buffer, formats) {
    cleanup_buffer struct buffer buffer = buffer_make(100);
    cr_assert(buffer_append_format(&buffer, "%d-%s", 42, "x"));
    cr_assert(buffer_append_format(&buffer, "%s", ""));
    cr_assert(buffer_append_format(&buffer, "|%zu", (size_t)7));
    expect_contents(&buffer, "42-x|7");
    cr_assert_not(buffer_append_format(&buffer, "%200d", 1));
    expect_contents(&buffer, "42-x|7");
}

Test(buffer, a_formatted_string_may_use_the_last_byte) {
    cleanup_buffer struct buffer buffer = buffer_make(4);
    cr_assert(buffer_append_format(&buffer, "%d", 1234));
    expect_contents(&buffer, "1234");
}

Test(buffer, is_a_string_unless_it_failed) {
    cleanup_buffer struct buffer buffer = buffer_make(4);
    cr_assert_str_eq(buffer_string(&buffer, "other"), "");
    buffer_append_text(&buffer, "abc");
    cr_assert_str_eq(buffer_string(&buffer, "other"), "abc");
    expect_contents(&buffer, "abc");
    buffer_append_text(&buffer, "d");
    cr_assert_str_eq(buffer_string(&buffer, "other"), "other", "there is no room for its end");
    buffer.length = 1;
    cr_assert_str_eq(buffer_string(&buffer, "other"), "other", "it is not whole");
}

Test(buffer, consumes_from_the_front) {
    cleanup_buffer struct buffer buffer = buffer_make(10);
    buffer_append_text(&buffer, "abcdef");
    buffer_consume(&buffer, 0);
    expect_contents(&buffer, "abcdef");
    buffer_consume(&buffer, 2);
    expect_contents(&buffer, "cdef");
    buffer_consume(&buffer, 4);
    expect_contents(&buffer, "");
    buffer_append_text(&buffer, "0123456789");
    expect_contents(&buffer, "0123456789");
}

Test(buffer, shrinks_only_when_empty_and_large) {
    cleanup_buffer struct buffer buffer = buffer_make(100000);
    cr_assert_not_null(buffer_reserve(&buffer, 50000));
    buffer.length = 1;
    buffer_shrink(&buffer, 1000);
    cr_assert_geq(buffer.capacity, 50000);
    buffer_consume(&buffer, 1);
    buffer_shrink(&buffer, 100000);
    cr_assert_geq(buffer.capacity, 50000);
    buffer_shrink(&buffer, 1000);
    cr_assert_eq(buffer.capacity, 0);
    cr_assert(buffer_append_text(&buffer, "again"));
}

/* Random appends and consumes against a plain array that does the same. */
Test(buffer, behaves_like_a_bounded_queue_of_bytes) {
    enum { MAXIMUM = 300 };
    struct random random = random_for("bounded_queue_of_bytes");
    for (size_t trial = 0; trial < random_trials(100, 500); trial++) {
        cleanup_buffer struct buffer buffer = buffer_make(MAXIMUM);
        char model[MAXIMUM + 1] = "";
        size_t length = 0;
        for (int step = 0; step < 200; step++) {
            char piece[100];
            size_t size = random_below(&random, sizeof piece);
            memset(piece, 'a' + step % 26, size);
            if (random_percent(&random, 60)) {
                bool fits = length + size <= MAXIMUM;
                cr_assert_eq(buffer_append(&buffer, piece, size), fits);
                if (fits) {
                    memcpy(model + length, piece, size);
                    length += size;
                }
            } else {
                size = size < length ? size : length;
                buffer_consume(&buffer, size);
                memmove(model, model + size, length - size);
                length -= size;
            }
            cr_assert_eq(buffer.length, length);
            cr_assert(length == 0 || memcmp(buffer.data, model, length) == 0);
            cr_assert_leq(buffer.capacity, MAXIMUM + 1); /* one for a terminating zero */
        }
    }
}

Test(buffer, trimming_keeps_the_contents_and_no_more_memory_than_they_need) {
    cleanup_buffer struct buffer buffer = buffer_make(100000);
    cr_assert(buffer_reserve(&buffer, 90000));
    buffer_trim(&buffer); /* nothing is in it */
    cr_assert_null(buffer.data);
    cr_assert_eq(buffer.capacity, 0);
    cr_assert(buffer_append_text(&buffer, "some"));
    cr_assert(buffer_reserve(&buffer, 90000));
    buffer_trim(&buffer);
    cr_assert_eq(buffer.capacity, 4);
    expect_contents(&buffer, "some");
    cr_assert(buffer_append_text(&buffer, " more"));
    expect_contents(&buffer, "some more");
}
