// SPDX-License-Identifier: Apache-2.0
//
// weft dump: for those who work on Weft, and for the curious.
#include <stdio.h>

#include "api/api.h"
#include "cli/cli.h"

const char help_dump[] =
    "Usage: weft dump [OPTION...] FILE\n"
    "\n"
    "Prints the program as the compiler sees it.\n"
    "\n"
    "Options:\n"
    "  --stage=STAGE  ast, typed, core (the default), task (what may run beside what),\n"
    "                 loop (the kernels that native code is made of), lifted (the tiles\n"
    "                 in them), c (that code), opencl or cuda (the same for GPUs)\n"
    "  --after=PASS   core as it is after this pass; `lower` for before the first. Tasks:\n"
    "                 rules, trivial, join, returns or graph. Of the later stages: what\n"
    "                 comes of the loops after this pass of theirs\n"
    "  --times        say on standard error how long each phase took\n"
    "  -h, --help     print this\n"
    "\n"
    "Example:\n"
    "  weft dump dot.weft --stage=core --after=inline\n"
    "\n"
    "Exit status: 0; 1 for an error in the program; 2 for wrong usage.\n";

int verb_dump(int argc, char **argv) {
    static const struct option names[] = {{"stage", required_argument, NULL, 's'},
                                          {"after", required_argument, NULL, 'a'},
                                          {"times", no_argument, NULL, CLI_TIMES},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    const char *stage = "core", *after = NULL;
    CliRecord record = {0};
    for (int option; (option = cli_option("dump", argc, argv, ":h", names)) != -1;) {
        if (option == 's') stage = optarg;
        if (option == 'a') after = optarg;
        cli_record_option(option, &record);
    }
    if (optind == argc) return cli_usage("dump", "name a program");
    if (optind + 1 < argc)
        return cli_usage("dump", "`%s` is one word too many", argv[optind + 1]);
    WeftContext *context = cli_context((WeftOptions){0});
    const char *text;
    cli_record_start(context, &record);
    WeftStatus status = api_dump(context, argv[optind], stage, after, &text);
    int result = EXIT_ERROR;
    if (status == WEFT_STATUS_OK) {
        cli_clear_progress();
        fputs(text, stdout);
        result = cli_finish(EXIT_FINE);
        cli_record_report("dump", context, &record);
    } else if (status == WEFT_STATUS_USAGE) {
        result = cli_usage("dump", "%s", weft_message(context));
    } else {
        cli_report(context);
    }
    cli_close(context);
    return result;
}
