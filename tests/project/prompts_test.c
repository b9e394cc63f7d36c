/* Prompts and completions in every revision: texts with places, messages, and those that Lisp
 * makes. */
#include "tests/support/project_files.h"

static void begin(void) {
    project_files_begin();
    project_files_write("prompts/letter.txt", "Dear {{who}}, {{other}} {{what}}{{}}");
    project_files_write(
        "prompts/letter.json",
        "{\"description\":\"A letter\",\"arguments\":[{\"name\":\"who\",\"title\":\"Who\","
        "\"required\":true},{\"name\":\"what\"}],\"completions\":{\"who\":[\"Anna\",\"Bob\","
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

Test(prompts, say_what_is_wrong_with_a_request) {
    static const char *const members[] = {
        "\"name\":\"nothing\"",
        "\"name\":5",
        "\"name\":\"letter\"",
        "\"name\":\"letter\",\"arguments\":[]",
        "\"name\":\"letter\",\"arguments\":{\"who\":5}",
        "\"name\":\"letter\",\"arguments\":{\"who\":\"x\",\"whom\":\"y\"}"};
    EACH_ERA(era) {
        struct client *client = project_files_serve_in(era, NULL);
        for (size_t i = 0; i < COUNT_OF(members); i++)
            era_refused(client, era, -32602, "1", "prompts/get", members[i]);
        const char *line =
            era_refused(client, era, -32603, "2", "prompts/get", "\"name\":\"made\"");
        expect_member(line, "\"Prompt failed: no name\"", "error", "message", NULL);
        expect_member(line, "\"SIMPLE-ERROR\"", "error", "data", "type", NULL);
        client_finish(client);
    }
}

#define COMPLETE(ref, name, value)                                                                 \
    "\"ref\":" ref ",\"argument\":{\"name\":\"" name "\",\"value\":\"" value "\"}"
#define LETTER "{\"type\":\"ref/prompt\",\"name\":\"letter\"}"

Test(prompts, have_arguments_that_are_completed) {
    static const struct {
        const char *members, *completion;
    } cases[] = {{COMPLETE(LETTER, "who", "AN"),
                  "{\"values\":[\"Anna\",\"anton\"],\"total\":2,\"hasMore\":false}"},
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
    EACH_ERA(era) {
        struct client *client = project_files_serve_in(era, NULL);
        for (size_t i = 0; i < COUNT_OF(cases); i++)
            expect_member(era_request(client, era, "1", "completion/complete", cases[i].members),
                          cases[i].completion, "result", "completion", NULL);
        const char *line =
            era_request(client, era, "2", "completion/complete", COMPLETE(LETTER, "what", "many"));
        expect_contains(line, "\"99\"],\"total\":250,\"hasMore\":true");
        for (size_t i = 0; i < COUNT_OF(wrong); i++)
            era_refused(client, era, -32602, "3", "completion/complete", wrong[i]);
        client_finish(client);
    }
    struct client *client = project_files_serve_in(era_legacy, NULL);
    era_refused(client, era_legacy, -32004, "1", "completion/complete",
                COMPLETE(LETTER, "what", "slow"));
    client_finish(client);
}
