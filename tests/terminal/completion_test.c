/* The completion scripts, in the shells that they are for: what a press of Tab makes of a line. */
#include "tests/support/lines.h"
#include "tests/support/screen.h"

#include <unistd.h>

enum shell { BASH = 1, ZSH = 2, FISH = 4, ALL = 7 };

/* A line, what it is after Tab and an "X", and the shells in which it is so. */
static const struct {
    const char *typed, *completed;
    unsigned shells;
} rows[] = {
    {"eclave ev", "eclave eval X", ALL},
    {"eclave doc", "eclave doctor X", ALL},
    {"eclave tool --ar", "eclave tool --args X", BASH | FISH},
    {"eclave tool --ar", "eclave tool --args=X", ZSH},
    {"eclave batch --unor", "eclave batch --unordered X", ALL},
    {"eclave batch --skip", "eclave batch --skip-done X", BASH | FISH},
    {"eclave --cancel-reply si", "eclave --cancel-reply silent X", ALL},
    {"eclave --cancel-reply=si", "eclave --cancel-reply=silent X", ALL},
    {"eclave eval --log-form", "eclave eval --log-format X", BASH | FISH},
    {"eclave --log-level debug pol", "eclave --log-level debug policy X", ALL},
    {"eclave --require land", "eclave --require landlockX", BASH},
    {"eclave --require cgroup,land", "eclave --require cgroup,landlockX", BASH},
    {"eclave --policy stri", "eclave --policy strict X", BASH | FISH},
    {"eclave --preload prog", "eclave --preload program.lisp X", ALL},
    {"eclave new comp", "eclave new completion X", ALL},
    {"eclave completion z", "eclave completion zsh X", ALL},
    {"eclave help pol", "eclave help policy X", ALL},
    {"eclave eval prog", "eclave eval program.lisp X", ALL},
    {"eclave batch --junit prog", "eclave batch --junit program.lisp X", ALL},
    {"eclave eval -e 1 --batc", "eclave eval -e 1 --batches X", ALL},
    {"eclave check word", "eclave check words/X", ALL},
    {"eclave --project word", "eclave --project words/X", ALL},
};

static void check(enum shell shell, const char *program, const char *command, const char *setup) {
    if (access(program, X_OK) != 0)
        cr_skip_test("%s is not installed", program);
    screen_begin(
        formatted("touch program.lisp; mkdir words; PATH=$(dirname $E):$PATH; %s", command));
    screen_enter(setup);
    screen_enter("clear");
    screen_wait_last(">");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!(rows[i].shells & shell))
            continue;
        screen_type(rows[i].typed);
        screen_press("Tab");
        screen_type("X");
        screen_wait_last(formatted("> %s", rows[i].completed));
        screen_press("C-u");
        screen_wait_last(">");
    }
}

TestSuite(completion, .fini = screen_end);

Test(completion, bash_completes) {
    check(BASH, "/bin/bash", "PS1='> ' exec bash --norc --noprofile",
          "eval \"$(eclave completion bash)\"");
}

Test(completion, zsh_completes) {
    check(ZSH, "/usr/bin/zsh", "PS1='> ' exec zsh -f",
          "autoload -Uz compinit; compinit -u -D; eval \"$(eclave completion zsh)\"");
}

Test(completion, fish_completes) {
    check(FISH, "/usr/bin/fish",
          "exec fish --no-config -C 'function fish_prompt; echo \"> \"; end; set -g "
          "fish_autosuggestion_enabled 0'",
          "eclave completion fish | source");
}
