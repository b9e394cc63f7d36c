/* See failure_text.h. */
#include "tests/support/failure_text.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = 20, SHORTEST_FIRST_LINE = 11 };

static const char marker[] = "[ERROR] ";
static const char backtrace[] = "\n\n[Backtrace]\n";

static const char *type_fault(const char *type) {
    if (!*type)
        return "no condition type in the first line";
    for (; *type; type++)
        if (islower((unsigned char)*type) || isspace((unsigned char)*type))
            return "the condition type is not an uppercase name";
    return NULL;
}

/* An address differs from run to run and helps an attacker. */
static const char *message_fault(const char *message) {
    if (strspn(message, " \n") == strlen(message))
        return "an empty message";
    for (const char *at = message; (at = strstr(at, "0x")) != NULL; at += 2)
        if (strspn(at + 2, "0123456789abcdef") >= 6)
            return "an address in the message";
    return strstr(message, "-stream") && strstr(message, "#<") ? "a stream in the message" : NULL;
}

/* Reads the frames at TEXT; sets their number, and *end to the rest. */
static const char *frames_fault(const char *text, size_t *count, const char **end) {
    static const char none[] = "(no frames)";
    *count = 0;
    if (strncmp(text, none, sizeof none - 1) == 0) {
        *end = text + sizeof none - 1;
        return NULL;
    }
    while (isdigit((unsigned char)*text)) {
        char *after;
        if (strtoul(text, &after, 10) != *count || strncmp(after, ": ", 2) != 0 || after[2] <= ' ')
            return "frames that are not numbered from 0 on";
        ++*count;
        const char *newline = strchr(text, '\n');
        text = newline ? newline + 1 : text + strlen(text);
    }
    *end = text;
    if (*count == 0)
        return "a backtrace without frames that does not say so";
    return *count > FRAMES_MAX ? "more than 20 frames" : NULL;
}

/* The sections that may follow, each at most once, in this order. */
static const char *sections_fault(const char *text) {
    static const char *const names[] = {"[stdout]\n", "[stderr]\n", "[warnings]\n"};
    while (*text == '\n')
        text++;
    if (!*text)
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(text, names[i], strlen(names[i])) == 0)
            return strlen(text) > strlen(names[i]) ? NULL : "an empty section";
    return "something other than a section behind the backtrace";
}

const char *failure_text_fault(const char *text, struct failure_text *parts) {
    *parts = (struct failure_text){.frames = 0};
    const char *line_end = strchr(text, '\n');
    if (strncmp(text, marker, sizeof marker - 1) != 0)
        return "the first line does not begin with [ERROR]";
    if (!line_end || line_end - text < SHORTEST_FIRST_LINE)
        return "no line of its own for the marker and the type";
    snprintf(parts->type, sizeof parts->type, "%.*s",
             (int)(line_end - text - (long)(sizeof marker - 1)), text + sizeof marker - 1);
    const char *trace = strstr(line_end, backtrace);
    if (!trace)
        return "no [Backtrace] section";
    if (trace > line_end)
        snprintf(parts->message, sizeof parts->message, "%.*s", (int)(trace - line_end - 1),
                 line_end + 1);
    const char *fault = type_fault(parts->type), *rest;
    fault = fault ? fault : message_fault(parts->message);
    fault = fault ? fault : frames_fault(trace + sizeof backtrace - 1, &parts->frames, &rest);
    if (fault)
        return fault;
    snprintf(parts->rest, sizeof parts->rest, "%s", rest);
    return sections_fault(rest);
}
