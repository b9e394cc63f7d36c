/* A server, from its opening to its exit status. */
#ifndef ECLAVE_SUPERVISOR_SERVER_SERVE_H
#define ECLAVE_SUPERVISOR_SERVER_SERVE_H

struct method_table;
struct server;
struct settings;

/* Serves METHODS on stdin and stdout until the end. Returns the exit status. */
int server_run(const struct settings *settings, const struct method_table *methods);

/* Stops reading. The server ends when all calls are done, or after the grace. */
void server_drain(struct server *server);
/* Serves `shutdown`: running calls have their grace from now on. */
void server_begin_shutdown(struct server *server);

#endif
