/* The life of a server, from its opening to its exit status. */
#ifndef ECLAVE_SUPERVISOR_SERVER_SERVE_H
#define ECLAVE_SUPERVISOR_SERVER_SERVE_H

struct method_table;
struct server;
struct settings;

/* Runs the server on stdin and stdout until its end; returns the exit status. */
int server_run(const struct settings *settings, const struct method_table *methods);

/* No more input; the server ends when what runs is done, or when its grace is over. */
void server_drain(struct server *server);
/* `shutdown`: the grace of the running calls begins. */
void server_begin_shutdown(struct server *server);

#endif
