/* supervisor/registry: digests, URI templates, pages, headers and the strict JSON of files. */
#include "supervisor/json/json_tree.h"
#include "supervisor/registry/entry_internal.h"
#include "supervisor/registry/snapshot.h"
#include "supervisor/registry/uri_template.h"
#include "tests/support/random.h"
#include "tests/support/span.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct digest digest_of(const struct digest_key *key, const char *const *texts,
                               size_t count) {
    struct digester digester = digest_begin(key);
    for (size_t i = 0; i < count; i++)
        digest_add_text(&digester, texts[i]);
    return digest_end(&digester);
}

Test(registry_digest, depends_on_the_strings_their_ends_and_the_key) {
    static const struct digest_key keys[] = {{{0}}, {{1}}, {{[31] = 1}}};
    static const char *const texts[][2] = {{"a", "bc"}, {"ab", "c"}, {"", "abc"}, {NULL, "abc"}};
    enum { KEYS = 3, TEXTS = 4, COUNT = KEYS * TEXTS };
    struct digest digests[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        digests[i] = digest_of(&keys[i / TEXTS], texts[i % TEXTS], 2);
        for (size_t j = 0; j < i; j++)
            cr_expect_not(digest_equal(digests[i], digests[j]), "%zu and %zu", i, j);
        cr_expect(digest_equal(digests[i], digest_of(&keys[i / TEXTS], texts[i % TEXTS], 2)));
    }
}

Test(registry_digest, is_written_in_hexadecimal_digits) {
    const struct digest digest = {{0x01, 0x23, 0xab, [15] = 0xff}};
    char text[DIGEST_TEXT_BYTES];
    digest_write(digest, text);
    cr_expect_str_eq(text, "0123ab000000000000000000000000ff");
}

Test(registry_digest, does_not_depend_on_the_portions) {
    struct random random = random_for("registry_digest");
    static const struct digest_key key = {{7, 9}};
    unsigned char bytes[200];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)random_bits(&random);
    for (size_t trial = 0; trial < 500; trial++) {
        size_t size = random_below(&random, sizeof bytes + 1);
        struct digester whole = digest_begin(&key), parts = digest_begin(&key);
        digest_add(&whole, bytes, size);
        for (size_t at = 0; at < size;) {
            size_t portion = 1 + random_below(&random, size - at);
            digest_add(&parts, bytes + at, portion);
            at += portion;
        }
        const struct digest left = digest_end(&whole), right = digest_end(&parts);
        cr_expect(digest_equal(left, right), "%zu bytes", size);
    }
}

Test(registry_template, matches_uris_and_decodes_values) {
    static const struct {
        const char *template, *uri, *values[2]; /* values NULL: no match */
    } cases[] = {
        {"t://x/{id}/data", "t://x/123/data", {"123", NULL}},
        {"t://x/{id}/data", "t://x//data", {NULL, NULL}},
        {"t://x/{id}/data", "t://x/1/2/data", {NULL, NULL}},
        {"t://x/{id}/data", "t://x/1/data/", {NULL, NULL}},
        {"t://x/{id}/data", "t://x/1/dat", {NULL, NULL}},
        {"t://x/{id}", "t://x/a%2Fb", {"a/b", NULL}},
        {"t://x/{id}", "t://x/a%2", {NULL, NULL}},
        {"t://x/{id}", "t://x/%00", {NULL, NULL}},
        {"t://x/{id}", "t://x/%ff", {NULL, NULL}},
        {"t://x/{id}", "t://x/%C3%A9", {"\xc3\xa9", NULL}},
        {"t://x/{id}", "t://x/", {NULL, NULL}},
        {"t://x/{id}", "t://y/1", {NULL, NULL}},
        {"t:{a}-{b}", "t:1-2-3", {"1", "2-3"}},
        {"t:{a}.{b}", "t:1.2", {"1", "2"}},
        {"t:{+path}", "t:a/b?c", {"a/b?c", NULL}},
        {"t:{+path}/{name}", "t:a/b/c", {NULL, NULL}}, /* {+path} matches too little */
        {"t:{a}/{+rest}", "t:a/b/c", {"a", "b/c"}},
        {"t:{a}x", "t:axax", {"axa", NULL}},
        {"t:{a}", "t", {NULL, NULL}},
    };
    struct template_match match;
    struct error error = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *values = cases[i].values;
        cr_expect(uri_template_check(cases[i].template, &error), "%s: %s", cases[i].template,
                  error.text);
        bool found = uri_template_match(cases[i].template, cases[i].uri, &match);
        cr_expect_eq(found, values[0] != NULL, "%s %s", cases[i].template, cases[i].uri);
        for (size_t j = 0; found && j < match.count; j++)
            cr_expect_str_eq(match.values[j].text, values[j], "%s", cases[i].uri);
    }
}

