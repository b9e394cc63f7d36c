/* Malformed metadata: each wrong member refuses its own entry and no other, so that the lists match
 * the schema of every revision, against which every line is checked afterwards. */
#include "tests/support/project_files.h"

TestSuite(metadata, .init = project_files_begin, .fini = project_files_end);

struct wrong {
    const char *member, *reason;
};

static const struct wrong of_all[] = {
    {"\"title\":5", "\"title\" must be a string"},
    {"\"description\":[]", "\"description\" must be a string"},
    {"\"_meta\":1", "\"_meta\" must be an object"},
    {"\"icons\":{}", "\"icons\" must be an array"},
    {"\"icons\":[\"data:,\"]", "\"icons\": element 1 must be an object"},
    {"\"icons\":[{}]", "\"icons\": element 1 lacks the member \"src\""},
    {"\"icons\":[{\"src\":1}]", "\"icons\": element 1: \"src\" must be a URI that begins with"},
    {"\"icons\":[{\"src\":\"data:,\"},{\"src\":\"javascript:x()\"}]", "element 2: \"src\" must be"},
    {"\"icons\":[{\"src\":\"file:///etc/passwd\"}]", "element 1: \"src\" must be"},
    {"\"icons\":[{\"src\":\"https:\"}]", "element 1: \"src\" must be"},
    {"\"icons\":[{\"src\":\"data:, \"}]", "element 1: \"src\" must be"},
    {"\"icons\":[{\"src\":\"data:,\",\"sizes\":\"48x48\"}]", "\"sizes\" must be an array"},
    {"\"icons\":[{\"src\":\"data:,\",\"sizes\":[48]}]", "\"sizes\": element 1 must be a string"},
    {"\"icons\":[{\"src\":\"data:,\",\"mimeType\":5}]", "\"mimeType\" must be a string"},
    {"\"icons\":[{\"src\":\"data:,\",\"theme\":\"grey\"}]", "\"theme\" must be \"light\" or"},
    {"\"icons\":[{\"src\":\"data:,\",\"size\":[]}]", "member \"size\"; did you mean \"sizes\"?"},
};

static const struct wrong of_tools[] = {
    {"\"annotations\":[]", "\"annotations\" must be an object"},
    {"\"annotations\":{\"readOnlyHint\":\"yes\"}", "\"readOnlyHint\" must be true or false"},
    {"\"annotations\":{\"destructiveHint\":0}", "\"destructiveHint\" must be true or false"},
    {"\"annotations\":{\"idempotentHint\":null}", "\"idempotentHint\" must be true or false"},
    {"\"annotations\":{\"openWorldHint\":[]}", "\"openWorldHint\" must be true or false"},
    {"\"annotations\":{\"title\":1}", "\"title\" must be a string"},
    {"\"annotations\":{\"readonlyHint\":true}", "did you mean \"readOnlyHint\"?"},
    {"\"inputSchema\":[]", "\"inputSchema\" must be an object"},
    {"\"inputSchema\":{\"type\":\"array\"}", "\"inputSchema\" must have \"type\": \"object\""},
    {"\"inputSchema\":{\"type\":[\"object\"]}", "must have \"type\": \"object\""},
    {"\"inputSchema\":{\"type\":\"object\",\"properties\":{\"x\":true}}",
     "\"x\" must be an object"},
    {"\"inputSchema\":{\"type\":\"object\",\"properties\":[]}", "\"properties\" must be an object"},
    {"\"inputSchema\":{\"type\":\"object\",\"required\":\"x\"}", "\"required\" must be an array"},
    {"\"inputSchema\":{\"type\":\"object\",\"required\":[1]}",
     "\"required\": element 1 must be a string"},
    {"\"outputSchema\":true", "\"outputSchema\" must be an object"},
    {"\"outputSchema\":{\"type\":\"object\",\"properties\":{\"x\":false}}", "\"x\" must be"},
    {"\"outputSchema\":{\"type\":\"object\",\"required\":[null]}",
     "\"required\": element 1 must be"},
    {"\"outputSchema\":{\"$schema\":7}", "must be a string"},
    {"\"execution\":{}", "unknown member \"execution\""},
};

