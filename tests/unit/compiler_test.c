/* The compiler program without a supervisor: C source in, objects out, whatever the source is. */
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "common/unit.h"
#include "policy/policy.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <ecl/ecl.h>
#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIT(id) (UINT32_C(1) << POLICY_LAYER_##id)

static pid_t pid;
static int channel;

static void start(void) {
    int pair[2];
    const struct compiler_configuration configuration = {.layers = POLICY_LAYERS_ALL &
                                                                   ~(BIT(CGROUP) | BIT(NAMESPACES)),
                                                         .user = geteuid() == 0 ? 65534 : 0};
    struct compiler_answer answer;
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    channel = pair[0];
    pid = fork();
    if (pid == 0) {
        if (dup2(pair[1], 3) == 3)
            execl(ECLAVE_COMPILER, "eclave-compiler", (char *)NULL);
        _exit(127);
    }
    close(pair[1]);
    cr_assert_eq(send(channel, &configuration, sizeof configuration, MSG_NOSIGNAL),
                 (ssize_t)sizeof configuration);
    cr_assert_eq(recv(channel, &answer, sizeof answer, 0), (ssize_t)sizeof answer);
    cr_assert_str_eq(answer.failure, "");
}

static void end(void) {
    int status;
    close(channel);
    cr_expect_eq(waitpid(pid, &status, 0), pid);
    cr_expect_eq(status, 0);
}

/* The channel of a new process. */
static int new_unit(void) {
    int pair[2];
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    cr_assert_eq(descriptors_send(channel, &part, 1, &pair[1], 1), 1);
    close(pair[1]);
    return pair[0];
}

static bool read_all(int fd, void *bytes, size_t size) {
    for (size_t have = 0; have < size;) {
        ssize_t got = recv(fd, (char *)bytes + have, size - have, 0);
        if (got <= 0)
            return false;
        have += (size_t)got;
    }
    return true;
}

enum end { ENDED, NO_OBJECT, OBJECT };

/* Has SOURCE compiled. What comes back is an object, or nothing. */
static enum end compile(const char *source, size_t length) {
    cleanup_fd int unit = new_unit();
    struct unit_header header = {.length = (uint32_t)length};
    /* It may end without reading. */
    if (send(unit, &header, sizeof header, MSG_NOSIGNAL) < 0 ||
        (length && send(unit, source, length, MSG_NOSIGNAL) < 0) ||
        !read_all(unit, &header, sizeof header))
        return ENDED;
    if (header.length == 0)
        return NO_OBJECT;
    cr_assert_leq(header.length, UNIT_OBJECT_MAX);
    cleanup_free unsigned char *object = malloc(header.length);
    cr_assert(read_all(unit, object, header.length));
    cr_assert_eq(memcmp(object, ELFMAG, SELFMAG), 0);
    char byte;
    cr_assert_eq(recv(unit, &byte, 1, 0), 0, "it sends more");
    return OBJECT;
}

static enum end compile_source(const char *source) {
    return compile(source, strlen(source));
}

static void expect_works(void) {
    cr_assert_eq(
        compile_source("cl_object f(cl_object x) { return ecl_plus(x, ecl_make_fixnum(1)); }"),
        OBJECT);
}

#ifdef __x86_64__
enum { IS_BUILT = 1 };
#else
enum { IS_BUILT = 0 };
#endif

#define COMPILER_TEST(name)                                                                        \
    Test(compiler, name, .init = start, .fini = end, .timeout = 120, .disabled = !IS_BUILT)

COMPILER_TEST(makes_an_object_or_none) {
    expect_works();
    cr_expect_eq(compile_source("int x;"), OBJECT);
    cr_expect_eq(compile_source("int x"), NO_OBJECT);
    cr_expect_eq(compile_source("#include <stdio.h>\nint x;"), NO_OBJECT, "there are no files");
    cr_expect_eq(compile_source("#include \"/etc/passwd\"\nint x;"), NO_OBJECT);
    cr_expect_eq(compile("int x;\0int", 10), NO_OBJECT, "a zero byte");
    cr_expect_eq(compile_source("const char *date = __DATE__ __TIME__;"), OBJECT);
    expect_works();
}

