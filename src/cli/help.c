// SPDX-License-Identifier: Apache-2.0
//
// weft help: the list of verbs, or the help text of one.
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

const char help_help[] =
    "Usage: weft help [VERB]\n"
    "\n"
    "Lists what weft can do, or explains one verb. weft VERB --help does the same.\n"
    "\n"
    "Example:\n"
    "  weft help run\n";

int verb_help(int argc, char **argv) {
    static const struct option names[] = {{"help", no_argument, NULL, 'h'}, {0}};
    while (cli_option("help", argc, argv, "h", names) != -1) continue;
    if (optind + 1 < argc)
        return cli_usage("help", "`%s` is one word too many", argv[optind + 1]);
    if (optind < argc) {
        const Verb *verb = cli_find_verb(argv[optind]);
        if (verb == NULL)
            return cli_usage("help", "there is no verb `%s`", argv[optind]);
        fputs(verb->help, stdout);
        return cli_finish(EXIT_FINE);
    }
    fputs("Usage: weft VERB ...\n\n"
          "Weft is a purely functional array language.\n\nVerbs:\n",
          stdout);
    for (size_t i = 0; i < verb_count; i++)
        printf("  %-8s %s\n", verbs[i].name, verbs[i].summary);
    fputs("\nweft VERB --help explains a verb.\n\n"
          "Example:\n"
          "  weft run dot.weft '[1, 2, 3]' '[4, 5, 6]'\n",
          stdout);
    return cli_finish(EXIT_FINE);
}
