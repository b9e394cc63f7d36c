/* A project of many tools in a directory of its own, made to be scanned and to be changed under a
 * server's eyes: each change is one rename, so that no look sees half of it. */
#ifndef ECLAVE_TESTS_BENCH_PROJECT_TREE_H
#define ECLAVE_TESTS_BENCH_PROJECT_TREE_H

#include "bench/report.h"
#include <stdbool.h>

enum { PROJECT_TREE_PATH_MAX = 64 };

struct project_tree {
    char path[PROJECT_TREE_PATH_MAX]; /* empty: there is none */
    unsigned edition;                 /* of what was written last */
    struct report *report;
};

/* Each tool takes a `message` and answers as the reference server's echo does. This is one of them,
 * in every project. */
extern const char project_tree_tool[];

/* Makes a project of COUNT tools. End with project_tree_remove, also after a failure, which is a
 * problem in REPORT, as it is below. */
bool project_tree_make(struct project_tree *tree, struct report *report, unsigned count);
void project_tree_remove(struct project_tree *tree);

/* Another description for one tool, or for all of them, whose files are all new ones then. */
bool project_tree_change_one(struct project_tree *tree);
bool project_tree_change_all(struct project_tree *tree);

#endif
