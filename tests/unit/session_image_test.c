/* session_image_judge: what fits, and everything that must not. */
#include "common/session_image.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#define AT(pages) (UINT64_C(0x1000000) + (uint64_t)(pages)*IMAGE_PAGE)

enum { AREAS = 4, RUNS = 2, PAGES = 5 };

static const unsigned char base[IMAGE_IDENTITY_BYTES] = "the same base";
static const struct session_image_present present[] = {
    {AT(0), AT(10), SESSION_IMAGE_FIXED},    {AT(10), AT(20), SESSION_IMAGE_OF_BASE},
    {AT(20), AT(24), SESSION_IMAGE_OF_BASE}, {AT(24), AT(30), SESSION_IMAGE_OTHER},
    {AT(60), AT(61), SESSION_IMAGE_FIXED},
};
enum { PRESENT = sizeof present / sizeof *present };

static _Alignas(IMAGE_PAGE) char image[IMAGE_PAGE];

static struct session_image_header *header(void) {
    return (struct session_image_header *)(void *)image;
}

static struct session_image_area *area(int index) {
    return (struct session_image_area *)(void *)(header() + 1) + index;
}

static struct session_image_run *run(int index) {
    return (struct session_image_run *)(void *)(area(0) + header()->areas) + index;
}

static void make(void) {
    const uint32_t both = PROT_READ | PROT_WRITE;
    memset(image, 0, sizeof image);
    *header() = (struct session_image_header){.magic = SESSION_IMAGE_MAGIC,
                                              .tables_bytes = IMAGE_PAGE,
                                              .bytes = (1 + PAGES) * (uint64_t)IMAGE_PAGE,
                                              .areas = AREAS,
                                              .runs = RUNS,
                                              .break_end = AT(29)};
    memcpy(header()->base, base, sizeof base);
    *area(0) = (struct session_image_area){AT(12), AT(22), both, 1};
    *area(1) = (struct session_image_area){AT(24), AT(40), both, 0};
    *area(2) = (struct session_image_area){AT(40), AT(44), PROT_READ, 0};
    *area(3) = (struct session_image_area){AT(50), AT(52), PROT_NONE, 0};
    *run(0) = (struct session_image_run){AT(19), 3};
    *run(1) = (struct session_image_run){AT(41), 2};
}

static const char *judge(void) {
    return session_image_judge(image, sizeof image, (1 + PAGES) * (uint64_t)IMAGE_PAGE, base,
                               present, PRESENT);
}

static bool overlap(uint64_t start, uint64_t end, uint64_t other, uint64_t other_end) {
    return start < other_end && other < end;
}

/* What must be true of whatever fits. */
static void check_accepted(const char *of) {
    uint64_t pages = 0;
    for (uint32_t i = 0; i < header()->areas; i++) {
        const struct session_image_area *at = area((int)i);
        cr_assert(at->start < at->end && at->end < IMAGE_ADDRESS_END, "%s", of);
        cr_assert_not(at->protection & ~(uint32_t)(PROT_READ | PROT_WRITE), "%s", of);
        cr_assert_not(overlap(at->start, at->end, IMAGE_RESTORER_START, IMAGE_RESTORER_END));
        for (size_t k = 0; k < PRESENT; k++)
            cr_assert(present[k].kind != SESSION_IMAGE_FIXED ||
                          !overlap(at->start, at->end, present[k].start, present[k].end),
                      "%s: on what must stay", of);
        for (uint32_t k = 0; k < i; k++)
            cr_assert(area((int)k)->end <= at->start, "%s: not in order", of);
    }
    for (uint32_t i = 0; i < header()->runs; i++, pages += run((int)i - 1)->pages) {
        uint32_t in = 0;
        for (uint32_t k = 0; k < header()->areas; k++)
            in += area((int)k)->start <= run((int)i)->start && area((int)k)->protection &&
                  run((int)i)->start + run((int)i)->pages * IMAGE_PAGE <= area((int)k)->end;
        cr_assert_eq(in, 1, "%s: run %u", of, i);
    }
    cr_assert_eq(pages, PAGES);
}

Test(session_image, a_whole_image_fits) {
    make();
    cr_assert_null(judge(), "%s", judge());
    check_accepted("whole");
}

Test(session_image, whatever_bit_is_changed_what_fits_goes_nowhere_else) {
    const size_t used = (size_t)((char *)(run(RUNS)) - image);
    for (size_t bit = 0; bit < 8 * used; bit++) {
        make();
        image[bit / 8] = (char)(image[bit / 8] ^ 1 << bit % 8);
        if (!judge())
            check_accepted("changed");
    }
    for (size_t byte = 0; byte < used; byte++)
        for (int value = 0; value < 256; value++) {
            make();
            image[byte] = (char)value;
            if (!judge())
                check_accepted("changed");
        }
}

