// SPDX-License-Identifier: Apache-2.0
//
// What the verbs share; see cli.h.
#define _XOPEN_SOURCE 700
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- messages -----------------------------------------------------------------------

int cli_usage(const char *verb, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "weft %s: ", verb);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\nhint: see weft %s --help\n", verb);
    va_end(args);
    return EXIT_USAGE;
}

// Letters to insert, delete, replace or swap to get from a to b.
static size_t edits(const char *a, const char *b) {
    enum { LONGEST = 32 };
    size_t rows[3][LONGEST + 1], a_len = strlen(a), b_len = strlen(b);
    if (a_len > LONGEST || b_len > LONGEST) return SIZE_MAX;
    for (size_t j = 0; j <= b_len; j++) rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < row[j]) row[j] = above[j] + 1;
            if (row[j - 1] + 1 < row[j]) row[j] = row[j - 1] + 1;
            bool is_swap =
                i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (is_swap && above2[j - 2] + 1 < row[j]) row[j] = above2[j - 2] + 1;
        }
    }
    return rows[a_len % 3][b_len];
}

const char *cli_suggest(const char *typed, const char *const *known, size_t count) {
    size_t nearest = strlen(typed) < 4 ? 2 : 3; // farther is no suggestion
    const char *best = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edits(typed, known[i]);
        if (distance >= nearest) continue;
        nearest = distance;
        best = known[i];
    }
    return best;
}

bool cli_colour(void) {
    const char *off = getenv("NO_COLOR"), *term = getenv("TERM");
    if (off != NULL && off[0] != '\0') return false;
    if (term != NULL && strcmp(term, "dumb") == 0) return false;
    return isatty(STDERR_FILENO) != 0;
}

void cli_report(WeftContext *context) {
    cli_clear_progress();
    if (cli_interrupted()) cli_tell_interrupt();
    else fputs(weft_render(context, cli_colour()), stderr);
}

// ---- options ------------------------------------------------------------------------

static const char *option_near(const char *typed, const struct option *names) {
    const char *known[16];
    size_t count = 0;
    while (names[count].name != NULL && count < 16) {
        known[count] = names[count].name;
        count++;
    }
    return cli_suggest(typed, known, count);
}

int cli_option(const char *verb, int argc, char **argv, const char *letters,
               const struct option *names) {
    opterr = 0;
    int at = optind == 0 ? 1 : optind;
    int option = getopt_long(argc, argv, letters, names, NULL);
    if (option == 'h') {
        fputs(cli_find_verb(verb)->help, stdout);
        exit(cli_finish(EXIT_FINE));
    }
    if (option != '?' && option != ':') return option;
    const char *word = argv[optind - 1 > at ? optind - 1 : at];
    if (optopt != 0) {
        bool is_known = strchr(letters, optopt) != NULL;
        for (const struct option *o = names; o->name != NULL; o++)
            is_known |= o->val == optopt;
        if (is_known && strncmp(word, "--", 2) == 0 && strchr(word, '=') != NULL)
            exit(cli_usage(verb, "the option `%.*s` takes no value",
                           (int)strcspn(word, "="), word));
        if (is_known) exit(cli_usage(verb, "the option `%s` needs a value", word));
        exit(cli_usage(verb, "there is no option `-%c`", optopt));
    }
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)strcspn(word, "="), word);
    const char *near =
        strncmp(typed, "--", 2) == 0 ? option_near(typed + 2, names) : NULL;
    if (near != NULL)
        exit(cli_usage(verb, "there is no option `%s`; did you mean `--%s`?", typed,
                       near));
    exit(cli_usage(verb, "there is no option `%s`", typed));
}

