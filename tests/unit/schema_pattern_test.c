/* supervisor/schema/pattern: regular expressions match as ECMA-262 says; those that cannot be
 * matched in linear time are refused. */
#include "supervisor/schema/pattern_internal.h"
#include "supervisor/schema/schema.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_MAX = 12 };

static struct schema *compile(const char *pattern, size_t length, struct error *error) {
    struct json_object *json = json_object_new_object();
    *error = (struct error){0};
    json_object_object_add(json, "pattern", json_object_new_string_len(pattern, (int)length));
    struct schema *schema = schema_compile(json, error);
    json_object_put(json);
    return schema;
}

static bool matches(const struct schema *schema, const char *text, size_t length) {
    struct json_object *value = json_object_new_string_len(text, (int)length);
    bool matched = schema_check(schema, value, NULL);
    json_object_put(value);
    return matched;
}

Test(schema_pattern, matches_as_ecma_262_says) {
    static const struct {
        const char *pattern, *good[TEXTS_MAX], *bad[TEXTS_MAX];
    } cases[] = {
        {"", {"", "a"}, {NULL}},
        {"^$", {""}, {"a", "\n"}},
        {"abc", {"abc", "xabcx"}, {"ab", "abxc"}},
        {"^a.c$",
         {"abc", "a\xf0\x9f\x98\x80"
                 "c"},
         {"a\nc",
          "a\xe2\x80\xa8"
          "c",
          "ac"}},
        {"a|b|", {"", "x"}, {NULL}},
        {"^(?:a|bc|d)$", {"a", "bc", "d"}, {"b", "ab", ""}},
        {"^(a|b)*c$", {"c", "abac"}, {"abxc"}},
        {"^(?<name>a)+?$", {"a", "aa"}, {""}},
        {"^a{2}$", {"aa"}, {"a", "aaa"}},
        {"^a{2,}$", {"aa", "aaaa"}, {"a"}},
        {"^a{1,3}b{0}$", {"a", "aaa"}, {"", "aaaa", "ab"}},
        {"^(ab?){2,3}$", {"aa", "abab", "aaab"}, {"a", "abababab"}},
        {"^(a*)*$", {"", "aaa"}, {"b"}},
        {"^(){5}(a?){3}$", {"", "aaa"}, {"aaaa"}},
        {"^[a-c_-]+$", {"abc", "_-"}, {"d", ""}},
        {"^[^a-c]$", {"d", "\xc3\xa9"}, {"a", ""}},
        {"[]", {NULL}, {"", "a"}},
        {"^[^]$", {"a", "\n"}, {""}},
        {"^[\\d\\-\\]\\b]+$", {"1-]\b"}, {"a"}},
        {"^\\d+$", {"0123456789"}, {"\xdf\x80", "a"}},
        {"^\\D$", {"a", "\xdf\x80"}, {"1"}},
        {"^\\w+$", {"aZ_9"}, {"\xc3\xa9", "-"}},
        {"^\\W$", {"\xc3\xa9", "-"}, {"a", "_"}},
        {"^\\s+$",
         {" \t\n\v\f\r\xc2\xa0\xef\xbb\xbf\xe2\x80\xa9\xe2\x80\x83"},
         {"a", "\xe2\x80\x8b"}},
        {"^[^\\S]$", {" "}, {"a"}},
        {"^\\u0061\\x62\\u{1F600}\\ud83d\\ude00\\cA\\0?$",
         {"ab\xf0\x9f\x98\x80\xf0\x9f\x98\x80\x01"},
         {"ab"}},
        {"\\bfoo\\b", {"foo", "a foo.", "foo bar"}, {"food", "afoo"}},
        {"\\Boo", {"foo"}, {"oo", "a oo"}},
        {"^\\^\\$\\\\\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\/\\-\\@$", {"^$\\.*+?()[]{}|/-@"}, {""}},
        {"a^b|a$b", {NULL}, {"ab", "a\nb"}},
        {"^\xc3\xa9[\xc3\xa8-\xc3\xaa]$", {"\xc3\xa9\xc3\xa9"}, {"\xc3\xa9", "ee"}},
        {"^.$", {"\xff"}, {"\xff\xff"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *pattern = cases[i].pattern;
        struct error error;
        struct schema *schema = compile(pattern, strlen(pattern), &error);
        cr_assert_not_null(schema, "%s: %s", pattern, error.text);
        for (size_t j = 0; j < (size_t)2 * TEXTS_MAX; j++) {
            bool is_good = j < TEXTS_MAX;
            const char *text = is_good ? cases[i].good[j] : cases[i].bad[j - TEXTS_MAX];
            if (text)
                cr_expect_eq(matches(schema, text, strlen(text)), is_good, "%s on \"%s\"", pattern,
                             text);
        }
        schema_free(schema);
    }
}

/* U+0000 in a pattern is an ordinary character. */
Test(schema_pattern, a_null_character_matches_itself) {
    enum { LENGTH = 3 };
    static const struct {
        const char pattern[LENGTH], good[LENGTH], bad[LENGTH];
    } cases[] = {
        {"a\0b", "a\0b", "a\0c"},
        {{0, '+', '$'}, {'a', 0, 0}, {0, 'a', '-'}},
        {"^.\0", "a\0-", {0, 'a', '-'}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error;
        struct schema *schema = compile(cases[i].pattern, LENGTH, &error);
        cr_assert_not_null(schema, "%zu: %s", i, error.text);
        cr_expect(matches(schema, cases[i].good, LENGTH), "%zu", i);
        cr_expect_not(matches(schema, cases[i].bad, LENGTH), "%zu", i);
        schema_free(schema);
    }
}

Test(schema_pattern, refuses_unknown_syntax) {
    static const struct {
        const char *pattern, *fault;
    } cases[] = {
        {"(", "has a ( without a )"},
        {")", "has a ) without a ("},
        {"[a", "has a [ without a ]"},
        {"*a", "has nothing to repeat here"},
        {"a**", "has nothing to repeat here"},
        {"^*", "has nothing to repeat here"},
        {"a{1", "has a { without a }"},
        {"a{2,1}", "has a repetition whose maximum is below its minimum"},
        {"a{,2}", "has a brace or bracket that needs a backslash"},
        {"]", "has a brace or bracket that needs a backslash"},
        {"[b-a]", "has a range that ends before it starts"},
        {"[a-\\d]", "has a range that starts or ends with a class"},
        {"(?=a)", "has a lookahead, which is not supported; use allOf and not"},
        {"(?!a)", "has a lookahead, which is not supported; use allOf and not"},
        {"(?<=a)", "has a lookbehind, which is not supported; use allOf and not"},
        {"(?<!a)", "has a lookbehind, which is not supported; use allOf and not"},
        {"(?i)a", "has an unknown kind of group"},
        {"(?>a)", "has an unknown kind of group"},
        {"(?<1>a)", "has a group with an invalid name"},
        {"(a)\\1", "has a back reference, which is not supported"},
        {"(?<n>a)\\k<n>", "has a back reference, which is not supported"},
        {"\\p{L}", "has a Unicode property, which is not supported"},
        {"\\a", "has an unknown escape"},
        {"\\Z", "has an unknown escape"},
        {"\\01", "has an octal escape"},
        {"\\c1", "needs a letter after \\c"},
        {"\\x1", "needs a hexadecimal digit here"},
        {"\\u{110000}", "has an invalid \\u{} escape"},
        {"\\u{}", "has an invalid \\u{} escape"},
        {"\\ud800", "has a lone surrogate"},
        {"\\", "ends unexpectedly"},
        {"a{99999}", "is too big"},
        {"(a{100}){100}", "is too big"},
        {"((((((((((((((((((((((((((((((((((a))))))))))))))))))))))))))))))))))",
         "nests its groups too deeply"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error;
        cr_expect_null(compile(cases[i].pattern, strlen(cases[i].pattern), &error),
                       "%s is accepted", cases[i].pattern);
        cr_expect_not_null(strstr(error.text, cases[i].fault), "%s: %s", cases[i].pattern,
                           error.text);
    }
}

Test(schema_pattern, long_and_many_patterns_are_refused) {
    struct error error;
    char text[PATTERN_MAX_BYTES + 1];
    memset(text, 'a', sizeof text);
    cr_expect_null(compile(text, sizeof text, &error));
    cr_expect_str_eq(error.text, "/pattern: the pattern is too long (at byte 1)");
    struct json_object *json = json_object_new_object(), *members = json_object_new_object();
    for (int i = 0; i <= SCHEMA_PATTERNS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "a%d", i);
        json_object_object_add(members, name, json_object_new_boolean(true));
    }
    json_object_object_add(json, "patternProperties", members);
    cr_expect_null(schema_compile(json, &error));
    cr_expect_str_eq(error.text, "/patternProperties/a256: there are more than 256 patterns");
    json_object_put(json);
}
