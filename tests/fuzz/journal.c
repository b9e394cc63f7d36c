/* Fuzz target: a journal. The input is records, each a length byte and that many bytes, and then a
 * place and a byte. What was written is read; after the byte at the place was changed, what is read
 * is a beginning of it. The input itself is read as a journal and as a record. */
#include "supervisor/state/journal.h"
#include "supervisor/state/record.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RECORDS_MAX = 64, INPUT_MAX = 1 << 16 };

static const unsigned char key[JOURNAL_KEY_BYTES] = "the key of the fuzz target";

struct written {
    struct span records[RECORDS_MAX];
    size_t count;
};

static int empty_file(void) {
    int fd = memfd_create("journal", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0, "no file");
    return fd;
}

/* The number of records read, each of which must be the one that was written. */
static size_t read_back(int fd, const struct written *written, bool *whole) {
    struct buffer record = buffer_make(JOURNAL_RECORD_MAX);
    struct journal journal;
    size_t count = 0;
    *whole = false;
    if (journal_open(&journal, fd, key, NULL)) {
        int more;
        while ((more = journal_next(&journal, &record, NULL)) > 0) {
            FUZZ_CHECK(
                count < written->count &&
                    span_equal((struct span){record.data, record.length}, written->records[count]),
                "record %zu was not written", count);
            count++;
        }
        *whole = more == 0;
    }
    buffer_free(&record);
    return count;
}

static void read_raw(const uint8_t *bytes, size_t size) {
    static const struct written nothing;
    bool whole;
    int fd = empty_file();
    FUZZ_CHECK(pwrite(fd, bytes, size, 0) == (ssize_t)size, "not written");
    read_back(fd, &nothing, &whole);
    close(fd);
}

static void read_record(const uint8_t *bytes, size_t size) {
    struct journal_record record, again;
    struct buffer encoded = buffer_make(INPUT_MAX);
    struct span answer;
    if (record_decode((struct span){bytes, size}, &record)) {
        FUZZ_CHECK(record_encode(&encoded, &record) &&
                       record_decode((struct span){encoded.data, encoded.length}, &again) &&
                       again.kind == record.kind && again.number == record.number &&
                       span_equal(again.text, record.text) &&
                       span_equal(again.condition, record.condition),
                   "another record");
        while (record_take_answer(&record.answers, &answer))
            FUZZ_CHECK(answer.length <= size, "too long");
    }
    buffer_free(&encoded);
}

/* Returns the rest of the input. */
static struct span write_records(struct journal *journal, struct span input,
                                 struct written *written) {
    bool torn;
    while (written->count < RECORDS_MAX && input.length > 4) {
        const size_t length = input.bytes[0] < input.length - 4 ? input.bytes[0] : input.length - 4;
        const struct span record = {input.bytes + 1, length};
        FUZZ_CHECK(journal_append(journal, record, &torn, NULL), "not appended");
        written->records[written->count++] = record;
        input.bytes += 1 + length;
        input.length -= 1 + length;
    }
    return input;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct written written = {.count = 0};
    struct journal journal;
    bool whole;
    if (size > INPUT_MAX)
        return 0;
    read_raw(data, size);
    read_record(data, size);
    int fd = empty_file();
    FUZZ_CHECK(journal_begin(&journal, fd, key, NULL), "not begun");
    const struct span rest = write_records(&journal, (struct span){data, size}, &written);
    FUZZ_CHECK(read_back(fd, &written, &whole) == written.count && whole, "not all is read");
    if (rest.length >= 3 && rest.bytes[2]) {
        const off_t place = (off_t)(((uint64_t)rest.bytes[0] << 8 | rest.bytes[1]) % journal.end);
        unsigned char byte;
        FUZZ_CHECK(pread(fd, &byte, 1, place) == 1, "not read");
        byte ^= rest.bytes[2];
        FUZZ_CHECK(pwrite(fd, &byte, 1, place) == 1, "not written");
        read_back(fd, &written, &whole);
        FUZZ_CHECK(!whole || written.count == 0, "the damage at %lld is not seen",
                   (long long)place);
    }
    close(fd);
    return 0;
}
