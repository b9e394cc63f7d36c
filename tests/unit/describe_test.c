/* The texts of tools/list whatever the settings: long ones stay short, and names of systems and
 * files are in them. */
#include "supervisor/server/describe.h"
#include "supervisor/server/guide.h"
#include "tests/support/lines.h"
#include <stdio.h>
#include <stdlib.h>

static const char *text_of_buffer(struct buffer *text) {
    buffer_append(text, "", 1);
    cr_assert_not(text->failed);
    return (const char *)text->data;
}

static void add_system(struct settings *settings, const char *name) {
    snprintf(settings->systems.names[settings->systems.count++], NAME_BYTES, "%s", name);
}

static void add_path(struct path_list *list, const char *path) {
    list->paths[list->count++] = strdup(path);
}

Test(describe, systems_and_preloaded_files_are_named) {
    static struct settings settings;
    settings_default(&settings);
    add_system(&settings, "alexandria");
    add_system(&settings, "cl-ppcre");
    add_path(&settings.preload, "/home/operator/secret/utilities.lisp");
    cleanup_buffer struct buffer text = buffer_make(1 << 16);
    describe_libraries(&text, &settings, 8);
    cr_assert_str_eq(text_of_buffer(&text), "Loaded: alexandria, cl-ppcre, utilities.lisp.");
    settings_free(&settings);
}

Test(describe, many_names_are_counted_and_long_ones_left_out) {
    static struct settings settings;
    char path[300] = "/";
    memset(path + 1, 'd', sizeof path - 2);
    settings_default(&settings);
    add_path(&settings.allow_read, path);
    for (int i = 0; i < 20; i++)
        add_path(&settings.allow_read, formatted("/d%d", i));
    cleanup_buffer struct buffer text = buffer_make(1 << 16);
    describe_files(&text, &settings, 3);
    cr_assert_str_eq(text_of_buffer(&text),
                     "No network, other programs or threads. Files can be read and loaded below "
                     "/d0, /d1, /d2 and 18 more.");
    settings_free(&settings);
}

Test(describe, sizes_are_in_mib) {
    static const struct {
        int64_t bytes;
        const char *text;
    } rows[] = {
        {10 << 20, "10 MiB"}, {1 << 20, "1 MiB"},      {1 << 19, "0.5 MiB"},
        {98765, "0.094 MiB"}, {1LL << 30, "1024 MiB"}, {1, "9.5e-07 MiB"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        cleanup_buffer struct buffer text = buffer_make(100);
        describe_size(&text, rows[i].bytes);
        cr_expect_str_eq(text_of_buffer(&text), rows[i].text);
    }
}

/* Whatever the options, a prompt is no template beyond its task. */
Test(describe, the_prompt_has_one_placeholder) {
    static struct settings settings;
    settings_default(&settings);
    add_path(&settings.allow_read, "/{{no}}");
    const struct surroundings here = describe_settings(&settings, NULL);
    cleanup_buffer struct buffer text = buffer_make(1 << 16);
    guide_append_prompt(&text, &here);
    const char *prompt = text_of_buffer(&text);
    expect_contains(prompt, "\n{{task}}\n");
    settings_free(&settings);
}
