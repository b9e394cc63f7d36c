/* image_file_judge: whole images, and those of which any byte or number is another one. */
#include "common/image_file.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#define START UINT64_C(0x100000)
#define PAGES 16UL

static _Alignas(IMAGE_PAGE) char image[IMAGE_PAGE];

static struct image_header *header(void) {
    return (struct image_header *)(void *)image;
}

static struct image_source *source(void) {
    return (struct image_source *)(void *)(header() + 1);
}

static struct image_area *area(int index) {
    return (struct image_area *)(void *)(source() + 1) + index;
}

static struct image_run *run(void) {
    return (struct image_run *)(void *)(area(0) + 2);
}

/* Code of a file, then data with a page of its own. */
static void make(void) {
    memset(image, 0, sizeof image);
    *header() = (struct image_header){.magic = IMAGE_MAGIC,
                                      .tables_bytes = IMAGE_PAGE,
                                      .bytes = 3UL * IMAGE_PAGE,
                                      .inputs_offset = 3UL * IMAGE_PAGE,
                                      .sources = 1,
                                      .areas = 2,
                                      .runs = 1,
                                      .entry = START + 8,
                                      .stack = START + 3UL * IMAGE_PAGE,
                                      .thread = START + 3UL * IMAGE_PAGE,
                                      .handoff = START + 4UL * IMAGE_PAGE};
    strcpy(source()->path, "/lib/x.so");
    *area(0) = (struct image_area){
        .start = START, .end = START + IMAGE_PAGE, .protection = PROT_READ | PROT_EXEC};
    *area(1) = (struct image_area){.start = START + IMAGE_PAGE,
                                   .end = START + PAGES * IMAGE_PAGE,
                                   .source = IMAGE_ZEROS,
                                   .protection = PROT_READ | PROT_WRITE};
    *run() = (struct image_run){.start = START + 2UL * IMAGE_PAGE,
                                .offset = IMAGE_PAGE,
                                .pages = 2,
                                .protection = PROT_READ | PROT_WRITE};
}

/* With a checksum that is right, as a forger would make it. */
static enum image_reason judge_sealed(void) {
    header()->checksum = 0;
    header()->checksum = image_file_checksum(image, sizeof image);
    return image_file_judge(image, sizeof image, 3UL * IMAGE_PAGE);
}

Test(image_file, a_whole_image_fits) {
    make();
    cr_assert_eq(judge_sealed(), IMAGE_FITS);
}

Test(image_file, every_changed_bit_of_header_and_tables_is_noticed) {
    const size_t used = (size_t)((char *)(run() + 1) - image);
    for (size_t bit = 0; bit < 8 * used; bit++) {
        make();
        cr_assert_eq(judge_sealed(), IMAGE_FITS);
        make();
        header()->checksum = image_file_checksum(image, sizeof image);
        image[bit / 8] = (char)(image[bit / 8] ^ 1 << bit % 8);
        cr_assert_neq(image_file_judge(image, sizeof image, 3UL * IMAGE_PAGE), IMAGE_FITS,
                      "bit %zu", bit);
    }
}

Test(image_file, an_image_that_is_cut_off_or_longer_is_damaged) {
    for (uint64_t size = 0; size < sizeof image; size++) {
        make();
        header()->checksum = image_file_checksum(image, sizeof image);
        cr_assert_neq(image_file_judge(image, size, 3UL * IMAGE_PAGE), IMAGE_FITS);
    }
    for (uint64_t bytes = 0; bytes < 5UL * IMAGE_PAGE; bytes += 512) {
        make();
        header()->checksum = image_file_checksum(image, sizeof image);
        bool fits = image_file_judge(image, sizeof image, bytes) == IMAGE_FITS;
        cr_assert_eq(fits, bytes == 3UL * IMAGE_PAGE);
    }
}

Test(image_file, another_file_is_foreign) {
    make();
    header()->magic++;
    cr_assert_eq(judge_sealed(), IMAGE_FOREIGN);
    cr_assert_eq(image_file_judge(image, 0, 0), IMAGE_FOREIGN);
}

