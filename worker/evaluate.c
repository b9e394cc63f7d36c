/* Reads, evaluates and prints. Lisp writes strings; C decides which part of the result each one is.
 */
#include "worker/evaluate.h"
#include "common/source.h"
#include "common/utf8.h"
#include "worker/convert.h"
#include "worker/files.h"
#include "worker/guard.h"
#include "worker/lisp.h"
#include "worker/native.h"
#include "worker/numbers.h"
#include "worker/streams.h"
#include "worker/undefined.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct evaluation {
    const struct evaluate_message *message;
    const struct run_message *run; /* NULL: the code alone */
    cl_object json;                /* result of the run, a string */
    struct result *result;
    cl_object package; /* of the `package` argument, else NULL */
    cl_object stream;  /* of the code */
    bool reading;
    bool loading;         /* evaluating the code of a run, before its definition is called */
    cl_fixnum form_start; /* character at which reading of the current form began */
    cl_fixnum form_end;   /* and the one after it, once it is read */
    struct {
        cl_fixnum character;
        size_t offset, line; /* of that character */
        struct span file;    /* of the last form */
        cl_object name;      /* of that file */
    } mark;                  /* where locate_form continues to count */
    cl_object values[RESULT_VALUES_MAX];
    size_t value_count;
    struct guard_stop stop;
};

static struct evaluation evaluation; /* static: Lisp calls back, and the collector scans it */
static cl_object end_of_source;      /* returned by READ; no code evaluates to it */

void evaluate_initialize(void) {
    end_of_source = ecl_list1(ECL_NIL);
}

void evaluate_forget(void) {
    memset(&evaluation, 0, sizeof evaluation);
}

static cl_fixnum position(void) {
    cl_object at = cl_file_position(1, evaluation.stream);
    return ECL_FIXNUMP(at) ? ecl_fixnum(at) : 0;
}

static void settle_package(void *argument) {
    (void)argument;
    if (evaluation.message->input.bytes)
        cl_funcall(2, lisp.function.open_input, convert_utf8_to_string(evaluation.message->input));
    cl_funcall(1, lisp.function.settle);
    if (evaluation.message->package.bytes)
        evaluation.package = cl_funcall(2, lisp.function.resolve_package,
                                        convert_utf8_to_string(evaluation.message->package));
}

/* The variables of a read-eval-print loop. */

/* Moves the values of *NEWER, **NEWER … one place on, and puts VALUE first. */
static void push_history(const cl_object variables[3], cl_object value) {
    const cl_env_ptr env = ecl_process_env();
    ECL_SETQ(env, variables[2], ECL_SYM_VAL(env, variables[1]));
    ECL_SETQ(env, variables[1], ECL_SYM_VAL(env, variables[0]));
    ECL_SETQ(env, variables[0], value);
}

/* The forms of a run are nobody's, and those of the zygote name files of the host. */
static bool has_history(void) {
    return !evaluation.run && !evaluation.message->inspection.bytes &&
           ECL_SYM_VAL(ecl_process_env(), lisp.confined) == ECL_T;
}

/* A form with its values, which are in `evaluation`. */
static void remember(cl_object form) {
    if (!has_history())
        return;
    cl_object values = ECL_NIL;
    for (size_t i = evaluation.value_count; i > 0; i--)
        values = ecl_cons(evaluation.values[i - 1], values);
    push_history((cl_object[]){lisp.form1, lisp.form2, lisp.form3}, form);
    push_history((cl_object[]){lisp.values1, lisp.values2, lisp.values3}, values);
    push_history((cl_object[]){lisp.value1, lisp.value2, lisp.value3},
                 evaluation.value_count ? evaluation.values[0] : ECL_NIL);
}

/* Keeps the source of a definition. */
static void note_form(cl_object form, cl_object source) {
    if (ECL_CONSP(form) && has_history())
        cl_funcall(5, lisp.function.note_form, form, source, ecl_make_fixnum(evaluation.form_start),
                   ecl_make_fixnum(evaluation.form_end));
}

/* A package that was deleted has no name. */
static bool is_live_package(cl_object object) {
    return object && ecl_t_of(object) == t_package && ECL_STRINGP(object->pack.name);
}

static size_t lines_between(struct span code, size_t first, size_t end) {
    size_t count = 0;
    const unsigned char *at = code.bytes + first;
    while ((at = memchr(at, '\n', (size_t)(code.bytes + end - at))) != NULL) {
        count++;
        at++;
    }
    return count;
}

