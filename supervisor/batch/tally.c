/* Counting. Never judges: how a line stands is in its record. */
#include "supervisor/batch/tally.h"

static void count_outcome(struct tally *tally, const char *word) {
    size_t i = 0;
    while (i < TALLY_WORDS_MAX - 1 && tally->outcomes[i].word && tally->outcomes[i].word != word)
        i++;
    tally->outcomes[i].word = word; /* one of the table's constants */
    tally->outcomes[i].lines++;
}

void tally_add(struct tally *tally, const struct record *record) {
    count_outcome(tally, record->outcome);
    tally->lines++;
    tally->met += record->verdict == VERDICT_MET;
    tally->unmet += record->verdict == VERDICT_UNMET;
    tally->failed += record->standing == STANDING_FAILED;
    tally->broken += record->standing == STANDING_BROKEN;
    tally->wall_ms += record_number(record, "wallMs");
}

void tally_print(const struct tally *tally, FILE *out) {
    fprintf(out, "%llu line%s", (unsigned long long)tally->lines, tally->lines == 1 ? "" : "s");
    if (tally->earlier)
        fprintf(out, " (%llu of them earlier)", (unsigned long long)tally->earlier);
    for (size_t i = 0; i < TALLY_WORDS_MAX && tally->outcomes[i].word; i++)
        fprintf(out, "%s %llu %s", i ? "," : ":", (unsigned long long)tally->outcomes[i].lines,
                tally->outcomes[i].word);
    if (tally->met || tally->unmet)
        fprintf(out, "; expectations: %llu met, %llu not", (unsigned long long)tally->met,
                (unsigned long long)tally->unmet);
}
