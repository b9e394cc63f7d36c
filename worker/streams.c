/* Output streams of ECL with a dispatch table that writes to a sink. Writing a character does not
 * call into Lisp, so it is possible anywhere. */
#include "worker/streams.h"
#include "common/descriptor.h"
#include "common/utf8.h"
#include "worker/lisp.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHARACTER_BYTES_MAX = 4, TAB_WIDTH = 8 };

/* The slot for the buffer of the stream's FILE, which is never used. */
static struct sink *sink_of(cl_object stream) {
    return (struct sink *)(void *)stream->stream.buffer;
}

static void put_character(struct sink *sink, ecl_character code) {
    if (sink->room == 0) {
        sink->dropped++;
        return;
    }
    if (sink->capacity - sink->length < CHARACTER_BYTES_MAX &&
        !sink->make_room(sink, CHARACTER_BYTES_MAX)) {
        sink->dropped++;
        return;
    }
    if (code < 0x80)
        sink->bytes[sink->length++] = (unsigned char)code;
    else
        sink->length += utf8_encode((uint32_t)code, sink->bytes + sink->length);
    if (sink->room != SIZE_MAX)
        sink->room--;
}

static cl_index column_after(cl_index column, ecl_character code) {
    if (code == '\n')
        return 0;
    if (code == '\t')
        return (column / TAB_WIDTH + 1) * TAB_WIDTH;
    return column + 1;
}

static ecl_character write_character(cl_object stream, ecl_character code) {
    stream->stream.column = column_after(stream->stream.column, code);
    put_character(sink_of(stream), code);
    return code;
}

static bool put_byte(struct sink *sink, unsigned char byte) {
    if (sink->length == sink->capacity && !sink->make_room(sink, 1))
        return false;
    sink->bytes[sink->length++] = byte;
    return true;
}

/* Bytes from WRITE-BYTE, or encoded by ECL after user code changed the external format. If the
 * reader of the sink repairs UTF-8, they are written unchanged, else as the characters of these
 * codes. */
static cl_index write_bytes(cl_object stream, unsigned char *bytes, cl_index count) {
    struct sink *sink = sink_of(stream);
    for (cl_index i = 0; i < count; i++) {
        if (!sink->takes_bytes)
            put_character(sink, bytes[i]);
        else if (!put_byte(sink, bytes[i]))
            sink->dropped++;
    }
    return count;
}

/* Copies the ASCII characters at the start of BYTES. Returns their number. */
static cl_index write_ascii(struct sink *sink, const unsigned char *bytes, cl_index count) {
    if (count > sink->room)
        count = sink->room;
    cl_index done = 0;
    while (done < count && bytes[done] < 0x80) {
        if (sink->length == sink->capacity && !sink->make_room(sink, CHARACTER_BYTES_MAX))
            break;
        cl_index part = sink->capacity - sink->length;
        if (part > count - done)
            part = count - done;
        cl_index ascii = 0;
        while (ascii < part && bytes[done + ascii] < 0x80)
            ascii++;
        memcpy(sink->bytes + sink->length, bytes + done, ascii);
        sink->length += ascii;
        done += ascii;
        if (ascii < part)
            break;
    }
    if (sink->room != SIZE_MAX)
        sink->room -= done;
    return done;
}

static cl_index column_after_bytes(cl_index column, const unsigned char *bytes, cl_index count) {
    const unsigned char *line = memrchr(bytes, '\n', count);
    if (line) {
        count -= (cl_index)(line + 1 - bytes);
        bytes = line + 1;
        column = 0;
    }
    if (!memchr(bytes, '\t', count))
        return column + count;
    for (cl_index i = 0; i < count; i++)
        column = column_after(column, bytes[i]);
    return column;
}

/* WRITE-STRING and WRITE-SEQUENCE. Elements other than characters are written as ECL does. */
static cl_index write_vector(cl_object stream, cl_object data, cl_index start, cl_index end) {
    struct sink *sink = sink_of(stream);
    if (ecl_t_of(data) == t_base_string) {
        const unsigned char *bytes = data->base_string.self;
        cl_index copied = write_ascii(sink, bytes + start, end - start);
        stream->stream.column = column_after_bytes(stream->stream.column, bytes + start, copied);
        for (cl_index i = start + copied; i < end; i++)
            write_character(stream, bytes[i]);
        return end;
    }
    if (ecl_t_of(data) == t_string) {
        for (cl_index i = start; i < end; i++)
            write_character(stream, data->string.self[i]);
        return end;
    }
    for (cl_index i = start; i < end; i++) {
        cl_object element = ecl_aref1(data, i);
        if (ECL_CHARACTERP(element))
            write_character(stream, (ecl_character)ECL_CHAR_CODE(element));
        else
            stream->stream.ops->write_byte(element, stream);
    }
    return end;
}

