/* Images as a hostile session could have made them: whole and sealed by the journal, but with
 * tables and pages of any kind. What comes of one stays in its worker: the server brings the
 * session back by its calls, or has what the image says, and serves others. */
#include "supervisor/state/store.h"
#include "tests/support/client_sessions.h"
#include "tests/support/command.h"
#include "tests/support/lines.h"
#include "tests/support/random.h"
#include "tests/support/saved.h"
#include "tests/support/skip.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEP_MS = 20, WAIT_MS = 60000 };

static unsigned char *image; /* of a session, as it was made */
static size_t image_bytes;
static struct saved_image kept;

static struct saved *open_saved(struct store *store) {
    struct saved *saved = NULL;
    struct error error;
    cr_assert(store_open(store, saved_path(), false, &error), "%s", error.text);
    cr_assert_eq(saved_open(store, "main", false, false, &saved, &error), STORE_DONE, "%s",
                 error.text);
    return saved;
}

/* Keeps what the server has made of it. False if there is nothing yet. */
static bool take_image(void) {
    struct store store;
    struct error error;
    struct stat status;
    struct saved *saved = open_saved(&store);
    int fd = saved_open_image(saved, &error);
    kept = saved->image;
    if (fd >= 0) {
        cr_assert_eq(fstat(fd, &status), 0);
        image_bytes = (size_t)status.st_size;
        image = malloc(image_bytes);
        cr_assert_eq(read(fd, image, image_bytes), (ssize_t)image_bytes);
        close(fd);
    }
    saved_close(saved);
    store_close(&store);
    return fd >= 0;
}

static void begin(void) {
    cr_assert_geq(sodium_init(), 0);
    saved_skip_without_images();
    saved_begin();
    saved_use_images();
    struct client *client = saved_serve(NULL);
    client_session_evaluate(client, "other", "(defvar *n* 7)");
    client_finish(client);
    client = saved_serve(NULL);
    client_evaluate(client, "(defvar *n* 1)");
    client_evaluate(client, "(progn (setf *n* 2) (sleep 0.4))");
    usleep(1500000);
    saved_kill(client);
    if (!take_image())
        cr_skip_test("the workers cannot be read here, or the machine is too busy");
}

static void end(void) {
    free(image);
    saved_end();
}

TestSuite(hostile_image, .init = begin, .fini = end, .disabled = !IMAGE_SUPPORTED, .timeout = 7200);

static void digest_of(const void *bytes, size_t size, unsigned char digest[BLAKE2B_BYTES]) {
    struct blake2b hash;
    blake2b_begin(&hash);
    blake2b_add(&hash, bytes, size);
    blake2b_end(&hash, digest);
}

/* Puts BYTES in the place of the image, with hashes that are right. TABLES: their size. */
static void forge(unsigned char *bytes, size_t size, size_t tables) {
    struct store store;
    struct error error;
    struct session_image_header *header = (void *)bytes;
    struct saved_image forged = {.number = kept.number, .facts = {.bytes = size}};
    digest_of(bytes + tables, size - tables, header->pages_digest);
    digest_of(bytes, tables, forged.facts.digest);
    struct saved *saved = open_saved(&store);
    int fd = saved_make_image(saved, &error);
    cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
    close(fd);
    cr_assert(saved_keep_image(saved, &forged, &error), "%s", error.text);
    saved_close(saved);
    store_close(&store);
}

/* The session answers, with or without the image, and the other one as ever. MUST: it must be by
 * its calls, and right. */
static void expect_harmless(bool must) {
    struct client *client = saved_serve(STRINGS("--call-timeout-s", "5"));
    struct evaluation look = client_evaluate(client, "*n*");
    if (must) {
        expect_contains(look.text, "the image of this session was not used");
        expect_contains(look.text, "=> 2");
    }
    expect_contains(client_session_evaluate(client, "other", "*n*").text, "=> 7");
    client_finish(client);
}

static struct session_image_header *copy_image(void) {
    struct session_image_header *copy = malloc(image_bytes);
    memcpy(copy, image, image_bytes);
    return copy;
}

