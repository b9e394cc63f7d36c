/* Fuzz target: the lines of a client to a server with a project. The whole server runs in this
 * process. Workers are simulated: the source of a definition, or the argument "steps" of a call, is
 * a list of the actions of its worker:
 *
 *   [{"event": JSON}, {"ask": JSON}, {"result": JSON}, {"fail": "TYPE"}, {"die": null}]
 *
 * where a string stands for its contents, JSON or not. After a question it waits for the answer. In
 * the client's lines, "requestState":"STATE" is replaced by the last state that the server sent;
 * such a line, and one that answers a question, waits a while. Each request must be answered once,
 * in well-formed messages, and a definition gets answers to its own questions only. */
#include "common/message.h"
#include "supervisor/process/worker_process.h"
#include "supervisor/registry/watch.h"
#include "tests/fuzz/in_process.h"
#include "tests/support/oracle.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES_MAX_BYTES = 1 << 20, TRIES_MAX = 20, TRY_NS = 50000000, STEPS_MAX = 64 };

/* --- the project --- */

#define TEXT_RESULT "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"t\"}]}}"
#define ASK(inside) "{\"ask\":{\"requests\":{" inside "}}}"
#define FORM                                                                                       \
    "{\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\",\"requestedSchema\":"        \
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}}}"
#define PAGE                                                                                       \
    "{\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\",\"mode\":\"url\","           \
    "\"url\":\"a:b\",\"elicitationId\":\"e\"}}"
#define SAMPLE                                                                                     \
    "{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[],\"maxTokens\":9}}"
#define ROOTS "{\"method\":\"roots/list\",\"params\":{}}"

static const char *const files[][2] = {
    {"tools/plain.lisp", "[" TEXT_RESULT "]"},
    {"tools/typed.lisp",
     "[{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{}\"}],\"structuredContent\":"
     "{\"n\":1}}}]"},
    {"tools/typed.json",
     "{\"title\":\"T\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":"
     "\"integer\"}}},\"outputSchema\":{\"type\":\"object\",\"required\":[\"n\"]},\"timeout\":2}"},
    {"tools/chatty.lisp",
     "[{\"event\":{\"type\":\"progress\",\"progress\":1,\"total\":2,\"message\":\"m\"}},"
     "{\"event\":{\"type\":\"log\",\"level\":\"error\",\"data\":{\"a\":1},\"logger\":\"l\"}},"
     "{\"event\":{\"type\":\"change\",\"kind\":\"tools\"}},"
     "{\"event\":{\"type\":\"change\",\"kind\":\"resource\",\"uri\":\"eclave:///r.txt\"}},"
     "{\"event\":{\"type\":\"progress\",\"progress\":2}}," TEXT_RESULT "]"},
    {"tools/asks.lisp", "[" ASK("\"k\":" FORM) "," TEXT_RESULT "]"},
    {"tools/asks-all.lisp", "[" ASK("\"k\":" FORM ",\"p\":" PAGE ",\"s\":" SAMPLE
                                    ",\"r\":" ROOTS) "," ASK("\"k\":" ROOTS) "," TEXT_RESULT "]"},
    {"tools/needy.lisp", "[" ASK("\"s\":" SAMPLE) ",{\"fail\":\"MCP:UNANSWERED\"}]"},
    {"tools/needy.json", "{\"requires\":{\"sampling\":{}}}"},
    {"tools/kept.lisp", "[" ASK("\"r\":" ROOTS) "," TEXT_RESULT "]"},
    {"tools/kept.json", "{\"session\":\"caller\"}"},
    {"tools/silent.lisp", "[]"},
    {"tools/dies.lisp", "[{\"event\":\"torn\"},{\"die\":null}]"},
    {"prompts/text.txt", "Say {{a}} and {{b}}."},
    {"prompts/text.json",
     "{\"arguments\":[{\"name\":\"a\",\"title\":\"A\",\"required\":true},{\"name\":\"b\"}],"
     "\"completions\":{\"a\":[\"one\",\"two\"],\"b\":\"names\"}}"},
    {"prompts/fixed.json",
     "{\"messages\":[{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"{{a}}\"}},"
     "{\"role\":\"user\",\"content\":{\"type\":\"audio\",\"data\":\"AAAA\",\"mimeType\":"
     "\"audio/wav\"}},{\"role\":\"user\",\"content\":{\"type\":\"resource_link\",\"uri\":\"a:b\","
     "\"name\":\"{{a}}\"}}]}"},
    {"prompts/made.lisp",
     "[" ASK("\"k\":" FORM) ",{\"result\":{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
                            "\"text\",\"text\":\"t\"}}]}}]"},
    {"resources/r.txt", "text\n"},
    {"resources/bytes.bin", "\xff\xfe"},
    {"resources/t.lisp", "[{\"result\":{\"contents\":[{\"uri\":\"t://x\",\"text\":\"t\"}]}}]"},
    {"resources/t.lisp.meta.json",
     "{\"uriTemplate\":\"t://{a}/{+steps}\",\"mimeType\":\"text/x\",\"completions\":{\"a\":"
     "\"names\"}}"},
    {"completions/names.lisp", "[{\"result\":{\"values\":[\"v\"],\"total\":1,\"hasMore\":false}}]"},
};
enum { FILES = sizeof files / sizeof *files };
static const char *const folders[] = {"tools", "prompts", "resources", "completions"};
enum { FOLDERS = sizeof folders / sizeof *folders };

