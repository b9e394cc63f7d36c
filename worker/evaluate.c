/* Reads, evaluates and prints. Never lets user code choose what is sent: Lisp writes texts, C
 * decides which section each belongs to. */
#include "worker/evaluate.h"
#include "common/utf8.h"
#include "worker/guard.h"
#include "worker/lisp.h"
#include "worker/source.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct evaluation {
    const struct evaluate_message *message;
    const struct run_message *run; /* NULL: the code alone */
    cl_object json;                /* what the run returned, a string */
    struct answer *answer;
    cl_object package; /* of the `package` argument, else NULL */
    cl_object stream;  /* of the source */
    bool reading;
    bool loading;         /* of a run: its source, before what it defines is called */
    cl_fixnum form_start; /* character at which the form in work begins */
    cl_object values[RESULT_VALUES_MAX];
    size_t value_count;
    struct guard_stop stop;
};

static struct evaluation evaluation; /* static, as Lisp calls back and the collector looks */
static cl_object end_of_source;      /* what READ returns at the end, and nobody can write */

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
    cl_funcall(1, lisp.call.settle);
    if (evaluation.message->package.bytes)
        evaluation.package =
            cl_funcall(2, lisp.call.resolve_package, source_string(evaluation.message->package));
}

/* Without a package or a readtable not even the end of the source can be read. */
static void settle_reader(cl_env_ptr env) {
    if (ecl_t_of(ECL_SYM_VAL(env, lisp.readtable)) != t_readtable ||
        ecl_t_of(ECL_SYM_VAL(env, lisp.package)) != t_package)
        cl_funcall(1, lisp.call.settle);
}

static void run_forms(void *argument) {
    (void)argument;
    const cl_env_ptr env = ecl_process_env();
    cl_object source = source_string(evaluation.message->code);
    evaluation.stream = ecl_make_string_input_stream(source, 0, source->base_string.fillp);
    for (;;) {
        evaluation.form_start = position();
        evaluation.reading = true;
        cl_object form = cl_read(4, evaluation.stream, ECL_NIL, end_of_source, ECL_NIL);
        evaluation.reading = false;
        if (form == end_of_source)
            return;
        evaluation.values[0] = si_eval_with_env(1, form);
        evaluation.value_count =
            env->nvalues < RESULT_VALUES_MAX ? env->nvalues : RESULT_VALUES_MAX;
        for (size_t i = 1; i < evaluation.value_count; i++)
            evaluation.values[i] = env->values[i];
        settle_reader(env);
    }
}

static void run_definition(void *argument) {
    const struct run_message *run = evaluation.run;
    evaluation.loading = run != NULL;
    run_forms(argument);
    evaluation.loading = false;
    if (!run)
        return;
    evaluation.value_count = 0;
    evaluation.json = cl_funcall(4, lisp.call.run, source_string(run->kind),
                                 source_string(run->name), source_string(run->arguments));
}

/* Writers: what Lisp is asked to write into one text. */

static void write_value(void *argument, cl_object stream) {
    cl_funcall(3, lisp.call.write_value, *(cl_object *)argument, stream);
}

static void write_unprintable(void *argument, cl_object stream) {
    cl_funcall(3, lisp.call.write_unprintable, *(cl_object *)argument, stream);
}

static void write_type(void *argument, cl_object stream) {
    cl_funcall(3, lisp.call.write_type, argument, stream);
}

static cl_object or_nil(cl_object object) {
    return object ? object : ECL_NIL;
}

/* The arguments of a call; T when they are not known. */
static cl_object list_arguments(const struct interpreter_call *call) {
    if (!call->known)
        return ECL_T;
    cl_object list = call->count > INTERPRETER_ARGUMENTS_MAX ? ecl_list1(lisp.unknown) : ECL_NIL;
    size_t kept = call->count < INTERPRETER_ARGUMENTS_MAX ? call->count : INTERPRETER_ARGUMENTS_MAX;
    for (size_t i = kept; i > 0; i--)
        list = ecl_cons(call->arguments[i - 1], list);
    return list;
}

/* What is known of where the condition came from, as the list that conditions.lisp describes. */
static cl_object origin(void) {
    const struct backtrace *backtrace = &evaluation.stop.backtrace;
    return cl_list(5, or_nil(backtrace->builtin), list_arguments(&backtrace->last_call),
                   backtrace->last_call_failed ? ECL_T : ECL_NIL, or_nil(backtrace->trap.code),
                   or_nil(backtrace->trap.function));
}

static void write_message(void *argument, cl_object stream) {
    cl_funcall(4, lisp.call.write_message, argument, origin(), stream);
}

static void write_fallback(void *argument, cl_object stream) {
    cl_funcall(3, lisp.call.write_fallback, argument, stream);
}

static void write_failing_call(void *argument, cl_object stream) {
    cl_funcall(4, lisp.call.write_failing_call, argument, origin(), stream);
}

static void write_frame(void *argument, cl_object stream) {
    const struct backtrace_frame *frame = argument;
    bool innermost = frame == evaluation.stop.backtrace.frames;
    cl_object condition = evaluation.stop.condition;
    cl_funcall(6, lisp.call.write_frame, frame->function, frame->environment,
               list_arguments(&frame->call), innermost ? or_nil(condition) : ECL_NIL, stream);
}

