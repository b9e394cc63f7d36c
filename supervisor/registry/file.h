/* One file of a project, read fully into memory in small steps. A file that changes meanwhile is
 * read once more, and refused when it does so again. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_FILE_H
#define ECLAVE_SUPERVISOR_REGISTRY_FILE_H

#include "common/error.h"
#include "supervisor/registry/digest.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum { FILE_STEP_BYTES = 128 * 1024 };

/* What tells, without reading it, that a file is the one that was read. */
struct file_stamp {
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns; /* of the wall clock; 0: there is no such file */
    bool settled; /* it had not changed for so long that a change since then must show */
};

/* The stamp of a file of this STATUS, looked at now. */
struct file_stamp file_stamp_of(const struct stat *status);
/* Does the file that NOW stands for need no reading, BEFORE having been read? */
bool file_is_unchanged(const struct file_stamp *before, const struct file_stamp *now);

/* A whole file. */
struct file_content {
    unsigned char *bytes; /* owned; a zero byte, not counted, ends them; NULL: no file */
    size_t size;
    bool is_text;   /* well-formed UTF-8 */
    size_t escapes; /* how many bytes more it has inside a JSON string */
    struct digest digest;
    struct file_stamp stamp;
};
void file_content_free(struct file_content *content);

struct file_reader {
    int root;
    const char *path; /* borrowed */
    size_t maximum;
    const struct digest_key *key;
    int fd; /* -1 between files */
    bool again;
    struct file_content content;
    size_t length;  /* of what is there */
    size_t checked; /* of that, how much is known to be UTF-8 */
    struct digester digester;
};

enum file_progress { FILE_MORE, FILE_DONE, FILE_REFUSED };

/* Begins to read PATH, below ROOT, of at most MAXIMUM bytes. */
void file_reader_begin(struct file_reader *reader, int root, const char *path, size_t maximum,
                       const struct digest_key *key);
/* Goes on for at most FILE_STEP_BYTES. With FILE_DONE the content is *content, which the caller
 * frees; with FILE_REFUSED *error says what is wrong with the file, without its name. */
enum file_progress file_reader_step(struct file_reader *reader, struct file_content *content,
                                    struct error *error);
/* Gives up whatever is being read. */
void file_reader_drop(struct file_reader *reader);

#endif