static char root[] = "/tmp/eclave-fuzz-project-XXXXXX";
static int root_fd = -1;

static void remove_project(void) {
    for (size_t i = 0; i < FILES; i++)
        unlinkat(root_fd, files[i][0], 0);
    for (size_t i = 0; i < FOLDERS; i++)
        unlinkat(root_fd, folders[i], AT_REMOVEDIR);
    close(root_fd);
    rmdir(root);
}

static void make_project(void) {
    FUZZ_CHECK(mkdtemp(root), "no directory");
    root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < FOLDERS; i++)
        FUZZ_CHECK(mkdirat(root_fd, folders[i], 0700) == 0, "no folder");
    for (size_t i = 0; i < FILES; i++) {
        int fd = openat(root_fd, files[i][0], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        size_t size = strlen(files[i][1]);
        FUZZ_CHECK(write(fd, files[i][1], size) == (ssize_t)size, "no file");
        close(fd);
    }
    atexit(remove_project);
}

void __wrap_watch_open(struct watch *watch, struct loop *loop, void (*changed)(void *context),
                       void *context);

/* Nothing changes, and closing an inotify watch takes longer than a run. */
void __wrap_watch_open(struct watch *watch, struct loop *loop, void (*changed)(void *context),
                       void *context) {
    (void)loop, (void)changed, (void)context;
    *watch = (struct watch){.fd = -1};
    for (size_t slot = 0; slot < WATCH_COUNT; slot++)
        watch->descriptors[slot] = -1;
}

/* --- the client --- */

static struct {
    struct buffer line; /* the current line */
    size_t at;          /* read of it so far */
    unsigned tries;     /* how often it waited for the next line */
    /* The last requestState, as JSON, and how much of the output was searched for it. */
    size_t state, state_length, looked_at;
} client;

/* Finds requestStates in the new output. */
static void find_state(void) {
    static const char name[] = "\"requestState\":";
    enum { NAME_BYTES = sizeof name - 1 };
    const char *bytes = (const char *)in_process.output.data;
    size_t length = in_process.output.length;
    for (const char *at; client.looked_at < length; client.looked_at = (size_t)(at - bytes)) {
        at = memmem(bytes + client.looked_at, length - client.looked_at, name, NAME_BYTES);
        const char *value = at ? at + NAME_BYTES : NULL;
        const char *end = at ? memchr(value + 1, '"', length - (size_t)(value + 1 - bytes)) : NULL;
        if (!end) { /* it may be incomplete */
            const char *newline = memrchr(bytes, '\n', length);
            client.looked_at = newline ? (size_t)(newline + 1 - bytes) : 0;
            break;
        }
        client.state = (size_t)(value - bytes);
        client.state_length = (size_t)(end + 1 - value);
        at = end;
    }
}

