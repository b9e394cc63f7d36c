/* `eclave doctor`: puts layers on a child process, has it attack, and reports the results. */
#include "common/cleanup.h"
#include "policy/attacks.h"
#include "supervisor/base/terminal.h"
#include "supervisor/command/commands.h"
#include "supervisor/json/json_write.h"
#include "supervisor/process/confinement.h"
#include "supervisor/process/image_cache.h"

#include <stdio.h>

enum { REPORT_MAX_BYTES = 1 << 20, WORD_BYTES = 80 };

/* The results of one attack. */
struct finding {
    const struct policy_attack *attack;
    char unconfined[WORD_BYTES];
    bool succeeds_unconfined;
    uint32_t tried;   /* layers that were tried alone */
    uint32_t stopped; /* those of them that stopped it */
    char here[WORD_BYTES];
    bool stopped_here;
    bool covered_here; /* an active layer is meant to stop it */
};

/* The results of the attacks of one attacker: a worker, or the supervisor. */
struct findings {
    struct finding *items;
    size_t count, escapes;
};

struct diagnosis {
    bool may_evaluate; /* every required layer is active */
    struct error why;  /* if not */
    struct policy_report report;
    struct findings worker, supervisor;
    struct image_cache images;
    struct findings native; /* with --native */
    bool with_native;
    struct finding sealed; /* the control of those */
};

/* --- attacking --- */

/* An attacker as it is confined here. */
struct attacker {
    const struct policy *policy;                /* a worker; or NULL */
    const struct policy_supervisor *supervisor; /* otherwise */
    uint32_t active;                            /* its layers */
    const struct policy_victim *victim;
};

static struct policy_trial_end attack_here(const struct attacker *attacker,
                                           const struct policy_attack *attack) {
    return attacker->policy
               ? policy_attack_try(attack, attacker->policy, attacker->victim)
               : policy_supervisor_attack_try(attack, attacker->supervisor, attacker->victim);
}

static struct policy_trial_end attack_behind(const struct attacker *attacker,
                                             const struct policy_attack *attack,
                                             enum policy_layer layer) {
    const struct policy policy = policy_attack_layer(layer);
    const struct policy_supervisor supervisor = {.layers = policy.layers,
                                                 .required = policy.required};
    return attacker->policy ? policy_attack_try(attack, &policy, attacker->victim)
                            : policy_supervisor_attack_try(attack, &supervisor, attacker->victim);
}

static void try_alone(struct finding *finding, const struct attacker *attacker) {
    uint32_t layers = policy_attack_stopped_by(finding->attack) & attacker->active;
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++) {
        if (!(layers & POLICY_LAYER_BIT(layer)))
            continue;
        struct policy_trial_end end = attack_behind(attacker, finding->attack, layer);
        finding->tried |= POLICY_LAYER_BIT(layer);
        if (end.ran && !policy_attack_succeeded(&end))
            finding->stopped |= POLICY_LAYER_BIT(layer);
    }
}

static void examine(struct finding *finding, const struct attacker *attacker) {
    struct policy_trial_end end = policy_attack_try(finding->attack, NULL, attacker->victim);
    policy_attack_describe(&end, finding->unconfined, sizeof finding->unconfined);
    finding->succeeds_unconfined = policy_attack_succeeded(&end);
    try_alone(finding, attacker);
    end = attack_here(attacker, finding->attack);
    policy_attack_describe(&end, finding->here, sizeof finding->here);
    finding->stopped_here = end.ran && !policy_attack_succeeded(&end);
    finding->covered_here = policy_attack_stopped_by(finding->attack) & attacker->active;
}

static bool examine_all(struct findings *findings, const struct attacker *attacker,
                        const struct policy_attack *attacks, size_t count, struct error *error) {
    findings->items = calloc(count, sizeof *findings->items);
    if (!findings->items)
        return error_set(error, ENOMEM, "findings");
    for (size_t i = 0; i < count; i++) {
        if (attacks[i].root_only && geteuid() != 0)
            continue;
        struct finding *finding = &findings->items[findings->count++];
        finding->attack = &attacks[i];
        examine(finding, attacker);
        findings->escapes += finding->covered_here && !finding->stopped_here;
    }
    return true;
}

static int succeed(void *context) {
    (void)context;
    return 0;
}

/* The layers that a supervisor with this confinement has here. */
static uint32_t supervisor_layers(const struct policy_supervisor *supervisor) {
    const struct policy_trial trial = {.supervisor = supervisor, .body = succeed};
    const struct policy_trial_end end = policy_try(&trial);
    return policy_layers_in(&end.report, POLICY_ACTIVE);
}

