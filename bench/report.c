/* See report.h. */
#include "bench/report.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { REPORT_MAX_BYTES = 1 << 20 };

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

/* The number of significant decimals of VALUE. */
static int decimals_of(enum unit unit, double value) {
    if (unit == UNIT_COUNT)
        return 0;
    if (unit == UNIT_MIB)
        return value < 1 ? 2 : 1;
    return value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
}

static const char *const suffixes[] = {[UNIT_MS] = " ms",
                                       [UNIT_US] = " µs",
                                       [UNIT_NS] = " ns",
                                       [UNIT_MIB] = " MiB",
                                       [UNIT_COUNT] = ""};

static void append_number(struct buffer *out, enum unit unit, double value) {
    buffer_append_format(out, "%.*f", decimals_of(unit, value), value);
}

static void append_value(struct buffer *out, enum unit unit, double value) {
    append_number(out, unit, value);
    buffer_append_text(out, suffixes[unit]);
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
    append_number(out, figure->unit, figure->low);
    buffer_append_text(out, "–");
    append_number(out, figure->unit, figure->high);
    buffer_append_text(out, ")");
}

static void append_ratio(struct buffer *out, double ratio) {
    if (ratio < fraction_below)
        buffer_append_format(out, "1/%.0f of ", 1 / ratio);
    else
        buffer_append_format(out, "%.*f × ", ratio < 10 ? 2 : 0, ratio);
}

static double ratio(const struct figure *figure, const struct baseline *baseline) {
    const bool in_pairs = baseline == figure->baselines && figure->ratio > 0;
    return in_pairs ? figure->ratio : figure->value / baseline->value;
}

static bool is_comparable(const struct figure *figure, const struct baseline *baseline) {
    return baseline->name && !isnan(baseline->value) && baseline->value > 0 && figure->value > 0;
}

static void append_baselines(struct buffer *out, const struct figure *figure) {
    const char *separator = "";
    for (size_t i = 0; i < BASELINES_MAX; i++) {
        const struct baseline *baseline = &figure->baselines[i];
        if (!is_comparable(figure, baseline))
            continue;
        buffer_append_text(out, separator);
        append_ratio(out, ratio(figure, baseline));
        buffer_append_format(out, "%s (", baseline->name);
        append_value(out, figure->unit, baseline->value);
        buffer_append_text(out, ")");
        separator = "; ";
    }
}

/* The expectations and whether they are met. */
struct expectations {
    struct buffer text;
    size_t count, unknown, missed;
};

static void expect(struct expectations *all, bool known, bool met) {
    if (all->count)
        buffer_append_text(&all->text, "; ");
    all->count++;
    all->unknown += !known;
    all->missed += known && !met;
}

static void expect_of_value(struct expectations *all, const struct figure *figure) {
    if (figure->at_most <= 0)
        return;
    expect(all, !isnan(figure->value), figure->value <= figure->at_most);
    buffer_append_format(&all->text, "≤ %g%s", figure->at_most, suffixes[figure->unit]);
}

static void expect_of_ratio(struct expectations *all, const struct figure *figure,
                            const struct baseline *baseline) {
    if (!baseline->name || baseline->at_most <= 0)
        return;
    bool known = is_comparable(figure, baseline);
    expect(all, known, known && ratio(figure, baseline) <= baseline->at_most);
    if (baseline->at_most < fraction_below)
        buffer_append_format(&all->text, "≤ 1/%g of %s", 1 / baseline->at_most, baseline->name);
    else
        buffer_append_format(&all->text, "≤ %g × %s", baseline->at_most, baseline->name);
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
    expect_of_value(&all, figure);
    for (size_t i = 0; i < BASELINES_MAX; i++)
        expect_of_ratio(&all, figure, &figure->baselines[i]);
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
    int length = vsnprintf(text, sizeof text, format, arguments);
    fprintf(stderr, "bench: %s\n", text);
    /* A problem of every round is reported once. */
    if (length > 0 && (!report->notes.data ||
                       !memmem(report->notes.data, report->notes.length, text, strlen(text))))
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
