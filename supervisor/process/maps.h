/* The list of the mappings of a process, /proc/PID/maps. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_MAPS_H
#define ECLAVE_SUPERVISOR_PROCESS_MAPS_H

#include <stdbool.h>
#include <stdint.h>

enum { MAPS_LINE_BYTES = 8192 }; /* of the longest line */

struct maps_line {
    uint64_t start, end, inode;
    uint32_t protection;
    bool shared;
    enum { MAPS_OF_NOTHING, MAPS_OF_FILE, MAPS_OF_BREAK, MAPS_OF_KERNEL } of;
};

/* Reads a line. False if TEXT is not one. */
bool maps_parse(const char *text, struct maps_line *line);

#endif
