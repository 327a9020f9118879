// SPDX-License-Identifier: Apache-2.0
//
// weft fmt: lay programs out. A file changes by being replaced whole, and only if its
// text does.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

const char help_fmt[] =
    "Usage: weft fmt [OPTION...] FILE...\n"
    "\n"
    "Lays programs out: line ends, indentation and blanks change, words and comments\n"
    "do not. Files are changed in place; `-` is standard input, printed to standard\n"
    "output.\n"
    "\n"
    "Options:\n"
    "  --check     change nothing, print the names of the files that would change\n"
    "  -h, --help  print this\n"
    "\n"
    "Example:\n"
    "  weft fmt dot.weft stats.weft\n"
    "\n"
    "Exit status: 0; 1 for an error in a program, or if --check found files that\n"
    "would change; 2 for wrong usage.\n";

static bool complain(const char *what, const char *path) {
    fprintf(stderr, "weft fmt: cannot %s `%s`: %s\n", what, path, strerror(errno));
    return false;
}

// Reads the file, or standard input if it is NULL; NULL if that fails.
static char *read_text(const char *path, size_t *length_out) {
    int file = path == NULL ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    char *text = file < 0 ? NULL : cli_read_all(file, length_out);
    if (text == NULL) complain("read", path == NULL ? "standard input" : path);
    if (path != NULL && file >= 0) close(file);
    return text;
}

// Returns whether all is well.
static bool format_one(const char *path, bool only_check) {
    size_t length = 0, new_length;
    const char *new_text, *name = path == NULL ? "standard input" : path;
    char *text = read_text(path, &length);
    if (text == NULL) return false;
    WeftContext *context = cli_context((WeftOptions){0});
    WeftStatus status =
        weft_format(context, name, text, length, &new_text, &new_length);
    bool is_good = status == WEFT_STATUS_OK;
    if (!is_good) cli_report(context);
    bool changes = is_good && (new_length != length ||
                               memcmp(text, new_text, length) != 0);
    if (only_check && changes) {
        puts(name);
        is_good = false;
    } else if (path == NULL && is_good && !only_check) {
        fwrite(new_text, 1, new_length, stdout);
    } else if (changes) {
        is_good =
            cli_replace_file(path, new_text, new_length) || complain("write", path);
    }
    cli_close(context);
    free(text);
    return is_good;
}

int verb_fmt(int argc, char **argv) {
    static const struct option names[] = {
        {"check", no_argument, NULL, 'c'}, {"help", no_argument, NULL, 'h'}, {0}};
    bool only_check = false, is_good = true;
    for (int option; (option = cli_option("fmt", argc, argv, "h", names)) != -1;)
        only_check = true;
    if (optind == argc) return cli_usage("fmt", "name one or more programs, or -");
    for (int i = optind; i < argc; i++)
        is_good &= format_one(strcmp(argv[i], "-") == 0 ? NULL : argv[i], only_check);
    return cli_finish(is_good ? EXIT_FINE : EXIT_ERROR);
}
