/* tools/list and the instructions agree with what the server does, in both eras and with the
 * options that change it: each statement of the list is tried. */
#include "tests/support/eras.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sets of options, and what they change. */
static const struct setting {
    const char *const *arguments;
    const char *session; /* of calls that name none, in both eras; NULL: the usual one */
    bool undoes, rolls_back, copies;
    int timeout_s; /* the default */
} settings[] = {
    {STRINGS("--call-timeout-s", "3"), NULL, true, true, true, 3},
    {STRINGS("--default-session", "work", "--call-timeout-s", "1", "--call-timeout-max-s", "1"),
     "work", true, true, true, 1},
    {STRINGS("--session-history", "0", "--timeout-reply", "result"), NULL, true, false, true, 30},
    {STRINGS("--session-history", "2", "--allow-read", "/usr/share/common-lisp"), NULL, true, true,
     true, 30},
    {STRINGS("--degraded", "--default-session", "w.1"), "w.1", false, false, false, 30},
};

/* Runs what follows with the number of each set in `row`. */
#define EACH_SETTING for (size_t row = 0; row < COUNT_OF(settings); row++)

static const char *implicit(const struct setting *setting, const struct era *era) {
    return setting->session ? setting->session : era->modern ? NULL : "main";
}

/* The tool NAME on the list; false when it is not there. */
static bool find_tool(const char *list, const char *name, struct text *tool) {
    struct text tools, value;
    cr_assert(json_at(text_of(list), &tools, "result", "tools", NULL), "%s", list);
    for (size_t i = 0; json_element(tools, i, tool); i++)
        if (json_member(*tool, "name", &value) && text_is(value, formatted("\"%s\"", name)))
            return true;
    return false;
}

static const char *list_of(struct client *client, const struct era *era) {
    return era_request(client, era, client_new_id(client), "tools/list", NULL);
}

static bool requires(struct text tool, const char *argument) {
    struct text required, name;
    if (!json_at(tool, &required, "inputSchema", "required", NULL))
        return false;
    for (size_t i = 0; json_element(required, i, &name); i++)
        if (text_is(name, formatted("\"%s\"", argument)))
            return true;
    return false;
}

static bool has_argument(struct text tool, const char *argument, struct text *schema) {
    return json_at(tool, schema, "inputSchema", "properties", argument, NULL);
}

static char *description_of(struct client *client, struct text described) {
    struct text value;
    cr_assert(json_member(described, "description", &value));
    return client_keep(client, json_decode(value, NULL));
}

