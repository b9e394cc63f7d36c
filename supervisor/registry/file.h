/* Reading a file of a project into memory, in small steps. A file that changes meanwhile is read
 * once more, and refused if it changes again, with the code EAGAIN. One whose size is given as 0,
 * as in /proc, is read until it ends. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_FILE_H
#define ECLAVE_SUPERVISOR_REGISTRY_FILE_H

#include "common/error.h"
#include "supervisor/registry/digest.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum { FILE_STEP_BYTES = 128 * 1024 };

/* Identifies the contents of a file without reading it. */
struct file_stamp {
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns; /* wall clock; 0: there is no such file */
    bool settled;                    /* old enough that any later change alters the times */
};

/* The stamp of a file that has this STATUS now. */
struct file_stamp file_stamp_of(const struct stat *status);
/* Is the file with the stamp NOW surely what was read when its stamp was BEFORE? */
bool file_is_unchanged(const struct file_stamp *before, const struct file_stamp *now);

struct file_content {
    unsigned char *bytes; /* owned, with a zero byte after them; NULL: no file */
    size_t size;
    bool is_text;   /* well-formed UTF-8 */
    size_t escapes; /* bytes that escapes add to it in a JSON string */
    struct digest digest;
    struct file_stamp stamp;
};
void file_content_free(struct file_content *content);

struct file_reader {
    int root;
    const char *path; /* borrowed */
    size_t maximum;
    const struct digest_key *key;
    int fd;       /* -1 between files */
    bool again;   /* this is the second attempt */
    bool unsized; /* the stated size is 0; until it ends, content.size is that of the buffer */
    struct file_content content;
    size_t length;  /* read so far */
    size_t checked; /* of these, known to be UTF-8 */
    struct digester digester;
};

enum file_progress { FILE_MORE, FILE_DONE, FILE_REFUSED };

/* Begins to read PATH, below ROOT. A file of more than MAXIMUM bytes is refused. */
void file_reader_begin(struct file_reader *reader, int root, const char *path, size_t maximum,
                       const struct digest_key *key);
/* Reads up to FILE_STEP_BYTES more. With FILE_DONE, *content is the caller's; with FILE_REFUSED,
 * *error is a phrase to follow the name of the file. */
enum file_progress file_reader_step(struct file_reader *reader, struct file_content *content,
                                    struct error *error);
/* Abandons the file, if one is being read. */
void file_reader_drop(struct file_reader *reader);

#endif
