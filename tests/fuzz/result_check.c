/* See result_check.h. */
#include "tests/fuzz/result_check.h"
#include "common/frame.h"
#include "common/utf8.h"
#include "supervisor/session/run.h"
#include "supervisor/session/text.h"

#include <string.h>

static bool same_span(struct span one, struct span other) {
    return one.length == other.length &&
           (one.length == 0 || memcmp(one.bytes, other.bytes, one.length) == 0);
}

static bool same_spans(const struct span *one, size_t one_count, const struct span *other,
                       size_t other_count) {
    for (size_t i = 0; i < one_count && i < other_count; i++)
        if (!same_span(one[i], other[i]))
            return false;
    return one_count == other_count;
}

static bool same_results(const struct result_message *one, const struct result_message *other) {
    if (!one->condition.bytes != !other->condition.bytes)
        return false;
    if (one->condition.bytes &&
        (!same_span(one->condition, other->condition) || !same_span(one->text, other->text)))
        return false;
    return same_span(one->package, other->package) && same_span(one->json, other->json) &&
           same_spans(one->values, one->value_count, other->values, other->value_count) &&
           same_spans(one->frames, one->frame_count, other->frames, other->frame_count) &&
           same_spans(one->warnings, one->warning_count, other->warnings, other->warning_count);
}

/* An accepted result is encoded again in the same number of bytes, so nothing was overlooked. The
 * order of sections is free, so two encodings are compared. */
static void check_encoding(const struct result_message *result, size_t size) {
    cleanup_buffer struct buffer first = buffer_make(FRAME_PAYLOAD_MAX);
    cleanup_buffer struct buffer second = buffer_make(FRAME_PAYLOAD_MAX);
    struct result_message again;
    FUZZ_CHECK(result_message_encode(&first, result), "it cannot be encoded");
    FUZZ_CHECK(first.length == size, "%zu bytes were %zu", first.length, size);
    FUZZ_CHECK(result_message_decode(first.data, first.length, &again), "no way back");
    FUZZ_CHECK(same_results(result, &again), "another result");
    FUZZ_CHECK(result_message_encode(&second, &again) && second.length == first.length &&
                   memcmp(first.data, second.data, first.length) == 0,
               "another encoding");
}

/* Repair leaves valid UTF-8 unchanged, and repairs the rest in one pass. */
static void check_repair(struct span bytes) {
    cleanup_buffer struct buffer once = buffer_make(FRAME_PAYLOAD_MAX);
    cleanup_buffer struct buffer twice = buffer_make(FRAME_PAYLOAD_MAX);
    FUZZ_CHECK(utf8_append_repaired(&once, bytes.bytes, bytes.length), "no room");
    FUZZ_CHECK(utf8_is_valid(once.data, once.length), "not mended");
    FUZZ_CHECK(utf8_append_repaired(&twice, once.data, once.length) &&
                   twice.length == once.length &&
                   (once.length == 0 || memcmp(once.data, twice.data, once.length) == 0),
               "mended twice");
    if (utf8_is_valid(bytes.bytes, bytes.length))
        FUZZ_CHECK(once.length == bytes.length, "good text was changed");
    size_t count = utf8_count(once.data, once.length);
    FUZZ_CHECK(utf8_offset(once.data, once.length, count) == once.length, "miscounted");
}

static void check_text(const struct result_message *result, struct fuzz_input *input) {
    static const char *const sentences[] = {"", "The code ended."};
    struct text_limits limits = {.max_chars = 4000U + fuzz_byte(input),
                                 .value_max_chars = 16U + fuzz_byte(input)};
    struct evaluation evaluation = {.session = "main"};
    unsigned choice = fuzz_byte(input);
    evaluation.outcome = result->condition.bytes ? OUTCOME_CONDITION : OUTCOME_VALUE;
    if (choice >= 128)
        evaluation.outcome = choice % OUTCOME_COUNT;
    else
        evaluation.result = *result;
    snprintf(evaluation.cause, sizeof evaluation.cause, "%s", sentences[choice >= 128]);
    size_t length = (size_t)fuzz_byte(input) * 2;
    evaluation.output.bytes = fuzz_bytes(input, length, &evaluation.output.length);
    evaluation.error_output = evaluation.output;
    evaluation.error_output.length /= 2;
    check_repair(evaluation.output);
    cleanup_buffer struct buffer text = buffer_make(FRAME_PAYLOAD_MAX);
    text_append_evaluation(&text, &evaluation, &limits);
    FUZZ_CHECK(!text.failed, "no room for the text");
    FUZZ_CHECK(text.length == 0 || utf8_is_valid(text.data, text.length), "not UTF-8");
    FUZZ_CHECK(utf8_count(text.data, text.length) <= limits.max_chars, "longer than its limit");
    bool marked = text.length >= 8 && memcmp(text.data, "[ERROR] ", 8) == 0;
    FUZZ_CHECK(marked == (evaluation.outcome != OUTCOME_VALUE), "the marker line");
}

/* A valid result stays valid when it is written again. */
static void check_run(struct span text, enum run_kind kind) {
    struct run_result result, again;
    if (run_result_decode(kind, text, &result)) {
        const char *plain = json_object_to_json_string(result.json);
        struct span span = {(const unsigned char *)plain, strlen(plain)};
        FUZZ_CHECK(run_result_decode(kind, span, &again), "lost its shape: %s", plain);
        run_result_free(&again);
    }
    run_result_free(&result);
}

void check_event(const unsigned char *payload, size_t size) {
    struct run_event event;
    if (run_event_decode((struct span){payload, size}, &event))
        FUZZ_CHECK(event.json && event.progress == event.progress, "no progress");
    run_event_free(&event);
}

void check_ask(const unsigned char *payload, size_t size) {
    json_object_put(run_ask_decode((struct span){payload, size}));
}

void check_result(const unsigned char *payload, size_t size, struct fuzz_input *input) {
    struct result_message result;
    if (!result_message_decode(payload, size, &result))
        return;
    check_encoding(&result, size);
    for (enum run_kind kind = 0; result.json.bytes && kind < RUN_KIND_COUNT; kind++)
        check_run(result.json, kind);
    check_text(&result, input);
}
