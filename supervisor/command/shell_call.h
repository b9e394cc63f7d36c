/* One call of a tool without a protocol, in a world of its own that ends with it. */
#ifndef ECLAVE_SUPERVISOR_COMMAND_SHELL_CALL_H
#define ECLAVE_SUPERVISOR_COMMAND_SHELL_CALL_H

#include "common/buffer.h"
#include "supervisor/registry/entry.h"
#include "supervisor/session/one_shot.h"
#include <json-c/json.h>
#include <stdbool.h>

struct tool_call {
    struct one_shot *one_shot;
    const struct settings *settings;
    const struct registry_entry *entry;
    struct json_object *arguments; /* an object */
    bool quiet; /* what it prints, logs and tells of its progress is for nobody */

    /* What came of it: tool_call_free. */
    int status;  /* as `eclave eval` ends with it */
    bool failed; /* no result, or one that tells of a failure */
    bool interrupted;
    struct buffer text;             /* its contents: texts as they are, others a JSON line each */
    struct buffer structured_text;  /* of the value for programs; nothing when there is none */
    struct json_object *structured; /* the same; NULL: none, or null */
    struct call *call;
};

/* Checks the arguments, runs the tool and waits for its end. */
void tool_call_run(struct tool_call *call);
void tool_call_free(struct tool_call *call);

#endif