static const struct wrong of_annotations[] = {
    {"\"annotations\":\"\"", "\"annotations\" must be an object"},
    {"\"annotations\":{\"priority\":1.5}", "\"priority\" must be a number from 0 to 1"},
    {"\"annotations\":{\"priority\":-1}", "\"priority\" must be a number from 0 to 1"},
    {"\"annotations\":{\"priority\":\"1\"}", "\"priority\" must be a number from 0 to 1"},
    {"\"annotations\":{\"audience\":\"user\"}", "\"audience\" must be an array"},
    {"\"annotations\":{\"audience\":[\"system\"]}", "\"audience\": element 1 must be"},
    {"\"annotations\":{\"lastModified\":1}", "\"lastModified\" must be a time"},
    {"\"annotations\":{\"lastModified\":\"yesterday\"}", "\"lastModified\" must be a time"},
    {"\"annotations\":{\"lastModified\":\"2026-02-29T00:00:00Z\"}", "\"lastModified\" must be"},
    {"\"annotations\":{\"lastModified\":\"2026-02-28T00:00:00\"}", "\"lastModified\" must be"},
    {"\"annotations\":{\"lastModified\":\"2026-02-28T24:00:00Z\"}", "\"lastModified\" must be"},
    {"\"annotations\":{\"readOnlyHint\":true}", "unknown member \"readOnlyHint\""},
};

static const struct wrong of_resources[] = {
    {"\"name\":5", "\"name\" must be a string"},
    {"\"mimeType\":5", "\"mimeType\" must be a string"},
    {"\"size\":5", "unknown member \"size\""},
    {"\"uri\":\"http://\"", "\"uri\" must be a URI: it has no host"},
    {"\"uri\":\"a://b:x/\"", "must be a URI: its port"},
    {"\"uri\":\"a://[b/\"", "must be a URI: its host"},
    {"\"uri\":\"a:[b]\"", "must be a URI: it has a bracket"},
    {"\"uri\":\"a:#b#c\"", "must be a URI: it has a second #"},
};

static const struct wrong of_prompts[] = {
    {"\"arguments\":{}", "\"arguments\" must be an array"},
    {"\"arguments\":[\"a\"]", "\"arguments\": element 1 must be an object"},
    {"\"arguments\":[{}]", "element 1 lacks the member \"name\""},
    {"\"arguments\":[{\"name\":1}]", "element 1: \"name\" must be a string"},
    {"\"arguments\":[{\"name\":\"a\",\"title\":1}]", "element 1: \"title\" must be a string"},
    {"\"arguments\":[{\"name\":\"a\",\"description\":[]}]", "\"description\" must be a string"},
    {"\"arguments\":[{\"name\":\"a\",\"required\":\"yes\"}]", "\"required\" must be true or false"},
};

/* Members that lists may have, of the right types. */
static const char right_of_all[] =
    "\"title\":\"T\",\"description\":\"D\",\"_meta\":{\"a\":1},\"icons\":[{\"src\":\"data:,\","
    "\"sizes\":[\"48x48\",\"any\"],\"mimeType\":\"image/png\",\"theme\":\"light\"},{\"src\":"
    "\"HTTPS://u@[::1]:443/i.png?a#b\"}]";

static void put_tool(const char *name, const char *member) {
    project_files_format(formatted("tools/%s.lisp", name), "(mcp:deftool \"%s\" () \"x\")", name);
    project_files_format(formatted("tools/%s.json", name), "{%s}", member);
}

static void put_resource(const char *name, const char *member) {
    project_files_write(formatted("resources/%s", name), "x");
    project_files_format(formatted("resources/%s.meta.json", name), "{%s}", member);
}

static void put_template(const char *name, const char *member) {
    project_files_write(formatted("resources/%s.lisp", name), "(mcp:defresource \"x\" (x) x)");
    project_files_format(formatted("resources/%s.lisp.meta.json", name),
                         "{\"uriTemplate\":\"%s://{x}\",%s}", name, member);
}

static void put_prompt(const char *name, const char *member) {
    project_files_write(formatted("prompts/%s.txt", name), "x");
    project_files_format(formatted("prompts/%s.json", name), "{%s}", member);
}

/* A kind of entry, and the function that makes one. */
struct kind {
    const char *folder, *ending, *method;
    void (*put)(const char *name, const char *member);
};

static const struct kind tools = {"tools", ".lisp", "tools/list", put_tool};
static const struct kind prompts = {"prompts", ".txt", "prompts/list", put_prompt};
static const struct kind resources = {"resources", "", "resources/list", put_resource};
static const struct kind templates = {"resources", ".lisp", "resources/templates/list",
                                      put_template};

/* The number of refusals that one scan reports. */
enum { WRONG_MAX = 20 };

