/* What `eclave --version` prints. */
#include "policy/policy.h"
#include "supervisor/base/installed.h"
#include "supervisor/command/commands.h"

#if defined __SANITIZE_ADDRESS__
#define KIND "sanitized"
#elif defined ECLAVE_TURNS
#define KIND "test"
#elif defined __OPTIMIZE__
#define KIND "release"
#else
#define KIND "debug"
#endif

#if defined __x86_64__
#define PROCESSOR "x86_64"
#elif defined __aarch64__
#define PROCESSOR "aarch64"
#endif

#if defined __clang__
#define COMPILER "Clang " __clang_version__
#else
#define COMPILER "GCC " __VERSION__
#endif

void version_print(FILE *out) {
    const char *place =
        installed_ecl_directory[0] == '/' ? "with the ECL of the system" : "with an ECL of its own";
    fputs("eclave " ECLAVE_VERSION "\n", out);
    fprintf(out, "Build: %s, %s, %s, %s\n", KIND, PROCESSOR, COMPILER, place);
    fputs("ECL: " ECLAVE_ECL_VERSION "\nLayers:", out);
    for (int layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        fprintf(out, " %s", policy_layer_name((enum policy_layer)layer));
    fputs("\n", out);
}
