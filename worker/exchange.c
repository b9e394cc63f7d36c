/* Frames in the middle of a run. A failed exchange exits the process, so that Lisp never sees half
 * of one. */
#include "worker/exchange.h"
#include "common/frame.h"
#include "common/utf8.h"
#include "worker/convert.h"
#include "worker/worker.h"

#include <stdlib.h>
#include <unistd.h>

static struct {
    bool open;
    int channel;
    uint32_t call;
    unsigned char *answer; /* freed by the next one: making a Lisp string of it may not return */
} exchange;

static void free_answer(void) {
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
    free_answer();
}

/* False outside a run. */
static bool send_text(enum frame_type type, cl_object string) {
    if (!exchange.open || !ECL_STRINGP(string))
        return false;
    cleanup_buffer struct buffer text = buffer_make(FRAME_PAYLOAD_MAX);
    if (!convert_string_to_utf8(&text, string))
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
    free_answer();
    struct frame_header header;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
    int got = frame_receive(exchange.channel, &header, &exchange.answer, descriptors, &count, NULL);
    if (got <= 0)
        _exit(got == 0 ? 0 : EXIT_FAILED);
    if (header.type != FRAME_ANSWER || header.call != exchange.call || count ||
        !utf8_is_valid(exchange.answer, header.length))
        _exit(EXIT_FAILED);
    return convert_utf8_to_string((struct span){exchange.answer, header.length});
}