Test(session_image, one_that_is_cut_off_or_longer_is_refused) {
    for (uint64_t size = 0; size < sizeof image; size++) {
        make();
        cr_assert_not_null(
            session_image_judge(image, size, header()->bytes, base, present, PRESENT));
    }
    for (uint64_t bytes = 0; bytes < 9 * (uint64_t)IMAGE_PAGE; bytes += 512) {
        make();
        const bool fits = !session_image_judge(image, sizeof image, bytes, base, present, PRESENT);
        cr_assert_eq(fits, bytes == (1 + PAGES) * (uint64_t)IMAGE_PAGE);
    }
}

Test(session_image, another_base_or_another_process_is_not_its_own) {
    unsigned char other[IMAGE_IDENTITY_BYTES] = "another base";
    make();
    cr_assert_str_eq(
        session_image_judge(image, sizeof image, header()->bytes, other, present, PRESENT),
        "was made with another start of Lisp");
    /* without what is of the base */
    cr_assert_not_null(session_image_judge(image, sizeof image, header()->bytes, base, present, 1));
    cr_assert_not_null(session_image_judge(image, sizeof image, header()->bytes, base, NULL, 0));
}

/* Sets FIELD to VALUE, and expects that it is refused. */
#define REFUSED(field, value)                                                                      \
    do {                                                                                           \
        make();                                                                                    \
        (field) = (value);                                                                         \
        cr_expect_not_null(judge(), "%s = %s", #field, #value);                                    \
    } while (0)

Test(session_image, numbers_that_lead_out_of_the_tables_are_refused) {
    REFUSED(header()->magic, SESSION_IMAGE_MAGIC + 1);
    REFUSED(header()->areas, SESSION_IMAGE_AREAS_MAX + 1);
    REFUSED(header()->areas, UINT32_MAX);
    REFUSED(header()->areas, 3);
    REFUSED(header()->runs, SESSION_IMAGE_RUNS_MAX + 1);
    REFUSED(header()->runs, UINT32_MAX);
    REFUSED(header()->runs, 1);
    REFUSED(header()->runs, 250);
    REFUSED(header()->tables_bytes, 0);
    REFUSED(header()->tables_bytes, 2UL * IMAGE_PAGE);
    REFUSED(header()->bytes, 2UL * IMAGE_PAGE);
    REFUSED(header()->break_end, 1);
    REFUSED(header()->break_end, UINT64_MAX - IMAGE_PAGE + 1);
    REFUSED(header()->break_end, IMAGE_RESTORER_START);
}

Test(session_image, an_area_out_of_place_is_refused) {
    REFUSED(area(0)->start, AT(9)); /* what must stay */
    REFUSED(area(0)->start, AT(12) + 8);
    REFUSED(area(0)->end, AT(12));
    REFUSED(area(0)->end, AT(25)); /* not of the base, or on the next one */
    REFUSED(area(0)->protection, PROT_READ);
    REFUSED(area(0)->protection, PROT_READ | PROT_WRITE | PROT_EXEC);
    REFUSED(area(0)->of_base, 2);
    REFUSED(area(1)->of_base, 1);
    REFUSED(area(1)->start, AT(21));
    REFUSED(area(1)->protection, PROT_READ | PROT_EXEC);
    REFUSED(area(1)->protection, PROT_WRITE);
    REFUSED(area(1)->protection, PROT_EXEC);
    REFUSED(area(3)->end, AT(61));
    REFUSED(area(3)->end, IMAGE_ADDRESS_END);
    REFUSED(area(3)->end, UINT64_MAX - IMAGE_PAGE + 1);
    REFUSED(area(3)->end, IMAGE_RESTORER_START + IMAGE_PAGE);
    REFUSED(area(0)->start, 0);
}

Test(session_image, a_run_out_of_place_is_refused) {
    REFUSED(run(0)->start, AT(10));
    REFUSED(run(0)->start, AT(20)); /* beyond its area */
    REFUSED(run(0)->start, AT(19) + 16);
    REFUSED(run(0)->pages, 0);
    REFUSED(run(0)->pages, 4);
    REFUSED(run(0)->pages, UINT64_MAX);
    REFUSED(run(0)->pages, UINT64_MAX / IMAGE_PAGE + 4);
    REFUSED(run(1)->start, AT(50)); /* memory without access */
    REFUSED(run(1)->start, AT(18));
    REFUSED(run(1)->start, UINT64_MAX - IMAGE_PAGE + 1);
}
