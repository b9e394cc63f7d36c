/* `eclave sessions`: saved sessions, without a server. */
#include "common/cleanup.h"
#include "common/message.h"
#include "supervisor/base/terminal.h"
#include "supervisor/command/commands.h"
#include "supervisor/session/session.h"
#include "supervisor/state/store.h"

#include <stdlib.h>
#include <time.h>

enum { TIME_BYTES = 32, NS_PER_S = 1000000000 };

static int complain(const char *name, const char *what) {
    char text[ERROR_TEXT_BYTES + STORE_NAME_BYTES];
    snprintf(text, sizeof text, "%s%s%s", name ? name : "", name ? ": " : "", what);
    shown_complain(text);
    return STATUS_FAILED;
}

static const char *show_time(char text[TIME_BYTES], int64_t time_s) {
    const time_t when = (time_t)time_s;
    struct tm parts;
    if (!gmtime_r(&when, &parts) || !strftime(text, TIME_BYTES, "%Y-%m-%d %H:%M:%SZ", &parts))
        snprintf(text, TIME_BYTES, "?");
    return text;
}

static int compare_names(const void *one, const void *other) {
    return strcmp(((const struct store_entry *)one)->name,
                  ((const struct store_entry *)other)->name);
}

static int list(const struct store *store) {
    struct error error;
    size_t count;
    uint64_t total = 0;
    char when[TIME_BYTES];
    cleanup_free struct store_entry *entries = store_list(store, &count, &error);
    if (!entries)
        return complain(NULL, error.text);
    qsort(entries, count, sizeof *entries, compare_names);
    for (size_t i = 0; i < count; i++) {
        cleanup_buffer struct buffer name = buffer_make(1024);
        shown_append(&name, string_span(entries[i].name), SHOWN_AS_NAME);
        printf("%-24s %10.1f KiB  %s%s\n", buffer_string(&name, "?"),
               (double)entries[i].bytes / (1 << 10), show_time(when, entries[i].used_ns / NS_PER_S),
               store_is_locked(store, &entries[i]) ? "  in use" : "");
        total += entries[i].bytes;
    }
    printf("%zu session%s, %.1f KiB\n", count, count == 1 ? "" : "s", (double)total / (1 << 10));
    return 0;
}

/* What a call evaluated: code, or the name of a project's definition with its arguments. */
static void print_call(const struct journal_record *record) {
    struct evaluate_message message;
    struct run_message run;
    if (record->is_run && run_message_decode(record->text.bytes, record->text.length, &run)) {
        printf("; of the project: ");
        shown_print(stdout, run.name, "; ");
        printf(" ");
        shown_print(stdout, run.arguments, "; ");
    } else if (!record->is_run &&
               evaluate_message_decode(record->text.bytes, record->text.length, &message)) {
        if (message.package.bytes) {
            printf("; in the package ");
            shown_print(stdout, message.package, "; ");
            printf("\n");
        }
        shown_print(stdout, message.code, "");
    } else {
        printf("; a call that cannot be shown");
    }
    printf("\n\n");
}

static void show_record(void *context, const struct journal_record *record) {
    uint64_t *number = context;
    char when[TIME_BYTES];
    show_time(when, record->time_s);
    switch (record->kind) {
    case RECORD_OPEN:
        printf("; session ");
        shown_print(stdout, record->text, "; ");
        printf(", %s\n\n", when);
        break;
    case RECORD_CALL:
        printf("; call %llu, %s, ", (unsigned long long)++*number, when);
        shown_print(stdout, record->condition.bytes ? record->condition : string_span("a value"),
                    "; ");
        printf("\n");
        print_call(record);
        break;
    case RECORD_RETURN:
        *number = record->number;
        printf("; back to the state after call %llu, %s\n\n", (unsigned long long)record->number,
               when);
        break;
    case RECORD_IMAGE:
        printf("; image of the state after call %llu, %s\n\n", (unsigned long long)record->number,
               when);
        break;
    default:
        --*number;
        printf("; call %llu could not be brought back, %s; those after it count one less\n\n",
               (unsigned long long)record->number, when);
        break;
    }
}

static int show(const struct store *store, const char *name) {
    struct error error;
    uint64_t number = 0;
    return store_visit(store, name, show_record, &number, &error) ? 0 : complain(name, error.text);
}

static int discard(const struct store *store, const char *name) {
    struct error error;
    return store_remove(store, name, NULL, false, &error) == STORE_DONE
               ? 0
               : complain(NULL, error.text);
}

int command_sessions(const struct command_line *line) {
    const char *what = line->arguments[0], *name = line->count > 1 ? line->arguments[1] : NULL;
    const bool lists = strcmp(what, "list") == 0, shows = strcmp(what, "show") == 0;
    struct store store = {.fd = -1};
    struct error error;
    if ((!lists && !shows && strcmp(what, "remove") != 0) || lists == (name != NULL) ||
        !line->settings->state.count)
        return COMMAND_MISUSED;
    if (name && !session_name_is_valid(string_span(name)))
        return complain(name, "is no name of a session: " SESSION_NAME_RULE);
    if (!store_open(&store, line->settings->state.paths[0], false, &error))
        return complain(NULL, error.text);
    const int status = lists ? list(&store) : shows ? show(&store, name) : discard(&store, name);
    store_close(&store);
    return status;
}
