/* A temporary project of many tools, for scans and changes. Each change is one rename, so that no
 * scan sees half of it. */
#ifndef ECLAVE_TESTS_BENCH_PROJECT_TREE_H
#define ECLAVE_TESTS_BENCH_PROJECT_TREE_H

#include "bench/report.h"
#include <stdbool.h>

enum { PROJECT_TREE_PATH_MAX = 64 };

struct project_tree {
    char path[PROJECT_TREE_PATH_MAX]; /* empty: none */
    unsigned edition;                 /* of the last change */
    struct report *report;
};

/* The name of one tool of every project. Each tool takes a `message` and answers as the reference
 * server's echo does. */
extern const char project_tree_tool[];

/* Makes a project of COUNT tools. End with project_tree_remove, also after a failure. Failures are
 * problems in REPORT. */
bool project_tree_make(struct project_tree *tree, struct report *report, unsigned count);
void project_tree_remove(struct project_tree *tree);

/* Changes the description of one tool, or of all tools, by replacing every file. */
bool project_tree_change_one(struct project_tree *tree);
bool project_tree_change_all(struct project_tree *tree);

#endif