static void flush(cl_object stream) {
    struct sink *sink = sink_of(stream);
    if (sink->flush)
        sink->flush(sink);
}

/* CLEAR-OUTPUT: the output counts as already shown. */
static void do_nothing(cl_object stream) {
    (void)stream;
}

/* CLOSE by user code has no effect, since the next call needs the stream. */
static cl_object keep_open(cl_object stream) {
    flush(stream);
    return ECL_T;
}

static cl_object no_position(cl_object stream) {
    (void)stream;
    return ECL_NIL;
}

static cl_object no_seek(cl_object stream, cl_object position) {
    (void)stream;
    (void)position;
    return ECL_NIL;
}

cl_object streams_make(struct sink *sink, const char *name) {
    cl_object stream = ecl_make_stream_from_FILE(
        ecl_make_constant_base_string(name, -1), stderr, ecl_smm_output, 8,
        ECL_STREAM_DEFAULT_FORMAT | ECL_STREAM_C_STREAM, ecl_make_keyword("UTF-8"));
    struct ecl_file_ops *operations = stream->stream.ops; /* a copy for this stream */
    operations->write_char = write_character;
    operations->write_byte8 = write_bytes;
    operations->write_vector = write_vector;
    operations->force_output = flush; /* FINISH-OUTPUT calls it too */
    operations->finish_output = flush;
    operations->clear_output = do_nothing;
    operations->get_position = no_position;
    operations->set_position = no_seek;
    operations->length = no_position;
    operations->close = keep_open;
    stream->stream.buffer = (char *)sink;
    return stream;
}

/* --- standard output and standard error --- */

/* Signal handlers write these buffers, so there is no allocation and no lock here. */

struct standard_stream {
    struct sink sink; /* first: a sink is cast to its stream */
    int descriptor;
    cl_object stream;
    unsigned char buffer[STREAMS_BUFFER_BYTES];
};

static struct standard_stream standard_streams[2];

/* Blocks the signal that ends the process, so that its handler does not write the same bytes again.
 */
static void write_out(struct sink *sink) {
    const struct standard_stream *standard = (const struct standard_stream *)(const void *)sink;
    if (sink->length == 0)
        return;
    sigset_t held;
    sigset_t before;
    sigemptyset(&held);
    sigaddset(&held, STREAMS_END_SIGNAL);
    sigprocmask(SIG_BLOCK, &held, &before);
    write_all(standard->descriptor, sink->bytes, sink->length);
    sink->length = 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static bool make_room(struct sink *sink, size_t size) {
    write_out(sink);
    return sink->capacity >= size;
}

static void open_standard(struct standard_stream *standard, int descriptor, const char *name) {
    standard->descriptor = descriptor;
    standard->sink = (struct sink){.bytes = standard->buffer,
                                   .capacity = sizeof standard->buffer,
                                   .room = SIZE_MAX,
                                   .takes_bytes = true,
                                   .make_room = make_room,
                                   .flush = write_out};
    standard->stream = streams_make(&standard->sink, name);
}

void streams_open(void) {
    const cl_env_ptr env = ecl_process_env();
    open_standard(&standard_streams[0], STDOUT_FILENO, "standard output");
    open_standard(&standard_streams[1], STDERR_FILENO, "standard error");
    ECL_SETQ(env, lisp.standard_output, standard_streams[0].stream);
    ECL_SETQ(env, lisp.standard_error, standard_streams[1].stream);
}

void streams_flush(void) {
    write_out(&standard_streams[0].sink);
    write_out(&standard_streams[1].sink);
}

void streams_begin_call(void) {
    for (size_t i = 0; i < sizeof standard_streams / sizeof *standard_streams; i++)
        standard_streams[i].stream->stream.column = 0;
}

void streams_discard(void) {
    for (size_t i = 0; i < sizeof standard_streams / sizeof *standard_streams; i++) {
        struct sink *sink = &standard_streams[i].sink;
        memset(sink->bytes, 0, sink->capacity);
        sink->length = 0;
    }
}

void streams_write_rest(void) {
    for (size_t i = 0; i < sizeof standard_streams / sizeof *standard_streams; i++)
        write_all(standard_streams[i].descriptor, standard_streams[i].sink.bytes,
                  standard_streams[i].sink.length);
}
