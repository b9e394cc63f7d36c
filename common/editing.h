/* The channel between `eclave repl`, which is a supervisor, and eclave-editor, which has the
 * terminal: frames (common/frame.h) with types of their own. The editor sends one frame after each
 * EDITING_PROMPT; the next prompt is the answer to it. When one closes the channel, the other
 * ends. */
#ifndef ECLAVE_COMMON_EDITING_H
#define ECLAVE_COMMON_EDITING_H

enum editing_type {
    /* repl -> editor */
    EDITING_PROMPT = 1, /* UTF-8 that a terminal may show. If the call number is not 0, the last
                           call was interrupted, and what was typed ahead is dropped */
    /* editor -> repl */
    EDITING_CODE,   /* one form, or the contents of a file: one call */
    EDITING_COMMAND /* a line that begins with a comma */
};

#endif
