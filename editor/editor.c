/* The program: eclave-editor CHANNEL PID MAXIMUM. CHANNEL is the descriptor of the channel to the
 * supervisor, which is its child PID; MAXIMUM is the size in bytes of the largest input. */
#include "editor/editor.h"
#include "common/cleanup.h"
#include "common/editing.h"
#include "common/frame.h"
#include "common/source.h"
#include "common/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROMPT_BYTES = 200, STATUS_INTERNAL = 70, READ_BYTES = 65536 };

struct editor {
    struct terminal terminal;
    char prompt[PROMPT_BYTES];
    struct buffer text; /* typed */
    size_t at;          /* of it, sent */
    bool whole;         /* the text ends within a form, and is sent as it is */
};

static bool begins_command(struct span text, size_t *at) {
    *at = 0;
    while (*at < text.length && source_is_blank(text.bytes[*at]))
        ++*at;
    return *at < text.length && text.bytes[*at] == ',';
}

static struct span typed(const struct editor *editor) {
    return (struct span){editor->text.data, editor->text.length};
}

/* Whether no further line is needed. A command is one line, but the form of ,time may be more. */
static bool is_complete(struct span text) {
    static const char timed[] = ",time";
    struct span form;
    size_t at;
    enum source_rest rest;
    if (begins_command(text, &at)) {
        if (text.length - at < sizeof timed ||
            memcmp(text.bytes + at, timed, sizeof timed - 1) != 0)
            return true;
        at += sizeof timed - 1;
    }
    while ((rest = source_next(text, &at, &form)) == SOURCE_WHOLE)
        ;
    return rest == SOURCE_EMPTY;
}

/* The prompt of a further line: as wide as the first. */
static void make_continuation(const char *prompt, char further[PROMPT_BYTES]) {
    static const char dots[] = "... ";
    size_t columns = utf8_count((const unsigned char *)prompt, strlen(prompt));
    size_t blanks = columns > sizeof dots - 1 ? columns - (sizeof dots - 1) : 0;
    snprintf(further, PROMPT_BYTES, "%*s%s", (int)blanks, "", dots);
}

/* Reads complete input into `text`. False if there is none: `end` says why. */
static bool read_input(struct editor *editor, enum line_end *end) {
    char further[PROMPT_BYTES];
    make_continuation(editor->prompt, further);
    editor->text.length = editor->at = 0;
    editor->whole = false;
    do {
        const char *prompt = editor->text.length ? further : editor->prompt;
        *end = terminal_read(&editor->terminal, prompt, &editor->text);
        if (editor->text.failed) {
            fputs("eclave: the input is longer than request.max_bytes\n", stderr);
            editor->text.failed = false;
        }
        /* The reader says what is missing in input that is ended too early. */
        editor->whole = *end == LINE_ENDED && editor->text.length;
        if (*end != LINE_READ && !editor->whole)
            return false;
    } while (!editor->whole && !is_complete(typed(editor)));
    terminal_remember(&editor->terminal, typed(editor));
    *end = LINE_READ;
    return true;
}

static bool send_text(const struct editor *editor, enum editing_type type, struct span text) {
    const struct frame_header header = {.type = (uint16_t)type, .length = (uint32_t)text.length};
    return frame_send(editor->terminal.channel, &header, text.bytes, NULL, 0, NULL);
}

/* --- ,load --- */

/* The name in ",load NAME", which the caller owns; NULL: another command. */
static char *file_of(struct span command) {
    static const char load[] = ",load";
    size_t at, end = command.length;
    if (!begins_command(command, &at) || end - at < sizeof load ||
        memcmp(command.bytes + at, load, sizeof load - 1) != 0 ||
        !source_is_blank(command.bytes[at + sizeof load - 1]))
        return NULL;
    at += sizeof load - 1;
    while (at < end && source_is_blank(command.bytes[at]))
        at++;
    while (end > at && source_is_blank(command.bytes[end - 1]))
        end--;
    const char *home = getenv("HOME");
    bool below_home = home && end - at > 1 && memcmp(command.bytes + at, "~/", 2) == 0;
    char *name = NULL;
    if (end > at && asprintf(&name, "%s%.*s", below_home ? home : "", (int)(end - at - below_home),
                             (const char *)command.bytes + at + below_home) < 0)
        name = NULL;
    return name;
}

