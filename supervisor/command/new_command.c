/* `eclave new`: writes scaffolds that `eclave check` accepts. Overwrites no file and follows no
 * symbolic link. */
#include "common/cleanup.h"
#include "supervisor/command/commands.h"
#include "supervisor/content/shape.h"
#include "supervisor/content/uri.h"
#include "supervisor/registry/beneath.h"
#include "supervisor/registry/metadata.h"
#include "supervisor/server/builtins.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 4, PATH_BYTES = 128 };

/* In a text, %% is replaced by the name. A file without text is not written, but must not exist: it
 * would be another part of the same entry. */
static const struct scaffold {
    const char *kind;
    enum project_folder folder;
    struct {
        const char *ending; /* after the name; NULL: no more files */
        const char *text;
    } files[FILES_MAX];
} scaffolds[] = {
    {"tool",
     FOLDER_TOOLS,
     {{".json", NULL},
      {".lisp",
       ";;; {\"description\": \"Greets a person. Say what the tool does and when to use it.\",\n"
       ";;;  \"inputSchema\": {\n"
       ";;;    \"type\": \"object\",\n"
       ";;;    \"properties\": {\n"
       ";;;      \"name\": {\"type\": \"string\", \"description\": \"The person to greet\"},\n"
       ";;;      \"age\": {\"type\": \"integer\", \"minimum\": 0}\n"
       ";;;    },\n"
       ";;;    \"required\": [\"name\"],\n"
       ";;;    \"additionalProperties\": false}}\n"
       "\n"
       ";; The lines above are the metadata, in JSON; doc/project.md lists all members. Arguments\n"
       ";; are checked against the schema. Then this file is evaluated, for each call in a fresh\n"
       ";; confined process without files and network. An argument is passed to the parameter of\n"
       ";; the same name.\n"
       "\n"
       "(mcp:deftool \"%%\" (name &key age)\n"
       "  (when (string= name \"\")\n"
       "    (mcp:fail \"Whom shall I greet?\"))\n"
       "  ;; A string becomes text content, (mcp:object \"key\" value) a structured value;\n"
       "  ;; doc/mcp-package.md describes other content.\n"
       "  (format nil \"Hello, ~a!~@[ You are ~d.~]\" name age))\n"},
      {".test.jsonl",
       "{\"args\": {\"name\": \"Ada\"}, \"expect\": \"Hello, Ada!\"}\n"
       "{\"args\": {\"name\": \"Ada\", \"age\": 36}, \"expect\": \"Hello, Ada! You are 36.\"}\n"
       "{\"args\": {\"name\": \"\"}, \"expectError\": \"Whom shall I greet?\"}\n"
       "{\"args\": {\"age\": 36}, \"expectError\": \"Invalid arguments\"}\n"}}},
    {"resource",
     FOLDER_RESOURCES,
     {{"",
       "Clients read this file at the URI eclave:///%%.\n"
       "\n"
       "Replace this text with what a model should know: a style guide, a price list, a table.\n"
       "The metadata is in %%.meta.json: \"description\"; \"uri\", to set another URI; "
       "\"mimeType\",\n"
       "to set another type than that of the file's ending. doc/project.md lists all members.\n"},
      {".meta.json", "{\n"
                     "  \"description\": \"Says what %% contains and when to read it.\",\n"
                     "  \"annotations\": {\"audience\": [\"assistant\"], \"priority\": 0.5}\n"
                     "}\n"}}},
    {"template",
     FOLDER_RESOURCES,
     {{".lisp",
       ";; Makes the resources whose URIs match \"uriTemplate\" in %%.lisp.meta.json. The part of\n"
       ";; the URI that matches {number} is passed to the parameter of that name, the whole URI "
       "to\n"
       ";; a parameter `uri`. doc/project.md lists all members of the metadata.\n"
       "\n"
       "(mcp:defresource \"eclave:///%%/{number}\" (number)\n"
       "  (let ((value (ignore-errors (parse-integer number))))\n"
       "    (unless value\n"
       "      (mcp:fail \"~a is not a number.\" number))\n"
       "    ;; A string, octets, (mcp:resource uri contents mime-type), or a list of these.\n"
       "    (format nil \"~d in words: ~r.\" value value)))\n"},
      {".lisp.meta.json", "{\n"
                          "  \"uriTemplate\": \"eclave:///%%/{number}\",\n"
                          "  \"name\": \"%%\",\n"
                          "  \"description\": \"A number in words. Say what the resources contain "
                          "and when to read them.\",\n"
                          "  \"mimeType\": \"text/plain\",\n"
                          "  \"completions\": {\"number\": [\"1\", \"12\", \"123\"]}\n"
                          "}\n"}}},
    {"prompt",
     FOLDER_PROMPTS,
     {{".json", NULL},
      {".txt", NULL},
      {".lisp",
       ";;; {\"description\": \"Asks for a code review. Say what the prompt is for.\",\n"
       ";;;  \"arguments\": [\n"
       ";;;    {\"name\": \"code\", \"description\": \"The code to review\", \"required\": true},\n"
       ";;;    {\"name\": \"language\", \"description\": \"Its programming language\"}],\n"
       ";;;  \"completions\": {\"language\": [\"C\", \"Common Lisp\", \"Python\"]}}\n"
       "\n"
       ";; The lines above are the metadata, in JSON; doc/project.md lists all members. Instead "
       "of\n"
       ";; a list, a completion may be the name of a file in completions. A prompt of text needs\n"
       ";; no Lisp: write NAME.txt with {{code}} in the text, and put the JSON into NAME.json. An\n"
       ";; argument is passed to the parameter of the same name.\n"
       "\n"
       "(mcp:defprompt \"%%\" (code &key language)\n"
       "  ;; A string is a message of the user. A list has several messages: strings, content,\n"
       "  ;; or (mcp:message :assistant \"…\").\n"
       "  (format nil \"Please review this~@[ ~a~] code. Name the worst mistake first.\n"
       "\n"
       "~a\" language code))\n"}}},
    {"completion",
     FOLDER_COMPLETIONS,
     {{".json", NULL},
      {".lisp",
       ";;; {\"description\": \"Completes names of colours.\"}\n"
       "\n"
       ";; Clients do not see this file. It completes the argument of each prompt and template\n"
       ";; with \"completions\": {\"ARGUMENT\": \"%%\"} in its metadata, and returns a list of\n"
       ";; strings. Its parameters: `value`, the typed text; `argument`, the name of the "
       "argument;\n"
       ";; `context`, an object with the other arguments, as in (mcp:ref context \"NAME\").\n"
       "\n"
       "(defun begins-with-p (start text)\n"
       "  (let ((end (mismatch start text :test #'char-equal)))\n"
       "    (or (null end) (= end (length start)))))\n"
       "\n"
       "(mcp:defcompletion \"%%\" (value)\n"
       "  (remove-if-not (lambda (colour) (begins-with-p value colour))\n"
       "                 '(\"blue\" \"green\" \"grey\" \"red\")))\n"}}},
};

