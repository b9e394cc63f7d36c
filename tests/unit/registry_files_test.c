/* supervisor/registry: which files of a project become entries, and which are refused. */
#include "supervisor/content/shape.h"
#include "supervisor/registry/scan.h"
#include "tests/support/lines.h"
#include "tests/unit/project.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

PROJECT_TEST(registry_files, an_empty_project_is_an_empty_snapshot) {
    project_begin(project);
    cr_expect_eq(snapshot_of(project)->total, 0);
    cr_expect_eq(snapshot_of(project)->refusals.count, 0);
    cr_expect_eq(project->changes, 0);
    cr_expect_str_empty(project->logged);
}

PROJECT_TEST(registry_files, a_project_without_folders_is_empty) {
    for (enum project_folder folder = 0; folder < FOLDER_COUNT; folder++)
        cr_assert_eq(rmdir(folder_name(folder)), 0);
    project_begin(project);
    cr_expect_eq(snapshot_of(project)->total, 0);
    cr_expect_str_empty(project->logged);
    mkdir("tools", 0755);
    put("tools/a.lisp", "1");
    project_await_change(project);
}

Test(registry_files, without_a_project_nothing_is_scanned) {
    struct project project = {0};
    struct error error;
    settings_default(&project.settings);
    cr_assert(loop_open(&project.loop, &error));
    project.registry =
        registry_open(&project.loop, &project.log, &project.settings, &project.options, &error);
    cr_assert_not_null(project.registry);
    cr_expect(registry_is_settled(project.registry));
    cr_expect(LIST_EMPTY(&project.loop.timers));
    cr_expect_eq(snapshot_of(&project)->total, 0);
    project_end(&project);
}

PROJECT_TEST(registry_files, a_tool_has_the_metadata_of_its_json_file) {
    put("tools/add.lisp", "(+ 1 2)");
    put("tools/add.json",
        "{\"title\":\"Add\",\"description\":\"Adds\",\"inputSchema\":{\"type\":\"object\"},"
        "\"outputSchema\":{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":true},"
        "\"icons\":[{\"src\":\"https://x.test/i.png\"}],\"timeout\":2.5,\"session\":\"caller\"}");
    project_begin(project);
    const struct registry_entry *tool = find(project, REGISTRY_TOOL, "add");
    cr_assert_not_null(tool, "%s", project->logged);
    cr_expect_str_eq(metadata_text(tool->metadata, "title"), "Add");
    cr_expect_eq(tool->timeout_s, 2.5);
    cr_expect(tool->in_caller_session);
    cr_expect(tool->is_lisp);
    expect_body(project, REGISTRY_TOOL, "add", "(+ 1 2)");
    cr_expect_eq(project->changes, 1);
    cr_expect(project->first);
    cr_expect_eq(project->listed, 1U << REGISTRY_TOOL);
}

PROJECT_TEST(registry_files, a_header_is_metadata_without_a_json_file) {
    put("tools/one.lisp", ";;; {\"title\":\n;;;   \"One\"}\n;; not part of it\n(print 1)\n");
    put("tools/plain.lisp", ";;; A comment.\n1");
    put("tools/late.lisp", "(print 1)\n;;; {\"title\":\"Late\"}\n");
    put("tools/all.lisp", ";;;{}");
    project_begin(project);
    cr_expect_str_eq(metadata_text(find(project, REGISTRY_TOOL, "one")->metadata, "title"), "One");
    cr_expect_null(metadata_text(find(project, REGISTRY_TOOL, "plain")->metadata, "title"));
    cr_expect_null(metadata_text(find(project, REGISTRY_TOOL, "late")->metadata, "title"));
    cr_expect_not_null(find(project, REGISTRY_TOOL, "all"));
    cr_expect_eq(snapshot_of(project)->refusals.count, 0);
}

PROJECT_TEST(registry_files, a_header_may_follow_a_byte_order_mark_and_comments) {
    static const char *const before[] = {
        "\xef\xbb\xbf",
        "\n",
        "\r\n \t\r\n",
        ";;; Copyright\n",
        ";; -*- mode: lisp -*-\n;\n\n",
        "\xef\xbb\xbf\r\n;;; Copyright\r\n;;;\r\n",
        "\n\n\n\n\n\n\n\n\n",
        "  ",
    };
    for (size_t i = 0; i < COUNT_OF(before); i++)
        put(formatted("tools/t%zu.lisp", i),
            formatted("%s;;; {\"title\":\r\n;;; \"T\"}\r\n1", before[i]));
    project_begin(project);
    for (size_t i = 0; i < COUNT_OF(before); i++) {
        const char *name = formatted("t%zu", i);
        const struct registry_entry *entry = find(project, REGISTRY_TOOL, name);
        cr_assert_not_null(entry, "%s", name);
        cr_expect_str_eq(metadata_text(entry->metadata, "title"), "T", "%s", name);
        cr_expect_neq(entry->body.bytes[0], 0xef, "the mark is not evaluated");
        cr_expect_eq(entry->body.size, strlen((const char *)entry->body.bytes));
    }
}

