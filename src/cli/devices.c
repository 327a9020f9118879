// SPDX-License-Identifier: Apache-2.0
//
// weft devices: what programs can run on.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

const char help_devices[] =
    "Usage: weft devices\n"
    "\n"
    "Lists what programs can run on: its address, what it is, cores and memory, its\n"
    "driver, and why programs cannot run there if so.\n"
    "\n"
    "Options:\n"
    "  -h, --help  print this\n"
    "\n"
    "Example:\n"
    "  weft devices\n"
    "\n"
    "Exit status: 0; 2 for wrong usage.\n";

void cli_try_drivers(const char *verb) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        WeftContext *context = cli_context((WeftOptions){0});
        weft_device_count(context);
        _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
        return;
    fprintf(stderr,
            "weft %s: a driver of OpenCL ends programs that ask for it (%s); it is left "
            "out\n",
            verb, strsignal(WTERMSIG(status)));
    setenv("OCL_ICD_VENDORS", "/dev/null", 1);
}

static void print_device(const WeftDevice *device) {
    printf("%-10s ", device->address);
    if (device->name != NULL) printf("%s, %u cores", device->name, device->cores);
    if (device->memory > 0) printf(", %.1f GB", (double)device->memory / 1e9);
    if (device->driver != NULL) printf(", %s", device->driver);
    if (device->cannot != NULL)
        printf("%s(cannot run programs: %s)", device->name != NULL ? " " : "",
               device->cannot);
    putchar('\n');
}

int verb_devices(int argc, char **argv) {
    static const struct option names[] = {{"help", no_argument, NULL, 'h'}, {0}};
    while (cli_option("devices", argc, argv, ":h", names) != -1) continue;
    if (optind < argc)
        return cli_usage("devices", "`%s` is one word too many", argv[optind]);
    cli_try_drivers("devices");
    WeftContext *context = cli_context((WeftOptions){0});
    size_t count = weft_device_count(context);
    for (size_t i = 0; i < count; i++) {
        WeftDevice device = {.struct_size = sizeof device};
        if (weft_device_info(context, i, &device) == WEFT_STATUS_OK)
            print_device(&device);
    }
    cli_close(context);
    return cli_finish(EXIT_FINE);
}
