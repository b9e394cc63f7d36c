/* What `eclave new` writes. */
#ifndef ECLAVE_SUPERVISOR_COMMAND_STARTERS_H
#define ECLAVE_SUPERVISOR_COMMAND_STARTERS_H

#include "supervisor/registry/metadata.h"
#include <stddef.h>

enum { STARTER_FILES_MAX = 4, STARTER_KINDS = 5 };

/* One kind. In a text %% stands for the name. A file without text is not written, and must be free
 * as well: it would be taken for another part of the same. */
struct starter {
    const char *kind;
    enum project_folder folder;
    struct {
        const char *ending; /* behind the name; NULL: no more files */
        const char *text;
    } files[STARTER_FILES_MAX];
};

extern const struct starter starters[STARTER_KINDS];

#endif