static void append_line(const char *bytes, size_t size) {
    static const char before[] = "\"requestState\":", place[] = "\"requestState\":\"STATE\"";
    enum { BEFORE_BYTES = sizeof before - 1, PLACE_BYTES = sizeof place - 1 };
    const char *at;
    while (client.state_length && (at = memmem(bytes, size, place, PLACE_BYTES))) {
        buffer_append(&client.line, bytes, (size_t)(at - bytes) + BEFORE_BYTES);
        buffer_append(&client.line, in_process.output.data + client.state, client.state_length);
        size -= (size_t)(at - bytes) + PLACE_BYTES;
        bytes = at + PLACE_BYTES;
    }
    buffer_append(&client.line, bytes, size);
}

/* Whether a client would have waited for something before this line. */
static bool is_reply(const char *bytes, size_t size) {
    return size == 0 || memmem(bytes, size, "\"STATE\"", 7) || memmem(bytes, size, "\"ask-", 5);
}

static const uint8_t *take(size_t size, size_t *taken) {
    static const uint8_t nothing;
    if (client.at == client.line.length) {
        const char *bytes = (const char *)in_process.input.bytes;
        const char *newline =
            in_process.input.left ? memchr(bytes, '\n', in_process.input.left) : NULL;
        size_t length = newline ? (size_t)(newline - bytes) + 1 : in_process.input.left;
        if (is_reply(bytes, length) && client.tries++ < TRIES_MAX) {
            fuzz_edges.now_ns += TRY_NS;
            return NULL;
        }
        find_state();
        client.tries = client.line.length = client.at = 0;
        append_line(bytes, length);
        fuzz_bytes(&in_process.input, length, taken);
    }
    size_t left = client.line.length - client.at;
    *taken = left < size ? left : size;
    const uint8_t *piece = *taken ? client.line.data + client.at : &nothing;
    client.at += *taken;
    return piece;
}

/* --- the workers --- */

/* The script of one worker. */
struct play {
    struct json_object *steps, *asked;
    size_t next;
    uint32_t call;
};

static void on_gone(struct fake_worker *fake) {
    struct play *play = fake->context;
    if (!play)
        return;
    json_object_put(play->steps);
    json_object_put(play->asked);
    free(play);
    fake->context = NULL;
}

static void send_frame(const struct fake_worker *fake, enum frame_type type, const void *payload,
                       size_t size) {
    const struct play *play = fake->context;
    const struct frame_header header = {
        .type = (uint16_t)type, .call = play->call, .length = (uint32_t)size};
    cleanup_buffer struct buffer frame = buffer_make(LINES_MAX_BYTES);
    buffer_append(&frame, &header, sizeof header);
    buffer_append(&frame, payload, size);
    if (send(fake->channel, frame.data, frame.length, MSG_DONTWAIT | MSG_NOSIGNAL) !=
        (ssize_t)frame.length)
        shutdown(fake->channel, SHUT_RDWR); /* it sent too much at once */
}

static struct span text_in(struct json_object *value) {
    const char *text = json_object_is_type(value, json_type_string)
                           ? json_object_get_string(value)
                           : json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
    return (struct span){(const unsigned char *)text, strlen(text)};
}

static void send_result(const struct fake_worker *fake, struct json_object *value, bool fails) {
    static const struct span name = {(const unsigned char *)"P", 1};
    struct result_message result = {.package = name};
    cleanup_buffer struct buffer payload = buffer_make(LINES_MAX_BYTES);
    *(fails ? &result.condition : &result.json) = text_in(value);
    if (fails)
        result.text = name;
    if (result_message_encode(&payload, &result))
        send_frame(fake, FRAME_RESULT, payload.data, payload.length);
}

/* Keeps the questions of VALUE, for the check of the answer. */
static void note_asked(struct play *play, struct json_object *value) {
    json_object_put(play->asked);
    play->asked = json_tokener_parse((const char *)text_in(value).bytes);
}

/* Does one step. Returns whether to continue. */
static bool do_step(struct fake_worker *fake, const char *word, struct json_object *value) {
    const struct span text = text_in(value);
    if (strcmp(word, "event") == 0) {
        send_frame(fake, FRAME_EVENT, text.bytes, text.length);
        return true;
    }
    if (strcmp(word, "ask") == 0) {
        note_asked(fake->context, value);
        send_frame(fake, FRAME_ASK, text.bytes, text.length);
    } else if (strcmp(word, "die") == 0) {
        shutdown(fake->channel, SHUT_RDWR);
    } else {
        send_result(fake, value, strcmp(word, "fail") == 0);
    }
    return false;
}

