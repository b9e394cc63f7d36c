/* Judges the tables of an image. */
#include "common/image_file.h"

#include <sys/mman.h>
#if IMAGE_SUPPORTED
#include <cpuid.h>
#endif

/* A proof of wholeness, not of origin. */
uint64_t image_file_checksum(const void *bytes, size_t size) {
    const uint64_t *words = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size / sizeof *words; i++) {
        hash = (hash ^ words[i]) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    return hash;
}

void image_file_name(char name[IMAGE_NAME_BYTES], const unsigned char key[IMAGE_KEY_BYTES]) {
    static const char digits[] = "0123456789abcdef", suffix[] = ".img";
    for (size_t i = 0; i < IMAGE_KEY_BYTES; i++) {
        *name++ = digits[key[i] >> 4];
        *name++ = digits[key[i] & 15];
    }
    for (size_t i = 0; i < sizeof suffix; i++)
        *name++ = suffix[i];
}

void image_file_processor(uint32_t words[IMAGE_PROCESSOR_WORDS]) {
    for (size_t i = 0; i < IMAGE_PROCESSOR_WORDS; i++)
        words[i] = 0;
#if IMAGE_SUPPORTED
    uint32_t a, b, c, d;
    __cpuid(1, words[0], b, words[1], words[2]);
    __cpuid_count(7, 0, a, words[3], words[4], words[5]);
    __cpuid_count(0xd, 1, words[6], b, c, d);
    __cpuid(0x80000001, a, b, words[7], words[8]);
    if (words[1] & bit_OSXSAVE)
        __asm__ volatile("xgetbv" : "=a"(words[9]), "=d"(d) : "c"(0));
#endif
}

uint64_t image_file_tables_bytes(const struct image_header *header) {
    if (header->sources > IMAGE_FILES_MAX || header->areas > IMAGE_AREAS_MAX ||
        header->runs > IMAGE_RUNS_MAX)
        return 0;
    uint64_t bytes = sizeof *header + header->sources * sizeof(struct image_source) +
                     header->areas * sizeof(struct image_area) +
                     header->runs * sizeof(struct image_run);
    return (bytes + IMAGE_PAGE - 1) / IMAGE_PAGE * IMAGE_PAGE;
}

static int aligned(uint64_t number) {
    return number % IMAGE_PAGE == 0;
}

static int good_source(const struct image_source *source) {
    for (size_t i = 0; i < IMAGE_PATH_BYTES; i++)
        if (!source->path[i])
            return i == 0 || source->path[0] == '/';
    return 0;
}

/* No memory is both writable and executable. */
static int good_protection(uint32_t protection) {
    return !(protection & ~(uint32_t)(PROT_READ | PROT_WRITE | PROT_EXEC)) &&
           (protection & (PROT_WRITE | PROT_EXEC)) != (PROT_WRITE | PROT_EXEC);
}

static int good_area(const struct image_header *header, const struct image_area *area,
                     uint64_t previous_end) {
    return aligned(area->start) && aligned(area->end) && aligned(area->offset) &&
           area->start >= previous_end && area->start >= IMAGE_PAGE && area->start < area->end &&
           area->end < IMAGE_ADDRESS_END &&
           (area->end <= IMAGE_RESTORER_START || area->start >= IMAGE_RESTORER_END) &&
           area->source >= IMAGE_ZEROS &&
           (area->source == IMAGE_ZEROS || (uint32_t)area->source < header->sources) &&
           good_protection(area->protection);
}

const struct image_area *image_area_at(const struct image_header *header, uint64_t address) {
    const struct image_area *areas = image_areas(header);
    uint32_t low = 0, high = header->areas;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (areas[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < header->areas && areas[low].start <= address ? &areas[low] : NULL;
}

int image_file_has_inputs(const struct image_header *header) {
    return aligned(header->inputs_offset) && header->inputs_offset >= header->tables_bytes &&
           header->inputs_offset <= header->bytes && header->inputs_bytes <= IMAGE_INPUTS_MAX &&
           header->inputs_bytes % sizeof(uint64_t) == 0 &&
           header->inputs_bytes <= header->bytes - header->inputs_offset;
}

static int good_run(const struct image_header *header, const struct image_run *run,
                    uint64_t previous_end) {
    const uint64_t bytes = (uint64_t)run->pages * IMAGE_PAGE;
    const struct image_area *area = image_area_at(header, run->start);
    return area && aligned(run->start) && aligned(run->offset) && run->pages &&
           run->start >= previous_end && bytes <= area->end - run->start &&
           run->protection == area->protection && run->offset >= header->tables_bytes &&
           run->offset <= header->inputs_offset && bytes <= header->inputs_offset - run->offset;
}

/* Does [START, START + SIZE) lie in one area with PROTECTION? */
static int lies_in(const struct image_header *header, uint64_t start, uint64_t size,
                   uint32_t protection) {
    const struct image_area *area = image_area_at(header, start);
    return area && size <= area->end - start && (area->protection & protection) == protection;
}

static int good_entry(const struct image_header *header) {
    enum { STACK_LEAST = 4096, THREAD_LEAST = 64 };
    return header->stack >= STACK_LEAST && header->stack % 16 == 0 &&
           lies_in(header, header->entry, 1, PROT_READ | PROT_EXEC) &&
           lies_in(header, header->stack - STACK_LEAST, STACK_LEAST, PROT_READ | PROT_WRITE) &&
           lies_in(header, header->thread, THREAD_LEAST, PROT_READ | PROT_WRITE) &&
           header->handoff % sizeof(uint64_t) == 0 &&
           lies_in(header, header->handoff, sizeof(struct image_handoff), PROT_READ | PROT_WRITE);
}

static int good_tables(const struct image_header *header) {
    const struct image_source *sources = image_sources(header);
    const struct image_area *areas = image_areas(header);
    const struct image_run *runs = image_runs(header);
    uint64_t end = 0;
    if (!image_file_has_inputs(header))
        return 0;
    for (uint32_t i = 0; i < header->sources; i++)
        if (!good_source(&sources[i]))
            return 0;
    for (uint32_t i = 0; i < header->areas; end = areas[i++].end)
        if (!good_area(header, &areas[i], end))
            return 0;
    end = 0;
    for (uint32_t i = 0; i < header->runs; i++) {
        if (!good_run(header, &runs[i], end))
            return 0;
        end = runs[i].start + (uint64_t)runs[i].pages * IMAGE_PAGE;
    }
    return good_entry(header);
}

enum image_reason image_file_judge(void *tables, uint64_t size, uint64_t file_bytes) {
    struct image_header *header = tables;
    if (size < sizeof *header || header->magic != IMAGE_MAGIC)
        return IMAGE_FOREIGN;
    if (header->tables_bytes == 0 || header->tables_bytes != image_file_tables_bytes(header) ||
        header->tables_bytes > size || header->tables_bytes > IMAGE_TABLES_MAX ||
        header->bytes != file_bytes || !aligned(file_bytes))
        return IMAGE_DAMAGED;
    const uint64_t checksum = header->checksum;
    header->checksum = 0;
    if (image_file_checksum(tables, header->tables_bytes) != checksum || !good_tables(header))
        return IMAGE_DAMAGED;
    return IMAGE_FITS;
}
