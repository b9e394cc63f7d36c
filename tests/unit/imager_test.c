/* supervisor/process/imager: what it says of what it cannot write, and that it answers after that.
 * tests/sessions/saved_images_test.c has what it writes. */
#include "supervisor/process/imager.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[] = "/tmp/eclave-imager-XXXXXX";

/* A file of SIZE bytes that is no image, or has its mark if MAGIC. */
static void make_base(struct imager_base *base, size_t size, bool magic) {
    struct image_header *header = calloc(1, size > sizeof *header ? size : sizeof *header);
    header->magic = magic ? IMAGE_MAGIC : 1;
    header->tables_bytes = IMAGE_PAGE;
    header->bytes = size;
    memset(path + strlen(path) - 6, 'X', 6);
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, header, size) == (ssize_t)size);
    close(fd);
    free(header);
    *base = (struct imager_base){.program = "/nonexistent"};
    strcpy(base->image, path);
}

static void expect_refused(const struct imager_base *base, pid_t pid, const char *why) {
    struct imaged imaged = {.pid = pid};
    cr_assert_not(imager_write(base, pid, -1, &imaged));
    cr_assert_str_eq(imaged.why, why);
}

Test(imager, a_base_that_is_missing_or_damaged_is_no_base) {
    static const struct imager_base none = {.image = "/nonexistent", .program = "/nonexistent"};
    struct imager_base base;
    expect_refused(&none, getpid(), "the base image is not there");
    for (size_t size = 1; size <= 3 * (size_t)IMAGE_PAGE; size += IMAGE_PAGE / 2 + 1)
        for (int magic = 0; magic < 2; magic++) {
            make_base(&base, size, magic);
            expect_refused(&base, getpid(), "the base image is damaged");
            unlink(path);
        }
}

struct fixture {
    struct loop loop;
    struct imager imager;
    struct imaged answer;
    unsigned answers;
};

static void on_answer(void *context, const struct imaged *imaged) {
    struct fixture *fixture = context;
    fixture->answer = *imaged;
    fixture->answers++;
    loop_stop(&fixture->loop);
}

Test(imager, the_process_answers_each_request) {
    static const struct imager_base none = {.image = "/nonexistent", .program = "/nonexistent"};
    static struct fixture fixture;
    struct error error;
    cr_assert(loop_open(&fixture.loop, &error), "%s", error.text);
    imager_start(&fixture.imager, &fixture.loop, &none, on_answer, &fixture);
    for (unsigned i = 1; i <= 3; i++) {
        int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        cr_assert(imager_ask(&fixture.imager, getpid(), fd));
        cr_assert(imager_is_busy(&fixture.imager));
        close(fd);
        fixture.loop.stopped = false;
        cr_assert(loop_run(&fixture.loop, &error), "%s", error.text);
        cr_assert_eq(fixture.answers, i);
        cr_assert_eq(fixture.answer.pid, getpid());
        cr_assert_not(fixture.answer.written);
        cr_assert_str_eq(fixture.answer.why, "the base image is not there");
    }
    imager_close(&fixture.imager);
    cr_assert_not(imager_ask(&fixture.imager, getpid(), 0));
    loop_close(&fixture.loop);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}