static void go_on(struct fake_worker *fake) {
    struct play *play = fake->context;
    size_t count = json_object_is_type(play->steps, json_type_array)
                       ? json_object_array_length(play->steps)
                       : 0;
    bool going = true;
    while (going && play->next < count && play->next < STEPS_MAX) {
        struct json_object *step = json_object_array_get_idx(play->steps, play->next++);
        if (!json_object_is_type(step, json_type_object))
            continue;
        json_object_object_foreach(step, word, value) {
            going = going && do_step(fake, word, value);
        }
    }
}

static struct text as_text(struct span span) {
    return (struct text){(const char *)span.bytes, span.length};
}

static void begin_play(struct fake_worker *fake, const struct frame_header *header,
                       const unsigned char *payload) {
    struct run_message run;
    struct play *play = fake->context ? fake->context : calloc(1, sizeof *play);
    FUZZ_CHECK(run_message_decode(payload, header->length, &run), "no run");
    FUZZ_CHECK(!json_fault(as_text(run.arguments), 512) &&
                   json_kind(as_text(run.arguments)) == VALUE_OBJECT,
               "no arguments: %.*s", (int)run.arguments.length, run.arguments.bytes);
    struct json_tokener *tokener = json_tokener_new_ex(512);
    struct json_object *arguments = json_tokener_parse_ex(
        tokener, (const char *)run.arguments.bytes, (int)run.arguments.length);
    struct json_object *given = NULL;
    json_object_object_get_ex(arguments, "steps", &given);
    json_object_put(play->steps);
    play->steps = json_object_get(given);
    if (!given || json_object_is_type(given, json_type_string)) {
        json_tokener_reset(tokener);
        const struct span source = given ? text_in(given) : run.code;
        json_object_put(play->steps);
        play->steps =
            json_tokener_parse_ex(tokener, (const char *)source.bytes, (int)source.length);
    }
    json_tokener_free(tokener);
    json_object_put(arguments);
    play->next = 0;
    play->call = header->call;
    fake->context = play;
}

static bool was_asked(const struct play *play, const char *key) {
    struct json_object *requests = NULL;
    return json_object_object_get_ex(play->asked, "requests", &requests) &&
           json_object_object_get_ex(requests, key, NULL);
}

/* An answer matches the questions: an object of responses, or an error. */
static void check_answer(const struct play *play, struct text text) {
    struct text member;
    const char *fault = json_fault(text, 512);
    FUZZ_CHECK(!fault && json_kind(text) == VALUE_OBJECT, "%s: %.*s", fault, (int)text.length,
               text.bytes);
    FUZZ_CHECK(play->asked, "an answer to no question");
    FUZZ_CHECK(json_member(text, "error", &member) || json_member(text, "responses", &member),
               "no answer: %.*s", (int)text.length, text.bytes);
    struct json_tokener *tokener = json_tokener_new_ex(512);
    struct json_object *answer = json_tokener_parse_ex(tokener, text.bytes, (int)text.length);
    struct json_object *responses = NULL;
    if (json_object_object_get_ex(answer, "responses", &responses)) {
        json_object_object_foreach(responses, key, response) {
            FUZZ_CHECK(was_asked(play, key), "nobody asked %s", key);
            FUZZ_CHECK(json_object_is_type(response, json_type_object), "no response: %s",
                       json_object_to_json_string(response));
        }
    }
    json_object_put(answer);
    json_tokener_free(tokener);
}

static void on_frame(struct fake_worker *fake, const struct frame_header *header,
                     const unsigned char *payload) {
    if (header->type == FRAME_EVALUATE)
        return; /* never answered */
    if (header->type == FRAME_RUN) {
        begin_play(fake, header, payload);
    } else {
        struct play *play = fake->context;
        FUZZ_CHECK(header->type == FRAME_ANSWER && play && header->call == play->call, "frame %d",
                   header->type);
        check_answer(play, (struct text){(const char *)payload, header->length});
        json_object_put(play->asked);
        play->asked = NULL;
    }
    go_on(fake);
}