PROJECT_TEST(registry_files, a_header_that_would_be_ignored_is_refused) {
    put("tools/a.lisp", "\n\n\n\n\n;\n;\n;\n;\n;\n;;; {\"title\":\"T\"}\n1");
    put("tools/b.lisp", ";;; Copyright\n;;; {\"title\":\"T\"}\n1");
    put("tools/b.json", "{\"title\":\"Beside\"}");
    put("prompts/c.lisp", ";;; Copyright\n1");
    put("prompts/c.json", "{\"title\":\"Beside\"}");
    project_begin(project);
    expect_file_refused(project, "tools/a.lisp",
                        "has a header in line 11; it must begin in the first 10 lines");
    expect_file_refused(project, "tools/b.lisp",
                        "has metadata twice: in its header (line 2) and in tools/b.json");
    cr_expect_not_null(find(project, REGISTRY_PROMPT, "c"));
}

PROJECT_TEST(registry_files, a_byte_order_mark_is_not_part_of_a_prompt) {
    put("prompts/p.txt", "\xef\xbb\xbfHello");
    put("resources/r.txt", "\xef\xbb\xbfHello");
    project_begin(project);
    expect_body(project, REGISTRY_PROMPT, "p", "Hello");
    expect_body(project, REGISTRY_RESOURCE, "eclave:///r.txt", "\xef\xbb\xbfHello");
}

PROJECT_TEST(registry_files, a_malformed_header_is_refused_with_its_line) {
    put("tools/a.lisp", ";;; {\"title\":\"A\"}\n;;; more words\n1");
    put("tools/b.lisp", ";; b\n;;; {\"title\":\n;;; nothing\n1");
    project_begin(project);
    cr_expect_eq(snapshot_of(project)->total, 0);
    expect_file_refused(project, "tools/a.lisp", "is not JSON (line 2)");
    expect_file_refused(project, "tools/b.lisp", "is not JSON (line 3)");
    expect_logged(project, "error registry-refused: tools/a.lisp: is not JSON");
}

PROJECT_TEST(registry_files, resources_are_served_unchanged) {
    put("resources/read me.md", "# Hello");
    put_bytes("resources/logo.png", "\x89PNG\0\xff", 6);
    put_bytes("resources/blob", "\xff\0", 2);
    put("resources/data.json", "{]");
    put("resources/data.json.meta.json",
        "{\"uri\":\"test://data\",\"name\":\"The data\",\"mimeType\":\"text/x-data\"}");
    project_begin(project);
    cr_expect_eq(count_of(project, REGISTRY_RESOURCE), 4, "%s", project->logged);
    expect_body(project, REGISTRY_RESOURCE, "eclave:///read%20me.md", "# Hello");
    const struct registry_entry *entry = find(project, REGISTRY_RESOURCE, "eclave:///read%20me.md");
    cr_expect_str_eq(entry->mime_type, "text/markdown");
    cr_expect_str_eq(entry->name, "read me.md");
    cr_expect(entry->body.is_text);
    entry = find(project, REGISTRY_RESOURCE, "eclave:///logo.png");
    cr_expect_not(entry->body.is_text);
    cr_expect_eq(entry->body.size, 6);
    cr_expect_str_eq(find(project, REGISTRY_RESOURCE, "eclave:///blob")->mime_type,
                     "application/octet-stream");
    entry = find(project, REGISTRY_RESOURCE, "test://data");
    cr_expect_str_eq(entry->name, "The data");
    cr_expect_str_eq(entry->mime_type, "text/x-data");
}

PROJECT_TEST(registry_files, a_template_matches_uris_and_has_a_lisp_source) {
    struct template_match match;
    put("resources/item.lisp", "(item id)");
    put("resources/item.lisp.meta.json",
        "{\"uriTemplate\":\"test://template/{id}/data\",\"name\":\"item\","
        "\"completions\":{\"id\":[\"1\",\"2\"]}}");
    put("resources/text.txt", "x");
    put("resources/text.txt.meta.json", "{\"uriTemplate\":\"test://{a}\"}");
    put("resources/plain.lisp", "(as it is)");
    project_begin(project);
    const struct registry_entry *entry =
        snapshot_match(snapshot_of(project), "test://template/12%203/data", &match);
    cr_assert_not_null(entry);
    cr_expect_str_eq(entry->key, "test://template/{id}/data");
    cr_expect(entry->is_lisp);
    cr_expect_eq(match.count, 1);
    cr_expect_str_eq(match.values[0].text, "12 3");
    cr_expect_null(snapshot_match(snapshot_of(project), "test://template/1/2/data", &match));
    expect_file_refused(project, "resources/text.txt", "must end in .lisp");
    cr_expect_not(find(project, REGISTRY_RESOURCE, "eclave:///plain.lisp")->is_lisp);
}