Test(hostile_image, what_is_forged_well_is_used) {
    struct session_image_header *copy = copy_image();
    forge((unsigned char *)copy, image_bytes, copy->tables_bytes);
    struct client *client = saved_serve(NULL);
    struct evaluation look = client_evaluate(client, "*n*");
    expect_contains(look.text, "was brought back from its image");
    expect_contains(look.text, "=> 2");
    client_finish(client);
    free(copy);
}

Test(hostile_image, pages_of_any_content_stay_in_their_worker) {
    struct random random = random_for("hostile_image pages");
    for (size_t trial = 0; trial < random_trials(4, 100); trial++) {
        struct session_image_header *copy = copy_image();
        unsigned char *pages = (unsigned char *)copy + copy->tables_bytes;
        const size_t size = image_bytes - copy->tables_bytes;
        if (trial == 0)
            memset(pages, 0xff, size);
        else if (trial == 1)
            memset(pages, 0, size);
        else
            for (size_t i = 0; i < size; i += 1 + random_below(&random, 4000))
                pages[i] = (unsigned char)random_bits(&random);
        forge((unsigned char *)copy, image_bytes, copy->tables_bytes);
        expect_harmless(trial < 2);
        free(copy);
    }
}

static const struct {
    const char *what;
    uint64_t start, end; /* of an area that is added; 0: as the last one */
    uint32_t protection;
} areas[] = {
    {"memory that can be executed", 0x700000000000, 0x700000001000, PROT_READ | PROT_EXEC},
    {"where the process adopts", IMAGE_RESTORER_START, IMAGE_RESTORER_START + 0x1000,
     PROT_READ | PROT_WRITE},
    {"the kernel's half", UINT64_MAX - 0xffff, UINT64_MAX - 0xfff, PROT_READ | PROT_WRITE},
    {"the beginning of memory", 0, 0x1000, PROT_READ | PROT_WRITE},
    {"all of memory", 0x10000, IMAGE_ADDRESS_END - 0x1000, PROT_READ | PROT_WRITE},
};

/* In place of the areas there is this one alone, and no run. */
Test(hostile_image, areas_in_forbidden_places_are_refused) {
    for (size_t i = 0; i < COUNT_OF(areas); i++) {
        struct session_image_header *copy = copy_image();
        struct session_image_area *area = (void *)(copy + 1);
        copy->areas = 1;
        copy->runs = 0;
        copy->tables_bytes = copy->bytes = IMAGE_PAGE;
        *area = (struct session_image_area){areas[i].start, areas[i].end, areas[i].protection, 0};
        forge((unsigned char *)copy, IMAGE_PAGE, IMAGE_PAGE);
        expect_harmless(true);
        free(copy);
    }
}

/* Nothing is mapped but the code, where it jumps to zeros. */
Test(hostile_image, an_image_of_nothing_ends_its_worker) {
    struct session_image_header *copy = copy_image();
    copy->areas = copy->runs = 0;
    copy->tables_bytes = copy->bytes = IMAGE_PAGE;
    forge((unsigned char *)copy, IMAGE_PAGE, IMAGE_PAGE);
    expect_harmless(true);
    free(copy);
}

Test(hostile_image, tables_of_any_content_stay_in_their_worker) {
    struct random random = random_for("hostile_image tables");
    for (size_t trial = 0; trial < random_trials(6, 200); trial++) {
        struct session_image_header *copy = copy_image();
        const size_t tables = copy->tables_bytes,
                     used = sizeof *copy + copy->areas * sizeof(struct session_image_area) +
                            copy->runs * sizeof(struct session_image_run);
        for (size_t n = 1 + random_below(&random, 3); n > 0; n--) {
            uint64_t *word = (uint64_t *)copy + random_below(&random, used / sizeof *word);
            *word = random_percent(&random, 50) ? *word ^ UINT64_C(1) << random_below(&random, 64)
                                                : *word + IMAGE_PAGE;
        }
        forge((unsigned char *)copy, image_bytes, tables);
        expect_harmless(false);
        free(copy);
    }
}