/* Has ECL keep in the functions of the form that was read the name of its file and its line there,
 * which backtrace.lisp shows. */
static void locate_form(void) {
    const struct span code = evaluation.message->code;
    if (!evaluation.message->files.bytes)
        return;
    const size_t known = evaluation.mark.offset;
    const size_t from =
        known + utf8_offset(code.bytes + known, code.length - known,
                            (size_t)(evaluation.form_start - evaluation.mark.character));
    evaluation.mark.line += lines_between(code, known, from);
    evaluation.mark.offset = from;
    evaluation.mark.character = evaluation.form_start;
    size_t line = evaluation.mark.line + lines_between(code, from, source_form(code, from));
    const struct span file = files_of_line(evaluation.message->files, &line);
    if (!evaluation.mark.name || file.bytes != evaluation.mark.file.bytes) {
        evaluation.mark.name = convert_utf8_to_string(file);
        evaluation.mark.file = file;
    }
    ECL_SETQ(ecl_process_env(), lisp.source_location,
             file.length ? ecl_cons(evaluation.mark.name, ecl_make_fixnum((cl_fixnum)line))
                         : ECL_NIL);
}

static void evaluate_forms(void) {
    const cl_env_ptr env = ecl_process_env();
    cl_object source = convert_utf8_to_string(evaluation.message->code);
    evaluation.stream = ecl_make_string_input_stream(source, 0, source->base_string.fillp);
    for (;;) {
        evaluation.form_start = position();
        evaluation.reading = true;
        /* READ would take the next character too and put it back, which fails for NUL. */
        cl_object form =
            cl_read_preserving_whitespace(4, evaluation.stream, ECL_NIL, end_of_source, ECL_NIL);
        evaluation.reading = false;
        if (form == end_of_source)
            return;
        evaluation.form_end = position();
        locate_form();
        if (has_history())
            ECL_SETQ(env, lisp.form, form);
        native_note_evaluation(form);
        evaluation.values[0] = si_eval_with_env(1, form);
        evaluation.value_count =
            env->nvalues < RESULT_VALUES_MAX ? env->nvalues : RESULT_VALUES_MAX;
        for (size_t i = 1; i < evaluation.value_count; i++)
            evaluation.values[i] = env->values[i];
        remember(form);
        note_form(form, source);
        /* READ needs a package and a readtable even at the end of the code. */
        if (ecl_t_of(ECL_SYM_VAL(env, lisp.readtable)) != t_readtable ||
            !is_live_package(ECL_SYM_VAL(env, lisp.package)))
            cl_funcall(1, lisp.function.settle);
    }
}

static void evaluate_located_forms(void) {
    const cl_env_ptr env = ecl_process_env();
    const bool has_files = evaluation.message->files.bytes != NULL;
    if (has_files)
        ecl_bds_bind(env, lisp.source_location, ECL_NIL);
    evaluate_forms();
    if (has_files)
        ecl_bds_unwind1(env);
}

static void evaluate_code(void *argument) {
    (void)argument;
    const struct run_message *run = evaluation.run;
    const struct span inspection = evaluation.message->inspection;
    if (inspection.bytes) {
        evaluation.values[0] =
            cl_funcall(2, lisp.function.inspect_session, convert_utf8_to_string(inspection));
        evaluation.value_count = 1;
        return;
    }
    evaluation.loading = run != NULL;
    evaluate_located_forms();
    evaluation.loading = false;
    if (!run)
        return;
    evaluation.value_count = 0;
    evaluation.json =
        cl_funcall(4, lisp.function.run, convert_utf8_to_string(run->kind),
                   convert_utf8_to_string(run->name), convert_utf8_to_string(run->arguments));
}

/* Writers, each of which has Lisp write one string. */

struct writer {
    cl_object function; /* of an object and a stream */
    cl_object object;
};

static void write_object(void *argument, cl_object stream) {
    const struct writer *writer = argument;
    cl_funcall(3, writer->function, writer->object, stream);
}

static bool write_text(struct result_text *text, size_t characters, int style, cl_object function,
                       cl_object object) {
    struct writer writer = {function, object};
    return result_write(evaluation.result, text, characters, style, write_object, &writer);
}

static cl_object or_nil(cl_object object) {
    return object ? object : ECL_NIL;
}

