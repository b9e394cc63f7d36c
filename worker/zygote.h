/* The zygote role: boots the image once and forks workers from it. */
#ifndef ECLAVE_WORKER_ZYGOTE_H
#define ECLAVE_WORKER_ZYGOTE_H

/* Serves the control socket CONTROL until it ends. Returns the exit status. */
int zygote_run(int control);

#endif