static void write_warning(void *argument, cl_object stream) {
    cl_funcall(3, lisp.call.write_warning, argument, stream);
}

static void write_package_name(void *argument, cl_object stream) {
    cl_object name = ((cl_object)argument)->pack.name;
    for (cl_index i = 0; i < name->base_string.fillp; i++)
        ecl_write_char(ecl_char(name, i), stream);
}

static void print_values(uint64_t value_max_chars) {
    struct answer *answer = evaluation.answer;
    answer->value_count = evaluation.value_count;
    for (size_t i = 0; i < evaluation.value_count; i++) {
        struct answer_text *text = &answer->values[i];
        cl_object *value = &evaluation.values[i];
        if (!answer_write(answer, text, (size_t)value_max_chars, ANSWER_PLAIN, write_value,
                          value) &&
            !answer_write(answer, text, ANSWER_TYPE_CHARS, ANSWER_TIDY, write_unprintable, value))
            answer_add(answer, text, "#<unprintable object>");
    }
}

static void fail(const char *type, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A failure that no condition object describes. */
static void fail(const char *type, const char *format, ...) {
    struct answer *answer = evaluation.answer;
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    answer->failed = true;
    answer_add(answer, &answer->condition, "%s", type);
    answer_add(answer, &answer->message, "%s", text);
}

static struct source_place place_of(size_t offset) {
    return source_place(evaluation.message->code, offset);
}

/* Says what the end of the source has cut off. */
static void explain_end_of_source(void) {
    static const char *const what[] = {[SOURCE_LIST] = "the list",
                                       [SOURCE_STRING] = "the string",
                                       [SOURCE_SYMBOL] = "the symbol",
                                       [SOURCE_COMMENT] = "the comment",
                                       [SOURCE_DATUM] = "what is quoted"};
    struct answer *answer = evaluation.answer;
    struct span code = evaluation.message->code;
    size_t start = utf8_offset(code.bytes, code.length, (size_t)evaluation.form_start);
    struct source_scan scan = source_scan(code, start);
    struct answer_text *text = &answer->message;
    answer_add(answer, text, "The code ends too early");
    if (scan.open != SOURCE_NOTHING) {
        struct source_place place = place_of(scan.at);
        answer_add(answer, text, ": %s that begins at line %zu, column %zu is not closed",
                   what[scan.open], place.line, place.column);
    }
    answer_add(answer, text, ".");
    if (scan.lists > 1 || (scan.lists == 1 && scan.open != SOURCE_LIST)) {
        struct source_place place = place_of(scan.first_list);
        answer_add(answer, text,
                   " %zu closing parenthes%s missing for the form at line %zu, column %zu.",
                   scan.lists, scan.lists == 1 ? "is is" : "es are", place.line, place.column);
    }
}

struct position_query {
    cl_object condition;
    cl_object answer; /* a character position, T for the end of the source, or NIL */
};

static void ask_position(void *argument) {
    struct position_query *query = argument;
    query->answer = cl_funcall(3, lisp.call.error_position, query->condition, evaluation.stream);
}

static void explain_condition(cl_object condition) {
    struct answer *answer = evaluation.answer;
    struct position_query query = {condition, ECL_NIL};
    if (evaluation.reading && evaluation.stream &&
        guard_run(ask_position, &query, NULL) == GUARD_RETURNED && query.answer == ECL_T) {
        explain_end_of_source();
        return;
    }
    struct answer_text *text = &answer->message;
    if (!answer_write(answer, text, ANSWER_MESSAGE_CHARS, ANSWER_TIDY, write_message, condition) ||
        !text->length)
        answer_write(answer, text, ANSWER_MESSAGE_CHARS, ANSWER_TIDY, write_fallback, condition);
    if (!text->length)
        answer_add(answer, text, "The condition cannot be described.");
    if (ECL_FIXNUMP(query.answer)) {
        struct span code = evaluation.message->code;
        struct source_place place =
            place_of(utf8_offset(code.bytes, code.length, (size_t)ecl_fixnum(query.answer)));
        answer_add(answer, text, "\n(read up to line %zu, column %zu)", place.line, place.column);
    }
}

/* Where the condition came from while the source of a definition was evaluated: people look for it
 * in a file. */
static void explain_form(void) {
    if (!evaluation.loading || evaluation.reading)
        return;
    struct answer *answer = evaluation.answer;
    struct span code = evaluation.message->code;
    size_t start = utf8_offset(code.bytes, code.length, (size_t)evaluation.form_start);
    answer_add(answer, &answer->message, "\n(in the form that begins at line %zu of the source)",
               place_of(source_form(code, start)).line);
}

static void add_frame(void (*write)(void *, cl_object), void *argument) {
    struct answer *answer = evaluation.answer;
    if (answer->frame_count == RESULT_FRAMES_MAX)
        return;
    struct answer_text *text = &answer->frames[answer->frame_count];
    if (answer_write(answer, text, ANSWER_FRAME_CHARS, ANSWER_TIDY | ANSWER_LINE, write,
                     argument) &&
        text->length)
        answer->frame_count++;
}

static void explain_backtrace(cl_object condition) {
    struct backtrace *backtrace = &evaluation.stop.backtrace;
    if (condition)
        add_frame(write_failing_call, condition);
    for (size_t i = 0; i < backtrace->count; i++)
        add_frame(write_frame, &backtrace->frames[i]);
}

static void explain(enum guard_end end) {
    struct answer *answer = evaluation.answer;
    cl_object condition = end == GUARD_CONDITION ? evaluation.stop.condition : NULL;
    answer->failed = true;
    if (condition) {
        if (!answer_write(answer, &answer->condition, ANSWER_TYPE_CHARS, ANSWER_TIDY | ANSWER_LINE,
                          write_type, condition) ||
            !answer->condition.length)
            answer_add(answer, &answer->condition, "CONDITION");
        explain_condition(condition);
    } else if (end == GUARD_VIOLATION) {
        fail("SEGMENTATION-VIOLATION", "The code touched memory that is not there.");
    } else {
        fail("STACK-OVERFLOW", "The control stack is exhausted: the recursion is too deep.");
    }
    explain_form();
    explain_backtrace(condition);
}

cl_object evaluate_keep_warning(cl_object warning) {
    struct answer *answer = evaluation.answer;
    if (!answer)
        return ECL_NIL;
    if (answer->warning_count == RESULT_WARNINGS_MAX - 1) {
        answer->warnings_left_out++;
        return ECL_NIL;
    }
    struct answer_text *text = &answer->warnings[answer->warning_count];
    if (!answer_write(answer, text, ANSWER_WARNING_CHARS, ANSWER_TIDY, write_warning, warning) ||
        !text->length)
        answer_add(answer, text, "WARNING: (a warning that cannot be printed)");
    answer->warning_count++;
    return ECL_NIL;
}

static void count_warnings_left_out(void) {
    struct answer *answer = evaluation.answer;
    if (answer->warnings_left_out)
        answer_add(answer, &answer->warnings[answer->warning_count++], "WARNING: %zu more warnings",
                   answer->warnings_left_out);
}

static void name_package(void) {
    const cl_env_ptr env = ecl_process_env();
    struct answer *answer = evaluation.answer;
    cl_object package = ECL_SYM_VAL(env, lisp.package);
    if (!package || ecl_t_of(package) != t_package || !ECL_STRINGP(package->pack.name))
        package = ECL_SETQ(env, lisp.package, cl_core.user_package);
    if (!answer_write(answer, &answer->package, ANSWER_TYPE_CHARS, ANSWER_LINE, write_package_name,
                      package))
        answer_add(answer, &answer->package, "COMMON-LISP-USER");
}

static void keep_json(void) {
    if (!ECL_STRINGP(evaluation.json) ||
        !answer_keep(evaluation.answer, &evaluation.answer->json, evaluation.json))
        fail("STORAGE-EXHAUSTED", "There is no memory for the result.");
}

/* Everything that happens with the call's package current. */
static void evaluate_here(uint64_t value_max_chars) {
    enum guard_end end = guard_run(run_definition, NULL, &evaluation.stop);
    if (end != GUARD_RETURNED)
        explain(end);
    else if (evaluation.run)
        keep_json();
    else
        print_values(value_max_chars);
}

/* Does what evaluation.message and evaluation.run say. */
static void work(uint64_t value_max_chars) {
    const cl_env_ptr env = ecl_process_env();
    const struct evaluate_message *message = evaluation.message;
    struct source_scan scan = source_scan(message->code, 0);
    if (scan.too_deep) {
        struct source_place place = place_of(scan.at);
        fail("READER-ERROR", "The code nests deeper than %d levels at line %zu, column %zu.",
             SOURCE_DEPTH_MAX, place.line, place.column);
        name_package();
        return;
    }
    enum guard_end end = guard_run(settle_package, NULL, &evaluation.stop);
    if (end != GUARD_RETURNED) {
        explain(end);
    } else if (evaluation.package) {
        cl_index bindings = (cl_index)(env->bds_top - env->bds_org);
        ecl_bds_bind(env, lisp.package, evaluation.package);
        evaluate_here(value_max_chars);
        ecl_bds_unwind(env, bindings);
    } else {
        evaluate_here(value_max_chars);
    }
    count_warnings_left_out();
    name_package();
}

static void begin(const struct evaluate_message *message, struct answer *answer) {
    evaluate_forget();
    answer_begin(answer);
    evaluation.message = message;
    evaluation.answer = answer;
}

void evaluate(const struct evaluate_message *message, uint64_t value_max_chars,
              struct answer *answer) {
    begin(message, answer);
    work(value_max_chars);
}

void evaluate_run(const struct run_message *run, struct answer *answer) {
    static const unsigned char user[] = "COMMON-LISP-USER";
    const struct evaluate_message message = {.code = run->code, .package = {user, sizeof user - 1}};
    begin(&message, answer);
    evaluation.run = run;
    work(0);
    evaluate_forget(); /* it points to what ends here */
}