/* Sets FIELD to VALUE, seals, and expects that it is refused. */
#define REFUSED(field, value)                                                                      \
    do {                                                                                           \
        make();                                                                                    \
        (field) = (value);                                                                         \
        cr_expect_eq(judge_sealed(), IMAGE_DAMAGED, "%s = %s", #field, #value);                    \
    } while (0)

Test(image_file, numbers_that_lead_out_of_the_tables_are_refused) {
    REFUSED(header()->sources, IMAGE_FILES_MAX + 1);
    REFUSED(header()->sources, UINT32_MAX);
    REFUSED(header()->areas, IMAGE_AREAS_MAX + 1);
    REFUSED(header()->runs, IMAGE_RUNS_MAX + 1);
    REFUSED(header()->runs, 200);
    REFUSED(header()->tables_bytes, 0);
    REFUSED(header()->tables_bytes, 2UL * IMAGE_PAGE);
}

Test(image_file, areas_and_runs_out_of_place_are_refused) {
    REFUSED(area(0)->start, 0);
    REFUSED(area(0)->start, START + 1);
    REFUSED(area(0)->end, START);
    REFUSED(area(0)->end, START + 2UL * IMAGE_PAGE);
    REFUSED(area(1)->end, IMAGE_ADDRESS_END);
    REFUSED(area(1)->end, UINT64_MAX - IMAGE_PAGE + 1);
    REFUSED(area(1)->end, IMAGE_RESTORER_START + IMAGE_PAGE);
    REFUSED(area(0)->source, 1);
    REFUSED(area(0)->source, -2);
    REFUSED(area(0)->offset, 1);
    REFUSED(area(1)->protection, PROT_READ | PROT_WRITE | PROT_EXEC);
    REFUSED(area(1)->protection, 8);
    REFUSED(run()->start, START);
    REFUSED(run()->start, START + PAGES * IMAGE_PAGE);
    REFUSED(run()->start, START + 2UL * IMAGE_PAGE + 8);
    REFUSED(run()->pages, 0);
    REFUSED(run()->pages, PAGES);
    REFUSED(run()->pages, UINT32_MAX);
    REFUSED(run()->offset, 0);
    REFUSED(run()->offset, 3UL * IMAGE_PAGE);
    REFUSED(run()->offset, UINT64_MAX - IMAGE_PAGE + 1);
    REFUSED(run()->protection, PROT_READ);
}

Test(image_file, a_beginning_outside_of_fitting_memory_is_refused) {
    REFUSED(header()->entry, START + IMAGE_PAGE);
    REFUSED(header()->entry, 0);
    REFUSED(header()->stack, START + IMAGE_PAGE);
    REFUSED(header()->stack, 0);
    REFUSED(header()->stack, START + 3UL * IMAGE_PAGE + 8);
    REFUSED(header()->thread, START);
    REFUSED(header()->handoff, START + PAGES * IMAGE_PAGE - 8);
    REFUSED(header()->handoff, START + 4UL * IMAGE_PAGE + 1);
    REFUSED(header()->handoff, UINT64_MAX - 7);
}

Test(image_file, inputs_lie_behind_the_runs_in_the_file) {
    REFUSED(header()->inputs_offset, 0);
    REFUSED(header()->inputs_offset, 2UL * IMAGE_PAGE);
    REFUSED(header()->inputs_offset, 3UL * IMAGE_PAGE - 8);
    REFUSED(header()->inputs_offset, UINT64_MAX - IMAGE_PAGE + 1);
    REFUSED(header()->inputs_bytes, 8);
    REFUSED(header()->inputs_bytes, IMAGE_INPUTS_MAX + 8);
    REFUSED(header()->inputs_bytes, UINT64_MAX - 7);
}

Test(image_file, a_path_has_an_end_and_is_absolute) {
    make();
    memset(source()->path, '/', sizeof source()->path);
    cr_expect_eq(judge_sealed(), IMAGE_DAMAGED);
    make();
    strcpy(source()->path, "x");
    cr_expect_eq(judge_sealed(), IMAGE_DAMAGED);
}