int cli_engine_option(const char *verb, int option, WeftOptions *options) {
    static const char *const names[] = {"auto", "interp", "native"};  // by WeftEngine
    if (option == 'd' && *optarg == '\0')
        return cli_usage(verb, "no device is named: see weft devices");
    if (option == 'd') options->devices = optarg;
    if (option == 'P') options->pin = 1;
    if (option == 'T') {
        char *end;
        long count = strtol(optarg, &end, 10);
        if (*end != '\0' || count < 1 || count > 1024)
            return cli_usage(verb, "`%s` is no number of threads: 1 to 1024", optarg);
        options->threads = (unsigned)count;
        return EXIT_FINE;
    }
    for (int i = 0; i < 3 && option == 'e'; i++) {
        if (strcmp(optarg, names[i]) != 0) continue;
        options->engine = (WeftEngine)i;
        return EXIT_FINE;
    }
    if (option != 'e') return EXIT_FINE;
    const char *near = cli_suggest(optarg, names, 3);
    if (near != NULL)
        return cli_usage(verb, "there is no engine `%s`; did you mean `%s`?", optarg, near);
    return cli_usage(verb, "there is no engine `%s`: auto, native or interp", optarg);
}

bool cli_parse_size(const char *text, size_t *size_out) {
    size_t value = 0, digits = strspn(text, "0123456789");
    for (size_t i = 0; i < digits; i++)
        if (__builtin_mul_overflow(value, (size_t)10, &value) ||
            __builtin_add_overflow(value, (size_t)(text[i] - '0'), &value))
            return false;
    static const char units[] = "KMGT";
    const char *unit = text + digits, *found = NULL;
    if (unit[0] != '\0') found = strchr(units, unit[0] & ~0x20);
    if (digits == 0 || (unit[0] != '\0' && found == NULL)) return false;
    if (found != NULL) {
        unsigned shift = 10 * (unsigned)(found - units + 1);
        if (value > SIZE_MAX >> shift) return false;
        value <<= shift;
        unit++;
    }
    *size_out = value;
    return unit[0] == '\0' || strcmp(unit, "B") == 0 || strcmp(unit, "iB") == 0;
}

// ---- memory, input and output -------------------------------------------------------

void cli_no_memory(void) {
    fputs("weft: out of memory\n", stderr);
    exit(EXIT_ERROR);
}

void *cli_resize(void *block, size_t size) {
    void *resized = realloc(block, size == 0 ? 1 : size);
    if (resized == NULL) cli_no_memory();
    return resized;
}

void *cli_alloc(size_t size) {
    return cli_resize(NULL, size);
}

static void end_if_interrupted(void) {
    if (!cli_interrupted()) return;
    cli_tell_interrupt();
    exit(EXIT_ERROR);
}

char *cli_read_all(int file, size_t *len_out) {
    size_t len = 0, cap = 1 << 16;
    char *bytes = cli_alloc(cap);
    for (;;) {
        if (len + 1 == cap) bytes = cli_resize(bytes, cap *= 2);
        ssize_t got = read(file, bytes + len, cap - len - 1);
        end_if_interrupted();
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            free(bytes);
            return NULL;
        }
        if (got == 0) break;
        len += (size_t)got;
    }
    bytes[len] = '\0';
    *len_out = len;
    return bytes;
}

static int lost; // the errno of the first write to stdout that failed

int cli_write(void *data, const char *bytes, size_t length) {
    (void)data;
    cli_clear_progress();
    bool is_lost = fwrite(bytes, 1, length, stdout) != length;
    if (is_lost && lost == 0) lost = errno;
    end_if_interrupted();
    return is_lost;
}

static const char *scaled(char text[CLI_NUMBER], double x, const char *const units[]) {
    int i = 0;
    while (x >= 999.5 && units[i + 1] != NULL) x /= 1000, i++;
    snprintf(text, CLI_NUMBER, "%.*f %s", x < 9.995 ? 2 : x < 99.95 ? 1 : 0, x, units[i]);
    return text;
}

const char *cli_time_text(char text[CLI_NUMBER], double seconds) {
    static const char *const units[] = {"ns", "us", "ms", "s", NULL};
    return scaled(text, seconds * 1e9, units);
}

