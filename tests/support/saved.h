/* A state directory for a test, and servers that save their sessions in it. */
#ifndef ECLAVE_TESTS_SUPPORT_SAVED_H
#define ECLAVE_TESTS_SUPPORT_SAVED_H

#include "tests/support/client.h"

/* The directory does not exist yet; the one that it is in does. End with saved_end. */
void saved_begin(void);
void saved_end(void);
const char *saved_path(void);

/* Skips the test where the imager cannot read workers. */
void saved_skip_without_images(void);
/* After saved_begin: servers keep images, in a cache directory of the test, which is returned. */
const char *saved_use_images(void);

/* Starts a server with the directory and ARGUMENTS (ends with NULL; NULL: none). */
struct client *saved_serve(const char *const *arguments);
/* The same on a file system of its own of SIZE, such as "128k". Skips the test where none can be
 * mounted. */
struct client *saved_serve_on_small_disk(const char *size);
/* Kills CLIENT with SIGKILL, waits, and frees it. */
void saved_kill(struct client *client);
/* The path of a file of the session whose directory is ENTRY. */
const char *saved_file(const char *entry, const char *file);

enum { SAVED_NAME_BYTES = 256 };
/* The name of the image of the session whose directory is ENTRY; "" if there is none. */
void saved_find_image(const char *entry, char name[SAVED_NAME_BYTES]);

#endif