/* A URI made from a template matches it, with the same values. */
Test(registry_template, expanded_templates_match) {
    struct random random = random_for("registry_template");
    static const char *const alphabet[] = {"a", "B", "7", "~", "%20", "%C3%A9", "%2F"};
    static const char *const plain[] = {"a", "B", "7", "~", " ", "\xc3\xa9", "/"};
    static struct template_match match;
    for (size_t trial = 0, trials = random_trials(2000, 50000); trial < trials; trial++) {
        char uri[200] = "t://", wanted[2][100] = {"", ""};
        for (size_t i = 0; i < 2; i++) {
            for (size_t length = 1 + random_below(&random, 8); length; length--) {
                size_t pick = random_below(&random, sizeof plain / sizeof *plain);
                strcat(uri, alphabet[pick]);    /* NOLINT: they fit */
                strcat(wanted[i], plain[pick]); /* NOLINT */
            }
            strcat(uri, i ? "/end" : "/"); /* NOLINT */
        }
        cr_assert(uri_template_match("t://{one}/{two}/end", uri, &match), "%s", uri);
        cr_expect_str_eq(match.values[0].text, wanted[0]);
        cr_expect_str_eq(match.values[1].text, wanted[1]);
    }
}

Test(registry_template, a_long_uri_matches_nothing) {
    static struct template_match match;
    static char uri[URI_MAX_BYTES + 2];
    struct error error;
    memset(uri, 'a', sizeof uri - 1);
    uri[1] = ':';
    cr_expect_not(uri_template_match("a:{b}", uri, &match));
    cr_expect_not(uri_check(uri, &error));
    uri[URI_MAX_BYTES] = 0;
    cr_expect(uri_template_match("a:{b}", uri, &match));
    cr_expect(uri_check(uri, &error));
}

