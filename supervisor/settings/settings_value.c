/* Parsing the value of a setting. */
#include "policy/policy.h"
#include "supervisor/settings/settings_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

int64_t choice_index(const char *values, const char *value) {
    size_t size = strlen(value);
    for (int64_t index = 0; values; index++) {
        const char *end = strchr(values, '|');
        size_t length = end ? (size_t)(end - values) : strlen(values);
        if (length == size && strncmp(values, value, size) == 0)
            return index;
        values = end ? end + 1 : NULL;
    }
    return -1;
}

/* A parser's input, and what it reports about a refused value. */
struct value {
    const struct setting *setting;
    const char *text;
    int shown; /* the number of bytes of the text that a message quotes */
    int code;  /* an errno value, or 0 */
    bool full; /* the list has no room */
    struct hint hint;
};

static bool parse_number(struct value *value, void *slot) {
    char *end;
    errno = 0;
    long long number = strtoll(value->text, &end, 10);
    bool digits = isdigit((unsigned char)value->text[0]) && *end == 0 && errno == 0;
    *(int64_t *)slot = number;
    return digits && number >= value->setting->minimum && number <= value->setting->maximum;
}

static bool parse_choice(struct value *value, void *slot) {
    int64_t index = choice_index(value->setting->values, value->text);
    *(int64_t *)slot = index;
    return index >= 0;
}

static bool parse_switch(struct value *value, void *slot) {
    static const char *const words[][2] = {
        {"true", "false"}, {"1", "0"}, {"yes", "no"}, {"on", "off"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int64_t off = 0; off < 2; off++)
            if (strcasecmp(value->text, words[i][off]) == 0) {
                *(int64_t *)slot = !off;
                return true;
            }
    return false;
}

static bool parse_text(struct value *value, void *slot) {
    size_t length = strlen(value->text);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)value->text[i]) && !strchr(".-_", value->text[i]))
            return false;
    if (length == 0 || length > SETTING_TEXT_MAX)
        return false;
    memcpy(slot, value->text, length + 1);
    return true;
}

/* The bits of the layers that NAME stands for; 0 if the setting may not name it. */
static uint32_t layer_bits(const struct setting *setting, const char *name,
                           struct nearest *nearest) {
    static const char all[] = "all";
    if (setting->any_layer && strcmp(name, all) == 0)
        return (UINT32_C(1) << POLICY_LAYER_COUNT) - 1;
    for (enum policy_layer layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        if (setting_may_name(setting, layer)) {
            if (strcmp(name, policy_layer_name(layer)) == 0)
                return UINT32_C(1) << layer;
            nearest_offer(nearest, policy_layer_name(layer));
        }
    return 0;
}

/* Calls ADD for each word between the commas of VALUE. If it refuses one, that is what VALUE
 * quotes. */
static bool each_word(struct value *value, void *slot,
                      bool (*add)(struct value *value, void *slot, const char *word)) {
    for (const char *name = value->text; name;) {
        char word[NAME_BYTES + 1]; /* a word that is cut here is still too long to be valid */
        const char *comma = strchrnul(name, ',');
        snprintf(word, sizeof word, "%.*s", (int)(comma - name), name);
        if (!add(value, slot, word)) {
            value->text = name;
            value->shown = comma - name < value->shown ? (int)(comma - name) : value->shown;
            return false;
        }
        name = *comma ? comma + 1 : NULL;
    }
    return true;
}

static bool add_layer(struct value *value, void *slot, const char *word) {
    uint32_t *layers = slot;
    struct nearest nearest = nearest_to(word);
    uint32_t bits = layer_bits(value->setting, word, &nearest);
    if (!bits)
        value->hint = nearest_hint(&nearest, "\"");
    *layers |= bits;
    return bits != 0;
}

static bool parse_layers(struct value *value, void *slot) {
    return each_word(value, slot, add_layer);
}

static bool add_name(struct value *value, void *slot, const char *word) {
    struct name_list *list = slot;
    size_t length = strlen(word);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)word[i]) && !strchr("+-._/", word[i]))
            return false;
    if (length == 0 || length >= NAME_BYTES)
        return false;
    value->full = list->count == NAME_LIST_MAX;
    if (!value->full)
        memcpy(list->names[list->count++], word, length + 1);
    return !value->full;
}

static bool parse_names(struct value *value, void *slot) {
    return each_word(value, slot, add_name);
}

static bool add_path(struct value *value, struct path_list *list, const char *base) {
    char *path = path_find(value->text, base, value->setting->paths, &value->code);
    if (!path)
        return false;
    if (list->count == value->setting->paths_max) {
        free(path);
        value->full = true;
        return false;
    }
    list->paths[list->count++] = path;
    free(list->link);
    list->link = path_link(value->text, base);
    return true;
}

void reading_begin_list(struct reading *reading, const struct setting *setting) {
    void *slot = (char *)reading->settings + setting->offset;
    bool *begun = &reading->list_begun[setting - settings_table];
    if (*begun)
        return;
    *begun = true;
    if (setting->kind == SETTING_PATHS)
        path_list_free(slot);
    else if (setting->kind == SETTING_NAMES)
        ((struct name_list *)slot)->count = 0;
    else
        *(uint32_t *)slot = 0;
}

bool reading_set(struct reading *reading, const struct setting *setting, const char *where,
                 const char *text, struct error *error) {
    static bool (*const parsers[SETTING_KINDS])(struct value * value, void *slot) = {
        [SETTING_NUMBER] = parse_number, [SETTING_CHOICE] = parse_choice,
        [SETTING_SWITCH] = parse_switch, [SETTING_TEXT] = parse_text,
        [SETTING_NAMES] = parse_names,   [SETTING_LAYERS] = parse_layers,
    };
    void *slot = (char *)reading->settings + setting->offset;
    struct value value = {.setting = setting, .text = text, .shown = 50};
    if (setting_is_list(setting))
        reading_begin_list(reading, setting);
    if (setting->kind == SETTING_PATHS ? add_path(&value, slot, reading->base)
                                       : parsers[setting->kind](&value, slot)) {
        if (slot == &reading->settings->log_level)
            reading->settings->log_level_set = true;
        return true;
    }
    size_t most = setting->kind == SETTING_PATHS ? setting->paths_max : NAME_LIST_MAX;
    if (value.full)
        return error_set(error, 0, "%s must not name more than %zu %s%s", where, most,
                         setting->kind == SETTING_PATHS ? "path" : "system", most == 1 ? "" : "s");
    char words[SETTING_WORDS_BYTES];
    setting_words(setting, words);
    return error_set(error, value.code, "%s must be %s, not \"%.*s\"%s", where, words, value.shown,
                     value.text, value.hint.text);
}