static bool diagnose(const struct settings *settings, struct diagnosis *diagnosis,
                     struct error *error) {
    const struct policy wanted = confinement_policy(settings);
    const struct policy policy = policy_attack_limits(&wanted);
    const struct policy_supervisor supervisor = confinement_supervisor(settings);
    struct policy_victim victim;
    diagnosis->may_evaluate = policy_probe(&policy, &diagnosis->report, &diagnosis->why);
    bool good = policy_victim_open(&victim, error);
    if (good && diagnosis->may_evaluate) {
        size_t count;
        struct attacker attacker = {.policy = &policy,
                                    .active = policy_layers_in(&diagnosis->report, POLICY_ACTIVE),
                                    .victim = &victim};
        const struct policy_attack *attacks = policy_attacks(&count);
        good = examine_all(&diagnosis->worker, &attacker, attacks, count, error);
        if (good && policy.native) {
            diagnosis->with_native = true;
            diagnosis->sealed.attack = policy_native_control();
            examine(&diagnosis->sealed, &attacker);
            attacks = policy_native_attacks(&count);
            good = examine_all(&diagnosis->native, &attacker, attacks, count, error);
        }
        attacker = (struct attacker){
            .supervisor = &supervisor, .active = supervisor_layers(&supervisor), .victim = &victim};
        attacks = policy_supervisor_attacks(&count);
        good = good && examine_all(&diagnosis->supervisor, &attacker, attacks, count, error);
    }
    policy_victim_close(&victim);
    return good;
}

static size_t escapes(const struct diagnosis *diagnosis) {
    return diagnosis->worker.escapes + diagnosis->native.escapes + diagnosis->supervisor.escapes;
}

static size_t attacks_tried(const struct diagnosis *diagnosis) {
    return diagnosis->worker.count + diagnosis->native.count + diagnosis->supervisor.count;
}

/* --- as a table --- */

static const char *state_word(enum policy_state state) {
    static const char *const words[] = {
        [POLICY_OFF] = "off", [POLICY_ACTIVE] = "active", [POLICY_UNAVAILABLE] = "missing"};
    return words[state];
}

/* The names of LAYERS. Those not in STOPPED have failed to stop the attack and are marked. */
static void append_layers(struct buffer *out, uint32_t layers, uint32_t stopped) {
    bool first = true;
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        if (layers & POLICY_LAYER_BIT(layer)) {
            buffer_append_format(out, "%s%s%s", first ? "" : " ", policy_layer_name(layer),
                                 stopped & POLICY_LAYER_BIT(layer) ? "" : "(NOT)");
            first = false;
        }
}

static void append_layer_states(struct buffer *out, const struct policy_report *report,
                                const struct colours *colours) {
    const char *const colour[] = {[POLICY_OFF] = colours->odd,
                                  [POLICY_ACTIVE] = colours->good,
                                  [POLICY_UNAVAILABLE] = colours->bad};
    buffer_append_format(out, "%-12s %-8s %s\n", "LAYER", "STATE", "STOPS, OR WHY IT IS MISSING");
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++) {
        enum policy_state state = report->layers[layer].state;
        buffer_append_format(out, "%-12s %s%-8s%s %s\n", policy_layer_name(layer), colour[state],
                             state_word(state), colours->end,
                             state == POLICY_UNAVAILABLE ? report->layers[layer].why
                                                         : policy_layer_stops(layer));
    }
}

static void append_finding(struct buffer *out, const struct finding *finding,
                           const struct colours *colours) {
    const char *colour = colours->good, *verdict = finding->here;
    if (!finding->stopped_here) {
        colour = finding->covered_here ? colours->bad : colours->odd;
        verdict = finding->covered_here ? "ESCAPES" : "not covered";
    }
    buffer_append_format(out, "%-47s %s%-10s%s %s%-28s%s ", finding->attack->name,
                         finding->succeeds_unconfined ? colours->odd : "", finding->unconfined,
                         finding->succeeds_unconfined ? colours->end : "", colour, verdict,
                         colours->end);
    append_layers(out, finding->tried, finding->stopped);
    buffer_append_text(out, "\n");
}

static void append_findings(struct buffer *out, const char *title, const struct findings *findings,
                            const struct colours *colours) {
    if (findings->count)
        buffer_append_format(out, "\n%-47s %-10s %-28s %s\n", title, "UNCONFINED", "HERE",
                             "STOPPED BY (each alone)");
    for (size_t i = 0; i < findings->count; i++)
        append_finding(out, &findings->items[i], colours);
}

static void append_conclusion(struct buffer *out, const struct diagnosis *diagnosis,
                              const struct colours *colours) {
    if (!diagnosis->may_evaluate)
        buffer_append_format(out, "\n%sCode is NOT evaluated here%s: %s.\n", colours->bad,
                             colours->end, diagnosis->why.text);
    else if (escapes(diagnosis))
        buffer_append_format(out,
                             "\n%sCode must not be evaluated here%s: %zu of %zu attacks "
                             "%ssucceeded%s.\n",
                             colours->bad, colours->end, escapes(diagnosis),
                             attacks_tried(diagnosis), colours->bad, colours->end);
    else
        buffer_append_format(out,
                             "\n%sCode may be evaluated here.%s %zu attacks tried, none "
                             "succeeded.\n",
                             colours->good, colours->end, attacks_tried(diagnosis));
}

static void append_images(struct buffer *out, const struct image_cache *images) {
    buffer_append_format(out, "\n%-12s %-8s %s\n", "image", images->used ? "used" : "unused",
                         images->used ? images->directory : images->why);
}

