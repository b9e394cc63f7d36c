/* Keeps what passed over the wire, for the check of every line against the official schemas, when
 * ECLAVE_RECORD names a directory: one file a server, "> " before each line sent and "< " before
 * each received. It must never change or hold back a byte. */
#include "tests/support/client_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void client_note_sent(struct client *client, const void *bytes, size_t length) {
    if (client->recording && !buffer_append(&client->sent, bytes, length))
        abort();
}

static void write_sent(FILE *file, const struct buffer *sent) {
    const char *rest = (const char *)sent->data, *end = rest + sent->length;
    while (rest < end) {
        const char *newline = memchr(rest, '\n', (size_t)(end - rest));
        size_t length = (size_t)((newline ? newline : end) - rest);
        fprintf(file, "> %.*s\n", (int)length, rest);
        rest += length + 1;
    }
}

void client_write_record(const struct client *client) {
    static unsigned count;
    char name[4096];
    if (!client->recording || client->line_count == 0)
        return;
    snprintf(name, sizeof name, "%s/%d-%u", getenv("ECLAVE_RECORD"), (int)getpid(), count++);
    FILE *file = fopen(name, "w");
    if (!file)
        abort();
    write_sent(file, &client->sent);
    for (size_t i = 0; i < client->line_count; i++)
        fprintf(file, "< %s\n", client->lines[i].bytes);
    if (fclose(file) != 0)
        abort();
}