/* RFC 3986, sections 5.2.4 and 6.2.2. */
Test(registry_uri, equivalent_ones_have_one_normal_form) {
    static const struct {
        const char *uri, *normal;
    } cases[] = {
        {"eXAMPLE://a/./b/../b/%63/%7bfoo%7d", "example://a/b/c/%7Bfoo%7D"}, /* of the RFC */
        {"UP://up", "up://up"},
        {"t://x/%c3%a4", "t://x/%C3%A4"},
        {"t://x/%7Euser%2d", "t://x/~user-"},
        {"t://x/a%2Fb%2f", "t://x/a%2Fb%2F"}, /* reserved: another URI than a/b */
        {"t://HOST.Example:80/Path?Q#F", "t://host.example:80/Path?Q#F"},
        {"t://User@HOST/", "t://User@host/"},
        {"t://%48ost%c3/", "t://host%C3/"},
        {"t://[2001:DB8::A]/", "t://[2001:db8::a]/"},
        {"t:///a/b/c/./../../g", "t:///a/g"},
        {"t:///../../x", "t:///x"},
        {"t:///a/..", "t:///"},
        {"t:///a/.", "t:///a/"},
        {"t:///a/%2e%2E/b", "t:///b"},
        {"t:///.a/..b/...", "t:///.a/..b/..."},
        {"t:///a/../b?c/../d#e/../f", "t:///b?c/../d#e/../f"},
        {"t:///a//../b", "t:///a/b"},
        {"t:/a/./b", "t:/a/b"},
        {"t:/.//b", "t:/.//b"},       /* not t://b, which has a host */
        {"urn:A:../b", "urn:A:../b"}, /* not a path from the root */
        {"mailto:A@B.C", "mailto:A@B.C"},
        {"t:", "t:"},
        {"no uri %c3", "no uri %c3"},
        {"t://%c", "t://%c"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char first[URI_MAX_BYTES + 1], second[URI_MAX_BYTES + 1];
        cr_expect_str_eq(uri_normal(cases[i].uri, first), cases[i].normal, "%s", cases[i].uri);
        cr_expect_str_eq(uri_normal(cases[i].normal, second), cases[i].normal, "%s is not stable",
                         cases[i].normal);
    }
}

static const struct digest_key page_key = {{3, 4}};

static struct snapshot *snapshot_with(size_t count, const char *prefix) {
    struct snapshot *snapshot = snapshot_make();
    for (size_t i = 0; i < count; i++) {
        struct registry_entry *entry = calloc(1, sizeof *entry);
        char name[64];
        snprintf(name, sizeof name, "%s%03zu", prefix, (i * 7) % count);
        entry->references = 1;
        entry->key = strdup(name);
        entry->name = strdup(name);
        entry->file = strdup(name);
        entry->metadata = json_object_new_object();
        struct digester digester = digest_begin(&page_key);
        digest_add_text(&digester, name);
        entry->listing = digest_end(&digester);
        cr_assert(snapshot_add(snapshot, entry));
    }
    for (unsigned stage = 0; stage < SNAPSHOT_STAGES; stage++)
        cr_assert(snapshot_finish(snapshot, stage, &page_key));
    return snapshot;
}

Test(registry_pages, a_mark_is_valid_for_one_kind_and_one_listing) {
    struct snapshot *snapshot = snapshot_with(10, "a"), *same = snapshot_with(10, "a");
    struct snapshot *other = snapshot_with(10, "b");
    char mark[SNAPSHOT_MARK_BYTES], cut[SNAPSHOT_MARK_BYTES];
    size_t index = 0;
    snapshot_mark(snapshot, REGISTRY_TOOL, 5, mark);
    cr_expect(snapshot_open_mark(snapshot, REGISTRY_TOOL, mark, &index));
    cr_expect_eq(index, 5);
    cr_expect(snapshot_open_mark(same, REGISTRY_TOOL, mark, &index), "the listing is the same");
    cr_expect_not(snapshot_open_mark(other, REGISTRY_TOOL, mark, &index));
    cr_expect_not(snapshot_open_mark(snapshot, REGISTRY_PROMPT, mark, &index));
    cr_expect_str_eq(snapshot->hash, same->hash);
    cr_expect_str_neq(snapshot->hash, other->hash);
    snapshot_mark(snapshot, REGISTRY_TOOL, 11, mark);
    cr_expect_not(snapshot_open_mark(snapshot, REGISTRY_TOOL, mark, &index));
    snapshot_mark(snapshot, REGISTRY_TOOL, 10, mark);
    for (size_t length = 0; length + 1 < strlen(mark); length++) {
        snprintf(cut, sizeof cut, "%.*s", (int)length, mark);
        cr_expect_not(snapshot_open_mark(snapshot, REGISTRY_TOOL, cut, &index), "%s", cut);
    }
    static const char *const behind[] = {"x", " 1", "999999999999999999999"};
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        snprintf(cut, sizeof cut, "%.50s%s", mark, behind[i]);
        cr_expect_not(snapshot_open_mark(snapshot, REGISTRY_TOOL, cut, &index), "%s", cut);
    }
    snapshot_unref(snapshot);
    snapshot_unref(same);
    snapshot_unref(other);
}

Test(registry_pages, entries_are_sorted_and_found) {
    struct snapshot *snapshot = snapshot_with(100, "x");
    const struct entry_list *list = &snapshot->lists[REGISTRY_TOOL];
    cr_assert_eq(list->count, 100);
    for (size_t i = 0; i < list->count; i++) {
        cr_expect(i == 0 || strcmp(list->entries[i - 1]->key, list->entries[i]->key) < 0);
        cr_expect_eq(snapshot_find(snapshot, REGISTRY_TOOL, list->entries[i]->key),
                     list->entries[i]);
    }
    cr_expect_null(snapshot_find(snapshot, REGISTRY_TOOL, "x"));
    cr_expect_null(snapshot_find(snapshot, REGISTRY_PROMPT, "x000"));
    struct snapshot *held = snapshot_ref(snapshot);
    cr_expect(snapshot_drop_some(snapshot, 10), "another has it");
    cr_expect_eq(held->total, 100);
    cr_expect_not(snapshot_drop_some(held, 99));
    cr_expect(snapshot_drop_some(held, 99));
}