PROJECT_TEST(registry_files, prompts_are_text_lisp_or_messages) {
    put("prompts/greet.txt", "Hello {{who}}");
    put("prompts/greet.json", "{\"description\":\"Greets\",\"arguments\":[{\"name\":\"who\","
                              "\"required\":true}],\"completions\":{\"who\":\"names\"}}");
    put("prompts/made.lisp", "(list 1)");
    put("prompts/fixed.json", "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
                              "\"text\":\"Hi\"}}]}");
    put("prompts/empty.json", "{\"title\":\"Nothing\"}");
    put("prompts/both.lisp", "1");
    put("prompts/both.txt", "1");
    put("completions/names.lisp", "(list \"Ann\")");
    project_begin(project);
    cr_expect_eq(count_of(project, REGISTRY_PROMPT), 4, "%s", project->logged);
    cr_expect_not(find(project, REGISTRY_PROMPT, "greet")->is_lisp);
    cr_expect(find(project, REGISTRY_PROMPT, "made")->is_lisp);
    cr_expect_null(find(project, REGISTRY_PROMPT, "fixed")->body.bytes);
    cr_expect(find(project, REGISTRY_PROMPT, "both")->is_lisp);
    cr_expect_not_null(find(project, REGISTRY_COMPLETION, "names"));
    expect_file_refused(project, "prompts/empty.json", "neither a .txt nor a .lisp");
    expect_file_refused(project, "prompts/both.txt",
                        "the prompt both is already defined by prompts/both.lisp");
    unlink("completions/names.lisp");
    project_look(project);
    expect_file_refused(project, "prompts/greet.txt", "names names, which does not exist");
    cr_expect_eq(count_of(project, REGISTRY_PROMPT), 3);
}

PROJECT_TEST(registry_files, other_files_are_ignored) {
    put("tools/README.md", "x");
    put("tools/.hidden.lisp", "x");
    put("tools/a.lisp~", "x");
    put("prompts/.x.txt", "x");
    put("resources/.git", "x");
    put("resources/a~", "x");
    mkdir("tools/lib", 0755);
    project_begin(project);
    cr_expect_eq(snapshot_of(project)->total, 0);
    cr_expect_eq(snapshot_of(project)->refusals.count, 0);
}

static const struct {
    const char *folder, *metadata, *reason;
} refused_metadata[] = {
    {"tools", "[]", "is not a JSON object"},
    {"tools", "", "is not JSON"},
    {"tools", "{\"title\":1}", "\"title\" must be a string"},
    {"tools", "{\"title\":\"a\\u0000b\"}", "\"title\" must not contain U+0000"},
    {"tools", "{\"description\":\"\"}", "\"description\" must not be empty"},
    {"tools", "{\"name\":\"a\\u0000\"}", "\"name\" must not contain U+0000"},
    {"prompts", "{\"arguments\":[{\"name\":\"a\\u0000\"}]}",
     "element 1: \"name\" must not contain U+0000"},
    {"prompts", "{\"arguments\":[{\"name\":\"a\",\"title\":\"\\u0000\"}]}",
     "element 1: \"title\" must not contain U+0000"},
    {"prompts", "{\"arguments\":[{\"name\":\"\"}]}", "must not be empty"},
    {"prompts", "{\"completions\":{\"a\":[\"\\u0000\"]}}", "must not contain U+0000"},
    {"tools", "{\"titel\":\"x\"}", "unknown member \"titel\"; did you mean \"title\"?"},
    {"tools", "{\"uri\":\"a:b\"}", "unknown member \"uri\""},
    {"tools", "{\"a\\u0000\":1}", "U+0000 in the name"},
    {"tools", "{\"inputSchema\":{}}", "\"inputSchema\" must have \"type\": \"object\""},
    {"tools", "{\"inputSchema\":null}", "\"inputSchema\" must be an object"},
    {"tools", "{\"outputSchema\":true}", "\"outputSchema\" must be an object"},
    {"tools", "{\"timeout\":0}", "\"timeout\" must be seconds"},
    {"tools", "{\"timeout\":\"1\"}", "\"timeout\" must be seconds"},
    {"tools", "{\"timeout\":1e99}", "\"timeout\" must be seconds"},
    {"tools", "{\"session\":\"mine\"}", "\"session\" must be \"new\" or \"caller\""},
    {"tools", "{\"icons\":[{}]}", "\"icons\": element 1 lacks the member \"src\""},
    {"tools", "{\"icons\":[1]}", "\"icons\": element 1 must be an object"},
    {"tools", "{\"name\":\"a b\"}", "\"name\" must be 1 to 64"},
    {"tools", "{\"name\":\"evaluate-lisp\"}", "built-in tool evaluate-lisp"},
    {"tools", "{\"title\":\"a\",\"title\":\"b\"}", "has the member \"title\" twice"},
    {"tools", "{\"title\":\"a\",\"t\\u0069tle\":\"b\"}", "twice"},
    {"tools", "{\"_meta\":{\"a\":{\"b\":1,\"c\":[{\"b\":2}],\"b\":3}}}", "has a member twice"},
    {"tools", "{\"title\":\"\xff\"}", "is not UTF-8 (line 1)"},
    {"tools", "\xef\xbb\xbf\xef\xbb\xbf{}", "is not JSON"},
    {"tools", "{\"title\":\"a\"}{}", "is not JSON"},
    {"tools", "{\n\"title\":NaN}", "is not JSON (line 2)"},
    {"prompts", "{\"arguments\":[{}]}", "element 1 lacks the member \"name\""},
    {"prompts", "{\"arguments\":[{\"name\":\"a\"},{\"name\":\"a\"}]}",
     "two arguments of the same name"},
    {"prompts", "{\"arguments\":[{\"name\":\"a\",\"required\":1}]}", "must be true or false"},
    {"prompts", "{\"arguments\":[{\"name\":\"a\",\"x\":1}]}", "unknown member \"x\""},
    {"prompts", "{\"role\":\"system\"}", "\"role\" must be"},
    {"prompts", "{\"completions\":{\"a\":[1]}}", "\"a\": element 1 must be a string"},
    {"prompts", "{\"completions\":{\"a\":1}}", "or the name of a completion"},
};

