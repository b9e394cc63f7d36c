/* Contents of results and prompts as MCP has them: one check, wherever they come from. */
#ifndef ECLAVE_SUPERVISOR_CONTENT_CONTENT_CHECK_H
#define ECLAVE_SUPERVISOR_CONTENT_CONTENT_CHECK_H

#include "supervisor/content/shape.h"

shape_check content_check_blocks;    /* an array of content blocks */
shape_check content_check_messages;  /* an array of {role, content} */
shape_check content_check_resources; /* an array of the contents of resources */

#endif