Test(registry_json, a_duplicate_member_is_found_at_any_depth_and_spelling) {
    static const char *const twice[] = {
        "{\"a\":1,\"a\":2}",
        "{\"a\":{\"b\":1,\"b\":1}}",
        "{\"a\":[[{\"b\":1,\"b\":1}]]}",
        "{\"a\":1,\"\\u0061\":2}",
        "{\"a\":{\"x\":{\"y\":1}},\"b\":1,\"a\":{}}",
    };
    static const char *const once[] = {
        "{}",
        " {\"a\":{\"a\":{\"a\":1}}} ",
        "{\"a:b\":\":\\\":\",\"c\":[\":\",{\"d\":\"\\\\\"}]}",
        "{\"a\":[{\"b\":1},{\"b\":1}]}",
        "{\"\":null,\"a\":null}",
    };
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
        struct error error = {0};
        cr_expect_null(json_file_parse(span_of(twice[i]), &error), "%s", twice[i]);
        cr_expect_not_null(strstr(error.text, "twice"), "%s", error.text);
    }
    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        struct error error = {0};
        struct json_object *object = json_file_parse(span_of(once[i]), &error);
        cr_expect_not_null(object, "%s: %s", once[i], error.text);
        json_object_put(object);
    }
}

Test(registry_json, digests_distinguish_values) {
    static const char *const texts[] = {
        "{}",           "{\"a\":1}",        "{\"a\":\"1\"}", "{\"a\":[1]}",        "{\"a\":null}",
        "{\"a\":1.5}",  "{\"a\":true}",     "{\"b\":1}",     "{\"a\":[]}",         "{\"a\":{}}",
        "{\"a\":[[]]}", "{\"a\":[1,null]}", "{\"a\":\"\"}",  "{\"a\":[\"\",\"\"]}"};
    enum { COUNT = sizeof texts / sizeof *texts };
    struct digest digests[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        struct json_object *object = json_file_parse(span_of(texts[i]), NULL);
        struct digester digester = digest_begin(&page_key);
        digest_add_json(&digester, object);
        digests[i] = digest_end(&digester);
        json_object_put(object);
        for (size_t j = 0; j < i; j++)
            cr_expect_not(digest_equal(digests[i], digests[j]), "%s %s", texts[i], texts[j]);
    }
}

Test(registry_header, is_the_comment_at_the_start_of_the_file) {
    static const struct {
        const char *source, *header; /* header NULL: none */
    } cases[] = {
        {"", NULL},
        {";;;", NULL},
        {";;; words {", NULL},
        {";; {}", NULL},
        {"\n;;; {}", "\n {}"},
        {"\xef\xbb\xbf;;; words\r\n\r\n ;;; {\r\n  ;;; }\n1", "\n\n {\r\n }\n"},
        {"\xef\xbb\xbf", NULL},
        {"1\n;;; {}", NULL},
        {";;; words", NULL},
        {";;;{}", "{}"},
        {";;; {\n;;; }\n(code)", " {\n }\n"},
        {";;;\t{\r\n;;;}\r\n\n;;; more", "\t{\r\n}\r\n"},
        {";;;; {}", NULL},
        {";;;{\n;;;;x\n;;", "{\n;x\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_buffer struct buffer out = buffer_make(100);
        bool found = header_take(span_of(cases[i].source), &out);
        cr_expect_eq(found, cases[i].header != NULL, "%s", cases[i].source);
        if (!cases[i].header)
            continue;
        cr_expect_eq(out.length, strlen(cases[i].header));
        cr_expect_arr_eq(out.data, cases[i].header, out.length);
    }
}
