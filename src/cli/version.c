// SPDX-License-Identifier: Apache-2.0
//
// weft version.
#include <stdio.h>

#include "cli/cli.h"

const char help_version[] = "Usage: weft version\n"
                            "\n"
                            "Prints the version of Weft.\n"
                            "\n"
                            "Example:\n"
                            "  weft version\n";

int verb_version(int argc, char **argv) {
    static const struct option names[] = {{"help", no_argument, NULL, 'h'}, {0}};
    while (cli_option("version", argc, argv, "h", names) != -1) continue;
    if (optind < argc)
        return cli_usage("version", "`%s` is one word too many", argv[optind]);
    printf("weft %s\n", weft_version());
    return cli_finish(EXIT_FINE);
}