/* The preamble is not what gcc compiles ECL with, so sizes and places are compared. */
#define SIZE(type)                                                                                 \
    { "sizeof(" #type ")", sizeof(type) }
#define PLACE(type, member)                                                                        \
    { "__builtin_offsetof(" #type ", " #member ")", offsetof(type, member) }

COMPILER_TEST(the_preamble_lays_objects_out_as_ecl_does) {
    static const struct {
        const char *expression;
        size_t value;
    } rows[] = {SIZE(struct cl_env_struct),
                SIZE(union cl_lispunion),
                SIZE(struct ecl_codeblock),
                SIZE(struct ecl_frame),
                SIZE(struct ecl_cfun),
                SIZE(struct ecl_cfunfixed),
                SIZE(struct ecl_cclosure),
                SIZE(struct ecl_symbol),
                SIZE(struct ecl_hashtable),
                SIZE(struct ecl_instance),
                SIZE(struct ecl_vector),
                SIZE(struct ecl_string),
                SIZE(struct ecl_stream),
                SIZE(struct ecl_ihs_frame),
                SIZE(struct ecl_stack_frame),
                SIZE(struct ecl_bytecodes),
                SIZE(cl_symbol_initializer),
                PLACE(struct cl_env_struct, nvalues),
                PLACE(struct cl_env_struct, values),
                PLACE(struct cl_env_struct, function),
                PLACE(struct cl_env_struct, stack_frame),
                PLACE(struct cl_env_struct, stack),
                PLACE(struct cl_env_struct, frs_top),
                PLACE(struct cl_env_struct, bds_top),
                PLACE(struct cl_env_struct, ihs_top),
                PLACE(struct cl_env_struct, cs_limit),
                PLACE(struct cl_env_struct, disable_interrupts),
                PLACE(struct cl_env_struct, nlj_fr),
                PLACE(struct ecl_instance, slots),
                PLACE(struct ecl_codeblock, data),
                {"(unsigned long)t_codeblock", t_codeblock},
                {"(unsigned long)t_instance", t_instance},
                {"(unsigned long)t_frame", t_frame}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t difference = 0; difference < 2; difference++) {
            char text[200];
            snprintf(text, sizeof text, "char x[%s == %zuUL ? 1 : -1];", rows[i].expression,
                     rows[i].value + difference);
            cr_expect_eq(compile_source(text), difference ? NO_OBJECT : OBJECT, "%s", text);
        }
}

COMPILER_TEST(survives_source_that_tcc_does_not) {
    static const char *const sources[] = {
        "int x[] = {sizeof(char[1L << 62])};",
        "#define a a b a\n#define b b a b\nint x = a;",
        "asm(\".incbin \\\"/etc/passwd\\\"\");",
        "asm(\".fill 100000000, 8, 1\");",
        "char x[1 << 29] = {1};",
        "int f(void) { return ((((((((((",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        compile_source(sources[i]);
        expect_works();
    }
    /* Deeper than the stack. */
    enum { DEPTH = 500000 };
    cleanup_free char *deep = malloc(DEPTH + 1);
    memset(deep, '(', DEPTH);
    memcpy(deep, "int x = ", 8);
    cr_expect_neq(compile(deep, DEPTH), OBJECT);
    expect_works();
}

COMPILER_TEST(gives_up_source_that_takes_too_long) {
    cr_expect_neq(compile_source("#define a b b b b b b b b\n#define b c c c c c c c c\n"
                                 "#define c d d d d d d d d\n#define d e e e e e e e e\n"
                                 "#define e f f f f f f f f\n#define f g g g g g g g g\n"
                                 "#define g h h h h h h h h\n#define h i i i i i i i i\n"
                                 "int x[] = {a};"),
                  OBJECT);
    expect_works();
}

COMPILER_TEST(refuses_source_that_is_too_long_and_ends_with_its_channel) {
    cleanup_fd int unit = new_unit();
    const struct unit_header header = {.length = UNIT_TEXT_MAX + 1};
    char byte;
    cr_assert_eq(send(unit, &header, sizeof header, MSG_NOSIGNAL), (ssize_t)sizeof header);
    cr_expect_leq(recv(unit, &byte, 1, 0), 0);
    close(new_unit());
    expect_works();
}

COMPILER_TEST(random_source_does_no_harm) {
    static const char *const words[] = {
        "int",  "x",      "cl_object", "(",        ")",      "{",   "}",      ";",   "*",
        "=",    "1",      "\"a\"",     "#define ", "\n",     "if",  "for",    "[",   "]",
        "goto", "struct", "sizeof",    "ecl_plus", "switch", "asm", "return", "...", ",",
        "case", "'",      "\"",        "\\",       "/*",     "#if", "#else",  "##",  "void"};
    struct random random = random_for("compiler");
    const size_t trials = random_trials(300, 100000);
    for (size_t i = 0; i < trials; i++) {
        char text[2048] = "int f(int x) {";
        for (size_t count = random_below(&random, 100); count; count--)
            strcat(strcat(text, random_pick(&random, words)), " ");
        if (random_percent(&random, 50))
            strcat(text, "}");
        compile_source(text);
    }
    expect_works();
}
