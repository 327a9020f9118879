// SPDX-License-Identifier: Apache-2.0
//
// A program, one of its entries and arguments, as run and explain take them from the
// command line or the standard input.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

// -1 and -f32.inf are values, not options.
static bool is_negative_value(const char *word) {
    if (word[0] != '-' || word[1] == '\0') return false;
    return strchr("0123456789.", word[1]) != NULL || strncmp(word, "-f16.", 5) == 0 ||
           strncmp(word, "-f32.", 5) == 0 || strncmp(word, "-f64.", 5) == 0;
}

char **cli_hide_negatives(int argc, char **argv) {
    size_t size = ((size_t)argc + 1) * sizeof *argv, at = size;
    for (int i = 0; i < argc; i++) size += strlen(argv[i]) + 2;
    char **copy = cli_alloc(size), *text = (char *)copy;
    for (int i = 0; i < argc; i++) {
        copy[i] = text + at;
        if (is_negative_value(argv[i])) text[at++] = CLI_HIDDEN;
        strcpy(text + at, argv[i]);
        at += strlen(argv[i]) + 1;
    }
    copy[argc] = NULL;
    return copy;
}

int cli_take_words(const char *verb, int argc, char **argv, int end, CliWords *words) {
    bool is_marked = end < argc;
    int before = end - optind, after = argc - end - is_marked;
    if (before + after == 0) return cli_usage(verb, "name a program to %s", verb);
    // The words before and after the "--", which goes; then the negatives are shown.
    memmove(argv + end, argv + end + is_marked, (size_t)after * sizeof *argv);
    for (int i = optind; i < end + after; i++) argv[i] += argv[i][0] == CLI_HIDDEN;
    words->verb = verb;
    words->file = argv[optind];
    words->rest = argv + optind + 1;
    words->count = before + after - 1;
    words->may_name = before - 1;
    return EXIT_FINE;
}

static void list_entries(const WeftProgram *program) {
    fputs("hint: its entries are", stderr);
    for (size_t i = 0; i < weft_entry_count(program); i++)
        fprintf(stderr, "%s `%s`", i > 0 ? "," : "", weft_entry_name(program, i));
    fputc('\n', stderr);
}

// Whether a word cannot be a value: a name, save those that begin values.
static bool is_name(const char *word) {
    static const char *const values[] = {"true", "false", "empty"};
    size_t letters = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_'");
    if (word[letters] != '\0' || letters == 0 || (word[0] >= '0' && word[0] <= '9'))
        return false;
    for (int i = 0; i < 3; i++)
        if (strcmp(word, values[i]) == 0) return false;
    return true;
}

int cli_pick_entry(const WeftProgram *program, CliWords *words, size_t *entry_out) {
    if (weft_entry_count(program) == 0) {
        fprintf(stderr,
                "weft %s: `%s` has no entry\n"
                "hint: write `entry main ...` or `def main ...`\n",
                words->verb, words->file);
        return EXIT_ERROR;
    }
    *entry_out = weft_entry_find(program, "main");
    if (*entry_out == WEFT_NONE && weft_entry_count(program) == 1) *entry_out = 0;
    if (words->may_name > 0) {
        size_t named = weft_entry_find(program, words->rest[0]);
        if (named == WEFT_NONE && is_name(words->rest[0])) {
            fprintf(stderr, "weft %s: `%s` has no entry `%s`\n", words->verb,
                    words->file, words->rest[0]);
            list_entries(program);
            return EXIT_USAGE;
        }
        if (named != WEFT_NONE) {
            *entry_out = named;
            words->rest++;
            words->count--;
        }
    }
    if (*entry_out != WEFT_NONE) return EXIT_FINE;
    fprintf(stderr, "weft %s: `%s` has no `main`; say which entry to %s\n", words->verb,
            words->file, words->verb);
    list_entries(program);
    return EXIT_USAGE;
}

static char *join_words(const CliWords *words, size_t *len_out) {
    size_t len = 0;
    for (int i = 0; i < words->count; i++) len += strlen(words->rest[i]) + 1;
    char *text = cli_alloc(len + 1), *at = text;
    for (int i = 0; i < words->count; i++) {
        size_t word = strlen(words->rest[i]);
        memcpy(at, words->rest[i], word);
        at += word;
        *at++ = '\n'; // one line each, so that places count words
    }
    *len_out = len;
    return text;
}

static bool has_files(const CliWords *words) {
    for (int i = 0; i < words->count; i++)
        if (weft_path_is_file(words->rest[i])) return true;
    return false;
}

// Each word is one value or the file of one.
static int read_words(WeftProgram *program, size_t entry, const CliWords *words,
                      WeftValue **values, size_t count) {
    if ((size_t)words->count != count) {
        fprintf(stderr,
                "weft %s: `%s` takes %zu value%s, found %d word%s\n"
                "hint: beside files, each value is one word\n",
                words->verb, weft_entry_name(program, entry), count,
                count == 1 ? "" : "s", words->count, words->count == 1 ? "" : "s");
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < count; i++) {
        const char *word = words->rest[i];
        WeftStatus status =
            weft_path_is_file(word)
                ? weft_argument_from_file(program, entry, i, word, &values[i])
                : weft_value_read(program, entry, i, "command line", word, strlen(word),
                                  &values[i]);
        if (status != WEFT_STATUS_OK) return EXIT_ERROR;
    }
    return EXIT_FINE;
}

int cli_read_arguments(WeftProgram *program, size_t entry, const CliWords *words,
                       WeftValue **values) {
    size_t count = weft_entry_parameter_count(program, entry);
    if (has_files(words)) return read_words(program, entry, words, values, count);
    size_t len = 0;
    char *text = NULL;
    const char *name = "command line";
    if (words->count > 0 || count == 0) {
        text = join_words(words, &len);
    } else {
        name = "standard input";
        text = cli_read_all(STDIN_FILENO, &len);
        if (text == NULL) {
            fprintf(stderr, "weft %s: cannot read the standard input: %s\n",
                    words->verb, strerror(errno));
            return EXIT_ERROR;
        }
    }
    WeftStatus status =
        weft_values_read(program, entry, name, text, len, values, count);
    free(text);
    return status == WEFT_STATUS_OK ? EXIT_FINE : EXIT_ERROR;
}
