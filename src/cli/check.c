// SPDX-License-Identifier: Apache-2.0
//
// weft check: compile without running.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"

const char help_check[] =
    "Usage: weft check [OPTION...] FILE...\n"
    "\n"
    "Reports every mistake in the programs, without running them.\n"
    "\n"
    "Options:\n"
    "  -W, --advice  report warnings too\n"
    "  -h, --help    print this\n"
    "\n"
    "Example:\n"
    "  weft check -W dot.weft stats.weft\n"
    "\n"
    "Exit status: 0; 1 if there are mistakes; 2 for wrong usage.\n";

// Returns whether the program is in order.
static bool check_file(const char *path, bool advice, size_t *errors,
                       size_t *warnings) {
    WeftContext *context = cli_context((WeftOptions){.advice = advice});
    WeftProgram *program;
    WeftStatus status = weft_program_from_file(context, path, &program);
    cli_report(context);
    size_t count = weft_diagnostic_count(context), found = 0;
    for (size_t i = 0; i < count; i++) {
        WeftDiagnostic diagnostic;
        if (weft_diagnostic(context, i, &diagnostic) != WEFT_STATUS_OK) continue;
        if (diagnostic.severity == WEFT_SEVERITY_ERROR) found++;
        else (*warnings)++;
    }
    *errors += found == 0 && status != WEFT_STATUS_OK ? 1 : found;
    cli_close(context);
    return status == WEFT_STATUS_OK;
}

int verb_check(int argc, char **argv) {
    static const struct option names[] = {
        {"advice", no_argument, NULL, 'W'}, {"help", no_argument, NULL, 'h'}, {0}};
    bool advice = false;
    for (int option; (option = cli_option("check", argc, argv, "Wh", names)) != -1;)
        advice = true;
    if (optind == argc) return cli_usage("check", "name one or more programs");
    bool is_good = true;
    size_t errors = 0, warnings = 0;
    for (int i = optind; i < argc; i++)
        is_good &= check_file(argv[i], advice, &errors, &warnings);
    if (isatty(STDERR_FILENO)) {
        int files = argc - optind;
        fprintf(stderr, "%d file%s checked: %zu error%s", files, files == 1 ? "" : "s",
                errors, errors == 1 ? "" : "s");
        if (advice)
            fprintf(stderr, ", %zu warning%s", warnings, warnings == 1 ? "" : "s");
        fputc('\n', stderr);
    }
    return is_good ? EXIT_FINE : EXIT_ERROR;
}
