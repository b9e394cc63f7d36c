/* What the server says about this Lisp at length: its guide, and the prompt for work in sessions.
 */
#ifndef ECLAVE_SUPERVISOR_SERVER_GUIDE_H
#define ECLAVE_SUPERVISOR_SERVER_GUIDE_H

#include "supervisor/server/describe.h"

/* Appends the guide, Markdown of about a page. */
void guide_append(struct buffer *text, const struct surroundings *here);

/* Appends the text of the prompt, with the placeholder {{task}}. */
void guide_append_prompt(struct buffer *text, const struct surroundings *here);

#endif