/* The arguments of CALL as a list; T if unknown. */
static cl_object list_arguments(const struct backtrace_call *call) {
    if (!call->known)
        return ECL_T;
    cl_object list = call->count > BACKTRACE_ARGUMENTS_MAX ? ecl_list1(lisp.unknown) : ECL_NIL;
    size_t kept = call->count < BACKTRACE_ARGUMENTS_MAX ? call->count : BACKTRACE_ARGUMENTS_MAX;
    for (size_t i = kept; i > 0; i--)
        list = ecl_cons(call->arguments[i - 1], list);
    return list;
}

/* The origin of the condition, as the list that conditions.lisp defines. */
static cl_object origin(void) {
    const struct backtrace *backtrace = &evaluation.stop.backtrace;
    return cl_list(5, or_nil(backtrace->builtin), list_arguments(&backtrace->last_call),
                   backtrace->last_call_failed ? ECL_T : ECL_NIL, or_nil(backtrace->trap.code),
                   or_nil(backtrace->trap.function));
}

static void write_message(void *argument, cl_object stream) {
    cl_funcall(4, lisp.function.write_message, argument, origin(), stream);
}

static void write_failing_call(void *argument, cl_object stream) {
    cl_funcall(4, lisp.function.write_failing_call, argument, origin(), stream);
}

static void write_frame(void *argument, cl_object stream) {
    const struct backtrace_frame *frame = argument;
    bool innermost = frame == evaluation.stop.backtrace.frames;
    cl_object condition = evaluation.stop.condition;
    cl_funcall(6, lisp.function.write_frame, frame->function, frame->environment,
               list_arguments(&frame->call), innermost ? or_nil(condition) : ECL_NIL, stream);
}

static void write_package_name(void *argument, cl_object stream) {
    cl_object name = ((cl_object)argument)->pack.name;
    for (cl_index i = 0; i < name->base_string.fillp; i++)
        ecl_write_char(ecl_char(name, i), stream);
}

/* The answer of an inspection is a string. */
static bool print_value(struct result_text *text, cl_object value, size_t value_max_chars) {
    if (evaluation.message->inspection.bytes)
        return write_text(text, RESULT_INSPECTION_CHARS, RESULT_TIDY, lisp.function.write_string,
                          value);
    return write_text(text, value_max_chars, 0, lisp.function.write_value, value);
}

static void print_values(uint64_t value_max_chars) {
    struct result *result = evaluation.result;
    result->value_count = evaluation.value_count;
    for (size_t i = 0; i < evaluation.value_count; i++) {
        struct result_text *text = &result->values[i];
        cl_object value = evaluation.values[i];
        if (!print_value(text, value, (size_t)value_max_chars) &&
            !write_text(text, RESULT_TYPE_CHARS, RESULT_TIDY, lisp.function.write_unprintable,
                        value))
            result_add(result, text, "#<unprintable object>");
    }
}

/* The content that is among the values, as JSON. */
static void find_contents(void *argument) {
    (void)argument;
    cl_object values = ECL_NIL;
    for (size_t i = evaluation.value_count; i > 0; i--)
        values = ecl_cons(evaluation.values[i - 1], values);
    evaluation.json = cl_funcall(2, lisp.function.contents, values);
}

/* Content is an instance, alone or in a list. */
static bool may_have_content(void) {
    for (size_t i = 0; i < evaluation.value_count; i++)
        if (ECL_CONSP(evaluation.values[i]) || ecl_t_of(evaluation.values[i]) == t_instance)
            return true;
    return false;
}

static void keep_contents(void) {
    struct result *result = evaluation.result;
    if (!may_have_content())
        return;
    const bool found = guard_run(find_contents, NULL, NULL) == GUARD_RETURNED;
    if (found && evaluation.json == ECL_NIL)
        return;
    if (!(found && ECL_STRINGP(evaluation.json) &&
          result_keep(result, &result->json, evaluation.json)) &&
        result->warning_count < RESULT_WARNINGS_MAX - 1)
        result_add(result, &result->warnings[result->warning_count++],
                   "WARNING: A value has content that cannot be sent: it is too large, or not as "
                   "MCP:IMAGE and its like make it.");
}

