/* Prompts and completions in every revision: texts with placeholders, messages, and prompts made by
 * Lisp. */
#include "tests/support/project_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void begin(void) {
    project_files_begin();
    project_files_write("prompts/letter.txt", "Dear {{who}}, {{other}} {{what}}{{}}");
    project_files_write(
        "prompts/letter.json",
        "{\"description\":\"A letter\",\"arguments\":[{\"name\":\"who\",\"title\":\"Who\","
        "\"required\":true},{\"name\":\"what\"}],\"completions\":{\"who\":[\"Anna\",\"Bob\","
        "\"Äpfel\","
        "\"anton\"],\"what\":\"things\"},\"messages\":[{\"role\":\"assistant\",\"content\":{"
        "\"type\":\"audio\",\"data\":\"AAAA\",\"mimeType\":\"audio/wav\"}}]}");
    project_files_write(
        "prompts/made.lisp",
        ";;; {\"description\": \"Made\"}\n(mcp:defprompt \"made\" (&optional name) (if name (list "
        "(mcp:message :assistant name) \"end\") (error \"no name\")))");
    project_files_write(
        "completions/things.lisp",
        "(mcp:defcompletion \"things\" (argument value context) (cond ((string= value \"many\") "
        "(loop for i below 250 collect (format nil \"~d\" i))) ((string= value \"slow\") (loop)) "
        "(t (list (format nil \"~a ~a ~a\" argument value (mcp:ref context \"who\"))))))");
}

TestSuite(prompts, .init = begin, .fini = project_files_end);

Test(prompts, are_listed_and_filled) {
    static const char filled[] = "\"name\":\"letter\",\"arguments\":{\"who\":\"{{what}}\"}",
                      made[] = "\"name\":\"made\",\"arguments\":{\"name\":\"N\"}";
    static const struct project_answer answers[] = {
        {"prompts/list", NULL,
         "{\"name\":\"letter\",\"description\":\"A letter\",\"arguments\":[{\"name\":\"who\",", 0},
        {"prompts/list", NULL, "\"title\":\"Who\"", 2},
        {"prompts/get", filled, "\"text\":\"Dear {{what}}, {{other}} {{}}\"", 0},
        {"prompts/get", filled, "\"type\":\"audio\",\"data\":\"AAAA\"", 1},
        {"prompts/get", made, "\"role\":\"assistant\"", 0},
        {"prompts/get", made, "\"text\":\"N\"", 0},
        {"prompts/get", made, "\"text\":\"end\"", 0},
    };
    project_files_expect(answers, COUNT_OF(answers));
}

Test(prompts, name_the_mistake_in_a_request) {
    static const char *const members[] = {
        "\"name\":\"nothing\"",
        "\"name\":5",
        "\"name\":\"letter\"",
        "\"name\":\"letter\",\"arguments\":[]",
        "\"name\":\"letter\",\"arguments\":{\"who\":5}",
        "\"name\":\"letter\",\"arguments\":{\"who\":\"x\",\"whom\":\"y\"}"};
    EACH_ERA_SERVED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(members); i++)
            era_refused(client, era, -32602, "1", "prompts/get", members[i]);
        const char *line =
            era_refused(client, era, -32603, "2", "prompts/get", "\"name\":\"made\"");
        expect_member(line, "\"Prompt failed: no name\"", "error", "message", NULL);
        expect_member(line, "\"SIMPLE-ERROR\"", "error", "data", "type", NULL);
    }
}

#define COMPLETE(ref, name, value)                                                                 \
    "\"ref\":" ref ",\"argument\":{\"name\":\"" name "\",\"value\":\"" value "\"}"
#define LETTER "{\"type\":\"ref/prompt\",\"name\":\"letter\"}"

Test(prompts, complete_their_arguments) {
    static const struct {
        const char *members, *completion;
    } cases[] = {
        {COMPLETE(LETTER, "who", "AN"),
         "{\"values\":[\"Anna\",\"anton\"],\"total\":2,\"hasMore\":false}"},
        {COMPLETE(LETTER, "who", "ä"), "{\"values\":[\"Äpfel\"],\"total\":1,\"hasMore\":false}"},
        {COMPLETE(LETTER, "who", "x"), "{\"values\":[],\"total\":0,\"hasMore\":false}"},
        {COMPLETE(LETTER, "what", "v") ",\"context\":{\"arguments\":{\"who\":\"w\"}}",
         "{\"values\":[\"what v w\"],\"total\":1,\"hasMore\":false}"},
        {COMPLETE("{\"type\":\"ref/prompt\",\"name\":\"made\"}", "name", ""),
         "{\"values\":[],\"total\":0,\"hasMore\":false}"}};
    static const char *const wrong[] = {
        COMPLETE("{\"type\":\"ref/prompt\",\"name\":\"none\"}", "who", ""),
        COMPLETE("{\"type\":\"ref/other\",\"name\":\"letter\"}", "who", ""),
        COMPLETE("{\"type\":\"ref/resource\",\"uri\":\"x:y\"}", "who", ""),
        COMPLETE(LETTER, "whom", ""),
        "\"ref\":" LETTER,
        "\"argument\":{}"};
    EACH_ERA_SERVED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(cases); i++)
            expect_member(era_request(client, era, "1", "completion/complete", cases[i].members),
                          cases[i].completion, "result", "completion", NULL);
        const char *line =
            era_request(client, era, "2", "completion/complete", COMPLETE(LETTER, "what", "many"));
        expect_contains(line, "\"99\"],\"total\":250,\"hasMore\":true");
        for (size_t i = 0; i < COUNT_OF(wrong); i++)
            era_refused(client, era, -32602, "3", "completion/complete", wrong[i]);
    }
    struct client *client = project_files_serve_in(era_legacy, NULL);
    era_refused(client, era_legacy, -32004, "1", "completion/complete",
                COMPLETE(LETTER, "what", "slow"));
    client_finish(client);
}

