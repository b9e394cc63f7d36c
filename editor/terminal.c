/* Lines from the terminal, edited by libedit, or by the terminal's driver where there is no cursor
 * control. Signals are blocked but for while this waits, so that none is lost between a look and a
 * wait. */
#include "common/utf8.h"
#include "editor/editor.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HISTORY_ENTRIES = 1000, READ_BYTES = 4096, LINE_MAX_BYTES = 32 << 20 };

/* --- signals --- */

static volatile sig_atomic_t interrupted, resized, stopped, ending;

static void note(int number) {
    if (number == SIGINT)
        interrupted = 1;
    else if (number == SIGWINCH)
        resized = 1;
    else if (number == SIGTSTP)
        stopped = 1;
    else
        ending = number;
}

static const int handled[] = {SIGINT, SIGWINCH, SIGTSTP, SIGTERM, SIGHUP, SIGQUIT};

static void take_signals(sigset_t *unblocked) {
    const struct sigaction action = {.sa_handler = note};
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) {
        struct sigaction inherited;
        if (sigaction(handled[i], NULL, &inherited) == 0 && inherited.sa_handler == SIG_IGN)
            continue;
        sigaction(handled[i], &action, NULL);
        sigaddset(&blocked, handled[i]);
    }
    sigprocmask(SIG_BLOCK, &blocked, unblocked);
    signal(SIGPIPE, SIG_IGN);
}

/* --- the modes of the terminal --- */

static void set_modes(const struct termios *modes) {
    while (tcsetattr(STDIN_FILENO, TCSADRAIN, modes) != 0 && errno == EINTR)
        ;
}

/* While code runs: what is typed is not echoed, since it is shown when it is read. */
static void set_busy(const struct terminal *terminal) {
    struct termios busy = terminal->normal;
    if (!terminal->editor)
        return;
    busy.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
    busy.c_cc[VMIN] = 1;
    busy.c_cc[VTIME] = 0;
    set_modes(&busy);
}

static void stop_here(const struct terminal *terminal, bool editing) {
    if (editing)
        el_set(terminal->editor, EL_PREP_TERM, 0);
    set_modes(&terminal->normal);
    kill(getpid(), SIGSTOP);
    if (!editing)
        set_busy(terminal);
    else
        el_set(terminal->editor, EL_PREP_TERM, 1);
}

/* --- waiting --- */

enum wait_end { WAIT_READY, WAIT_INTERRUPTED, WAIT_STOPPED };

/* Waits until FD is readable. EDITING: libedit has the terminal. */
static enum wait_end wait_for(struct terminal *terminal, int fd, bool editing) {
    struct pollfd polled[] = {{.fd = fd, .events = POLLIN},
                              {.fd = terminal->channel, .events = POLLIN}};
    for (;;) {
        int count = ppoll(polled, 2, NULL, &terminal->unblocked);
        if (stopped) {
            stopped = 0;
            stop_here(terminal, editing);
            resized = 1;
        }
        if (resized && editing) {
            el_resize(terminal->editor);
            /* It now takes the cursor to be at the start of the line. */
            fputs("\r\033[J", stdout);
            el_set(terminal->editor, EL_REFRESH);
        }
        resized = 0;
        if (ending) {
            terminal->signal = ending;
            return WAIT_STOPPED;
        }
        if (interrupted) {
            interrupted = 0;
            return WAIT_INTERRUPTED;
        }
        if (count > 0 && polled[0].revents)
            return WAIT_READY;
        if (count > 0 || (count < 0 && errno != EINTR))
            return WAIT_STOPPED;
    }
}

bool terminal_wait(struct terminal *terminal) {
    set_busy(terminal);
    for (;;) {
        enum wait_end end = wait_for(terminal, terminal->channel, false);
        if (end != WAIT_INTERRUPTED) /* the supervisor has the signal, too */
            return end == WAIT_READY;
    }
}

/* --- editing --- */

static struct terminal *terminal_of(EditLine *editor) {
    void *terminal = NULL;
    el_get(editor, EL_CLIENTDATA, &terminal);
    return terminal;
}

static char *prompt_of(EditLine *editor) {
    return terminal_of(editor)->prompt;
}

/* For libedit: reads a character. Returns 1, or -1 to leave the line. */
static int read_character(EditLine *editor, wchar_t *character) {
    struct terminal *terminal = terminal_of(editor);
    unsigned char bytes[UTF8_MAX_BYTES];
    for (size_t have = 0; have < sizeof bytes;) {
        enum wait_end end = wait_for(terminal, STDIN_FILENO, true);
        ssize_t got = end == WAIT_READY ? read(STDIN_FILENO, bytes + have, 1) : 0;
        if (end != WAIT_READY || got <= 0) {
            terminal->cause = end == WAIT_INTERRUPTED ? LINE_INTERRUPTED
                              : end == WAIT_STOPPED   ? LINE_STOPPED
                                                      : LINE_ENDED;
            errno = 0;
            return -1;
        }
        size_t length = utf8_sequence_length(bytes, ++have);
        if (length) {
            *character = (wchar_t)utf8_decode(bytes);
            return 1;
        }
        if (bytes[0] < 0xC2 || (have > 1 && !utf8_is_continuation(bytes[have - 1])))
            break;
    }
    *character = 0xFFFD;
    return 1;
}