static bool is_evaluate_lisp(enum registry_kind kind, const char *key) {
    return kind == REGISTRY_TOOL && strcmp(key, "evaluate-lisp") == 0;
}

PROJECT_TEST(registry_files, invalid_metadata_is_refused_with_the_name_of_the_member) {
    project->options.is_reserved = is_evaluate_lisp;
    for (size_t i = 0; i < COUNT_OF(refused_metadata); i++) {
        put(formatted("%s/e%zu.lisp", refused_metadata[i].folder, i), "1");
        put(formatted("%s/e%zu.json", refused_metadata[i].folder, i), refused_metadata[i].metadata);
    }
    put("tools/good.lisp", "1");
    project_begin(project);
    for (size_t i = 0; i < COUNT_OF(refused_metadata); i++)
        expect_file_refused(project, formatted("%s/e%zu.lisp", refused_metadata[i].folder, i),
                            refused_metadata[i].reason);
    cr_expect_eq(snapshot_of(project)->total, 1);
    expect_logged(project, "more files");
}

#define MESSAGE(content) "{\"messages\":[{\"role\":\"user\",\"content\":" content "}]}"
#define PART(content)    MESSAGE("{\"type\":" content "}")

PROJECT_TEST(registry_files, messages_of_prompts_are_checked_completely) {
    static const struct {
        const char *metadata, *reason;
    } cases[] = {
        {"{\"messages\":{}}", "\"messages\" must be an array"},
        {"{\"messages\":[1]}", "\"messages\": element 1 must be an object"},
        {"{\"messages\":[{\"role\":\"user\"}]}", "element 1 lacks the member \"content\""},
        {"{\"messages\":[{\"role\":\"system\"}]}",
         "element 1: \"role\" must be \"user\" or \"assistant\""},
        {"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"\"}},{}]}",
         "element 2 lacks the member \"role\""},
        {"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"\"},\"x\":1}]"
         "}",
         "element 1 has the unknown member \"x\""},
        {MESSAGE("[]"), "element 1: \"content\" must be an object"},
        {MESSAGE("{}"), "\"content\": \"type\" must be text, image, audio, resource or"},
        {PART("\"video\""), "\"type\" must be text, image"},
        {PART("\"text\\u0000\",\"text\":\"\""), "\"type\" must be text, image"},
        {PART("\"text\""), "\"content\" lacks the member \"text\""},
        {PART("\"text\",\"text\":1"), "\"content\": \"text\" must be a string"},
        {PART("\"text\",\"text\":\"\",\"txt\":1"), "has the unknown member \"txt\""},
        {PART("\"image\",\"mimeType\":\"image/png\""), "lacks the member \"data\""},
        {PART("\"image\",\"data\":\"AAAA\""), "lacks the member \"mimeType\""},
        {PART("\"image\",\"data\":\"AAA\",\"mimeType\":\"image/png\""), "\"data\" must be base64"},
        {PART("\"audio\",\"data\":\"{{a}}\",\"mimeType\":\"audio/wav\""),
         "\"data\" must be base64"},
        {PART("\"audio\",\"data\":\"\",\"mimeType\":\"wav\""), "\"mimeType\" must be a MIME type"},
        {PART("\"resource\""), "lacks the member \"resource\""},
        {PART("\"resource\",\"resource\":{\"text\":\"\"}"),
         "\"content\": \"resource\" lacks the member \"uri\""},
        {PART("\"resource\",\"resource\":{\"uri\":\"a:b\"}"),
         "\"resource\" must have either \"text\" or \"blob\""},
        {PART("\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"\",\"blob\":\"\"}"),
         "\"resource\" must have either \"text\" or \"blob\""},
        {PART("\"resource\",\"resource\":{\"uri\":\"b\",\"text\":\"\"}"),
         "\"resource\": \"uri\" must be a URI"},
        {PART("\"resource_link\",\"name\":\"n\""), "lacks the member \"uri\""},
        {PART("\"resource_link\",\"uri\":\"a:b\""), "lacks the member \"name\""},
        {PART("\"resource_link\",\"uri\":\"a:b\",\"name\":\"n\",\"size\":-1"),
         "\"size\" must be an integer, 0 or more"},
        {PART("\"text\",\"text\":\"\",\"annotations\":{\"audience\":[\"all\"]}"),
         "\"annotations\": \"audience\": element 1 must be \"user\" or"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        put(formatted("prompts/e%zu.json", i), cases[i].metadata);
    project_begin(project);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        expect_file_refused(project, formatted("prompts/e%zu.json", i), cases[i].reason);
    cr_expect_eq(snapshot_of(project)->total, 0);
}

PROJECT_TEST(registry_files, messages_of_prompts_may_have_placeholders_that_are_checked_later) {
    static const char *const metadata[] = {
        "{\"messages\":[]}",
        PART("\"text\",\"text\":\"{{a}} {{\""),
        PART("\"image\",\"data\":\"AA==\",\"mimeType\":\"image/{{kind}}\""),
        PART("\"audio\",\"data\":\"\",\"mimeType\":\"{{type}}\""),
        PART("\"resource\",\"resource\":{\"uri\":\"{{uri}}\",\"blob\":\"AAAA\"}"),
        PART("\"resource\",\"resource\":{\"uri\":\"x://{{id}}\",\"text\":\"{{id}}\"}"),
        PART("\"resource_link\",\"uri\":\"a:{{b}}\",\"name\":\"{{b}}\",\"title\":\"t\","
             "\"description\":\"d\",\"mimeType\":\"text/plain\",\"size\":1"),
        PART("\"text\",\"text\":\"\",\"annotations\":{\"audience\":[\"user\"],\"priority\":1}"),
    };
    for (size_t i = 0; i < COUNT_OF(metadata); i++)
        put(formatted("prompts/e%zu.json", i), metadata[i]);
    project_begin(project);
    cr_expect_eq(snapshot_of(project)->refusals.count, 0);
    cr_expect_eq(snapshot_of(project)->total, COUNT_OF(metadata));
}

PROJECT_TEST(registry_files, the_reason_of_a_refusal_is_printable) {
    put("tools/a.lisp", ";;; {\"\\u001b[31m\\u009b\\n\": 1}");
    project_begin(project);
    expect_file_refused(project, "tools/a.lisp", "member \"\\u001B[31m\\u009B\\u000A\"");
}

PROJECT_TEST(registry_files, a_timeout_that_is_cut_is_reported_once) {
    project->settings.call_timeout_max_s = 60;
    put("tools/a.lisp", ";;; {\"timeout\":61.5}");
    put("tools/b.lisp", ";;; {\"timeout\":60}");
    put("tools/c.lisp", ";;; {\"timeout\":86401}");
    put("tools/d.lisp", ";;; {\"timeout\":-1}");
    static const char warning[] = "warning registry-warned: tools/a.lisp: the timeout of 61.5 s "
                                  "is reduced to 60 s (call.timeout_max_s)\n";
    project_begin(project);
    cr_expect_eq(snapshot_of(project)->total, 2);
    cr_expect_eq(snapshot_of(project)->warnings.count, 1);
    expect_logged(project, warning);
    expect_file_refused(project, "tools/c.lisp", "more than 0 and at most 86400");
    expect_file_refused(project, "tools/d.lisp", "more than 0 and at most 86400");
    memset(project->logged, 0, sizeof project->logged);
    project_look(project);
    cr_expect_eq(snapshot_of(project)->warnings.count, 1);
    cr_expect_null(strstr(project->logged, "registry-warned"), "%s", project->logged);
    put("tools/a.lisp", ";;; {\"timeout\":62}");
    project_look(project);
    expect_logged(project, "the timeout of 62 s is reduced");
}

static void expect_arguments(const struct project *project, const char *prompt, const char *text) {
    const struct registry_entry *entry = find(project, REGISTRY_PROMPT, prompt);
    cr_assert_not_null(entry, "%s: %s", prompt, project->logged);
    struct json_object *arguments = json_object_object_get(entry->metadata, "arguments");
    cr_expect_str_eq(json_object_to_json_string_ext(arguments, JSON_C_TO_STRING_PLAIN), text, "%s",
                     prompt);
}

PROJECT_TEST(registry_files, placeholders_are_arguments_when_none_are_declared) {
    static char long_text[20000 * 6 + 1];
    put("prompts/a.txt", "{{who}} and {{what-1}}, {{who}}; {{}} {{ x }} {{{y}}} {{z} }{{{{q}}{{");
    put("prompts/b.txt", "{{who}} {{what}}");
    put("prompts/b.json", "{\"arguments\":[{\"name\":\"who\"}]}");
    put("prompts/c.txt", "{{who}}");
    put("prompts/c.json", "{\"arguments\":[]}");
    put("prompts/d.json",
        "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"{{one}}\"}},"
        "{\"role\":\"user\",\"content\":{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\","
        "\"blob\":\"AAAA\",\"mimeType\":\"{{two}}\"}}}]}");
    put("prompts/e.txt", "none");
    put("prompts/f.lisp", "{{who}}");
    for (int i = 0; i < 20000; i++)
        memcpy(long_text + 6 * (size_t)i, "{{aa}}", 6);
    put("prompts/g.txt", long_text);
    for (int i = 0; i < 70; i++)
        snprintf(long_text + 8 * (size_t)i, 9, "{{a%03d}}", i);
    put("prompts/h.txt", long_text);
    project_begin(project);
    expect_arguments(project, "a",
                     "[{\"name\":\"who\",\"required\":true},{\"name\":\"what-1\","
                     "\"required\":true},{\"name\":\"q\",\"required\":true}]");
    expect_arguments(project, "b", "[{\"name\":\"who\"}]");
    expect_arguments(project, "c", "[]");
    expect_arguments(project, "d",
                     "[{\"name\":\"one\",\"required\":true},{\"name\":\"two\","
                     "\"required\":true}]");
    expect_arguments(project, "e", "null");
    expect_arguments(project, "f", "null");
    expect_file_refused(project, "prompts/g.txt", "has more than 10000 {{placeholders}}");
    expect_file_refused(project, "prompts/h.txt", "has more than 64 different {{placeholders}}");
}

PROJECT_TEST(registry_files, uris_are_checked) {
    static const struct {
        const char *metadata, *reason;
    } cases[] = {
        {"{\"uri\":\"no scheme\"}", "no scheme"},
        {"{\"uri\":\"a:b c\"}", "byte 3 is not allowed in a URI"},
        {"{\"uri\":\"a:%4\"}", "%"},
        {"{\"uri\":\"a:{b}\"}", "byte 2"},
        {"{\"uri\":\"a:b\",\"uriTemplate\":\"a:{b}\"}", "both"},
        {"{\"uriTemplate\":\"a:b\"}", "has no variable"},
        {"{\"uriTemplate\":\"a:{b}{c}\"}", "must have text between them"},
        {"{\"uriTemplate\":\"a:{b}/{b}\"}", "occurs twice"},
        {"{\"uriTemplate\":\"a:{?b}\"}", "only {name} and {+name}"},
        {"{\"uriTemplate\":\"a:{b\"}", "only {name} and {+name}"},
        {"{\"uriTemplate\":\"a:{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}\"}", "more than 8"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        put(formatted("resources/e%zu.lisp", i), "1");
        put(formatted("resources/e%zu.lisp.meta.json", i), cases[i].metadata);
    }
    project_begin(project);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        expect_file_refused(project, formatted("resources/e%zu.lisp", i), cases[i].reason);
}

PROJECT_TEST(registry_files, deep_and_huge_metadata_is_refused) {
    char deep[400];
    static char huge[300 * 1024];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"_meta\":", 9);
    memset(huge, ' ', sizeof huge);
    put("tools/deep.lisp", "1");
    put_bytes("tools/deep.json", deep, sizeof deep);
    put("tools/huge.lisp", "1");
    put_bytes("tools/huge.json", huge, sizeof huge);
    memset(huge, ';', sizeof huge);
    memcpy(huge, ";;; {", 5);
    put_bytes("tools/header.lisp", huge, sizeof huge);
    put("tools/lonely.json", "{}");
    put("resources/lonely.meta.json", "{}");
    project_begin(project);
    expect_file_refused(project, "tools/deep.lisp", "tools/deep.json: is nested too deep");
    expect_file_refused(project, "tools/huge.lisp",
                        "tools/huge.json: has 307200 bytes; the maximum");
    expect_file_refused(project, "tools/header.lisp", "has a header of more than 262144 bytes");
    expect_file_refused(project, "tools/lonely.json", "no file beside it");
    expect_file_refused(project, "resources/lonely.meta.json", "no file beside it");
}

PROJECT_TEST(registry_files, sources_must_be_utf8_and_not_too_long) {
    static char big[SOURCE_MAX_BYTES + 1];
    memset(big, 'x', sizeof big);
    put("tools/latin.lisp", "\"\xe9t\xe9\"");
    put("tools/cut.lisp", "\"\xe2\x82");
    put("tools/fine.lisp", "\"\xe2\x82\xac\"");
    put_bytes("tools/big.lisp", big, sizeof big);
    put_bytes("tools/full.lisp", big, sizeof big - 1);
    put("tools/empty.lisp", "");
    put_bytes("tools/zero.lisp", "\"\0\"", 3);
    project_begin(project);
    expect_file_refused(project, "tools/latin.lisp", "is not UTF-8");
    expect_file_refused(project, "tools/cut.lisp", "is not UTF-8");
    expect_file_refused(project, "tools/big.lisp", "has 1048577 bytes; the maximum is 1048576");
    expect_file_refused(project, "tools/empty.lisp", "is empty");
    cr_expect_eq(snapshot_of(project)->total, 3);
    cr_expect_eq(find(project, REGISTRY_TOOL, "zero")->body.size, 3);
}

PROJECT_TEST(registry_files, a_character_may_span_two_reads) {
    static char text[FILE_STEP_BYTES + 16];
    memset(text, 'x', sizeof text);
    memcpy(text + FILE_STEP_BYTES - 2, "\xf0\x9f\x8c\x8d", 4);
    put_bytes("tools/across.lisp", text, sizeof text);
    text[FILE_STEP_BYTES] = 'x';
    put_bytes("tools/broken.lisp", text, sizeof text);
    project_begin(project);
    cr_expect_not_null(find(project, REGISTRY_TOOL, "across"));
    expect_file_refused(project, "tools/broken.lisp", "is not UTF-8");
}

PROJECT_TEST(registry_files, odd_names_are_refused_and_printed_safely) {
    put("tools/a b.lisp", "1");
    put("tools/\xff\n.lisp", "1");
    put("tools/\xc3\xa9.lisp", "1");
    put("resources/bad\xff", "1");
    put("resources/bell\a", "1");
    put("resources/\xc3\xa9", "1");
    char name[80];
    memset(name, 'n', sizeof name);
    memcpy(name, "tools/", 6);
    memcpy(name + 6 + SHAPE_NAME_MAX, ".lisp", 6);
    put(name, "1");
    memcpy(name + 7 + SHAPE_NAME_MAX, ".lisp", 6);
    name[6 + SHAPE_NAME_MAX] = 'n';
    put(name, "1");
    project_begin(project);
    expect_file_refused(project, "tools/a b.lisp", "the name must be 1 to 64");
    expect_file_refused(project, "tools/\\xff\\u000A.lisp", "the name must be 1 to 64");
    expect_file_refused(project, "tools/\xc3\xa9.lisp", "the name must be 1 to 64");
    expect_file_refused(project, name, "the name must be 1 to 64");
    expect_file_refused(project, "resources/bad\\xff", "the name must be UTF-8");
    expect_file_refused(project, "resources/bell\\u0007", "control character");
    cr_expect_not_null(find(project, REGISTRY_RESOURCE, "eclave:///%C3%A9"));
    cr_expect_eq(count_of(project, REGISTRY_TOOL), 1);
}

PROJECT_TEST(registry_files, only_regular_files_are_read_and_no_link_is_followed) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "tools/socket.lisp"};
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(server, (const void *)&address, sizeof address), 0);
    cr_assert_eq(mkfifo("tools/fifo.lisp", 0644), 0);
    cr_assert_eq(mkfifo("tools/beside.json", 0644), 0);
    cr_assert_eq(mkdir("tools/folder.lisp", 0755), 0);
    cr_assert_eq(symlink("/etc/passwd", "tools/outside.lisp"), 0);
    cr_assert_eq(symlink("good.lisp", "tools/inside.lisp"), 0);
    cr_assert_eq(symlink("nowhere", "resources/dangling"), 0);
    bool device = mknod("tools/null.lisp", S_IFCHR | 0644, makedev(1, 3)) == 0;
    put("tools/good.lisp", "1");
    put("tools/beside.lisp", "1");
    project_begin(project);
    expect_file_refused(project, "tools/socket.lisp", "is a socket, not a regular file");
    expect_file_refused(project, "tools/fifo.lisp", "is a fifo, not a regular file");
    expect_file_refused(project, "tools/beside.lisp", "tools/beside.json: is a fifo");
    expect_file_refused(project, "tools/folder.lisp", "is a directory, not a regular file");
    expect_file_refused(project, "tools/outside.lisp", "symbolic link");
    expect_file_refused(project, "tools/inside.lisp", "symbolic link");
    expect_file_refused(project, "resources/dangling", "symbolic link");
    if (device)
        expect_file_refused(project, "tools/null.lisp", "is a device, not a regular file");
    cr_expect_eq(snapshot_of(project)->total, 1);
    close(server);
}

