/* The tables of a session's image, which are the bytes of a hostile process: what is judged to fit
 * changes nothing that must stay, maps nothing executable, and is as long as it says. */
#include "common/session_image.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>

#define AT(pages) (UINT64_C(0x1000000) + (uint64_t)(pages)*IMAGE_PAGE)

static const unsigned char base[IMAGE_IDENTITY_BYTES];
static const struct session_image_present present[] = {
    {AT(0), AT(10), SESSION_IMAGE_FIXED},    {AT(10), AT(20), SESSION_IMAGE_OF_BASE},
    {AT(20), AT(24), SESSION_IMAGE_OF_BASE}, {AT(24), AT(30), SESSION_IMAGE_OTHER},
    {AT(60), AT(61), SESSION_IMAGE_FIXED},
};
enum { PRESENT = sizeof present / sizeof *present };

static bool overlap(uint64_t start, uint64_t end, uint64_t other, uint64_t other_end) {
    return start < other_end && other < end;
}

/* Is all of it of the base? */
static bool is_of_base(const struct session_image_area *area) {
    for (uint64_t at = area->start; at < area->end; at += IMAGE_PAGE) {
        bool found = false;
        for (size_t k = 0; k < PRESENT; k++)
            found |= present[k].kind == SESSION_IMAGE_OF_BASE && at >= present[k].start &&
                     at < present[k].end;
        if (!found)
            return false;
    }
    return true;
}

static void check_areas(const struct session_image_header *header) {
    const struct session_image_area *areas = session_image_areas(header);
    uint64_t end = IMAGE_PAGE;
    for (uint32_t i = 0; i < header->areas; end = areas[i++].end) {
        const struct session_image_area *area = &areas[i];
        FUZZ_CHECK(area->start >= end && area->end > area->start, "area %u overlaps", i);
        FUZZ_CHECK(!overlap(area->start, area->end, IMAGE_RESTORER_START, IMAGE_RESTORER_END),
                   "area %u is where the process adopts", i);
        FUZZ_CHECK(!(area->protection & ~(uint32_t)(PROT_READ | PROT_WRITE)), "area %u: X", i);
        for (size_t k = 0; k < PRESENT; k++)
            FUZZ_CHECK(present[k].kind != SESSION_IMAGE_FIXED ||
                           !overlap(area->start, area->end, present[k].start, present[k].end),
                       "area %u is on what must stay", i);
        FUZZ_CHECK(!area->of_base || is_of_base(area), "area %u is not of the base", i);
    }
    FUZZ_CHECK(end < IMAGE_ADDRESS_END, "it ends at %#jx", (uintmax_t)end);
}

static void check_runs(const struct session_image_header *header) {
    const struct session_image_run *runs = session_image_runs(header);
    const struct session_image_area *areas = session_image_areas(header);
    uint64_t pages = 0;
    for (uint32_t i = 0; i < header->runs; pages += runs[i++].pages) {
        const uint64_t end = runs[i].start + runs[i].pages * IMAGE_PAGE;
        uint32_t in = 0;
        for (uint32_t k = 0; k < header->areas; k++)
            in += runs[i].start >= areas[k].start && end <= areas[k].end && end > runs[i].start &&
                  areas[k].protection != PROT_NONE;
        FUZZ_CHECK(in == 1, "run %u is in %u areas", i, in);
        FUZZ_CHECK(i == 0 || runs[i].start >= runs[i - 1].start + runs[i - 1].pages * IMAGE_PAGE,
                   "run %u is not in order", i);
    }
    FUZZ_CHECK(header->tables_bytes + pages * IMAGE_PAGE == header->bytes, "%ju pages",
               (uintmax_t)pages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* Of the size of the input, so that a step beyond its end shows. */
    char *copy = malloc(size + !size);
    struct session_image_header header;
    uint64_t bytes = 0;
    FUZZ_CHECK(copy, "no memory");
    memcpy(copy, data, size);
    if (size >= sizeof header) {
        memcpy(&header, copy, sizeof header);
        bytes = header.bytes;
    }
    if (!session_image_judge(copy, size, bytes, base, present, PRESENT)) {
        const struct session_image_header *judged = (const void *)copy;
        const char *end = (const char *)(session_image_runs(judged) + judged->runs);
        FUZZ_CHECK((size_t)(end - copy) <= size, "the tables end outside");
        check_areas(judged);
        check_runs(judged);
    }
    free(copy);
    return 0;
}
