/* Records the lines for the check against the official schemas when TEST_RECORD names a
 * directory: one file for each server, "> " before each line sent, then "< " before each
 * received. */
#include "tests/support/client_parts.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void client_record_open(struct client *client) {
    static unsigned count;
    const char *directory = getenv("TEST_RECORD");
    char name[4096];
    if (!directory)
        return;
    snprintf(name, sizeof name, "%s/%d-%u", directory, (int)getpid(), count++);
    client->record = fopen(name, "we");
    if (!client->record)
        client_fail(client, "cannot record to %s", name);
}

void client_record_sent(struct client *client, const void *bytes, size_t length) {
    const char *rest = bytes, *end = rest + length;
    while (client->record && rest < end) {
        const char *newline = memchr(rest, '\n', (size_t)(end - rest));
        const char *next = newline ? newline + 1 : end;
        if (!client->record_in_line)
            fputs("> ", client->record);
        fwrite(rest, 1, (size_t)(next - rest), client->record);
        client->record_in_line = !newline;
        rest = next;
    }
}

void client_record_close(struct client *client) {
    if (!client->record)
        return;
    if (client->record_in_line)
        fputc('\n', client->record);
    for (size_t i = 0; i < client->line_count; i++)
        fprintf(client->record, "< %s\n", client->lines[i].bytes);
    fclose(client->record);
    client->record = NULL;
}
