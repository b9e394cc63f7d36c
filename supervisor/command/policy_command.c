/* `eclave policy` */
#include "supervisor/command/commands.h"
#include "supervisor/process/policy_text.h"

int command_policy(const struct command_line *line) {
    policy_text_print(stdout, line->settings);
    return 0;
}
