/* Encoders and decoders of payloads. */
#include "common/message.h"
#include "common/utf8.h"

#include <string.h>

struct section_header {
    uint32_t tag;
    uint32_t length;
};

bool message_put(struct buffer *payload, enum section_tag tag, const void *bytes, size_t length) {
    struct section_header header = {.tag = (uint32_t)tag, .length = (uint32_t)length};
    if (length > UINT32_MAX || !buffer_reserve(payload, sizeof header + length))
        return false;
    return buffer_append(payload, &header, sizeof header) && buffer_append(payload, bytes, length);
}

int message_get(const unsigned char *payload, size_t length, size_t *offset, uint32_t *tag,
                struct span *bytes) {
    if (*offset == length)
        return 0;
    struct section_header header;
    if (length - *offset < sizeof header)
        return -1;
    memcpy(&header, payload + *offset, sizeof header);
    if (header.length > length - *offset - sizeof header)
        return -1;
    *tag = header.tag;
    *bytes = (struct span){payload + *offset + sizeof header, header.length};
    *offset += sizeof header + header.length;
    return 1;
}

static bool put_span(struct buffer *payload, enum section_tag tag, struct span span) {
    return message_put(payload, tag, span.bytes, span.length);
}

static bool put_spans(struct buffer *payload, enum section_tag tag, const struct span *spans,
                      size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!put_span(payload, tag, spans[i]))
            return false;
    return true;
}

/* Stores SPAN in *SLOT. False if the section was there before. */
static bool take_once(struct span *slot, struct span span) {
    if (slot->bytes)
        return false;
    *slot = span;
    return true;
}

/* Appends SPAN to SPANS. False if there are MAXIMUM already. */
static bool take_next(struct span *spans, size_t *count, size_t maximum, struct span span) {
    if (*count == maximum)
        return false;
    spans[(*count)++] = span;
    return true;
}

bool evaluate_message_encode(struct buffer *payload, const struct evaluate_message *message) {
    return (!message->package.bytes || put_span(payload, SECTION_PACKAGE, message->package)) &&
           (!message->inspection.bytes ||
            put_span(payload, SECTION_ARGUMENTS, message->inspection)) &&
           (!message->input.bytes || put_span(payload, SECTION_INPUT, message->input)) &&
           (!message->files.bytes || put_span(payload, SECTION_FILES, message->files)) &&
           put_span(payload, SECTION_CODE, message->code);
}

bool evaluate_message_decode(const unsigned char *payload, size_t length,
                             struct evaluate_message *message) {
    *message = (struct evaluate_message){0};
    size_t offset = 0;
    uint32_t tag;
    struct span span;
    int more;
    while ((more = message_get(payload, length, &offset, &tag, &span)) > 0) {
        bool taken = tag == SECTION_CODE        ? take_once(&message->code, span)
                     : tag == SECTION_PACKAGE   ? take_once(&message->package, span)
                     : tag == SECTION_ARGUMENTS ? take_once(&message->inspection, span)
                     : tag == SECTION_INPUT     ? take_once(&message->input, span)
                     : tag == SECTION_FILES     ? take_once(&message->files, span)
                                                : false;
        if (!taken || !utf8_is_valid(span.bytes, span.length))
            return false;
    }
    return more == 0 && message->code.bytes;
}

bool run_message_encode(struct buffer *payload, const struct run_message *message) {
    return put_span(payload, SECTION_KIND, message->kind) &&
           put_span(payload, SECTION_NAME, message->name) &&
           put_span(payload, SECTION_CODE, message->code) &&
           put_span(payload, SECTION_ARGUMENTS, message->arguments);
}

static bool take_run_section(struct run_message *message, uint32_t tag, struct span span) {
    switch (tag) {
    case SECTION_KIND:
        return take_once(&message->kind, span);
    case SECTION_NAME:
        return span.length && take_once(&message->name, span);
    case SECTION_CODE:
        return take_once(&message->code, span);
    case SECTION_ARGUMENTS:
        return take_once(&message->arguments, span);
    default:
        return false;
    }
}

bool run_message_decode(const unsigned char *payload, size_t length, struct run_message *message) {
    *message = (struct run_message){0};
    size_t offset = 0;
    uint32_t tag;
    struct span span;
    int more;
    while ((more = message_get(payload, length, &offset, &tag, &span)) > 0)
        if (!utf8_is_valid(span.bytes, span.length) || !take_run_section(message, tag, span))
            return false;
    return more == 0 && message->kind.bytes && message->name.bytes && message->code.bytes &&
           message->arguments.bytes;
}

bool result_message_encode(struct buffer *payload, const struct result_message *message) {
    return put_span(payload, SECTION_PACKAGE, message->package) &&
           (!message->json.bytes || put_span(payload, SECTION_JSON, message->json)) &&
           (!message->condition.bytes ||
            (put_span(payload, SECTION_CONDITION, message->condition) &&
             put_span(payload, SECTION_MESSAGE, message->text))) &&
           (!message->settles || put_span(payload, SECTION_SETTLES, (struct span){0})) &&
           (!message->refines || put_span(payload, SECTION_REFINES, (struct span){0})) &&
           put_spans(payload, SECTION_VALUE, message->values, message->value_count) &&
           put_spans(payload, SECTION_FRAME, message->frames, message->frame_count) &&
           put_spans(payload, SECTION_WARNING, message->warnings, message->warning_count);
}

static bool take_result_section(struct result_message *message, uint32_t tag, struct span span) {
    switch (tag) {
    case SECTION_PACKAGE:
        return take_once(&message->package, span);
    case SECTION_CONDITION:
        return span.length && take_once(&message->condition, span);
    case SECTION_MESSAGE:
        return span.length && take_once(&message->text, span);
    case SECTION_JSON:
        return span.length && take_once(&message->json, span);
    case SECTION_SETTLES:
        message->settles = true;
        return span.length == 0;
    case SECTION_REFINES:
        message->refines = true;
        return span.length == 0;
    case SECTION_VALUE:
        return take_next(message->values, &message->value_count, RESULT_VALUES_MAX, span);
    case SECTION_FRAME:
        return take_next(message->frames, &message->frame_count, RESULT_FRAMES_MAX, span);
    case SECTION_WARNING:
        return take_next(message->warnings, &message->warning_count, RESULT_WARNINGS_MAX, span);
    default:
        return false;
    }
}

bool result_message_decode(const unsigned char *payload, size_t length,
                           struct result_message *message) {
    *message = (struct result_message){0};
    size_t offset = 0;
    uint32_t tag;
    struct span span;
    int more;
    while ((more = message_get(payload, length, &offset, &tag, &span)) > 0)
        if (!utf8_is_valid(span.bytes, span.length) || !take_result_section(message, tag, span))
            return false;
    bool failed = message->condition.bytes != NULL;
    return more == 0 && message->package.bytes && failed == (message->text.bytes != NULL) &&
           !(failed && (message->value_count || message->json.bytes)) &&
           !(!failed && message->frame_count);
}
