/* Prompts and completions in every revision: texts with places, messages, and those that Lisp
 * makes. */
#include "tests/project/files.h"

static void put_prompts(void) {
    put("prompts/letter.txt", "Dear {{who}}, {{other}} {{what}}{{}}");
    put("prompts/letter.json",
        "{\"description\":\"A letter\",\"arguments\":[{\"name\":\"who\",\"title\":\"Who\","
        "\"required\":true},{\"name\":\"what\"}],\"completions\":{\"who\":[\"Anna\",\"Bob\","
        "\"anton\"],\"what\":\"things\"},\"messages\":[{\"role\":\"assistant\",\"content\":{"
        "\"type\":\"audio\",\"data\":\"AAAA\",\"mimeType\":\"audio/wav\"}}]}");
    put("prompts/made.lisp",
        ";;; {\"description\": \"Made\"}\n(mcp:defprompt \"made\" (&optional name) (if name (list "
        "(mcp:message :assistant name) \"end\") (error \"no name\")))");
    put("completions/things.lisp",
        "(mcp:defcompletion \"things\" (argument value context) (cond ((string= value \"many\") "
        "(loop for i below 250 collect (format nil \"~d\" i))) ((string= value \"slow\") (loop)) "
        "(t (list (format nil \"~a ~a ~a\" argument value (mcp:ref context \"who\"))))))");
}

PROJECT_TEST(prompts, are_listed_and_filled) {
    put_prompts();
    EACH_ERA(era) {
        struct client *client = serve(era);
        const char *line = era_request(client, era, "1", "prompts/list", NULL);
        expect_has(line, "{\"name\":\"letter\",\"description\":\"A letter\",\"arguments\":[{"
                         "\"name\":\"who\",");
        cr_expect_eq(has(line, "\"title\":\"Who\""), era >= eras + 2);
        line = era_request(client, era, "2", "prompts/get",
                           "\"name\":\"letter\",\"arguments\":{\"who\":\"{{what}}\"}");
        expect_has(line, "\"text\":\"Dear {{what}}, {{other}} {{}}\"");
        cr_expect_eq(has(line, "\"type\":\"audio\",\"data\":\"AAAA\""), era >= eras + 1);
        line = era_request(client, era, "3", "prompts/get",
                           "\"name\":\"made\",\"arguments\":{\"name\":\"N\"}");
        expect_has(line, "\"role\":\"assistant\"");
        expect_has(line, "\"text\":\"N\"");
        expect_has(line, "\"text\":\"end\"");
        client_finish(client);
    }
}

PROJECT_TEST(prompts, say_what_is_wrong_with_a_request) {
    static const char *const members[] = {
        "\"name\":\"nothing\"",
        "\"name\":5",
        "\"name\":\"letter\"",
        "\"name\":\"letter\",\"arguments\":[]",
        "\"name\":\"letter\",\"arguments\":{\"who\":5}",
        "\"name\":\"letter\",\"arguments\":{\"who\":\"x\",\"whom\":\"y\"}"};
    put_prompts();
    EACH_ERA(era) {
        struct client *client = serve(era);
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

PROJECT_TEST(prompts, have_arguments_that_are_completed) {
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
    put_prompts();
    EACH_ERA(era) {
        struct client *client = serve(era);
        for (size_t i = 0; i < COUNT_OF(cases); i++)
            expect_member(era_request(client, era, "1", "completion/complete", cases[i].members),
                          cases[i].completion, "result", "completion", NULL);
        const char *line =
            era_request(client, era, "2", "completion/complete", COMPLETE(LETTER, "what", "many"));
        expect_has(line, "\"99\"],\"total\":250,\"hasMore\":true");
        for (size_t i = 0; i < COUNT_OF(wrong); i++)
            era_refused(client, era, -32602, "3", "completion/complete", wrong[i]);
        client_finish(client);
    }
    struct client *client = serve(&eras[3]);
    era_refused(client, &eras[3], -32004, "1", "completion/complete",
                COMPLETE(LETTER, "what", "slow"));
    client_finish(client);
}