/* Makes openat2 fail with ENOSYS in this process, as on an old kernel. */
static void forbid_openat2(void) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
    cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
    cr_assert_eq(syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0), -1);
    cr_assert_eq(errno, ENOSYS);
}

PROJECT_TEST(registry_files, no_link_is_followed_without_openat2) {
    forbid_openat2();
    mkdir("docs", 0755);
    mkdir("docs/deep", 0755);
    put("docs/deep/good", "1");
    cr_assert_eq(symlink("deep", "docs/linked"), 0);
    cr_assert_eq(symlink("/etc/passwd", "tools/outside.lisp"), 0);
    cr_assert_eq(symlink("docs", "elsewhere"), 0);
    put("tools/good.lisp", "1");
    put("register.json", "{\"version\":1,\"resources\":[{\"file\":\"docs/deep/good\"},"
                         "{\"file\":\"docs/linked/good\"},{\"file\":\"elsewhere/deep/good\"}]}");
    project_begin(project);
    cr_expect_eq(count_of(project, REGISTRY_RESOURCE), 1, "%s", project->logged);
    cr_expect_eq(count_of(project, REGISTRY_TOOL), 1);
    expect_file_refused(project, "docs/linked/good", "cannot be opened: Not a directory");
    expect_file_refused(project, "elsewhere/deep/good", "cannot be opened: Not a directory");
    expect_file_refused(project, "tools/outside.lisp", "symbolic link");
    cr_assert_eq(rmdir("prompts"), 0);
    cr_assert_eq(symlink("docs", "prompts"), 0);
    project_look(project);
    expect_logged(project, "error registry-failed: prompts is not a directory, or is a symbolic");
}

