// SPDX-License-Identifier: Apache-2.0
//
// weft build: C from a program.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

const char help_build[] =
    "Usage: weft build [OPTION...] FILE\n"
    "\n"
    "Makes C of the program's entries, to be called from C and C++. To run, it needs\n"
    "the small library libweftrt, and nothing else of Weft.\n"
    "\n"
    "Options:\n"
    "  -o, --output=NAME  write NAME.h and NAME.c; or for NAME.so, NAME.h and a "
    "shared\n"
    "                     library with libweftrt inside. The default is FILE's name\n"
    "  -e, --entry=ENTRY  of this entry alone; may be given more than once\n"
    "  -h, --help         print this\n"
    "\n"
    "Functions are called NAME_ENTRY. The compiler for NAME.so is $WEFT_CC, or else "
    "cc,\n"
    "gcc or clang.\n"
    "\n"
    "Example:\n"
    "  weft build heat.weft -o heat\n"
    "  cc -O2 main.c heat.c -lweftrt -lm\n"
    "\n"
    "Exit status: 0; 1 for an error in the program, or if it cannot be built; 2 for\n"
    "wrong usage.\n";

enum { MOST_ENTRIES = 256 };

static int build(const char *path, const char *output, const char *const *entries,
                 size_t count) {
    WeftContext *context = cli_context((WeftOptions){0});
    WeftStatus status = weft_build(context, path, output, entries, count);
    if (status == WEFT_STATUS_OK) cli_clear_progress();
    else cli_report(context);
    cli_close(context);
    return status == WEFT_STATUS_OK ? EXIT_FINE : EXIT_ERROR;
}

int verb_build(int argc, char **argv) {
    static const struct option names[] = {{"output", required_argument, NULL, 'o'},
                                          {"entry", required_argument, NULL, 'e'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    const char *output = NULL, *entries[MOST_ENTRIES];
    size_t count = 0;
    for (int option;
         (option = cli_option("build", argc, argv, ":o:e:h", names)) != -1;) {
        if (option == 'o') output = optarg;
        if (option != 'e') continue;
        if (count == MOST_ENTRIES)
            return cli_usage("build", "name at most %d entries", MOST_ENTRIES);
        entries[count++] = optarg;
    }
    if (optind == argc) return cli_usage("build", "name a program");
    if (optind + 1 < argc)
        return cli_usage("build", "`%s` is one word too many", argv[optind + 1]);
    const char *path = argv[optind];
    if (output != NULL) return build(path, output, entries, count);
    // What the file is called, here: without its folder and its ending.
    const char *start = strrchr(path, '/'), *dot;
    start = start == NULL ? path : start + 1;
    dot = strrchr(start, '.');
    char *name = strndup(start, dot == NULL ? strlen(start) : (size_t)(dot - start));
    int result = build(path, name == NULL ? start : name, entries, count);
    free(name);
    return result;
}
