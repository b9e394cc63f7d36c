/* Numbers keep all their digits wherever JSON passes through: arguments, schemas, lists, answers of
 * clients, log messages, and the expectations of `eclave check`. */
#include "tests/support/command.h"
#include "tests/support/project_files.h"
#include "tests/support/random.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(numbers, .init = project_files_begin, .fini = project_files_end);

#define BIG      "123456789012345678901234567890"
#define NEXT_BIG "123456789012345678901234567891"

#define TAKES(schema)                                                                              \
    ";;; {\"description\": \"x\", \"inputSchema\": {\"type\": \"object\", \"properties\": "        \
    "{\"x\": " schema "}}}\n"
#define SAY "(mcp:deftool \"say\" (x) (princ-to-string x))"

/* As sent and as Lisp prints it. */
static const char *const sent[][2] = {
    {"0", "0"},
    {"-0", "0"},
    {"9007199254740993", "9007199254740993"},
    {"9223372036854775807", "9223372036854775807"},
    {"9223372036854775808", "9223372036854775808"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"-9223372036854775809", "-9223372036854775809"},
    {"18446744073709551615", "18446744073709551615"},
    {"18446744073709551616", "18446744073709551616"},
    {BIG, BIG},
    {"-" BIG, "-" BIG},
    {"[" BIG "," NEXT_BIG "]", "#(" BIG " " NEXT_BIG ")"},
    {"[[18446744073709551616]]", "#(#(18446744073709551616))"},
    {"3.0", "3.0d0"},
    {"1e2", "100.0d0"},
    {"0.1", "0.1d0"},
};

Test(numbers, of_any_size_reach_lisp) {
    project_files_write("tools/say.lisp", SAY);
    EACH_KIND_SERVED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(sent); i++)
            cr_expect_str_eq(era_call(client, era, "say", formatted("{\"x\":%s}", sent[i][0])).text,
                             sent[i][1], "%s", sent[i][0]);
        expect_contains(era_call(client, era, "say", "{\"x\":1e400}").text, "out of range");
    }
}

/* The value of x for a schema that says "integer". */
static const char *const integers[][2] = {
    {"3", "3"},
    {"3.0", "3"},
    {"-3.00", "-3"},
    {"-0", "0"},
    {"-0.0", "0"},
    {"0e0", "0"},
    {"1e2", "100"},
    {"1.0e0", "1"},
    {"150e-1", "15"},
    {"1e25", "10000000000000000000000000"},
    {BIG, BIG},
    {BIG ".0", BIG},
    {"1.23456789012345678901234567890e29", BIG},
};

static const char *const no_integers[] = {"3.5", BIG ".5", "1e-1", "1e400", "\"3\"", "true"};

Test(numbers, are_integers_where_the_schema_says_so) {
    project_files_write("tools/say.lisp", TAKES("{\"type\": \"integer\"}") SAY);
    EACH_KIND_SERVED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(integers); i++)
            cr_expect_str_eq(
                era_call(client, era, "say", formatted("{\"x\":%s}", integers[i][0])).text,
                integers[i][1], "%s", integers[i][0]);
        for (size_t i = 0; i < COUNT_OF(no_integers); i++)
            expect_contains(
                era_call(client, era, "say", formatted("{\"x\":%s}", no_integers[i])).text, "/x: ");
    }
}

static const struct {
    const char *schema, *good, *bad;
} limits[] = {
    {"{\"maximum\": 100000000000000000000}", "100000000000000000000", "100000000000000000001"},
    {"{\"minimum\": -" BIG "}", "-" BIG, "-" NEXT_BIG},
    {"{\"exclusiveMaximum\": " NEXT_BIG "}", BIG, NEXT_BIG},
    {"{\"exclusiveMinimum\": 18446744073709551615}", "18446744073709551616",
     "18446744073709551615"},
    {"{\"multipleOf\": 10}", BIG, NEXT_BIG},
    {"{\"multipleOf\": " BIG "}", "246913578024691357802469135780", NEXT_BIG},
    {"{\"const\": " BIG "}", BIG, NEXT_BIG},
    {"{\"enum\": [1, " BIG "]}", BIG, NEXT_BIG},
    {"{\"uniqueItems\": true}", "[" BIG "," NEXT_BIG "]", "[" BIG "," BIG "]"},
    {"{\"not\": {\"const\": 18446744073709551616}}", "18446744073709551617",
     "18446744073709551616"},
};

Test(numbers, of_schemas_are_compared_to_the_digit) {
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        project_files_format(
            formatted("tools/t%zu.lisp", i),
            ";;; {\"description\": \"x\", \"inputSchema\": {\"type\": \"object\", \"properties\": "
            "{\"x\": %s}}}\n(mcp:deftool \"t%zu\" (x) (princ-to-string x))",
            limits[i].schema, i);
    SERVED(era_modern, NULL) {
        for (size_t i = 0; i < COUNT_OF(limits); i++) {
            const char *name = client_keep(client, strdup(formatted("t%zu", i)));
            cr_expect_not(
                era_call(client, era_modern, name, formatted("{\"x\":%s}", limits[i].good))
                    .is_error,
                "%s", limits[i].schema);
            expect_contains(
                era_call(client, era_modern, name, formatted("{\"x\":%s}", limits[i].bad)).text,
                "Invalid arguments");
        }
    }
}