enum { SCAFFOLD_COUNT = sizeof scaffolds / sizeof *scaffolds };

struct new_entry {
    const struct scaffold *scaffold;
    const char *name;
};

static const char *ending_of(const struct new_entry *entry, size_t i) {
    return i < FILES_MAX ? entry->scaffold->files[i].ending : NULL;
}

static void name_file(const struct new_entry *entry, size_t i, char file[PATH_BYTES]) {
    snprintf(file, PATH_BYTES, "%.64s%s", entry->name, ending_of(entry, i));
}

/* What is built in under this NAME, as a word; NULL: nothing. */
static const char *built_in(int folder, const char *name) {
    char uri[URI_MAX_BYTES + 1];
    if (folder == FOLDER_TOOLS && builtins_have(REGISTRY_TOOL, name))
        return "tool";
    if (folder == FOLDER_PROMPTS && builtins_have(REGISTRY_PROMPT, name))
        return "prompt";
    return folder == FOLDER_RESOURCES && uri_of_file("eclave:///", name, uri) &&
                   builtins_have(REGISTRY_RESOURCE, uri)
               ? "resource"
               : NULL;
}

/* Checks that the server would find a file of this name and take it for this kind of entry. */
static bool check_name(const struct new_entry *entry, struct error *error) {
    static const char metadata[] = ".meta.json";
    const char *name = entry->name;
    size_t length = strlen(name), size = sizeof metadata - 1;
    struct error why;
    if (!shape_is_name(name, &why))
        return error_set(error, 0, "the name %s", why.text);
    if (name[0] == '.')
        return error_set(error, 0, "a file whose name begins with a dot is ignored");
    const char *taken = built_in(entry->scaffold->folder, name);
    if (taken)
        return error_set(error, 0, "%s is a built-in %s", name, taken);
    return entry->scaffold->folder != FOLDER_RESOURCES || length < size ||
           strcmp(name + length - size, metadata) != 0 ||
           error_set(error, 0, "a file whose name ends in %s is metadata of another", metadata);
}

static bool check_files(int folder, const struct new_entry *entry, struct error *error) {
    struct stat status;
    for (size_t i = 0; ending_of(entry, i); i++) {
        char file[PATH_BYTES];
        name_file(entry, i, file);
        if (fstatat(folder, file, &status, AT_SYMLINK_NOFOLLOW) == 0)
            return error_set(error, 0, "%s/%s exists; nothing was written",
                             folder_name(entry->scaffold->folder), file);
    }
    return true;
}

static void print_text(FILE *out, const char *text, const char *name) {
    for (const char *place; (place = strstr(text, "%%")) != NULL; text = place + 2)
        fprintf(out, "%.*s%s", (int)(place - text), text, name);
    fputs(text, out);
}

/* Files appear under their names when all of them are complete, so that neither a full disk nor the
 * end of the process leaves half of a scaffold, which the next try would refuse to overwrite. */
struct staged {
    int folder;
    size_t written, named; /* so many files are complete, and have their names */
    char temporary[FILES_MAX][PATH_BYTES];
};

static bool fail_for(const struct new_entry *entry, const char *file, struct error *error) {
    return error_set(error, errno, "%s/%s", folder_name(entry->scaffold->folder), file);
}

