/* Judges the tables of a session's image. */
#include "common/session_image.h"

#include <string.h>
#include <sys/mman.h>

/* Below it the kernel maps nothing for an ordinary process. */
#define ADDRESS_START UINT64_C(0x10000)

static int aligned(uint64_t number) {
    return number % IMAGE_PAGE == 0;
}

uint64_t session_image_tables_bytes(const struct session_image_header *header) {
    if (header->areas > SESSION_IMAGE_AREAS_MAX || header->runs > SESSION_IMAGE_RUNS_MAX)
        return 0;
    uint64_t bytes = sizeof *header + header->areas * sizeof(struct session_image_area) +
                     header->runs * sizeof(struct session_image_run);
    return (bytes + IMAGE_PAGE - 1) / IMAGE_PAGE * IMAGE_PAGE;
}

/* The first mapping of PRESENT that ends after ADDRESS; COUNT if there is none. */
static size_t find_present(const struct session_image_present *present, size_t count,
                           uint64_t address) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (present[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int good_place(uint64_t start, uint64_t end) {
    return aligned(start) && aligned(end) && start >= ADDRESS_START && start < end &&
           end < IMAGE_ADDRESS_END && (end <= IMAGE_RESTORER_START || start >= IMAGE_RESTORER_END);
}

/* No area replaces what must stay, and what is of the base is there. */
static int fits_present(const struct session_image_area *area,
                        const struct session_image_present *present, size_t count) {
    uint64_t at = area->start;
    for (size_t i = find_present(present, count, at); i < count && present[i].start < area->end;
         i++) {
        if (present[i].kind == SESSION_IMAGE_FIXED)
            return 0;
        if (area->of_base && (present[i].kind != SESSION_IMAGE_OF_BASE || present[i].start > at))
            return 0;
        at = present[i].end;
    }
    return !area->of_base || at >= area->end;
}

static int good_area(const struct session_image_area *area, uint64_t previous_end) {
    const uint32_t both = PROT_READ | PROT_WRITE;
    return good_place(area->start, area->end) && area->start >= previous_end &&
           (area->protection == PROT_NONE || area->protection == PROT_READ ||
            area->protection == both) &&
           area->of_base <= 1 && (!area->of_base || area->protection == both);
}

/* Areas and runs are sorted, so that one walk over both finds the area of each run. *PAGES: the
 * pages of all. */
static int good_runs(const struct session_image_header *header, uint64_t *pages) {
    const struct session_image_area *areas = session_image_areas(header);
    const struct session_image_run *runs = session_image_runs(header);
    uint64_t end = 0;
    uint32_t in = 0;
    *pages = 0;
    for (uint32_t i = 0; i < header->runs; i++) {
        const struct session_image_run *run = &runs[i];
        if (!aligned(run->start) || run->start < end || !run->pages ||
            run->pages > SESSION_IMAGE_PAGES_MAX)
            return 0;
        while (in < header->areas && areas[in].end <= run->start)
            in++;
        if (in == header->areas || areas[in].start > run->start ||
            run->pages * IMAGE_PAGE > areas[in].end - run->start || !areas[in].protection)
            return 0;
        end = run->start + run->pages * IMAGE_PAGE;
        *pages += run->pages;
    }
    return *pages <= SESSION_IMAGE_PAGES_MAX;
}

const char *session_image_judge(const void *tables, uint64_t size, uint64_t file_bytes,
                                const unsigned char base[IMAGE_IDENTITY_BYTES],
                                const struct session_image_present *present, size_t count) {
    const struct session_image_header *header = tables;
    const struct session_image_area *areas = session_image_areas(header);
    uint64_t end = 0, pages;
    if (size < sizeof *header || header->magic != SESSION_IMAGE_MAGIC)
        return "is no image of a session, or one of another version";
    if (memcmp(header->base, base, IMAGE_IDENTITY_BYTES) != 0)
        return "was made with another start of Lisp";
    if (header->tables_bytes == 0 || header->tables_bytes != session_image_tables_bytes(header) ||
        header->tables_bytes > size || header->tables_bytes > SESSION_IMAGE_TABLES_MAX ||
        header->bytes != file_bytes)
        return "is damaged";
    for (uint32_t i = 0; i < header->areas; end = areas[i++].end) {
        if (!good_area(&areas[i], end))
            return "is damaged";
        if (!fits_present(&areas[i], present, count))
            return "needs memory that this process cannot give";
    }
    if (!good_runs(header, &pages) || header->bytes != header->tables_bytes + pages * IMAGE_PAGE)
        return "is damaged";
    if (header->break_end && !good_place(header->break_end, header->break_end + IMAGE_PAGE))
        return "is damaged";
    return NULL;
}