/* Lists must not tell a model of eras. */
static void expect_plain(const char *text) {
    static const char *const words[] = {"revision", "stateless", "legacy", "connection"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        expect_lacks(text, words[i]);
}

Test(describe, the_list_is_ordered_by_use) {
    static const char *const wanted[] = {"evaluate-lisp", "open-session", "rollback-session",
                                         "inspect-lisp",  "read-output",  "list-sessions",
                                         "reset-session", "close-session"};
    EACH_ERA_STARTED(era, NULL) {
        struct text tools, tool, name;
        cr_assert(json_at(text_of(list_of(client, era)), &tools, "result", "tools", NULL));
        size_t next = 0;
        for (size_t i = 0; json_element(tools, i, &tool); i++) {
            cr_assert(json_member(tool, "name", &name));
            while (next < COUNT_OF(wanted) && !text_is(name, formatted("\"%s\"", wanted[next])))
                next++;
            cr_assert_lt(next++, COUNT_OF(wanted), "%.*s", (int)name.length, name.bytes);
        }
        cr_assert_eq(next, COUNT_OF(wanted));
    }
}

Test(describe, every_tool_and_argument_has_a_text_without_words_about_eras) {
    EACH_SETTING EACH_KIND_STARTED(era, settings[row].arguments) {
        const char *list = list_of(client, era);
        struct text tools, tool, properties;
        cr_assert(json_at(text_of(list), &tools, "result", "tools", NULL));
        for (size_t i = 0; json_element(tools, i, &tool); i++) {
            cr_assert_gt(strlen(description_of(client, tool)), 20);
            cr_assert(json_at(tool, &properties, "inputSchema", "properties", NULL));
            struct text argument;
            for (size_t j = 0; json_element(properties, j, &argument); j++)
                cr_assert_gt(strlen(description_of(client, argument)), 10);
        }
        expect_plain(list);
    }
}

/* Calls TOOL with what the list requires of it; SESSION is the value of a session. */
static const char *required_arguments(struct text tool, const char *session) {
    char arguments[400] = "";
    static const char *const values[][2] = {
        {"code", "\"1\""}, {"steps", "1"}, {"call", "1"}, {"operation", "\"definitions\""}};
    for (size_t i = 0; i < COUNT_OF(values); i++)
        if (requires(tool, values[i][0]))
            snprintf(arguments + strlen(arguments), sizeof arguments - strlen(arguments),
                     "%s\"%s\":%s", *arguments ? "," : "", values[i][0], values[i][1]);
    if (requires(tool, "session"))
        snprintf(arguments + strlen(arguments), sizeof arguments - strlen(arguments),
                 "%s\"session\":\"%s\"", *arguments ? "," : "", session);
    return formatted("{%s}", arguments);
}

static bool is_refused_for_arguments(const struct evaluation *evaluation) {
    return evaluation->error_code == -32602 || strstr(evaluation->text, "TYPE-ERROR") ||
           strstr(evaluation->text, "UNKNOWN-SESSION");
}

Test(describe, what_is_required_is_required_and_nothing_else) {
    static const char *const names[] = {"evaluate-lisp", "open-session", "rollback-session",
                                        "inspect-lisp",  "read-output",  "list-sessions",
                                        "reset-session", "close-session"};
    EACH_SETTING EACH_KIND_STARTED(era, settings[row].arguments) {
        const struct setting *setting = &settings[row];
        struct evaluation first = era_evaluate(client, era, NULL, "1");
        const char *session = client_string(client, first.line, "result", "_meta", "session", NULL);
        const char *list = list_of(client, era);
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            struct text tool, schema;
            if (!find_tool(list, names[i], &tool))
                continue;
            bool takes_session = has_argument(tool, "session", &schema);
            struct evaluation whole =
                era_call(client, era, names[i], required_arguments(tool, session));
            cr_assert_not(is_refused_for_arguments(&whole), "%s", whole.line);
            if (takes_session && strcmp(names[i], "evaluate-lisp") != 0)
                cr_assert_eq(requires(tool, "session"), implicit(setting, era) == NULL);
            if (requires(tool, "session")) {
                const char *others = strcmp(names[i], "rollback-session") == 0 ? "{\"steps\":1}"
                                     : strcmp(names[i], "inspect-lisp") == 0
                                         ? "{\"operation\":\"definitions\"}"
                                         : "{}";
                struct evaluation without = era_call(client, era, names[i], others);
                cr_assert(is_refused_for_arguments(&without), "%s", without.line);
                expect_contains(without.text, "session");
            }
            struct evaluation more = era_call(client, era, names[i], "{\"surplus\":1}");
            cr_assert(is_refused_for_arguments(&more), "%s", more.line);
            if (takes_session && strcmp(names[i], "close-session") != 0)
                era_evaluate(client, era, session, "2");
        }
        struct text tool;
        cr_assert(find_tool(list, "evaluate-lisp", &tool) && requires(tool, "code"));
        cr_assert_eq(era_call(client, era, "evaluate-lisp", "{}").error_code, -32602);
    }
}

/* The name of a member, with its quotes, must be an argument; one that is required is counted. */
struct example {
    struct text tool;
    size_t required;
};

static bool visit_example(struct text whole, struct text name, struct text value, void *context) {
    (void)whole, (void)value;
    struct example *example = context;
    struct text schema;
    char *argument = json_decode(name, NULL);
    cr_assert(has_argument(example->tool, argument, &schema), "%s", argument);
    example->required += requires(example->tool, argument);
    free(argument);
    return true;
}

Test(describe, examples_are_calls_that_the_schema_allows) {
    static const char lead[] = "Example: {";
    EACH_SETTING EACH_KIND_STARTED(era, settings[row].arguments) {
        struct text tools, tool, required;
        cr_assert(json_at(text_of(list_of(client, era)), &tools, "result", "tools", NULL));
        size_t examples = 0;
        for (size_t i = 0; json_element(tools, i, &tool); i++) {
            const char *begin = strstr(description_of(client, tool), lead);
            struct example example = {.tool = tool};
            if (!begin)
                continue;
            begin += sizeof lead - 2;
            const struct text object = {begin, (size_t)(strchr(begin, '}') + 1 - begin)};
            cr_assert_null(json_fault(object, 1), "%s", begin);
            json_walk(object, visit_example, &example);
            cr_assert_eq(example.required, json_at(tool, &required, "inputSchema", "required", NULL)
                                               ? json_count(required)
                                               : 0);
            examples++;
        }
        cr_assert_geq(examples, 4);
    }
}