Test(numbers, of_metadata_are_listed_as_they_were_written) {
    project_files_write("tools/say.lisp",
                        ";;; {\"description\": \"x\", \"_meta\": {\"n\": " BIG ", \"d\": 1.50},\n"
                        ";;;  \"inputSchema\": {\"type\": \"object\", \"properties\": {\"x\": "
                        "{\"default\": " BIG ", \"maximum\": 1e30}}}}\n" SAY);
    EACH_KIND_SERVED(era, NULL) {
        const char *line = era_request(client, era, "1", "tools/list", NULL);
        expect_contains(line, "\"_meta\":{\"n\":" BIG ",\"d\":1.50}");
        expect_contains(line, "\"default\":" BIG ",\"maximum\":1e30");
    }
}

Test(numbers, of_log_messages_and_results_keep_their_digits) {
    project_files_write("tools/logs.lisp",
                        "(mcp:deftool \"logs\" () (mcp:log :emergency (mcp:object \"n\" " BIG
                        " \"d\" 0.1d0)) (mcp:structured (mcp:object \"n\" -" BIG ")))");
    struct client *client = project_files_serve_in(era_legacy, NULL);
    era_call_send(client, era_legacy, "1", "logs", "{}");
    const char *line = client_await_notification(client, "notifications/message", NULL);
    expect_member(line, BIG, "params", "data", "n", NULL);
    line = client_await(client, "1", NULL);
    expect_member(line, "-" BIG, "result", "structuredContent", "n", NULL);
    client_finish(client);
}

/* What a client answers for a member of type integer, and what Lisp gets. */
Test(numbers, that_a_client_answers_reach_lisp) {
    project_files_write(
        "tools/asks.lisp",
        "(mcp:deftool \"asks\" () (princ-to-string (mcp:ref (mcp:ask :elicit \"?\" '(:object :type"
        " :object :properties (:object :n (:object :type :integer)))) \"content\" \"n\")))");
    struct client *client = project_files_serve_able(era_legacy, "{\"elicitation\":{}}", NULL);
    for (size_t i = 0; i < COUNT_OF(integers); i++) {
        era_call_send(client, era_legacy, "1", "asks", "{}");
        const char *question = client_read_line(client, NULL);
        client_send_format(client,
                           "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"action\":\"accept\","
                           "\"content\":{\"n\":%s}}}",
                           client_string(client, question, "id", NULL), integers[i][0]);
        expect_contains(client_await(client, "1", NULL),
                        formatted("\"text\":\"%s\"", integers[i][1]));
    }
    client_finish(client);
}

Test(numbers, of_expectations_are_compared_to_the_digit) {
    cr_assert_eq(chdir(project_files_path()), 0);
    project_files_write("tools/value.lisp", "(mcp:deftool value (n) (mcp:object \"n\" n))");
    project_files_write("tools/value.test.jsonl",
                        "\xef\xbb\xbf{\"args\": {\"n\": " BIG "}, \"expect\": {\"n\": " BIG "}}\n"
                        "{\"args\": {\"n\": " BIG "}, \"expect\": {\"n\": " NEXT_BIG "}}\n"
                        "{\"args\": {\"n\": 1}, \"expect\": {\"n\": 1.0}}\n"
                        "{\"args\": {\"n\": [-" BIG "]}, \"expect\": {\"n\": [-" BIG ".0]}}\n"
                        "{\"args\": {\"n\": 18446744073709551616}, \"expect\": {\"n\": "
                        "18446744073709551615}}\n");
    const char *output = command_expect(1, (const char *const[]){"check", ".", NULL}, NULL)->output;
    expect_contains(output, "  ok      tools/value.test.jsonl:1\n");
    expect_contains(output, "  FAILED  tools/value.test.jsonl:2: expected {\"n\":" NEXT_BIG "}");
    expect_contains(output, "  ok      tools/value.test.jsonl:3\n");
    expect_contains(output, "  ok      tools/value.test.jsonl:4\n");
    expect_contains(output, "  FAILED  tools/value.test.jsonl:5: ");
}

/* Long numbers in all the places of one request, at the limit of their length and beyond. */
Test(numbers, have_a_limit_of_length) {
    enum { MOST = 65536 };
    static char digits[MOST + 2];
    project_files_write("tools/say.lisp", TAKES("{\"type\": \"integer\", \"multipleOf\": 7}") SAY);
    memset(digits, '7', MOST);
    SERVED(era_modern, NULL) {
        cr_expect_str_eq(era_call(client, era_modern, "say", formatted("{\"x\":%s}", digits)).text,
                         digits);
        digits[MOST] = '7';
        era_call_send(client, era_modern, "1", "say", formatted("{\"x\":%s}", digits));
        expect_contains(client_read_line(client, NULL), "a number longer than 65536 bytes");
    }
}

Test(numbers, sent_at_random_come_back, .timeout = 110) {
    struct random random = random_for("random numbers");
    project_files_write("tools/say.lisp", SAY);
    SERVED(era_legacy, NULL) {
        for (size_t trial = 0; trial < random_trials(100, 2000); trial++) {
            char digits[1002];
            size_t used = 0,
                   count = 1 + random_below(&random, random_below(&random, 2) ? 40 : 1000);
            if (random_below(&random, 2))
                digits[used++] = '-';
            digits[used++] = (char)('1' + random_below(&random, 9));
            while (--count)
                digits[used++] = (char)('0' + random_below(&random, 10));
            digits[used] = 0;
            cr_assert_str_eq(
                era_call(client, era_legacy, "say", formatted("{\"x\":%s}", digits)).text, digits);
        }
    }
}
