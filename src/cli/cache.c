// SPDX-License-Identifier: Apache-2.0
//
// weft cache: the compiled code that is kept on disk.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"

const char help_cache[] =
    "Usage: weft cache list\n"
    "       weft cache clear\n"
    "\n"
    "Native code that was built once is kept in $XDG_CACHE_HOME/weft or "
    "~/.cache/weft,\n"
    "up to 256 MiB. `list` shows it: name, kilobytes, and when it was last used; "
    "`clear`\n"
    "removes it. Nothing is lost by that but time.\n"
    "\n"
    "Options:\n"
    "  -h, --help  print this\n"
    "\n"
    "Example:\n"
    "  weft cache list\n"
    "\n"
    "Exit status: 0; 1 if there is no folder for it; 2 for wrong usage.\n";

typedef struct Total {
    size_t count;
    double bytes;
} Total;

static void show(void *data, const WeftCached *cached) {
    Total *total = data;
    char when[32] = "";
    time_t used = (time_t)cached->used;
    struct tm parts;
    if (localtime_r(&used, &parts) != NULL)
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", &parts);
    printf("%s  %7.0f kB  %s\n", cached->name, (double)cached->bytes / 1e3, when);
    total->count++;
    total->bytes += (double)cached->bytes;
}

static int list(WeftContext *context) {
    const char *folder;
    Total total = {0};
    if (weft_cache_list(context, show, &total, &folder) != WEFT_STATUS_OK) {
        cli_report(context);
        return EXIT_ERROR;
    }
    printf("%zu in %s, %.1f MB\n", total.count, folder, total.bytes / 1e6);
    return cli_finish(EXIT_FINE);
}

static int clear(WeftContext *context) {
    size_t removed;
    if (weft_cache_clear(context, &removed) != WEFT_STATUS_OK) {
        cli_report(context);
        return EXIT_ERROR;
    }
    printf("%zu removed\n", removed);
    return cli_finish(EXIT_FINE);
}

int verb_cache(int argc, char **argv) {
    static const struct option names[] = {{"help", no_argument, NULL, 'h'}, {0}};
    while (cli_option("cache", argc, argv, ":h", names) != -1) continue;
    const char *action = optind < argc ? argv[optind] : "";
    bool lists = strcmp(action, "list") == 0;
    if (!lists && strcmp(action, "clear") != 0)
        return cli_usage("cache", "say what to do: list or clear");
    if (optind + 1 < argc)
        return cli_usage("cache", "`%s` is one word too many", argv[optind + 1]);
    WeftContext *context = cli_context((WeftOptions){0});
    int status = lists ? list(context) : clear(context);
    cli_close(context);
    return status;
}