Test(describe, the_session_without_a_name_is_the_one_that_the_list_names) {
    EACH_SETTING EACH_KIND_STARTED(era, settings[row].arguments) {
        const char *named = implicit(&settings[row], era);
        struct text tool, argument, value;
        cr_assert(find_tool(list_of(client, era), "evaluate-lisp", &tool));
        cr_assert(has_argument(tool, "session", &argument));
        cr_assert_eq(json_member(argument, "default", &value), named != NULL);
        struct evaluation first = era_evaluate(client, era, NULL, "(defvar *x* 5)");
        struct evaluation second = era_evaluate(client, era, NULL, "(boundp '*x*)");
        const char *text = description_of(client, tool);
        if (named) {
            cr_assert(text_is(value, formatted("\"%s\"", named)));
            expect_contains(text, formatted("`%s`", named));
            expect_member(second.line, formatted("\"%s\"", named), "result", "_meta", "session",
                          NULL);
            cr_assert_str_eq(second.text, "=> T");
        } else {
            expect_contains(text, "; session NAME");
            const char *handle = era_handle(client, &first);
            cr_assert_str_neq(handle, era_handle(client, &second));
            cr_assert_str_eq(era_text(client, &second), "=> NIL");
            struct evaluation third = era_evaluate(client, era, handle, "*x*");
            cr_assert_eq(strncmp(third.text, "=> 5", 4), 0, "%s", third.text);
        }
    }
}

Test(describe, the_default_and_the_largest_time_are_in_force) {
    EACH_SETTING EACH_KIND_STARTED(era, settings[row].arguments) {
        struct text tool, argument, value, most;
        cr_assert(find_tool(list_of(client, era), "evaluate-lisp", &tool));
        cr_assert(has_argument(tool, "timeout", &argument));
        cr_assert(json_member(argument, "default", &value));
        cr_assert(text_is(value, formatted("%d", settings[row].timeout_s)));
        cr_assert(json_member(argument, "maximum", &most));
        long maximum = strtol(most.bytes, NULL, 10);
        const char *line = formatted("{\"code\":\"1\",\"timeout\":%ld}", maximum);
        cr_assert_not(era_call(client, era, "evaluate-lisp", line).is_error);
        line = formatted("{\"code\":\"1\",\"timeout\":%ld.5}", maximum);
        cr_assert(era_call(client, era, "evaluate-lisp", line).is_error);
        cr_assert(json_member(argument, "exclusiveMinimum", &value) && text_is(value, "0"));
        cr_assert(
            era_call(client, era, "evaluate-lisp", "{\"code\":\"1\",\"timeout\":0}").is_error);
        bool as_result = strstr(description_of(client, argument), "[ERROR] TIMEOUT") != NULL;
        struct evaluation late =
            era_call(client, era, "evaluate-lisp", "{\"code\":\"(loop)\",\"timeout\":0.2}");
        cr_assert_eq(late.error_code, as_result ? 0 : -32004);
        if (settings[row].timeout_s <= 3) {
            late = era_evaluate(client, era, NULL, "(loop)");
            cr_assert_eq(late.error_code, -32004);
            expect_member(late.line, formatted("%d", settings[row].timeout_s), "error", "data",
                          "timeoutSecs", NULL);
        }
    }
}

Test(describe, what_ends_the_process_is_undone_where_the_list_says_so) {
    EACH_SETTING EACH_KIND_STARTED(era, settings[row].arguments) {
        struct text tool;
        cr_assert(find_tool(list_of(client, era), "evaluate-lisp", &tool));
        const char *text = description_of(client, tool);
        cr_assert_eq(strstr(text, "is undone") != NULL, settings[row].undoes, "%s", text);
        cr_assert_eq(strstr(text, "ends its session") != NULL, !settings[row].undoes, "%s", text);
        struct evaluation first = era_evaluate(client, era, NULL, "(defvar *x* 5)");
        const char *session = client_string(client, first.line, "result", "_meta", "session", NULL);
        cr_assert(era_evaluate(client, era, session, "(ext:quit 3)").is_error);
        struct evaluation after = era_evaluate(client, era, session, "(boundp '*x*)");
        expect_contains_if(settings[row].undoes, after.text, "=> T");
        /* An error keeps what was done before. */
        cr_assert(era_evaluate(client, era, session, "(defvar *y* 6) (error \"no\")").is_error);
        expect_contains(era_evaluate(client, era, session, "*y*").text, "=> 6");
        expect_contains(text, "what the forms before the failing one did is kept");
    }
}

