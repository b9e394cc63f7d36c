/* Encoding of records: sections, as in the payload of a frame. */
#include "supervisor/state/record.h"
#include "common/message.h"
#include "common/session_image.h"

enum {
    PART_FACTS = 1, /* exactly one, first */
    PART_TEXT,      /* at most one of each */
    PART_CONDITION,
    PART_ANSWERS,
    PART_END,
    RUN_KINDS_MAX = 16
};

struct facts {
    uint32_t kind, is_run, run, wants_value;
    uint64_t number;
    int64_t time_s;
};

static bool put(struct buffer *out, unsigned part, struct span span) {
    return !span.bytes || message_put(out, (enum section_tag)part, span.bytes, span.length);
}

bool record_encode(struct buffer *out, const struct journal_record *record) {
    const struct facts facts = {.kind = record->kind,
                                .is_run = record->is_run,
                                .run = record->run,
                                .wants_value = record->wants_value,
                                .number = record->number,
                                .time_s = record->time_s};
    return put(out, PART_FACTS, (struct span){(const unsigned char *)&facts, sizeof facts}) &&
           put(out, PART_TEXT, record->text) && put(out, PART_CONDITION, record->condition) &&
           put(out, PART_ANSWERS, record->answers);
}

static bool take_facts(struct span bytes, struct journal_record *record) {
    struct facts facts;
    if (bytes.length != sizeof facts)
        return false;
    memcpy(&facts, bytes.bytes, sizeof facts);
    if (facts.kind < RECORD_OPEN || facts.kind >= RECORD_KIND_END || facts.is_run > 1 ||
        facts.wants_value > 1 || facts.run >= RUN_KINDS_MAX)
        return false;
    *record = (struct journal_record){.kind = (enum record_kind)facts.kind,
                                      .number = facts.number,
                                      .time_s = facts.time_s,
                                      .is_run = facts.is_run,
                                      .run = facts.run,
                                      .wants_value = facts.wants_value};
    return true;
}

bool record_decode(struct span bytes, struct journal_record *record) {
    size_t offset = 0;
    uint32_t tag, last = 0;
    struct span part;
    int more;
    while ((more = message_get(bytes.bytes, bytes.length, &offset, &tag, &part)) > 0) {
        if (tag <= last || tag >= PART_END || (last == 0 && tag != PART_FACTS) ||
            (tag == PART_FACTS && !take_facts(part, record)))
            return false;
        last = tag;
        if (tag == PART_TEXT)
            record->text = part;
        else if (tag == PART_CONDITION)
            record->condition = part;
        else if (tag == PART_ANSWERS)
            record->answers = part;
    }
    if (more < 0 || last == 0)
        return false;
    const bool has_text =
        record->kind == RECORD_OPEN || record->kind == RECORD_CALL || record->kind == RECORD_IMAGE;
    return has_text == (record->text.bytes != NULL) &&
           (record->kind != RECORD_IMAGE || record->text.length == sizeof(struct adopt_message));
}

bool record_put_answer(struct buffer *answers, struct span answer) {
    return message_put(answers, (enum section_tag)PART_ANSWERS, answer.bytes, answer.length);
}

bool record_take_answer(struct span *answers, struct span *answer) {
    size_t offset = 0;
    uint32_t tag;
    if (!answers->bytes ||
        message_get(answers->bytes, answers->length, &offset, &tag, answer) <= 0 ||
        tag != PART_ANSWERS)
        return false;
    answers->bytes += offset;
    answers->length -= offset;
    return true;
}
