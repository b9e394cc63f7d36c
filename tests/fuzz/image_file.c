/* The tables and the inputs of an image. An image is trusted by its owner; this is for damaged
 * ones: what is judged to fit leads nowhere but into the file and into memory of its own. */
#include "common/image_file.h"
#include "common/image_input.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>

/* With a checksum that is right, as it would never be by chance. */
static enum image_reason judge(char *tables, size_t size, uint64_t file_bytes) {
    struct image_header *header = (void *)tables;
    if (header->tables_bytes <= size) {
        header->checksum = 0;
        header->checksum = image_file_checksum(tables, header->tables_bytes);
    }
    return image_file_judge(tables, size, file_bytes);
}

static void check_areas(const struct image_header *header) {
    const struct image_area *areas = image_areas(header);
    uint64_t end = IMAGE_PAGE;
    for (uint32_t i = 0; i < header->areas; end = areas[i++].end) {
        const struct image_area *area = &areas[i];
        FUZZ_CHECK(area->start >= end && area->end > area->start, "area %u overlaps", i);
        FUZZ_CHECK(area->end <= IMAGE_RESTORER_START || area->start >= IMAGE_RESTORER_END,
                   "area %u is on the restorer", i);
        FUZZ_CHECK((~area->protection & (PROT_WRITE | PROT_EXEC)) != 0, "area %u: W and X", i);
        FUZZ_CHECK(area->source < (int64_t)header->sources, "area %u: source", i);
    }
    FUZZ_CHECK(end < IMAGE_ADDRESS_END, "it ends at %#jx", (uintmax_t)end);
}

static void check_runs(const struct image_header *header) {
    const struct image_run *runs = image_runs(header);
    const struct image_area *areas = image_areas(header);
    for (uint32_t i = 0; i < header->runs; i++) {
        const uint64_t end = runs[i].start + (uint64_t)runs[i].pages * IMAGE_PAGE;
        uint32_t in = 0;
        for (uint32_t k = 0; k < header->areas; k++)
            in += runs[i].start >= areas[k].start && end <= areas[k].end && end > runs[i].start &&
                  runs[i].protection == areas[k].protection;
        FUZZ_CHECK(in == 1, "run %u is in %u areas", i, in);
        FUZZ_CHECK(runs[i].offset + (end - runs[i].start) <= header->bytes, "run %u", i);
    }
}

static void check_tables(const struct image_header *header, size_t size) {
    const char *end = (const char *)(image_runs(header) + header->runs);
    FUZZ_CHECK((size_t)(end - (const char *)header) <= size, "the tables end outside");
    for (uint32_t i = 0; i < header->sources; i++)
        FUZZ_CHECK(memchr(image_sources(header)[i].path, 0, IMAGE_PATH_BYTES), "path %u", i);
    check_areas(header);
    check_runs(header);
    FUZZ_CHECK(image_file_has_inputs(header), "no inputs");
    FUZZ_CHECK(header->inputs_offset + header->inputs_bytes <= header->bytes, "inputs outside");
}

static void walk_records(const void *records, size_t size) {
    const char *path;
    size_t offset = 0, before = 0;
    for (; image_input_next(records, size, &offset, &path); before = offset) {
        FUZZ_CHECK(offset > before && offset <= size, "from %zu to %zu", before, offset);
        FUZZ_CHECK(path[0] == '/' && path + strlen(path) < (const char *)records + size, "path");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* Of the size of the input, so that a step beyond its end shows. */
    char *copy = malloc(size + !size);
    struct image_header header;
    uint64_t bytes = 0;
    FUZZ_CHECK(copy, "no memory");
    memcpy(copy, data, size);
    if (size >= sizeof header) {
        memcpy(&header, copy, sizeof header);
        bytes = header.bytes;
    }
    if (size >= sizeof header && judge(copy, size, bytes) == IMAGE_FITS)
        check_tables((const void *)copy, size);
    walk_records(copy, size);
    free(copy);
    return 0;
}
