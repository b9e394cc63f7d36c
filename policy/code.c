/* Seals code, and hands it out. */
#include "policy/code.h"
#include "common/descriptor.h"
#include "common/unit.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

int policy_code_seal(const unsigned char *pages, size_t size, struct error *error) {
    int file = descriptor_seal("code", pages, size);
    if (file < 0)
        error_set(error, errno, "cannot seal code");
    return file;
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
