/* Folds character by character: the lengths in bytes of two cases of a letter can differ. */
#include "supervisor/base/letter_case.h"
#include "common/utf8.h"

#include <ctype.h>
#include <locale.h>
#include <wctype.h>

static locale_t unicode; /* 0: not loaded */

void letter_case_load(void) {
    if (!unicode)
        unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* The upper case first, so that all forms of a letter, such as the two small sigmas, become one.
 * The dotted I and the dotless i are no case of another letter, except in Turkish. */
static wint_t fold(uint32_t code) {
    enum { DOTTED_CAPITAL_I = 0x130, DOTLESS_SMALL_I = 0x131 };
    if (code < 0x80)
        return (wint_t)tolower((int)code);
    if (!unicode || code == DOTTED_CAPITAL_I || code == DOTLESS_SMALL_I)
        return code;
    return towlower_l(towupper_l(code, unicode), unicode);
}

/* Removes the first character of TEXT and returns it, folded. */
static wint_t take(struct span *text) {
    size_t length = utf8_sequence_length(text->bytes, text->length);
    wint_t code = length ? fold(utf8_decode(text->bytes)) : text->bytes[0];
    length = length ? length : 1;
    *text = (struct span){text->bytes + length, text->length - length};
    return code;
}

/* Removes from both what they have in common at their beginnings. */
static void skip_common(struct span *left, struct span *right) {
    while (left->length && right->length) {
        struct span rest = *left, other = *right;
        if (take(&rest) != take(&other))
            return;
        *left = rest;
        *right = other;
    }
}

bool letter_case_equal(struct span left, struct span right) {
    skip_common(&left, &right);
    return !left.length && !right.length;
}

bool letter_case_begins(struct span text, struct span prefix) {
    skip_common(&text, &prefix);
    return !prefix.length;
}