static bool read_file(const char *name, struct buffer *contents) {
    struct stat status;
    cleanup_fd int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0)
        return false;
    errno = S_ISREG(status.st_mode) ? 0 : S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    while (!errno) {
        unsigned char *room = buffer_reserve(contents, READ_BYTES);
        ssize_t got = room ? read(fd, room, READ_BYTES) : -1;
        if (got <= 0) {
            errno = room ? errno : EFBIG;
            return got == 0 && contents->length <= contents->maximum;
        }
        contents->length += (size_t)got;
    }
    return false;
}

/* Sends the file as one call. Returns whether something was sent; if not, it was explained. */
static bool send_file(struct editor *editor, const char *name) {
    cleanup_buffer struct buffer contents = buffer_make(editor->text.maximum + READ_BYTES);
    if (!read_file(name, &contents) || contents.length > editor->text.maximum) {
        fprintf(stderr, "eclave: %s: %s\n", name, strerror(errno ? errno : EFBIG));
        return false;
    }
    struct span text = utf8_without_mark((struct span){contents.data, contents.length});
    if (!utf8_is_valid(text.bytes, text.length)) {
        fprintf(stderr, "eclave: %s is not UTF-8\n", name);
        return false;
    }
    return send_text(editor, EDITING_CODE, text);
}

/* --- the conversation --- */

/* Sends the next part of what was typed. False if nothing was sent. */
static bool send_next(struct editor *editor) {
    struct span form, text = typed(editor);
    size_t at;
    if (editor->at == text.length)
        return false;
    if (begins_command(text, &at) && editor->at == 0) {
        cleanup_free char *name = file_of(text);
        editor->at = text.length;
        return name ? send_file(editor, name)
                    : send_text(editor, EDITING_COMMAND,
                                (struct span){text.bytes + at, text.length - at});
    }
    if (source_next(text, &editor->at, &form) == SOURCE_WHOLE)
        return send_text(editor, EDITING_CODE, form);
    form = (struct span){text.bytes + editor->at, text.length - editor->at};
    editor->at = text.length;
    return editor->whole && send_text(editor, EDITING_CODE, form);
}

/* Waits for the next prompt. False if the supervisor has ended or a signal asked to end. */
static bool take_prompt(struct editor *editor) {
    struct frame_header header;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
    cleanup_free unsigned char *payload = NULL;
    if (!terminal_wait(&editor->terminal) ||
        frame_receive(editor->terminal.channel, &header, &payload, descriptors, &count, NULL) != 1)
        return false;
    snprintf(editor->prompt, sizeof editor->prompt, "%.*s", (int)header.length,
             payload ? (const char *)payload : "");
    if (header.call)
        editor->at = editor->text.length;
    return true;
}

static void converse(struct editor *editor) {
    enum line_end end = LINE_READ;
    while (take_prompt(editor)) {
        while (!send_next(editor))
            while (!read_input(editor, &end))
                if (end != LINE_INTERRUPTED)
                    return;
    }
}

/* The exit status of the supervisor; 128 and the signal that ended it. */
static int status_of(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return STATUS_INTERNAL;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char **arguments) {
    struct editor editor = {.prompt = ""};
    if (count != 4) {
        fputs("eclave-editor: a part of eclave repl, which starts it\n", stderr);
        return 2;
    }
    const int channel = (int)strtol(arguments[1], NULL, 10);
    const pid_t supervisor = (pid_t)strtol(arguments[2], NULL, 10);
    editor.text = buffer_make((size_t)strtoull(arguments[3], NULL, 10));
    fcntl(channel, F_SETFD, FD_CLOEXEC);
    terminal_open(&editor.terminal, channel);
    converse(&editor);
    terminal_close(&editor.terminal);
    close(channel); /* at which the supervisor ends */
    buffer_free(&editor.text);
    int status = status_of(supervisor);
    if (status > 128 && !editor.terminal.signal)
        fprintf(stderr, "eclave: the supervisor was ended by signal %d\n", status - 128);
    return editor.terminal.signal ? 128 + editor.terminal.signal : status;
}
