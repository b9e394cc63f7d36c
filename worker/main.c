/* eclave-worker: started by the supervisor with its control socket as descriptor 3, as a zygote
 * whose forks are the workers. It has no command line. */
#include "worker/zygote.h"

#include <stdio.h>
#include <sys/socket.h>

enum { CONTROL = 3 };

int main(void) {
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(CONTROL, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
        fputs("eclave-worker is a part of eclave and is started by it.\n", stderr);
        return 2;
    }
    return zygote_run(CONTROL);
}
