/* For the targets without a loop of their own: one input is one turn of supervisor/base/turn.h. */
#include "supervisor/base/turn.h"
#include "tests/fuzz/fuzz.h"

/* NOLINTBEGIN(readability-identifier-naming): the linker's names */
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __real_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    turn_begin();
    int status = __real_LLVMFuzzerTestOneInput(data, size);
    TURN_COUNT(__real_LLVMFuzzerTestOneInput);
    turn_end();
    return status;
}
/* NOLINTEND(readability-identifier-naming) */