Test(describe, only_tools_and_arguments_that_can_work_are_listed) {
    EACH_SETTING EACH_KIND_STARTED(era, settings[row].arguments) {
        const struct setting *setting = &settings[row];
        const char *list = list_of(client, era);
        struct text tool, argument;
        const char *session = client_string(client, era_evaluate(client, era, NULL, "1").line,
                                            "result", "_meta", "session", NULL);
        era_evaluate(client, era, session, "2");
        cr_assert_eq(find_tool(list, "rollback-session", &tool), setting->rolls_back);
        if (setting->rolls_back) {
            cr_assert(has_argument(tool, "steps", &argument));
            struct text maximum, minimum;
            cr_assert(json_member(argument, "maximum", &maximum) &&
                      json_member(argument, "minimum", &minimum));
            cr_assert_leq(strtol(minimum.bytes, NULL, 10), strtol(maximum.bytes, NULL, 10));
        }
        struct evaluation back = era_call(client, era, "rollback-session",
                                          formatted("{\"session\":\"%s\",\"steps\":1}", session));
        cr_assert_eq(!back.is_error && !back.error_code, setting->rolls_back, "%s", back.line);
        cr_assert(find_tool(list, "open-session", &tool));
        cr_assert_eq(has_argument(tool, "from", &argument), setting->copies);
        cr_assert_eq(has_argument(tool, "at", &argument), setting->copies && setting->rolls_back);
        struct evaluation copy =
            era_call(client, era, "open-session", formatted("{\"from\":\"%s\"}", session));
        cr_assert_eq(!copy.is_error && !copy.error_code, setting->copies, "%s", copy.line);
    }
}

Test(describe, granted_files_are_named_and_can_be_read) {
    struct client *client = client_start_with("--allow-read", "/usr/share/common-lisp");
    struct text tool;
    cr_assert(find_tool(list_of(client, era_legacy), "evaluate-lisp", &tool));
    expect_contains(description_of(client, tool), "read and loaded below /usr/share/common-lisp.");
    expect_lacks(description_of(client, tool), "No files");
    cr_assert_not(client_evaluate(client, "(directory \"/usr/share/common-lisp/\")").is_error);
    client_finish(client);
    client = client_start_ready(NULL, NULL);
    cr_assert(find_tool(list_of(client, era_legacy), "evaluate-lisp", &tool));
    expect_contains(description_of(client, tool), "No files, network, other programs or threads.");
    cr_assert(client_evaluate(client, "(open \"/etc/passwd\")").is_error);
    client_finish(client);
}

Test(describe, the_lisp_and_what_is_loaded_in_it_are_named) {
    char path[] = "/tmp/eclave-describe-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && dprintf(fd, "(defun from-the-operator () 42)\n") > 0 &&
              fchmod(fd, 0644) == 0 && close(fd) == 0);
    struct client *client = client_start_with("--preload", path);
    struct text tool;
    cr_assert(find_tool(list_of(client, era_legacy), "evaluate-lisp", &tool));
    const char *text = description_of(client, tool);
    expect_contains(text, formatted("Loaded: %s.", strrchr(path, '/') + 1));
    cr_assert_str_eq(client_evaluate(client, "(from-the-operator)").text, "=> 42");
    struct evaluation version = client_evaluate(client, "(princ (lisp-implementation-version)) 1");
    char name[80];
    cr_assert_eq(sscanf(version.text, "[stdout]\n%60s", name), 1);
    expect_contains(text, formatted("ECL %s)", name));
    expect_contains(text, "no ASDF");
    cr_assert_str_eq(client_evaluate(client, "(or (find-package :asdf) (find-package :ql))").text,
                     "=> NIL");
    client_finish(client);
    unlink(path);
}

Test(describe, the_instructions_are_short_and_follow_the_options) {
    EACH_SETTING EACH_KIND(era) {
        const struct setting *setting = &settings[row];
        const struct client_options options = {.arguments = setting->arguments};
        struct client *client = client_start(&options);
        const char *line = era->modern
                               ? client_expect_result(client, MODERN("1", "server/discover"), "1")
                               : client_initialize(client, era->revision);
        const char *text = client_string(client, line, "result", "instructions", NULL);
        cr_assert_leq(strlen(text), 2048);
        cr_assert_eq(strncmp(text, "evaluate-lisp ", 14), 0);
        expect_plain(text);
        expect_contains_if(setting->undoes, text, "is undone");
        expect_contains_if(setting->rolls_back, text, "rollback-session");
        expect_contains_if(setting->copies, text, "open-session");
        const char *named = implicit(setting, era);
        expect_contains(text, named ? formatted("share `%s`", named) : "in a new session");
        expect_contains(text, "eclave:///guide");
        client_finish(client);
    }
}