static void append_native(struct buffer *out, const struct diagnosis *diagnosis,
                          const struct colours *colours) {
    const bool fails = diagnosis->sealed.stopped_here;
    if (!diagnosis->with_native)
        return;
    buffer_append_format(out, "%-12s %s%-8s%s %s%s\n", "native",
                         fails ? colours->bad : colours->good, fails ? "fails" : "works",
                         colours->end,
                         fails ? "code that was sealed for a worker does not run there: "
                               : "code that was sealed for a worker runs there",
                         fails ? diagnosis->sealed.here : "");
}

static void append_table(struct buffer *out, const struct diagnosis *diagnosis) {
    const struct colours colours = colours_of(stdout);
    append_layer_states(out, &diagnosis->report, &colours);
    append_images(out, &diagnosis->images);
    append_native(out, diagnosis, &colours);
    append_findings(out, "ATTACK", &diagnosis->worker, &colours);
    append_findings(out, "ATTACK BY NATIVE CODE", &diagnosis->native, &colours);
    append_findings(out, "ATTACK BY THE SUPERVISOR", &diagnosis->supervisor, &colours);
    append_conclusion(out, diagnosis, &colours);
}

/* --- as JSON --- */

static void append_string(struct buffer *out, const char *before, const char *name,
                          const char *string) {
    buffer_append_text(out, before);
    json_write_name(out, name);
    json_write_string(out, string);
}

static const char *boolean(bool value) {
    return value ? "true" : "false";
}

static void append_json_layers(struct buffer *out, const struct policy_report *report) {
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++) {
        bool missing = report->layers[layer].state == POLICY_UNAVAILABLE;
        append_string(out, layer ? ",{" : "{", "name", policy_layer_name(layer));
        append_string(out, ",", "state",
                      missing ? "unavailable" : state_word(report->layers[layer].state));
        if (missing)
            append_string(out, ",", "why", report->layers[layer].why);
        buffer_append_text(out, "}");
    }
}

static void append_json_finding(struct buffer *out, const struct finding *finding) {
    const char *before = "";
    append_string(out, "{", "kind", finding->attack->kind);
    append_string(out, ",", "name", finding->attack->name);
    append_string(out, ",", "unconfined", finding->unconfined);
    buffer_append_text(out, ",\"alone\":{");
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        if (finding->tried & POLICY_LAYER_BIT(layer)) {
            buffer_append_format(out, "%s\"%s\":%s", before, policy_layer_name(layer),
                                 boolean(finding->stopped & POLICY_LAYER_BIT(layer)));
            before = ",";
        }
    append_string(out, "},", "here", finding->here);
    buffer_append_format(out, ",\"covered\":%s,\"stopped\":%s}", boolean(finding->covered_here),
                         boolean(finding->stopped_here));
}

static void append_json_findings(struct buffer *out, const struct findings *findings) {
    for (size_t i = 0; i < findings->count; i++) {
        buffer_append_text(out, i ? "," : "");
        append_json_finding(out, &findings->items[i]);
    }
}

static void append_json(struct buffer *out, const struct diagnosis *diagnosis) {
    buffer_append_format(out, "{\"mayEvaluate\":%s",
                         boolean(diagnosis->may_evaluate && !escapes(diagnosis)));
    if (!diagnosis->may_evaluate)
        append_string(out, ",", "why", diagnosis->why.text);
    buffer_append_text(out, ",\"layers\":[");
    append_json_layers(out, &diagnosis->report);
    append_string(out, "],\"image\":{", "state", diagnosis->images.used ? "used" : "unused");
    append_string(out, ",", diagnosis->images.used ? "directory" : "why",
                  diagnosis->images.used ? diagnosis->images.directory : diagnosis->images.why);
    buffer_append_text(out, "},\"attacks\":[");
    append_json_findings(out, &diagnosis->worker);
    if (diagnosis->with_native) {
        append_string(out, "],\"native\":{", "state",
                      diagnosis->sealed.stopped_here ? "fails" : "works");
        buffer_append_text(out, "},\"nativeAttacks\":[");
        append_json_findings(out, &diagnosis->native);
    }
    buffer_append_text(out, "],\"supervisorAttacks\":[");
    append_json_findings(out, &diagnosis->supervisor);
    buffer_append_text(out, "]}\n");
}

int command_doctor(const struct command_line *line) {
    struct diagnosis diagnosis = {0};
    struct error error = {0};
    cleanup_buffer struct buffer out = buffer_make(REPORT_MAX_BYTES);
    bool good = diagnose(line->settings, &diagnosis, &error);
    image_cache_open(&diagnosis.images, line->settings, "", 0);
    if (good && line->json)
        append_json(&out, &diagnosis);
    else if (good)
        append_table(&out, &diagnosis);
    free(diagnosis.worker.items);
    free(diagnosis.native.items);
    free(diagnosis.supervisor.items);
    if (!good) {
        fprintf(stderr, "eclave: %s\n", error.text);
        return STATUS_INTERNAL;
    }
    fwrite(out.data, 1, out.length, stdout);
    return diagnosis.may_evaluate && !escapes(&diagnosis) ? 0 : STATUS_FAILED;
}