/* A client that asks at each keystroke, and code that never answers. */
Test(prompts, that_complete_without_end_leave_room_for_tools) {
    enum { ASKED = 16, RUNNING = ASKED / 4 };
    project_files_write("tools/works.lisp", "(mcp:deftool \"works\" () \"it works\")");
    EACH_KIND_SERVED(era, NULL) {
        for (int i = 0; i < ASKED; i++)
            era_send(client, era, formatted("%d", i), "completion/complete",
                     COMPLETE(LETTER, "what", "slow"));
        cr_expect_str_eq(era_call(client, era, "works", "{}").text, "it works");
        expect_contains(era_request(client, era, "\"listed\"", "completion/complete",
                                    COMPLETE(LETTER, "who", "AN")),
                        "Anna");
        int timed_out = 0, superseded = 0;
        for (int i = 0; i < ASKED; i++) {
            const char *line = client_await(client, formatted("%d", i), NULL);
            timed_out += (strstr(line, "\"code\":-32004") != NULL);
            superseded += (strstr(line, "\"code\":-32001") != NULL);
            cr_expect((strstr(line, "-32004") != NULL) || (strstr(line, "-32001") != NULL) ||
                          (strstr(line, "\"completions\"") != NULL),
                      "%s", line);
        }
        cr_expect(timed_out > 0 && timed_out <= RUNNING, "%d", timed_out);
        cr_expect_gt(superseded, 0);
    }
}

Test(prompts, are_not_completed_beyond_their_part_of_the_running_calls) {
    static const char *const options[] = {"--call-running-max", "2", NULL};
    project_files_write("prompts/other.txt", "{{what}}");
    project_files_write(
        "prompts/other.json",
        "{\"arguments\":[{\"name\":\"what\"}],\"completions\":{\"what\":\"things\"}}");
    EACH_KIND_SERVED(era, options) {
        era_send(client, era, "\"s\"", "completion/complete", COMPLETE(LETTER, "what", "slow"));
        const char *line =
            era_refused(client, era, -32603, "1", "completion/complete",
                        COMPLETE("{\"type\":\"ref/prompt\",\"name\":\"other\"}", "what", "many"));
        expect_member(line, "1", "error", "data", "limit", NULL);
        expect_member(line, "\"completions\"", "error", "data", "name", NULL);
        client_await(client, "\"s\"", NULL);
        line =
            era_request(client, era, "2", "completion/complete",
                        COMPLETE("{\"type\":\"ref/prompt\",\"name\":\"other\"}", "what", "many"));
        expect_contains(line, "\"total\":250");
    }
}

Test(prompts, that_exceed_the_limit_when_filled_are_refused) {
    static const char *const options[] = {"--response-max-bytes", "100000", NULL};
    static const char metadata[] = "{\"arguments\":[{\"name\":\"a\"}]}";
    char *places = nested("{{a}}", 1000, "", "");
    project_files_write("prompts/text.txt", places);
    project_files_write("prompts/text.json", metadata);
    project_files_format("prompts/messages.json",
                         "{\"arguments\":[{\"name\":\"a\"}],\"messages\":[{\"role\":\"user\","
                         "\"content\":{\"type\":\"text\",\"text\":\"%s\"}}]}",
                         places);
    free(places);
    static const char *const names[] = {"text", "messages"};
    EACH_ERA_SERVED(era, options) {
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            const char *fits =
                formatted("\"name\":\"%s\",\"arguments\":{\"a\":\"%090d\"}", names[i], 0);
            expect_contains(era_request(client, era, "1", "prompts/get", fits),
                            formatted("\"text\":\"%090000d\"", 0));
            const char *longer =
                formatted("\"name\":\"%s\",\"arguments\":{\"a\":\"%060000d\"}", names[i], 0);
            const char *line = era_refused(client, era, -32603, "2", "prompts/get", longer);
            expect_member(line, "\"response.max_bytes\"", "error", "data", "name", NULL);
            expect_lacks(line, "00000000");
        }
        client_await_stderr(client, "limit");
        if (!era->modern)
            while (client_take_line(client, NULL))
                continue;
    }
}