const char *cli_bytes_text(char text[CLI_NUMBER], double bytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", NULL};
    return scaled(text, bytes, units);
}

// How many bytes the UTF-8 character at text takes, or 0 if it is none. (Surrogates and
// over-long forms pass: no reader of JSON minds.)
static size_t character(const char *text) {
    unsigned char first = (unsigned char)text[0];
    size_t len = first < 0x80   ? 1
                 : first < 0xc2 ? 0
                 : first < 0xe0 ? 2
                 : first < 0xf0 ? 3
                 : first < 0xf5 ? 4
                                : 0;
    for (size_t i = 1; i < len; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80) return 0;
    return len;
}

void cli_json_text(FILE *out, const char *text) {
    fputc('"', out);
    while (*text != '\0') {
        unsigned char c = (unsigned char)*text;
        size_t len = character(text);
        if (len == 0) fputs("\\ufffd", out);
        else if (c == '"' || c == '\\') fprintf(out, "\\%c", c);
        else if (c < 0x20) fprintf(out, "\\u%04x", c);
        else fwrite(text, 1, len, out);
        text += len == 0 ? 1 : len;
    }
    fputc('"', out);
}

int cli_finish(int status) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    end_if_interrupted();
    int code = lost != 0 ? lost : errno;
    fprintf(stderr, "weft: the output could not be written: %s\n",
            code != 0 ? strerror(code) : "write error");
    return EXIT_ERROR;
}

// ---- files --------------------------------------------------------------------------

bool cli_can_write(const char *path) {
    struct stat info;
    bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) errno = EISDIR;
    if (exists ? S_ISDIR(info.st_mode) || access(path, W_OK) != 0 : errno != ENOENT)
        return false;
    if (exists && !S_ISREG(info.st_mode)) return true;
    char *target = exists ? realpath(path, NULL) : strdup(path);
    if (target == NULL) return false;
    bool can = access(dirname(target), W_OK | X_OK) == 0;
    int code = errno;
    free(target);
    errno = code;
    return can;
}

static bool write_all(int file, const char *text, size_t length) {
    while (length > 0) {
        ssize_t put = write(file, text, length);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        text += put;
        length -= (size_t)put;
    }
    return true;
}

// Writes to a new file with that mode; if that fails it is not there afterwards.
static bool write_aside(char *aside, mode_t mode, const char *text, size_t length) {
    int file = mkstemp(aside);
    if (file < 0) return false;
    bool is_good =
        write_all(file, text, length) && fchmod(file, mode) == 0 && fsync(file) == 0;
    int code = errno;
    if (close(file) != 0 && is_good) {
        is_good = false;
        code = errno;
    }
    if (!is_good) unlink(aside);
    errno = code;
    return is_good;
}

bool cli_replace_file(const char *path, const char *text, size_t length) {
    struct stat info;
    bool exists = stat(path, &info) == 0;
    if (exists && !S_ISREG(info.st_mode)) { // a device, a pipe
        int file = open(path, O_WRONLY | O_CLOEXEC);
        bool is_good = file >= 0 && write_all(file, text, length);
        if (file >= 0) close(file);
        return is_good;
    }
    char *real = exists ? realpath(path, NULL) : strdup(path);
    if (real == NULL) return false;
    mode_t mask = umask(0);
    umask(mask);
    size_t size = strlen(real) + sizeof ".XXXXXX";
    char *aside = cli_alloc(size);
    snprintf(aside, size, "%s.XXXXXX", real);
    bool is_good =
        write_aside(aside, exists ? info.st_mode & 07777 : 0666 & ~mask, text, length);
    if (is_good && rename(aside, real) != 0) {
        int code = errno;
        unlink(aside);
        errno = code;
        is_good = false;
    }
    free(aside);
    free(real);
    return is_good;
}
