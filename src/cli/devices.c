// SPDX-License-Identifier: Apache-2.0
//
// weft devices: what programs can run on.
#include <stdio.h>

#include "cli/cli.h"

const char help_devices[] =
    "Usage: weft devices\n"
    "\n"
    "Lists what programs can run on: its address, what it is, cores and memory.\n"
    "\n"
    "Options:\n"
    "  -h, --help  print this\n"
    "\n"
    "Example:\n"
    "  weft devices\n"
    "\n"
    "Exit status: 0; 2 for wrong usage.\n";

int verb_devices(int argc, char **argv) {
    static const struct option names[] = {{"help", no_argument, NULL, 'h'}, {0}};
    while (cli_option("devices", argc, argv, ":h", names) != -1) continue;
    if (optind < argc)
        return cli_usage("devices", "`%s` is one word too many", argv[optind]);
    WeftContext *context = cli_context((WeftOptions){0});
    for (size_t i = 0; i < weft_device_count(context); i++) {
        WeftDevice device = {.struct_size = sizeof device};
        if (weft_device_info(context, i, &device) != WEFT_STATUS_OK) continue;
        printf("%-10s %s, %u cores, %.1f GB\n", device.address, device.name,
               device.cores, (double)device.memory / 1e9);
    }
    cli_close(context);
    return cli_finish(EXIT_FINE);
}
