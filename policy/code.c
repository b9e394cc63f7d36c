/* Seals code, and hands it out. */
#include "policy/code.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "common/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Older headers lack it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

int policy_code_seal(const unsigned char *pages, size_t size, struct error *error) {
    const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    cleanup_fd int file = memfd_create("code", flags | MFD_NOEXEC_SEAL);
    if (file < 0 && errno == EINVAL) /* before Linux 6.3 */
        file = memfd_create("code", flags);
    if (file < 0 || !write_all(file, pages, size) ||
        fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
        error_set(error, errno, "cannot seal code");
        return -1;
    }
    return steal_fd(&file);
}

bool policy_code_give(int listener, const struct seccomp_notif *request, int *code, size_t size) {
    enum { LENGTH = 1, OFFSET = 5 };
    if (*code < 0 || request->data.args[LENGTH] != size || request->data.args[OFFSET] != 0)
        return false;
    struct seccomp_notif_addfd addition = {.id = request->id,
                                           .flags = SECCOMP_ADDFD_FLAG_SETFD,
                                           .srcfd = (uint32_t)*code,
                                           .newfd = UNIT_CODE_FD};
    bool given = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addition) >= 0;
    close(*code);
    *code = -1;
    return given;
}
