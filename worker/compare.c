/* POSIX extended regular expressions of the C library, on UTF-8. */
#include "worker/compare.h"
#include "common/buffer.h"
#include "worker/convert.h"

#include <locale.h>
#include <regex.h>

enum { TEXT_MAX_BYTES = 1 << 30, MESSAGE_BYTES = 100 };

static locale_t utf8; /* without it, a character of several bytes is several characters */

void compare_initialize(void) {
    utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* REG_STARTEND: a NUL in TEXT is a character like others. */
static int search(const char *pattern, const struct buffer *text, char message[MESSAGE_BYTES]) {
    regex_t compiled;
    regmatch_t bounds = {.rm_so = 0, .rm_eo = (regoff_t)text->length};
    int code = regcomp(&compiled, pattern, REG_EXTENDED);
    if (code != 0) {
        regerror(code, &compiled, message, MESSAGE_BYTES);
        return code;
    }
    code =
        regexec(&compiled, text->length ? (const char *)text->data : "", 1, &bounds, REG_STARTEND);
    regfree(&compiled);
    return code;
}

cl_object compare_find_regex(cl_object pattern, cl_object text) {
    cleanup_buffer struct buffer regex = buffer_make(TEXT_MAX_BYTES);
    cleanup_buffer struct buffer subject = buffer_make(TEXT_MAX_BYTES);
    char message[MESSAGE_BYTES] = "";
    if (!convert_string_to_utf8(&regex, pattern) || !buffer_append(&regex, "", 1) ||
        !convert_string_to_utf8(&subject, text))
        return ecl_make_constant_base_string("it does not fit", -1);
    const locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
    const int code = search((const char *)regex.data, &subject, message);
    if (before)
        uselocale(before);
    return message[0] ? ecl_make_simple_base_string(message, -1) : code == 0 ? ECL_T : ECL_NIL;
}
