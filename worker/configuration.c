/* Decodes the zygote's configuration. Looks at no path that is in it. */
#include "worker/configuration.h"

#include <string.h>

/* Takes COUNT paths at *offset of PAYLOAD. */
static bool take_paths(const unsigned char *payload, size_t length, size_t *offset, size_t count,
                       const char *paths[CONFIGURATION_PATHS_MAX]) {
    if (count > CONFIGURATION_PATHS_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *end = memchr(payload + *offset, 0, length - *offset);
        if (!end)
            return false;
        paths[i] = (const char *)payload + *offset;
        *offset = (size_t)(end - payload) + 1;
    }
    return true;
}

bool configuration_decode(const unsigned char *payload, size_t length,
                          struct configuration *configuration) {
    struct worker_configuration *fixed = &configuration->fixed;
    size_t offset = sizeof *fixed;
    if (length < offset)
        return false;
    memcpy(fixed, payload, sizeof *fixed);
    return take_paths(payload, length, &offset, fixed->readable_count, configuration->readable) &&
           take_paths(payload, length, &offset, fixed->preload_count, configuration->preload) &&
           offset == length;
}

struct policy configuration_policy(const struct configuration *configuration) {
    const struct worker_configuration *fixed = &configuration->fixed;
    return (struct policy){.layers = fixed->layers,
                           .required = fixed->required,
                           .degraded = fixed->degraded != 0,
                           .user = fixed->user,
                           .address_space_bytes = fixed->address_space_bytes,
                           .scratch_bytes = fixed->scratch_bytes,
                           .readable = configuration->readable,
                           .readable_count = fixed->readable_count};
}
