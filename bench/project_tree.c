/* See project_tree.h. */
#include "bench/project_tree.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_PATH_MAX = PROJECT_TREE_PATH_MAX + 64, DESCRIPTORS_MAX = 16 };

const char project_tree_tool[] = "tool-00000";

/* The folder of the tools, and the one that replaces it when all of them change. */
static const char tools[] = "tools", spare[] = "spare";

static bool fail(struct project_tree *tree, const char *what) {
    report_problem(tree->report, "the project of tools, %s: %s", what, strerror(errno));
    return false;
}

static void path_of(const struct project_tree *tree, const char *folder, unsigned number,
                    char path[FILE_PATH_MAX]) {
    snprintf(path, FILE_PATH_MAX, "%s/%s/tool-%05u.lisp", tree->path, folder, number);
}

static bool write_tool(struct project_tree *tree, const char *folder, unsigned number) {
    char path[FILE_PATH_MAX];
    path_of(tree, folder, number, path);
    FILE *file = fopen(path, "we");
    if (!file)
        return fail(tree, path);
    fprintf(file,
            ";;; {\"description\": \"Says its message again; tool %u in edition %u.\",\n"
            ";;;  \"inputSchema\": {\"type\": \"object\",\n"
            ";;;   \"properties\": {\"message\": {\"type\": \"string\"}},\n"
            ";;;   \"required\": [\"message\"], \"additionalProperties\": false}}\n\n"
            "(mcp:deftool \"tool-%05u\" (message)\n"
            "  (format nil \"Echo: ~a\" message))\n",
            number, tree->edition, number);
    return fclose(file) == 0 || fail(tree, path);
}

static bool write_folder(struct project_tree *tree, const char *folder, unsigned count) {
    char path[FILE_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", tree->path, folder);
    if (mkdir(path, 0755) != 0)
        return fail(tree, path);
    tree->edition++;
    for (unsigned i = 0; i < count; i++)
        if (!write_tool(tree, folder, i))
            return false;
    return true;
}

bool project_tree_make(struct project_tree *tree, struct report *report, unsigned count) {
    *tree = (struct project_tree){.path = "/tmp/eclave-bench-XXXXXX", .report = report};
    if (!mkdtemp(tree->path)) {
        tree->path[0] = '\0';
        return fail(tree, "its directory");
    }
    return write_folder(tree, tools, count) && write_folder(tree, spare, count);
}

/* Writes it outside the scanned folders, and renames it into place. */
bool project_tree_change_one(struct project_tree *tree) {
    char from[FILE_PATH_MAX], to[FILE_PATH_MAX];
    path_of(tree, spare, 0, from);
    path_of(tree, tools, 0, to);
    tree->edition++;
    if (!write_tool(tree, spare, 0))
        return false;
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0 ||
           fail(tree, "changing one");
}

bool project_tree_change_all(struct project_tree *tree) {
    char from[FILE_PATH_MAX], to[FILE_PATH_MAX];
    snprintf(from, sizeof from, "%s/%s", tree->path, spare);
    snprintf(to, sizeof to, "%s/%s", tree->path, tools);
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0 ||
           fail(tree, "changing all");
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void project_tree_remove(struct project_tree *tree) {
    if (tree->path[0] && nftw(tree->path, remove_one, DESCRIPTORS_MAX, FTW_DEPTH | FTW_PHYS) != 0)
        fail(tree, "removing it");
    tree->path[0] = '\0';
}
