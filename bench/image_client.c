/* See image_client.h. */
#include "bench/image_client.h"
#include <stdlib.h>
#include <string.h>

void image_start(struct peer *image, struct bench *bench, const char *form) {
    const char *const arguments[] = {bench->image, form, NULL};
    peer_start(image, "bench-image", &bench->report, arguments);
    const char *line = peer_line(image, NULL);
    if (line && strcmp(line, "ready") != 0)
        peer_fail(image, "it says: %s", line);
}

double image_fork(struct peer *image) {
    peer_send(image, "\n", 1);
    const char *line = peer_line(image, NULL);
    return line ? strtod(line, NULL) : -1;
}
