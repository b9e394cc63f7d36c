/* See layout.h. The linker puts this wrapper before libseccomp's function (--wrap); otherwise the
 * filters are the product's. */
#include "bench/layout.h"
#include <seccomp.h>
#include <stdint.h>

/* The linker requires these names. */
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming)
int __real_seccomp_attr_set(scmp_filter_ctx context, enum scmp_filter_attr attribute,
                            uint32_t value);
int __wrap_seccomp_attr_set(scmp_filter_ctx context, enum scmp_filter_attr attribute,
                            uint32_t value);

static bool as_list;

void layout_set_list(bool list) {
    as_list = list;
}

int __wrap_seccomp_attr_set(scmp_filter_ctx context, enum scmp_filter_attr attribute,
                            uint32_t value) {
    if (attribute == SCMP_FLTATR_CTL_OPTIMIZE && as_list)
        value = 1;
    return __real_seccomp_attr_set(context, attribute, value);
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming)