/* --- output --- */

enum { TOKENS_MAX = 16 };

static struct {
    struct oracle oracle;
    bool *given; /* which of its answers came */
    size_t answers, without_id;
    long last_question;
    struct {
        struct text token;
        double progress;
    } tokens[TOKENS_MAX];
    size_t token_count;
} seen;

static void see_progress(struct text message) {
    struct text token, value;
    FUZZ_CHECK(json_at(message, &token, "params", "progressToken", NULL) &&
                   json_at(message, &value, "params", "progress", NULL) &&
                   json_kind(value) == VALUE_NUMBER,
               "no progress: %.*s", (int)message.length, message.bytes);
    double progress = strtod(value.bytes, NULL);
    for (size_t i = 0; i < seen.token_count; i++)
        if (json_same_id(seen.tokens[i].token, token)) {
            FUZZ_CHECK(progress > seen.tokens[i].progress, "%f after %f", progress,
                       seen.tokens[i].progress);
            seen.tokens[i].progress = progress;
            return;
        }
    if (seen.token_count == TOKENS_MAX)
        return;
    seen.tokens[seen.token_count].token = token;
    seen.tokens[seen.token_count++].progress = progress;
}

static void see_question(struct text message, struct text id) {
    static const char *const methods[] = {"\"elicitation/create\"", "\"sampling/createMessage\"",
                                          "\"roots/list\""};
    struct text method, params;
    bool known = false;
    FUZZ_CHECK(json_member(message, "method", &method) && json_member(message, "params", &params) &&
                   json_kind(params) == VALUE_OBJECT,
               "no question: %.*s", (int)message.length, message.bytes);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        known = known || text_is(method, methods[i]);
    FUZZ_CHECK(known, "a question of %.*s", (int)method.length, method.bytes);
    FUZZ_CHECK(id.length > 5 && memcmp(id.bytes, "\"ask-", 5) == 0, "an odd id");
    long number = strtol(id.bytes + 5, NULL, 10);
    FUZZ_CHECK(number > seen.last_question, "question %ld after %ld", number, seen.last_question);
    seen.last_question = number;
}

static void see_notification(struct text message, struct text method) {
    static const char *const methods[] = {
        "\"notifications/progress\"",
        "\"notifications/message\"",
        "\"notifications/cancelled\"",
        "\"notifications/tools/list_changed\"",
        "\"notifications/prompts/list_changed\"",
        "\"notifications/resources/list_changed\"",
        "\"notifications/resources/updated\"",
        "\"notifications/subscriptions/acknowledged\"",
    };
    bool known = false;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        known = known || text_is(method, methods[i]);
    FUZZ_CHECK(known, "a notification %.*s", (int)method.length, method.bytes);
    if (text_is(method, methods[0]))
        see_progress(message);
}

static void see_answer(struct text message, struct text id) {
    struct text result, error, code;
    bool fine = json_member(message, "result", &result);
    bool failed = json_member(message, "error", &error);
    FUZZ_CHECK(fine != failed && (!fine || json_kind(result) == VALUE_OBJECT), "%.*s",
               (int)message.length, message.bytes);
    FUZZ_CHECK(!failed || (json_member(error, "code", &code) && json_is_integer(code) &&
                           json_member(error, "message", &code) && code.length > 2),
               "%.*s", (int)message.length, message.bytes);
    seen.token_count = 0; /* a token may be reused once its request is answered */
    seen.answers++;
    if (json_kind(id) == VALUE_NULL) {
        seen.without_id++;
        return;
    }
    for (size_t i = 0; i < seen.oracle.count; i++)
        if (!seen.given[i] && json_same_id(text_of(seen.oracle.answers[i].id), id)) {
            seen.given[i] = true;
            return;
        }
    FUZZ_CHECK(seen.oracle.confused, "nobody asked this: %.*s", (int)message.length, message.bytes);
}

