/* Sealed code: nothing can change it, also on a kernel that knows fewer flags. */
#include "common/cleanup.h"
#include "policy/code.h"
#include "tests/support/outer_filter.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BYTES = 8192, ALL_SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

static const unsigned char pages[BYTES] = {1, 2, 3};

static void expect_sealed(void) {
    unsigned char got[BYTES + 1];
    struct error error = {0};
    cleanup_fd int file = policy_code_seal(pages, sizeof pages, &error);
    cr_assert_geq(file, 0, "%s", error.text);
    const int seals = fcntl(file, F_GET_SEALS);
    cr_assert_eq(seals & ALL_SEALS, ALL_SEALS, "%#x", (unsigned)seals);
    cr_assert_eq(pread(file, got, sizeof got, 0), BYTES);
    cr_assert_eq(memcmp(got, pages, BYTES), 0);
    cr_assert_eq(pwrite(file, "x", 1, 0), -1);
    cr_assert_eq(ftruncate(file, 0), -1);
    cr_assert_eq(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), MAP_FAILED);
    void *code = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    cr_assert_neq(code, MAP_FAILED);
    cr_assert_eq(memcmp(code, pages, BYTES), 0);
    cr_assert(fcntl(file, F_GETFD) & FD_CLOEXEC);
}

Test(code, nothing_changes_what_is_sealed) {
    expect_sealed();
}

/* Before Linux 6.3 memfd_create knows no MFD_NOEXEC_SEAL. */
Test(code, an_older_kernel_seals_as_well) {
    outer_filter_forbid_bits(SYS_memfd_create, 1, MFD_NOEXEC_SEAL, EINVAL);
    cr_assert_eq(memfd_create("control", MFD_NOEXEC_SEAL), -1);
    cr_assert_eq(errno, EINVAL);
    expect_sealed();
}

Test(code, without_files_in_memory_nothing_is_sealed) {
    struct error error = {0};
    outer_filter_forbid(SYS_memfd_create, ENOSYS);
    cr_assert_eq(policy_code_seal(pages, sizeof pages, &error), -1);
    cr_assert(strstr(error.text, "cannot seal code"), "%s", error.text);
}
