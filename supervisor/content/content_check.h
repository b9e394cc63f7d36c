/* Contents of results and prompts as MCP defines them. */
#ifndef ECLAVE_SUPERVISOR_CONTENT_CONTENT_CHECK_H
#define ECLAVE_SUPERVISOR_CONTENT_CONTENT_CHECK_H

#include "supervisor/content/shape.h"

shape_check content_check_blocks;    /* an array of content blocks */
shape_check content_check_messages;  /* an array of {role, content} */
shape_check content_check_resources; /* an array of the contents of resources */
shape_check content_check_role;      /* "user" or "assistant" */
shape_check content_check_audience;  /* an array of roles */

#endif