static bool see_message(struct text whole, struct text name, struct text message, void *context) {
    (void)whole, (void)name, (void)context;
    struct text version, method, id;
    FUZZ_CHECK(json_kind(message) == VALUE_OBJECT && json_member(message, "jsonrpc", &version) &&
                   text_is(version, "\"2.0\"") && !json_has_twins(message),
               "%.*s", (int)message.length, message.bytes);
    bool speaks = json_member(message, "method", &method);
    bool has_id = json_member(message, "id", &id);
    FUZZ_CHECK(speaks || has_id, "%.*s", (int)message.length, message.bytes);
    if (speaks && has_id)
        see_question(message, id);
    else if (speaks)
        see_notification(message, method);
    else
        see_answer(message, id);
    return true;
}

static void see_line(struct text line, void *context) {
    FUZZ_CHECK(!json_has_lone_surrogate(line), "half a character: %.*s", (int)line.length,
               line.bytes);
    if (json_kind(line) == VALUE_ARRAY)
        json_walk(line, see_message, context);
    else
        see_message(line, line, line, context);
}

static bool says(const struct fuzz_input *input, const char *word) {
    return input->left && memmem(input->bytes, input->left, word, strlen(word));
}

/* Whether each request of the model must be answered: not when it may be cancelled or opens a
 * stream, when the server may have ended before it read all, or where the model is open. */
static bool is_exact(const struct fuzz_input *input) {
    static const char *const words[] = {"cancelled", "listen", "shutdown", "\\u"};
    bool exact = !seen.oracle.confused;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        exact = exact && !says(input, words[i]);
    for (size_t i = 0; i < seen.oracle.count; i++)
        exact = exact && seen.oracle.answers[i].kind != ANSWER_OPEN;
    return exact;
}

static void tell_sent(const struct fuzz_input *input) {
    struct fuzz_input rest = *input;
    while (rest.left) {
        const uint8_t *newline = memchr(rest.bytes, '\n', rest.left);
        size_t length = newline ? (size_t)(newline - rest.bytes) : rest.left, taken;
        oracle_sent(&seen.oracle, (struct text){(const char *)rest.bytes, length});
        fuzz_bytes(&rest, length + 1, &taken);
    }
}

static void check_output(const struct fuzz_input *input) {
    in_process_each_line(see_line, NULL);
    FUZZ_CHECK(seen.oracle.confused || seen.answers <= seen.oracle.count, "%zu answers, not %zu",
               seen.answers, seen.oracle.count);
    FUZZ_CHECK(!is_exact(input) || seen.answers == seen.oracle.count, "%zu answers, not %zu",
               seen.answers, seen.oracle.count);
}

static void choose_settings(struct settings *settings) {
    in_process.options &= ~(unsigned)OPTION_MINIMAL;
    settings_default(settings);
    settings->batches = (in_process.options & OPTION_BATCHES) != 0;
    settings->log_format = (in_process.options & OPTION_LOG_JSON) != 0;
    settings->log_level =
        in_process.options & OPTION_LOG_ALL ? (int)LOG_DEBUG_LEVEL : (int)LOG_WARNING_LEVEL;
    settings->cancel_reply =
        in_process.options & OPTION_LOOSE ? CANCEL_REPLY_AUTO : CANCEL_REPLY_ERROR;
    if (in_process.options & OPTION_TIGHT) {
        settings->response_max_bytes = 4096;
        settings->session_max = 2;
        settings->list_page_size = 2;
    }
    settings->registry_refresh_s = 3600;
    settings->project.paths[0] = root;
    settings->project.count = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct settings settings;
    if (root_fd < 0)
        make_project();
    in_process_begin(data, size);
    in_process.take = take;
    in_process.workers = !(in_process.options & OPTION_CALLS_WAIT);
    in_process.on_frame = on_frame;
    in_process.on_gone = on_gone;
    choose_settings(&settings);
    memset(&client, 0, sizeof client);
    client.line = buffer_make(LINES_MAX_BYTES);
    memset(&seen, 0, sizeof seen);
    seen.oracle = oracle_make();
    seen.oracle.batches = settings.batches;
    const struct fuzz_input input = in_process.input;
    tell_sent(&input);
    seen.given = calloc(seen.oracle.count + 1, sizeof *seen.given);
    in_process_serve(&settings);
    check_output(&input);
    free(seen.given);
    oracle_free(&seen.oracle);
    buffer_free(&client.line);
    in_process_end();
    return 0;
}
