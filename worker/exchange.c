/* Frames in the middle of a call. The process ends where the channel does, so that Lisp never sees
 * half an exchange. */
#include "worker/exchange.h"
#include "common/frame.h"
#include "common/utf8.h"
#include "worker/source.h"
#include "worker/text.h"

#include <stdlib.h>
#include <unistd.h>

enum { EXIT_FAILED = 70, TEXT_KEPT_BYTES = 1 << 16 };

static struct {
    bool open;
    int channel;
    uint32_t call;
    unsigned char *answer; /* kept until the next, as making a Lisp string of it may not return */
} exchange;

static void forget_answer(void) {
    free(exchange.answer);
    exchange.answer = NULL;
}

void exchange_begin(int channel, uint32_t call) {
    exchange.open = true;
    exchange.channel = channel;
    exchange.call = call;
}

void exchange_end(void) {
    exchange.open = false;
    forget_answer();
}

/* False when nobody may send anything now. */
static bool send_text(enum frame_type type, cl_object string) {
    if (!exchange.open || !ECL_STRINGP(string))
        return false;
    cleanup_buffer struct buffer text = buffer_make(FRAME_PAYLOAD_MAX);
    if (!text_append(&text, string))
        _exit(EXIT_FAILED);
    struct frame_header header = {
        .type = (uint16_t)type, .call = exchange.call, .length = (uint32_t)text.length};
    if (!frame_send(exchange.channel, &header, text.data, NULL, 0, NULL))
        _exit(EXIT_FAILED);
    return true;
}

cl_object exchange_send_event(cl_object text) {
    return send_text(FRAME_EVENT, text) ? ECL_T : ECL_NIL;
}

cl_object exchange_send_ask(cl_object text) {
    if (!send_text(FRAME_ASK, text))
        return ECL_NIL;
    forget_answer();
    struct frame_header header;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
    int got = frame_receive(exchange.channel, &header, &exchange.answer, descriptors, &count, NULL);
    if (got <= 0)
        _exit(got == 0 ? 0 : EXIT_FAILED);
    if (header.type != FRAME_ANSWER || header.call != exchange.call || count ||
        !utf8_is_valid(exchange.answer, header.length))
        _exit(EXIT_FAILED);
    return source_string((struct span){exchange.answer, header.length});
}
