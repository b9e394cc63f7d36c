/* Prompts that no Lisp makes: what arguments may put into their places, and how much of it. */
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

Test(fixed_prompts, places_take_what_makes_a_message) {
    write_embedding();
    EACH_ERA_SERVED(era, NULL) {
        const char *line = era_request(client, era, "1", "prompts/get",
                                       "\"name\":\"embeds\",\"arguments\":{\"uri\":\"x:%20\","
                                       "\"type\":\"y\",\"note\":\"{{uri}}\"}");
        expect_contains(line, "{\"uri\":\"x:%20\",\"mimeType\":\"text/y\",\"text\":\"{{uri}}\"}");
    }
}

Test(fixed_prompts, arguments_that_make_no_message_are_refused_with_the_place) {
    static const char *const cases[][2] = {
        {"{\"uri\":\"no uri\",\"type\":\"y\"}", "\\\"resource\\\": \\\"uri\\\" must be a URI"},
        {"{\"uri\":\"\",\"type\":\"y\"}", "\\\"uri\\\" must be a URI"},
        {"{\"uri\":\"a:{{type}}\",\"type\":\"y\"}", "must be a URI: byte 2 may not be in a URI"},
        {"{\"uri\":\"a:%2\",\"type\":\"y\"}", "must be a URI: a % must stand before"},
        {"{\"uri\":\"a:b\",\"type\":\"\"}", "\\\"mimeType\\\" must be a MIME type"},
        {"{\"uri\":\"a:b\"}", "element 1: \\\"content\\\": \\\"resource\\\": \\\"mimeType\\\""},
    };
    char members[200];
    write_embedding();
    EACH_ERA_SERVED(era, NULL) {
        for (size_t c = 0; c < COUNT_OF(cases); c++) {
            snprintf(members, sizeof members, "\"name\":\"embeds\",\"arguments\":%s", cases[c][0]);
            const char *line = era_refused(client, era, -32602, "1", "prompts/get", members);
            expect_contains(line, "With these arguments the prompt is malformed: ");
            expect_contains(line, cases[c][1]);
        }
    }
}

/* A few bytes of arguments can ask for any number of them: all places together have their limit. */
Test(fixed_prompts, filled_texts_never_pass_the_limit_of_an_answer) {
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

/* It cost the square of their number once. */
Test(fixed_prompts, many_places_that_are_none_cost_no_more_than_their_bytes) {
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