static void bind_keys(EditLine *editor) {
    static const char *const keys[][2] = {
        {"^R", "em-inc-search-prev"},  {"^I", "ed-insert"},
        {"^W", "ed-delete-prev-word"}, {"\\e[3~", "ed-delete-next-char"},
        {"\\e[H", "ed-move-to-beg"},   {"\\e[F", "ed-move-to-end"},
        {"\\e[1~", "ed-move-to-beg"},  {"\\e[4~", "ed-move-to-end"},
        {"\\e[1;5C", "em-next-word"},  {"\\e[1;5D", "ed-prev-word"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        el_set(editor, EL_BIND, keys[i][0], keys[i][1], NULL);
}

static bool open_editor(struct terminal *terminal) {
    HistEvent event;
    EditLine *editor = el_init("eclave", stdin, stdout, stderr);
    terminal->history = history_init();
    if (!editor || !terminal->history) {
        if (editor)
            el_end(editor);
        return false;
    }
    terminal->editor = editor;
    history(terminal->history, &event, H_SETSIZE, HISTORY_ENTRIES);
    history(terminal->history, &event, H_SETUNIQUE, 1);
    el_set(editor, EL_CLIENTDATA, terminal);
    el_set(editor, EL_SIGNAL, 0);
    el_set(editor, EL_EDITOR, "emacs");
    el_set(editor, EL_PROMPT_ESC, prompt_of, '\1');
    el_set(editor, EL_HIST, history, terminal->history);
    el_set(editor, EL_GETCFN, read_character);
    /* Between two lines the driver must not echo what is pasted; see set_busy. */
    el_set(editor, EL_SETTY, "-x", "-echo", "-icanon", NULL);
    /* Ctrl-Z suspends, which libedit would prevent. */
    el_set(editor, EL_SETTY, "-d", "susp=^Z", NULL);
    bind_keys(editor);
    el_source(editor, NULL); /* ~/.editrc */
    return true;
}

/* Everything that eclave reads and prints is UTF-8. */
static void set_locale(void) {
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

void terminal_open(struct terminal *terminal, int channel) {
    const char *type = getenv("TERM"), *colourless = getenv("NO_COLOR");
    const bool dumb = !type || !*type || strcmp(type, "dumb") == 0;
    *terminal = (struct terminal){.channel = channel, .pending = buffer_make(LINE_MAX_BYTES)};
    take_signals(&terminal->unblocked);
    set_locale();
    tcgetattr(STDIN_FILENO, &terminal->normal);
    terminal->coloured = !dumb && !(colourless && *colourless);
    if (!dumb && open_editor(terminal))
        history_file_open(&terminal->file, terminal->history);
}

void terminal_close(struct terminal *terminal) {
    if (terminal->editor)
        el_end(terminal->editor);
    if (terminal->history)
        history_end(terminal->history);
    buffer_free(&terminal->pending);
    set_modes(&terminal->normal);
}

/* --- lines --- */

static enum line_end read_edited(struct terminal *terminal, const char *prompt,
                                 struct buffer *text) {
    int count = 0;
    const char *colour = terminal->coloured ? "\1\033[1m\1" : "";
    const char *end = terminal->coloured ? "\1\033[0m\1" : "";
    /* libedit drops a sequence that no character follows: the last blank is not coloured. */
    const size_t length = strlen(prompt), last = length ? length - 1 : 0;
    snprintf(terminal->prompt, sizeof terminal->prompt, "%s%.*s%s%s", colour, (int)last, prompt,
             end, prompt + last);
    terminal->cause = LINE_ENDED;
    const char *line = el_gets(terminal->editor, &count);
    if (line && count > 0)
        return buffer_append(text, line, (size_t)count) ? LINE_READ : LINE_INTERRUPTED;
    fputs(terminal->cause == LINE_INTERRUPTED ? "^C\n" : "\n", stdout);
    fflush(stdout);
    return terminal->cause;
}

/* Without an editor: the driver of the terminal echoes. */
static enum line_end read_plain(struct terminal *terminal, const char *prompt,
                                struct buffer *text) {
    struct buffer *pending = &terminal->pending;
    fputs(prompt, stdout);
    fflush(stdout);
    for (;;) {
        const unsigned char *newline =
            pending->length ? memchr(pending->data, '\n', pending->length) : NULL;
        if (newline) {
            size_t length = (size_t)(newline + 1 - pending->data);
            bool fits = buffer_append(text, pending->data, length);
            buffer_consume(pending, length);
            return fits ? LINE_READ : LINE_INTERRUPTED;
        }
        enum wait_end end = wait_for(terminal, STDIN_FILENO, false);
        unsigned char *room = buffer_reserve(pending, READ_BYTES);
        ssize_t got = end == WAIT_READY && room ? read(STDIN_FILENO, room, READ_BYTES) : 0;
        if (end != WAIT_READY || got <= 0) {
            pending->length = 0;
            putchar('\n');
            fflush(stdout);
            return end == WAIT_INTERRUPTED ? LINE_INTERRUPTED
                   : end == WAIT_STOPPED   ? LINE_STOPPED
                                           : LINE_ENDED;
        }
        pending->length += (size_t)got;
    }
}

enum line_end terminal_read(struct terminal *terminal, const char *prompt, struct buffer *text) {
    return terminal->editor ? read_edited(terminal, prompt, text)
                            : read_plain(terminal, prompt, text);
}

void terminal_remember(struct terminal *terminal, struct span entry) {
    HistEvent event;
    while (entry.length && strchr(" \t\n", entry.bytes[entry.length - 1]))
        entry.length--;
    if (!terminal->history || !entry.length || entry.bytes[0] == ' ' ||
        memchr(entry.bytes, 0, entry.length))
        return;
    char *copy = strndup((const char *)entry.bytes, entry.length);
    if (copy && history(terminal->history, &event, H_ENTER, copy) > 0)
        history_file_add(&terminal->file, entry);
    free(copy);
}