PROJECT_TEST(registry_files, an_unreadable_file_is_refused) {
    put("tools/a.lisp", "1");
    put("tools/secret.lisp", "1");
    cr_assert_eq(chmod("tools/secret.lisp", 0), 0);
    bool readable = access("tools/secret.lisp", R_OK) == 0; /* root can */
    project_begin(project);
    cr_expect_eq(snapshot_of(project)->total, readable ? 2 : 1);
    if (!readable)
        expect_file_refused(project, "tools/secret.lisp", "Permission denied");
}

PROJECT_TEST(registry_files, an_unreadable_folder_fails_the_scan) {
    put("tools/a.lisp", "1");
    put("prompts/p.txt", "1");
    cr_assert_eq(chmod("tools", 0), 0);
    bool readable = access("tools", R_OK) == 0; /* root can */
    project_begin(project);
    cr_expect_eq(snapshot_of(project)->total, readable ? 2 : 0);
    cr_expect_eq(registry_was_read(project->registry), readable);
    if (!readable)
        expect_logged(project, "error registry-failed: cannot open the folder tools: Permission");
    chmod("tools", 0755);
    project_look(project);
    cr_expect_eq(snapshot_of(project)->total, 2);
    cr_expect(registry_was_read(project->registry));
}

PROJECT_TEST(registry_files, a_tool_has_its_schemas_compiled) {
    put("tools/good.lisp", ";;; {\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":{}}");
    put("tools/bad.lisp",
        ";;; {\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":{\"$ref\":\"x\"}}");
    project_begin(project);
    const struct registry_entry *tool = find(project, REGISTRY_TOOL, "good");
    cr_assert_not_null(tool);
    cr_expect_not_null(tool->input);
    cr_expect_not_null(tool->output);
    expect_file_refused(project, "tools/bad.lisp", "\"outputSchema\": /$ref: ");
}

/* A small value takes a hundred times the memory of its text. */
PROJECT_TEST(registry_files, metadata_in_headers_counts_by_its_memory) {
    enum { VALUES = 2000 };
    static char metadata[3 * VALUES + 40], header[3 * VALUES + 60];
    char *to = stpcpy(metadata, "{\"_meta\":{\"a\":[{}");
    for (int i = 1; i < VALUES; i++)
        to = stpcpy(to, ",{}");
    stpcpy(to, "]}}");
    snprintf(header, sizeof header, ";;; %s\n1", metadata);
    put("tools/header.lisp", header);
    put("tools/beside.lisp", "1");
    put("tools/beside.json", metadata);
    project_begin(project);
    const struct registry_entry *in_header = find(project, REGISTRY_TOOL, "header");
    const struct registry_entry *beside = find(project, REGISTRY_TOOL, "beside");
    cr_assert(in_header && beside, "%s", project->logged);
    cr_expect_gt(in_header->bytes, (size_t)VALUES * 100);
    cr_expect_geq(in_header->bytes, beside->bytes);
}
