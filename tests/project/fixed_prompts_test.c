/* Placeholders of fixed prompts: what arguments may put into them, and how much. */
#include "tests/support/lines.h"
#include "tests/support/project_files.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(fixed_prompts, .init = project_files_begin, .fini = project_files_end);

static void write_embedding(void) {
    project_files_write(
        "prompts/embeds.json",
        "{\"arguments\":[{\"name\":\"uri\",\"required\":true},{\"name\":\"type\"},{\"name\":"
        "\"note\"}],\"messages\":["
        "{\"role\":\"user\",\"content\":{\"type\":\"resource\",\"resource\":{\"uri\":\"{{uri}}\","
        "\"mimeType\":\"text/{{type}}\",\"text\":\"{{note}}\"}}}]}");
}

Test(fixed_prompts, placeholders_take_arguments_that_make_a_valid_message) {
    write_embedding();
    EACH_ERA_SERVED(era, NULL) {
        const char *line = era_request(client, era, "1", "prompts/get",
                                       "\"name\":\"embeds\",\"arguments\":{\"uri\":\"x:%20\","
                                       "\"type\":\"y\",\"note\":\"{{uri}}\"}");
        expect_contains(line, "{\"uri\":\"x:%20\",\"mimeType\":\"text/y\",\"text\":\"{{uri}}\"}");
    }
}

Test(fixed_prompts, arguments_that_make_an_invalid_message_are_refused_with_the_place) {
    static const char *const cases[][2] = {
        {"{\"uri\":\"no uri\",\"type\":\"y\"}", "\\\"resource\\\": \\\"uri\\\" must be a URI"},
        {"{\"uri\":\"\",\"type\":\"y\"}", "\\\"uri\\\" must be a URI"},
        {"{\"uri\":\"a:{{type}}\",\"type\":\"y\"}", "must be a URI: byte 2 is not allowed"},
        {"{\"uri\":\"a:%2\",\"type\":\"y\"}", "must be a URI: %"},
        {"{\"uri\":\"a:b\",\"type\":\"\"}", "\\\"mimeType\\\" must be a MIME type"},
        {"{\"uri\":\"a:b\"}", "element 1: \\\"content\\\": \\\"resource\\\": \\\"mimeType\\\""},
    };
    write_embedding();
    EACH_ERA_SERVED(era, NULL) {
        for (size_t c = 0; c < COUNT_OF(cases); c++) {
            const char *line =
                era_refused(client, era, -32602, "1", "prompts/get",
                            formatted("\"name\":\"embeds\",\"arguments\":%s", cases[c][0]));
            expect_contains(line, "malformed: ");
            expect_contains(line, cases[c][1]);
        }
    }
}

/* A short argument can fill any number of placeholders, so all of them together have a limit. */
Test(fixed_prompts, filled_placeholders_never_exceed_the_limit_of_a_response) {
    enum { PLACES = 700, ARGUMENT_BYTES = 100000 };
    static const char *const arguments[] = {"--response-max-bytes", "1000000", NULL};
    static const char message[] =
        "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"{{a}}\"}},";
    char *metadata = malloc(PLACES * sizeof message + 100);
    char *members = malloc(ARGUMENT_BYTES + 100);
    size_t length = (size_t)sprintf(metadata, "{\"messages\":[");
    for (int i = 0; i < PLACES; i++)
        length += (size_t)sprintf(metadata + length, "%s", message);
    sprintf(metadata + length - 1, "]}");
    sprintf(members, "\"name\":\"many\",\"arguments\":{\"a\":\"%0*d\"}", ARGUMENT_BYTES, 0);
    project_files_write("prompts/many.json", metadata);
    struct client *client = project_files_serve_in(era_modern, arguments);
    const char *line = era_refused(client, era_modern, -32603, "1", "prompts/get", members);
    expect_contains(line, "response.max_bytes");
    expect_contains(era_request(client, era_modern, "2", "prompts/get",
                                "\"name\":\"many\",\"arguments\":{\"a\":\"b\"}"),
                    "\"text\":\"b\"");
    client_finish(client);
    free(metadata);
    free(members);
}

/* This took quadratic time once. */
Test(fixed_prompts, many_braces_that_are_not_placeholders_take_linear_time) {
    enum { BRACES = 1000000 };
    char *text = malloc(BRACES + 1);
    memset(text, '{', BRACES);
    memcpy(text + BRACES - 2, "}}", 3);
    project_files_write("prompts/braces.txt", text);
    project_files_write("prompts/braces.json", "{\"arguments\":[]}");
    struct client *client = project_files_serve_in(era_modern, NULL);
    const char *line = era_request(client, era_modern, "1", "prompts/get", "\"name\":\"braces\"");
    expect_contains(line, "{{{{}}\"");
    client_finish(client);
    free(text);
}