/* The registry ignores names that begin with a dot. */
static bool write_file(struct staged *staged, const struct new_entry *entry, size_t i,
                       struct error *error) {
    char file[PATH_BYTES], *temporary = staged->temporary[i];
    name_file(entry, i, file);
    snprintf(temporary, PATH_BYTES, ".eclave-new-%d-%zu", (int)getpid(), i);
    int fd = openat(staged->folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0666);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    staged->written = i + 1; /* to be removed from here on */
    if (!out) {
        fail_for(entry, file, error);
        if (fd >= 0)
            close(fd);
        return false;
    }
    print_text(out, entry->scaffold->files[i].text, entry->name);
    bool good = fflush(out) == 0 && !ferror(out) && fsync(fileno(out)) == 0;
    int code = errno;
    good &= fclose(out) == 0;
    errno = code ? code : errno;
    return good || fail_for(entry, file, error);
}

/* Overwrites nothing. Some file systems cannot rename so, but can link. */
static bool name_staged(struct staged *staged, const struct new_entry *entry, size_t i,
                        struct error *error) {
    char file[PATH_BYTES];
    const char *temporary = staged->temporary[i];
    name_file(entry, i, file);
    if (renameat2(staged->folder, temporary, staged->folder, file, RENAME_NOREPLACE) == 0)
        return true;
    if (errno == EINVAL && linkat(staged->folder, temporary, staged->folder, file, 0) == 0)
        return unlinkat(staged->folder, temporary, 0) == 0 || fail_for(entry, file, error);
    return fail_for(entry, file, error);
}

/* Removes what was half made. */
static void discard(const struct staged *staged, const struct new_entry *entry) {
    for (size_t i = 0; i < staged->written; i++) {
        char file[PATH_BYTES];
        name_file(entry, i, file);
        if (entry->scaffold->files[i].text)
            unlinkat(staged->folder, i < staged->named ? file : staged->temporary[i], 0);
    }
}

static bool write_into(int folder, const struct new_entry *entry, struct error *error) {
    struct staged staged = {.folder = folder};
    bool good = check_files(folder, entry, error);
    for (size_t i = 0; good && ending_of(entry, i); i++)
        good = !entry->scaffold->files[i].text || write_file(&staged, entry, i, error);
    for (size_t i = 0; good && ending_of(entry, i); i++) {
        good = !entry->scaffold->files[i].text || name_staged(&staged, entry, i, error);
        staged.named = good ? i + 1 : i;
    }
    if (!good) {
        discard(&staged, entry);
        return false;
    }
    for (size_t i = 0; ending_of(entry, i); i++) {
        char file[PATH_BYTES];
        name_file(entry, i, file);
        if (entry->scaffold->files[i].text)
            printf("wrote %s/%s\n", folder_name(entry->scaffold->folder), file);
    }
    return true;
}

static bool write_files(const char *project, const struct new_entry *entry, struct error *error) {
    const char *place = folder_name(entry->scaffold->folder);
    cleanup_fd int root = beneath_open_root(project, error);
    if (root < 0)
        return false;
    const bool made = mkdirat(root, place, 0777) == 0;
    if (!made && errno != EEXIST)
        return error_set(error, errno, "making the folder %s", place);
    cleanup_fd int folder = beneath_open_folder(root, place);
    bool good = folder >= 0 ? write_into(folder, entry, error)
                            : error_set(error, errno, "the folder %s", place);
    if (!good && made)
        unlinkat(root, place, AT_REMOVEDIR);
    return good;
}

/* The project of the option or the variable, or NULL. */
static const char *project_of(int count, char **arguments) {
    const char *option = options_value(count, arguments, "--project");
    return option ? option : getenv("ECLAVE_PROJECT");
}

bool command_new_prepare(struct command_line *line, int count, char **arguments,
                         struct error *error) {
    if (count < 2 || strcmp(arguments[1], "new") != 0)
        return true;
    const char *project = project_of(count, arguments);
    if (project && mkdir(project, 0777) == 0)
        line->made = project;
    return !project || line->made || errno == EEXIST ||
           error_set(error, errno, "making %.100s", project);
}

int command_new(const struct command_line *line) {
    const struct path_list *project = &line->settings->project;
    struct new_entry entry = {.name = line->arguments[1]};
    struct error error;
    int code = 0;
    for (size_t i = 0; i < SCAFFOLD_COUNT; i++)
        if (strcmp(scaffolds[i].kind, line->arguments[0]) == 0)
            entry.scaffold = &scaffolds[i];
    if (!entry.scaffold) {
        fprintf(stderr, "eclave: unknown kind %.60s; see eclave new --help\n", line->arguments[0]);
        return STATUS_USAGE;
    }
    cleanup_free char *here = project->count ? NULL : path_find(".", NULL, PATH_DIRECTORY, &code);
    const char *directory = project->count ? project->paths[0] : here;
    if ((directory || error_set(&error, code, "the current directory")) &&
        check_name(&entry, &error) && write_files(directory, &entry, &error))
        return 0;
    fprintf(stderr, "eclave: %s\n", error.text);
    return STATUS_USAGE;
}
