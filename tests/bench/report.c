/* See report.h. */
#include "tests/bench/report.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { REPORT_MAX_BYTES = 1 << 20, RATIO_TEXT_MAX = 32, VALUE_TEXT_MAX = 32 };

/* Ratios below this one read better as a fraction. */
static const double fraction_below = 0.2;

struct report report_make(void) {
    return (struct report){.rows = buffer_make(REPORT_MAX_BYTES),
                           .notes = buffer_make(REPORT_MAX_BYTES)};
}

void report_free(struct report *report) {
    buffer_free(&report->rows);
    buffer_free(&report->notes);
}

void report_heading(struct report *report, const char *text) {
    buffer_append_format(&report->rows, "| **%s** | | | | |\n", text);
}

static void format_ms(double value, char text[VALUE_TEXT_MAX]) {
    int decimals = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
    snprintf(text, VALUE_TEXT_MAX, "%.*f ms", decimals, value);
}

static void format_mib(double value, char text[VALUE_TEXT_MAX]) {
    snprintf(text, VALUE_TEXT_MAX, value < 1 ? "%.2f MiB" : "%.1f MiB", value);
}

static void format_count(double value, char text[VALUE_TEXT_MAX]) {
    snprintf(text, VALUE_TEXT_MAX, "%.0f", value);
}

static void append_value(struct buffer *out, enum unit unit, double value) {
    static void (*const formats[])(double, char[VALUE_TEXT_MAX]) = {
        [UNIT_MS] = format_ms, [UNIT_MIB] = format_mib, [UNIT_COUNT] = format_count};
    char text[VALUE_TEXT_MAX];
    formats[unit](value, text);
    buffer_append_text(out, text);
}

static void append_measured(struct buffer *out, const struct figure *figure) {
    if (isnan(figure->value)) {
        buffer_append_text(out, "not measured");
        return;
    }
    append_value(out, figure->unit, figure->value);
    if (figure->low <= 0 && figure->high <= 0)
        return;
    buffer_append_text(out, " (");
    append_value(out, figure->unit, figure->low);
    buffer_append_text(out, " – ");
    append_value(out, figure->unit, figure->high);
    buffer_append_text(out, ")");
}

static void append_ratio(struct buffer *out, double ratio) {
    if (ratio < fraction_below)
        buffer_append_format(out, "1/%.0f of ", 1 / ratio);
    else
        buffer_append_format(out, "%.*f × ", ratio < 10 ? 2 : 0, ratio);
}

static bool is_comparable(const struct figure *figure, const struct baseline *baseline) {
    return baseline->name && !isnan(baseline->value) && baseline->value > 0 &&
           !isnan(figure->value);
}

static void append_baselines(struct buffer *out, const struct figure *figure) {
    const char *separator = "";
    for (size_t i = 0; i < BASELINES_MAX; i++) {
        const struct baseline *baseline = &figure->baselines[i];
        if (!is_comparable(figure, baseline))
            continue;
        buffer_append_text(out, separator);
        append_ratio(out, figure->value / baseline->value);
        buffer_append_format(out, "%s (", baseline->name);
        append_value(out, figure->unit, baseline->value);
        buffer_append_text(out, ")");
        separator = "; ";
    }
}

/* What was expected and whether it was met, one expectation after the other. */
struct expectations {
    struct buffer text;
    size_t count, unknown, missed;
};

static void expect(struct expectations *all, const char *sign, bool known, bool met) {
    buffer_append_format(&all->text, "%s%s ", all->count ? "; " : "", sign);
    all->count++;
    all->unknown += !known;
    all->missed += known && !met;
}

static void collect_expectations(struct expectations *all, const struct figure *figure) {
    bool known = !isnan(figure->value);
    if (figure->at_most > 0) {
        expect(all, "≤", known, figure->value <= figure->at_most);
        append_value(&all->text, figure->unit, figure->at_most);
    }
    if (figure->at_least > 0) {
        expect(all, "≥", known, figure->value >= figure->at_least);
        append_value(&all->text, figure->unit, figure->at_least);
    }
    for (size_t i = 0; i < BASELINES_MAX; i++) {
        const struct baseline *baseline = &figure->baselines[i];
        if (!baseline->name || baseline->at_most <= 0)
            continue;
        known = is_comparable(figure, baseline);
        expect(all, "≤", known, known && figure->value / baseline->value <= baseline->at_most);
        append_ratio(&all->text, baseline->at_most);
        buffer_append_text(&all->text, baseline->name);
    }
}

static const char *verdict(const struct expectations *all) {
    if (all->missed)
        return "**missed**";
    if (all->count == 0 || all->unknown)
        return "";
    return "met";
}

void report_figure(struct report *report, const struct figure *figure) {
    struct buffer *out = &report->rows;
    struct expectations all = {.text = buffer_make(REPORT_MAX_BYTES)};
    collect_expectations(&all, figure);
    buffer_append_format(out, "| %s | ", figure->name);
    append_measured(out, figure);
    buffer_append_text(out, " | ");
    append_baselines(out, figure);
    buffer_append_text(out, " | ");
    buffer_append(out, all.text.data, all.text.length);
    buffer_append_format(out, " | %s |\n", verdict(&all));
    buffer_free(&all.text);
}

static void append_note(struct report *report, const char *format, va_list arguments) {
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(stderr, "bench: %s\n", text);
    buffer_append_format(&report->notes, "- %s\n", text);
}

void report_note(struct report *report, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    append_note(report, format, arguments);
    va_end(arguments);
}

void report_problem(struct report *report, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    append_note(report, format, arguments);
    va_end(arguments);
    report->incomplete = true;
}

void report_print(const struct report *report, const char *introduction) {
    printf("<!-- Written by scripts/bench; edit nothing here. -->\n"
           "# Measured\n\n%s\n\n"
           "| figure | measured | against, in the same run | expected | |\n"
           "|---|---|---|---|---|\n%.*s",
           introduction, (int)report->rows.length, (const char *)report->rows.data);
    if (report->notes.length)
        printf("\n%.*s", (int)report->notes.length, (const char *)report->notes.data);
}
