/* What a person reads. Everything that code has made passes shown_write, which escapes what could
 * control the terminal. */
#include "supervisor/base/clock.h"
#include "supervisor/repl/repl_internal.h"
#include "supervisor/session/text.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    TEXT_MAX_BYTES = 64 << 20,
    OUTPUT_SHOWN_CHARS = 8000, /* about a hundred lines; a client is sent more */
    VALUE_SHOWN_CHARS = 4000
};

static size_t smaller(int64_t limit, size_t shown) {
    return limit < (int64_t)shown ? (size_t)limit : shown;
}

/* Prints the lines of TEXT in COLOUR, with a newline at its end. */
static void show_lines(const struct repl *repl, const char *colour, struct span text) {
    while (text.length && text.bytes[text.length - 1] == '\n')
        text.length--;
    fputs(colour, stdout);
    shown_write(stdout, text);
    fputs(*colour ? repl->colours.end : "", stdout);
    putchar('\n');
}

static void show_buffer(const struct repl *repl, const char *colour, const struct buffer *text) {
    if (text->failed)
        show_mistake(repl, "out of memory");
    else
        show_lines(repl, colour, (struct span){text->data, text->length});
}

static void show_captured(const struct repl *repl, const char *colour, struct span captured) {
    cleanup_buffer struct buffer text = buffer_make(TEXT_MAX_BYTES);
    if (!captured.length)
        return;
    text_append_captured(&text, captured,
                         smaller(repl->settings->text_max_chars, OUTPUT_SHOWN_CHARS));
    show_buffer(repl, colour, &text);
}

static void show_values(const struct repl *repl, const struct result_message *result) {
    if (!result->value_count)
        show_note(repl, "no values");
    for (size_t i = 0; i < result->value_count; i++) {
        cleanup_buffer struct buffer text = buffer_make(TEXT_MAX_BYTES);
        buffer_append_text(&text, "=> ");
        text_append_value(&text, result->values[i],
                          smaller(repl->settings->value_max_chars, VALUE_SHOWN_CHARS));
        show_buffer(repl, "", &text);
    }
}

static void show_condition(const struct repl *repl, const struct result_message *result) {
    cleanup_buffer struct buffer text = buffer_make(TEXT_MAX_BYTES);
    buffer_append(&text, result->condition.bytes, result->condition.length);
    buffer_append_text(&text, ": ");
    buffer_append(&text, result->text.bytes, result->text.length);
    show_buffer(repl, repl->colours.bad, &text);
    for (size_t i = 0; i < result->frame_count; i++) {
        text.length = 0;
        buffer_append_format(&text, "  %zu: ", i);
        buffer_append(&text, result->frames[i].bytes, result->frames[i].length);
        show_buffer(repl, repl->colours.faint, &text);
    }
}

/* Each hint is given once. */
static void explain(struct repl *repl, enum outcome outcome) {
    if (outcome == OUTCOME_CONDITION && !repl->undo_explained) {
        show_note(repl, "what the code did before it failed is kept; ,undo takes it back");
        repl->undo_explained = true;
    }
    if (outcome == OUTCOME_EXIT && !repl->quit_explained) {
        show_note(repl, "to leave eclave, type ,quit or press Ctrl-D");
        repl->quit_explained = true;
    }
    if (outcome == OUTCOME_TIMEOUT && !repl->timeout_explained) {
        show_note(repl, "the option --call-timeout-s sets the limit");
        repl->timeout_explained = true;
    }
}

void show_evaluation(struct repl *repl, const struct evaluation *evaluation) {
    const struct result_message *result = &evaluation->result;
    const enum outcome outcome = evaluation->outcome;
    show_captured(repl, "", evaluation->output);
    show_captured(repl, repl->colours.odd, evaluation->error_output);
    for (size_t i = 0; i < result->warning_count; i++)
        show_lines(repl, repl->colours.odd, result->warnings[i]);
    if (outcome == OUTCOME_VALUE)
        show_values(repl, result);
    else if (outcome == OUTCOME_CONDITION)
        show_condition(repl, result);
    else
        show_mistake(repl, "%s: %s", outcome_table[outcome].type, evaluation->cause);
    if (repl->timed)
        show_note(repl, "%.3f ms", (double)evaluation->elapsed_us / CLOCK_US_PER_MS);
    explain(repl, outcome);
}

__attribute__((format(printf, 4, 0))) static void
show_formatted(const struct repl *repl, const char *colour, const char *start, const char *format,
               va_list arguments) {
    cleanup_buffer struct buffer text = buffer_make(TEXT_MAX_BYTES);
    char line[ERROR_TEXT_BYTES + 320];
    vsnprintf(line, sizeof line, format, arguments);
    buffer_append_text(&text, start);
    buffer_append_text(&text, line);
    show_lines(repl, colour, (struct span){text.data, text.length});
}

void show_note(const struct repl *repl, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    show_formatted(repl, repl->colours.faint, "; ", format, arguments);
    va_end(arguments);
}

void show_mistake(const struct repl *repl, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    show_formatted(repl, repl->colours.bad, "", format, arguments);
    va_end(arguments);
}

void show_banner(const struct repl *repl) {
    (void)repl;
    puts("eclave " ECLAVE_VERSION ": Common Lisp (ECL) that can reach nothing outside itself.\n"
         "Each call can be taken back: ,undo. To try an idea on a copy: ,branch NAME.\n"
         "Ctrl-C stops a call, Ctrl-D leaves, ,help shows the rest.");
}