/* The entries w0, w1, ... with WRONG metadata are refused for their reasons; "right" remains. */
static void expect_one_left(const struct kind *kind, const struct wrong *wrong, size_t count) {
    cr_assert_leq(count, (size_t)WRONG_MAX);
    for (size_t i = 0; i < count; i++)
        kind->put(formatted("w%zu", i), wrong[i].member);
    EACH_ERA_SERVED(era, NULL) {
        const char *line = era_request(client, era, "1", kind->method, NULL);
        expect_contains(line, "\"name\":\"right");
        expect_lacks(line, "\"name\":\"w");
        for (size_t i = 0; i < count; i++) {
            client_await_stderr(client, formatted("%s/w%zu%s: ", kind->folder, i, kind->ending));
            client_await_stderr(client, wrong[i].reason);
        }
    }
}

Test(metadata, of_tools_that_is_wrong_refuses_only_its_entry) {
    put_tool(
        "right",
        formatted(
            "%s,\"annotations\":{\"title\":\"T\",\"readOnlyHint\":true,\"destructiveHint\":false,"
            "\"idempotentHint\":true,\"openWorldHint\":false},\"inputSchema\":{\"type\":\"object\","
            "\"properties\":{\"x\":{},\"y\":{\"not\":{}}},\"required\":[\"x\"]},\"outputSchema\":"
            "{\"type\":\"object\",\"properties\":{\"x\":{}},\"required\":[]}",
            right_of_all));
    expect_one_left(&tools, of_all, COUNT_OF(of_all));
    expect_one_left(&tools, of_tools, COUNT_OF(of_tools));
}

Test(metadata, of_prompts_that_is_wrong_refuses_only_its_entry) {
    put_prompt("right",
               formatted("%s,\"arguments\":[{\"name\":\"a\",\"title\":\"T\",\"description\":\"D\","
                         "\"required\":true},{\"name\":\"b\"}]",
                         right_of_all));
    expect_one_left(&prompts, of_prompts, COUNT_OF(of_prompts));
    expect_one_left(&prompts, of_all, COUNT_OF(of_all));
}

Test(metadata, of_resources_that_is_wrong_refuses_only_its_entry) {
    put_resource("right", right_of_all);
    expect_one_left(&resources, of_resources, COUNT_OF(of_resources));
    expect_one_left(&resources, of_annotations, COUNT_OF(of_annotations));
    expect_one_left(&resources, of_all, COUNT_OF(of_all));
}

Test(metadata, of_templates_that_is_wrong_refuses_only_its_entry) {
    put_template("right", right_of_all);
    expect_one_left(&templates, of_all, COUNT_OF(of_all));
    expect_one_left(&templates, of_annotations, COUNT_OF(of_annotations));
}

/* The schemas of the first two revisions do not have all members of annotations. */
Test(metadata, of_resources_has_annotations) {
    const char *right = formatted(
        "%s,\"mimeType\":\"text/x\",\"annotations\":{\"audience\":[\"user\",\"assistant\"],"
        "\"priority\":1,\"lastModified\":\"2024-02-29T23:59:59.5+02:00\"}",
        right_of_all);
    put_resource("right", right);
    put_template("right", right);
    for (const struct era *era = eras + 2; era < eras + ERA_COUNT; era++)
        SERVED(era, NULL) {
            const char *line = era_request(client, era, "1", "resources/list", NULL);
            expect_contains(line, "23:59:59.5+02:00");
            line = era_request(client, era, "2", "resources/templates/list", NULL);
            expect_contains(line, "23:59:59.5+02:00");
        }
}

Test(metadata, of_a_prompt_without_arguments_lists_its_placeholders) {
    project_files_write("prompts/letter.txt", "Dear {{who}}, {{who}}");
    EACH_ERA_SERVED(era, NULL) {
        const char *line = era_request(client, era, "1", "prompts/list", NULL);
        expect_contains(line, "\"arguments\":[{\"name\":\"who\",\"required\":true}]");
        era_refused(client, era, -32602, "2", "prompts/get", "\"name\":\"letter\"");
        line = era_request(client, era, "3", "prompts/get",
                           "\"name\":\"letter\",\"arguments\":{\"who\":\"you\"}");
        expect_contains(line, "Dear you, you");
    }
}

Test(metadata, of_a_file_with_a_byte_order_mark_and_a_copyright_is_found) {
    project_files_write(
        "tools/x.lisp",
        "\xEF\xBB\xBF;;; Copyright\r\n\r\n;;; {\"inputSchema\":{\"type\":\"object\","
        "\"required\":[\"a\"]}}\r\n(mcp:deftool \"x\" (a) a)");
    EACH_KIND_SERVED(era, NULL) {
        cr_expect(era_call(client, era, "x", "{}").is_error);
        cr_expect_str_eq(era_call(client, era, "x", "{\"a\":\"yes\"}").text, "yes");
    }
}