static void fail(const char *type, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A failure that no condition object describes. */
static void fail(const char *type, const char *format, ...) {
    struct result *result = evaluation.result;
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    result->failed = true;
    result_add(result, &result->condition, "%s", type);
    result_add(result, &result->message, "%s", text);
}

static struct source_place place_of(size_t offset) {
    return source_place(evaluation.message->code, offset);
}

enum { LINE_BYTES = 120, FILE_BYTES = 80 };

/* "line N", or "line N of FILE"; returns TEXT. */
static const char *line_words(size_t line, char text[LINE_BYTES]) {
    const struct span file = files_of_line(evaluation.message->files, &line);
    const size_t most = file.length < FILE_BYTES ? file.length : FILE_BYTES;
    snprintf(text, LINE_BYTES, "line %zu%s%.*s", line, file.length ? " of " : "",
             (int)utf8_valid_prefix(file.bytes, most), (const char *)file.bytes);
    return text;
}

/* Describes what is left open at the end of the code. */
static void explain_end_of_source(void) {
    static const char *const what[] = {[SOURCE_LIST] = "the list",
                                       [SOURCE_STRING] = "the string",
                                       [SOURCE_SYMBOL] = "the symbol",
                                       [SOURCE_COMMENT] = "the comment",
                                       [SOURCE_DATUM] = "the quoted form"};
    struct result *result = evaluation.result;
    struct span code = evaluation.message->code;
    size_t start = utf8_offset(code.bytes, code.length, (size_t)evaluation.form_start);
    struct source_scan scan = source_scan(code, start);
    struct result_text *text = &result->message;
    char line[LINE_BYTES];
    result_add(result, text, "The code ends too early");
    if (scan.open != SOURCE_NOTHING) {
        struct source_place place = place_of(scan.at);
        result_add(result, text, ": %s that begins at %s, column %zu is not closed",
                   what[scan.open], line_words(place.line, line), place.column);
    }
    result_add(result, text, ".");
    if (scan.lists > 1 || (scan.lists == 1 && scan.open != SOURCE_LIST)) {
        struct source_place place = place_of(scan.first_list);
        result_add(result, text, " %zu closing parenthes%s missing for the form at %s, column %zu.",
                   scan.lists, scan.lists == 1 ? "is is" : "es are", line_words(place.line, line),
                   place.column);
    }
}

struct position_query {
    cl_object condition;
    cl_object position; /* a character, T for the end of the code, or NIL */
};

static void find_position(void *argument) {
    struct position_query *query = argument;
    query->position =
        cl_funcall(3, lisp.function.error_position, query->condition, evaluation.stream);
}

static void explain_condition(cl_object condition) {
    struct result *result = evaluation.result;
    struct position_query query = {condition, ECL_NIL};
    if (evaluation.reading && evaluation.stream &&
        guard_run(find_position, &query, NULL) == GUARD_RETURNED && query.position == ECL_T) {
        explain_end_of_source();
        return;
    }
    struct result_text *text = &result->message;
    if (!result_write(result, text, RESULT_MESSAGE_CHARS, RESULT_TIDY, write_message, condition) ||
        !text->length)
        write_text(text, RESULT_MESSAGE_CHARS, RESULT_TIDY, lisp.function.write_fallback,
                   condition);
    if (!text->length)
        result_add(result, text, "The condition cannot be described.");
    if (ECL_FIXNUMP(query.position)) {
        struct span code = evaluation.message->code;
        struct source_place place =
            place_of(utf8_offset(code.bytes, code.length, (size_t)ecl_fixnum(query.position)));
        char line[LINE_BYTES];
        result_add(result, text, "\n(read up to %s, column %zu)", line_words(place.line, line),
                   place.column);
    }
}

/* For a condition in the code of a run, which is a file: adds the line of the form. */
static void explain_form(void) {
    if (!evaluation.loading || evaluation.reading)
        return;
    struct result *result = evaluation.result;
    struct span code = evaluation.message->code;
    size_t start = utf8_offset(code.bytes, code.length, (size_t)evaluation.form_start);
    result_add(result, &result->message, "\n(in the form that begins at line %zu of the source)",
               place_of(source_form(code, start)).line);
}

static void add_frame(void (*write)(void *, cl_object), void *argument) {
    struct result *result = evaluation.result;
    if (result->frame_count == RESULT_FRAMES_MAX)
        return;
    struct result_text *text = &result->frames[result->frame_count];
    if (result_write(result, text, RESULT_FRAME_CHARS, RESULT_TIDY | RESULT_LINE, write,
                     argument) &&
        text->length)
        result->frame_count++;
}

enum { DELETE = 0x7F, REPLACEMENT = 0xFFFD };
enum { FORM_CHARS = 100, FORM_BYTES = UTF8_MAX_BYTES * FORM_CHARS + 4 };

/* Writes the source text from FROM to END as one LINE of at most FORM_CHARS characters. */
static void copy_line(struct span code, size_t from, size_t end, char line[FORM_BYTES]) {
    size_t length = 0, characters = 0;
    while (from < end && source_is_blank(code.bytes[end - 1]))
        end--;
    for (bool blank = false; from < end; from++) {
        unsigned char byte = code.bytes[from];
        if (source_is_blank(byte)) {
            blank = true;
            continue;
        }
        characters += (size_t)blank + !utf8_is_continuation(byte);
        if (characters > FORM_CHARS)
            break;
        if (blank)
            line[length++] = ' ';
        blank = false;
        if (byte > ' ' && byte != DELETE)
            line[length++] = (char)byte;
        else
            length += utf8_encode(REPLACEMENT, (unsigned char *)line + length);
    }
    memcpy(line + length, "...", 4);
    if (from == end)
        line[length] = 0;
}

/* The last frame where no function of the user was running: the form of the code that failed. */
static void add_form(void) {
    struct result *result = evaluation.result;
    struct span code = evaluation.message->code;
    char line[FORM_BYTES], words[LINE_BYTES];
    if ((evaluation.run && !evaluation.loading) || result->frame_count == RESULT_FRAMES_MAX)
        return;
    size_t from =
        source_form(code, utf8_offset(code.bytes, code.length, (size_t)evaluation.form_start));
    size_t end = code.length;
    if (evaluation.form_end > evaluation.form_start)
        end = utf8_offset(code.bytes, code.length, (size_t)evaluation.form_end);
    if (from >= end)
        return;
    copy_line(code, from, end, line);
    result_add(result, &result->frames[result->frame_count++], "%s, %s", line,
               line_words(place_of(from).line, words));
}

static void explain_backtrace(cl_object condition) {
    struct backtrace *backtrace = &evaluation.stop.backtrace;
    if (condition)
        add_frame(write_failing_call, condition);
    for (size_t i = 0; i < backtrace->count; i++)
        add_frame(write_frame, &backtrace->frames[i]);
    if (!backtrace->count)
        add_form();
}

static cl_object string_of(struct result_text text) {
    const unsigned char *bytes = evaluation.result->arena.data;
    return convert_utf8_to_string((struct span){bytes + text.offset, text.length});
}

static void keep_error(void *argument) {
    (void)argument;
    const struct result *result = evaluation.result;
    const struct backtrace *backtrace = &evaluation.stop.backtrace;
    cl_object frames = ECL_NIL, environments = ECL_NIL;
    for (size_t i = result->frame_count; i > 0; i--)
        frames = ecl_cons(string_of(result->frames[i - 1]), frames);
    for (size_t i = backtrace->count; i > 0; i--)
        environments = ecl_cons(backtrace->frames[i - 1].environment, environments);
    cl_funcall(6, lisp.function.note_error, string_of(result->condition),
               string_of(result->message), frames, environments, or_nil(evaluation.stop.restarts));
}

static void explain(enum guard_end end) {
    struct result *result = evaluation.result;
    cl_object condition = end == GUARD_CONDITION ? evaluation.stop.condition : NULL;
    result->failed = true;
    if (condition) {
        if (!write_text(&result->condition, RESULT_TYPE_CHARS, RESULT_TIDY | RESULT_LINE,
                        lisp.function.write_type, condition) ||
            !result->condition.length)
            result_add(result, &result->condition, "CONDITION");
        explain_condition(condition);
    } else if (end == GUARD_ABORTED) {
        fail("ABORT", "The code invoked the restart ABORT.");
    } else if (end == GUARD_VIOLATION) {
        fail("SEGMENTATION-VIOLATION", "The code accessed unmapped memory.");
    } else {
        fail("STACK-OVERFLOW", "The control stack is exhausted: the recursion is too deep.");
    }
    explain_form();
    explain_backtrace(condition);
    if (has_history())
        guard_run(keep_error, NULL, NULL);
}

cl_object evaluate_keep_warning(cl_object warning) {
    struct result *result = evaluation.result;
    if (!result)
        return ECL_NIL;
    if (result->warning_count == RESULT_WARNINGS_MAX - 1) {
        result->warnings_left_out++;
        return ECL_NIL;
    }
    struct result_text *text = &result->warnings[result->warning_count];
    if (!write_text(text, RESULT_WARNING_CHARS, RESULT_TIDY, lisp.function.write_warning,
                    warning) ||
        !text->length)
        result_add(result, text, "WARNING: (a warning that cannot be printed)");
    result->warning_count++;
    return ECL_NIL;
}

/* Code may have deleted it. */
static void find_user_package(void *argument) {
    (void)argument;
    cl_core.user_package = cl_funcall(1, lisp.function.user_package);
}

static void name_package(void) {
    const cl_env_ptr env = ecl_process_env();
    struct result *result = evaluation.result;
    cl_object package = ECL_SYM_VAL(env, lisp.package);
    if (!is_live_package(package) && guard_run(find_user_package, NULL, NULL) == GUARD_RETURNED)
        package = ECL_SETQ(env, lisp.package, cl_core.user_package);
    if (!result_write(result, &result->package, RESULT_TYPE_CHARS, RESULT_LINE, write_package_name,
                      package))
        result_add(result, &result->package, "COMMON-LISP-USER");
}

static void warn_of_undefined_names(void *condition) {
    undefined_end(condition);
}

static void show_values(uint64_t value_max_chars) {
    print_values(value_max_chars);
    keep_contents();
}

/* Evaluates in the current package. */
static void evaluate_in_package(uint64_t value_max_chars) {
    const cl_env_ptr env = ecl_process_env();
    enum guard_end end = guard_run(evaluate_code, NULL, &evaluation.stop);
    numbers_settle();
    cl_object break_on_signals = ECL_SYM_VAL(env, lisp.break_on_signals);
    ECL_SETQ(env, lisp.break_on_signals, ECL_NIL); /* while the result is written */
    if (end == GUARD_ABORTED && !evaluation.run)
        evaluation.value_count = 0;
    else if (end != GUARD_RETURNED)
        explain(end);
    else if (!evaluation.run)
        show_values(value_max_chars);
    else if (!ECL_STRINGP(evaluation.json) ||
             !result_keep(evaluation.result, &evaluation.result->json, evaluation.json))
        fail("STORAGE-EXHAUSTED", "Out of memory for the result.");
    guard_run(warn_of_undefined_names, end == GUARD_CONDITION ? evaluation.stop.condition : NULL,
              NULL);
    ECL_SETQ(env, lisp.break_on_signals, break_on_signals);
}

static void evaluate_message(uint64_t value_max_chars) {
    const cl_env_ptr env = ecl_process_env();
    const struct evaluate_message *message = evaluation.message;
    struct source_scan scan = source_scan(message->code, 0);
    if (scan.too_deep) {
        struct source_place place = place_of(scan.at);
        char line[LINE_BYTES];
        numbers_settle();
        fail("READER-ERROR", "The code nests deeper than %d levels at %s, column %zu.",
             SOURCE_DEPTH_MAX, line_words(place.line, line), place.column);
        add_form();
        name_package();
        return;
    }
    enum guard_end end = guard_run(settle_package, NULL, &evaluation.stop);
    if (end != GUARD_RETURNED) {
        numbers_settle();
        explain(end);
    } else if (evaluation.package) {
        cl_index bindings = (cl_index)(env->bds_top - env->bds_org);
        ecl_bds_bind(env, lisp.package, evaluation.package);
        evaluate_in_package(value_max_chars);
        ecl_bds_unwind(env, bindings);
    } else {
        evaluate_in_package(value_max_chars);
    }
    struct result *result = evaluation.result;
    if (result->warnings_left_out)
        result_add(result, &result->warnings[result->warning_count++], "WARNING: %zu more warnings",
                   result->warnings_left_out);
    name_package();
}

static void begin(const struct evaluate_message *message, struct result *result) {
    evaluate_forget();
    undefined_begin();
    streams_begin_call();
    /* What an inspection prints is gone after it, but for the objects of the last answer. */
    if (message->inspection.bytes)
        numbers_freeze();
    else
        numbers_begin();
    result_begin(result);
    evaluation.message = message;
    evaluation.mark.line = 1;
    evaluation.result = result;
}

void evaluate(const struct evaluate_message *message, uint64_t value_max_chars,
              struct result *result) {
    begin(message, result);
    evaluate_message(value_max_chars);
}

void evaluate_run(const struct run_message *run, struct result *result) {
    static const unsigned char user[] = "COMMON-LISP-USER";
    const struct evaluate_message message = {.code = run->code, .package = {user, sizeof user - 1}};
    begin(&message, result);
    evaluation.run = run;
    evaluate_message(0);
    evaluate_forget(); /* it has pointers to local variables */
}
