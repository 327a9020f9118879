// SPDX-License-Identifier: Apache-2.0
//
// weft data: files of values shown, converted and made.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

const char help_data[] =
    "Usage: weft data show FILE...\n"
    "       weft data convert IN OUT\n"
    "       weft data random TYPE [--seed N] [-o FILE]\n"
    "\n"
    "`show` prints the type, the shape, the range and the first elements of a file;\n"
    "`convert` writes what IN holds to OUT; `random` makes an array of a type such as\n"
    "'[1000][3]f32' (floats from 0 to below 1), printed if no FILE is named. The same\n"
    "seed gives the same elements.\n"
    "\n"
    "The ending of a file says what it is:\n"
    "  .npy             a NumPy array; .npz the first of an archive, or FILE.npz:NAME\n"
    "  .png             an image: [h][w]u8, [h][w][3]u8 or [h][w][4]u8\n"
    "  .csv             a table of numbers: [rows][columns]f64\n"
    "  .txt             the bytes themselves: []u8\n"
    "  .in .out .val    a value as text; .bin in Futhark's binary format\n"
    "\n"
    "Options:\n"
    "  -s, --seed N       the seed, 1 if none is given\n"
    "  -o, --output FILE  where to write\n"
    "  -h, --help         print this\n"
    "\n"
    "Example:\n"
    "  weft data convert photo.png photo.npy\n"
    "\n"
    "Exit status: 0; 1 if a file cannot be read or written; 2 for wrong usage.\n";

// ---- show ---------------------------------------------------------------------------

// The elements of a value, in row-major order.
typedef struct Elements {
    WeftContext *context;
    WeftScalar type;
    size_t width, count;
    const char *data;
} Elements;

static const size_t widths[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8}; // by WeftScalar

static WeftStatus find_elements(WeftContext *context, WeftValue *value, Elements *out) {
    const void *data;
    WeftStatus status = weft_value_data(value, &data);
    if (status != WEFT_STATUS_OK) return status;
    *out = (Elements){.context = context, .type = weft_value_element(value)};
    out->width = widths[out->type];
    out->data = data;
    const int64_t *shape = weft_value_shape(value);
    out->count = 1;
    for (size_t d = 0; d < weft_value_rank(value); d++)
        if (shape[d] == 0) out->count = 0;
    for (size_t d = 0; out->count > 0 && d < weft_value_rank(value); d++)
        out->count *= (size_t)shape[d];
    return WEFT_STATUS_OK;
}

// An unsigned number that orders the elements of a type; false for NaN.
static bool element_key(const Elements *e, size_t i, uint64_t *key_out) {
    uint64_t bits = 0;
    memcpy(&bits, e->data + i * e->width, e->width); // little-endian
    uint64_t sign = (uint64_t)1 << (8 * e->width - 1);
    bool is_float = e->type == WEFT_F16 || e->type == WEFT_F32 || e->type == WEFT_F64;
    if (is_float) {
        uint64_t infinity = e->type == WEFT_F16   ? 0x7c00u
                            : e->type == WEFT_F32 ? 0x7f800000u
                                                  : 0x7ff0000000000000u;
        if ((bits & ~sign) > infinity) return false;
        *key_out = (bits & sign) != 0 ? sign - (bits - sign) : bits + sign;
    } else {
        bool is_signed = e->type >= WEFT_I8 && e->type <= WEFT_I64;
        *key_out = is_signed ? bits ^ sign : bits;
    }
    return true;
}

static void print_element(const Elements *e, size_t i) {
    WeftValue *value;
    const char *text;
    if (weft_value_new(e->context, e->type, 0, NULL, e->data + i * e->width, &value) !=
        WEFT_STATUS_OK)
        return;
    if (weft_value_text(value, &text) == WEFT_STATUS_OK) fputs(text, stdout);
    weft_value_free(value);
}

static void print_range(const Elements *e) {
    size_t least = 0, greatest = 0, nans = 0;
    uint64_t low = UINT64_MAX, high = 0, key;
    for (size_t i = 0; i < e->count; i++) {
        if (!element_key(e, i, &key)) {
            nans++;
            continue;
        }
        if (key < low || i == nans) low = key, least = i;
        if (key > high || i == nans) high = key, greatest = i;
    }
    if (nans < e->count) {
        printf("  range  ");
        print_element(e, least);
        printf(" to ");
        print_element(e, greatest);
        putchar('\n');
    }
    if (nans > 0) printf("  nan    %zu of %zu\n", nans, e->count);
}

static void print_first(const Elements *e) {
    enum { FIRST = 8 };
    if (e->count == 0) return;
    printf("  first  ");
    for (size_t i = 0; i < e->count && i < FIRST; i++) {
        if (i > 0) printf(", ");
        print_element(e, i);
    }
    printf("%s\n", e->count > FIRST ? ", ..." : "");
}

static bool show_file(WeftContext *context, const char *path) {
    WeftValue *value;
    if (weft_value_from_file(context, path, &value) != WEFT_STATUS_OK) return false;
    Elements elements;
    if (find_elements(context, value, &elements) != WEFT_STATUS_OK) return false;
    printf("%s\n  type   %s\n", path, weft_value_type(value));
    const int64_t *shape = weft_value_shape(value);
    if (shape != NULL) printf("  shape  ");
    for (size_t d = 0; d < weft_value_rank(value); d++)
        printf("%s%lld", d > 0 ? " x " : "", (long long)shape[d]);
    if (shape != NULL) putchar('\n');
    print_range(&elements);
    print_first(&elements);
    weft_value_free(value);
    return true;
}

static int show(WeftContext *context, int count, char **paths) {
    int status = EXIT_FINE;
    for (int i = 0; i < count; i++) {
        if (show_file(context, paths[i])) continue;
        cli_report(context);
        status = EXIT_ERROR;
    }
    return cli_finish(status);
}

// ---- convert, random ----------------------------------------------------------------

// Writes the value, or prints it if there is no file.
static int put_value(WeftContext *context, const WeftValue *value, const char *path) {
    if (path == NULL) {
        weft_value_print(value, WEFT_FORMAT_TEXT, cli_write, NULL);
        putchar('\n');
        return cli_finish(EXIT_FINE); // which says if output was lost
    }
    if (weft_value_to_file(value, path) == WEFT_STATUS_OK) return EXIT_FINE;
    cli_report(context);
    return EXIT_ERROR;
}

static int convert(WeftContext *context, const char *from, const char *to) {
    WeftValue *value;
    if (weft_value_from_file(context, from, &value) == WEFT_STATUS_OK)
        return put_value(context, value, to);
    cli_report(context);
    return EXIT_ERROR;
}

static int make_random(WeftContext *context, const char *type, uint64_t seed,
                       const char *path) {
    WeftValue *value;
    WeftStatus status = weft_value_random(context, type, seed, &value);
    if (status == WEFT_STATUS_OK) return put_value(context, value, path);
    if (status == WEFT_STATUS_USAGE)
        return cli_usage("data", "%s", weft_message(context));
    cli_report(context);
    return EXIT_ERROR;
}

// ---- the verb -----------------------------------------------------------------------

typedef struct Words {
    char **rest; // the action and what it is for
    int count;
    bool has_seed;
    uint64_t seed;
    const char *output;
} Words;

static bool parse_seed(const char *text, uint64_t *out) {
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(text, &end, 10);
    *out = seed;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

static int parse_words(int argc, char **argv, Words *out) {
    static const struct option names[] = {{"seed", required_argument, NULL, 's'},
                                          {"output", required_argument, NULL, 'o'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    for (int option;
         (option = cli_option("data", argc, argv, ":s:o:h", names)) != -1;) {
        if (option == 'o') out->output = optarg;
        if (option == 's' && !parse_seed(optarg, &out->seed))
            return cli_usage("data", "`%s` is no seed: a number from 0 is", optarg);
        if (option == 's') out->has_seed = true;
    }
    out->rest = argv + optind;
    out->count = argc - optind;
    if (out->count == 0)
        return cli_usage("data", "say what to do: show, convert or random");
    return EXIT_FINE;
}

static int act(WeftContext *context, const Words *words) {
    static const char *const known[] = {"show", "convert", "random"};
    const char *action = words->rest[0];
    bool is_random = strcmp(action, "random") == 0;
    if (!is_random && (words->has_seed || words->output != NULL))
        return cli_usage("data", "`--seed` and `--output` are for `random`");
    for (int i = 1; !is_random && i < words->count; i++)
        if (!weft_path_is_file(words->rest[i]))
            return cli_usage("data", "what `%s` is cannot be told from its ending",
                             words->rest[i]);
    if (strcmp(action, "show") == 0) {
        if (words->count < 2) return cli_usage("data", "name a file to show");
        return show(context, words->count - 1, words->rest + 1);
    }
    if (strcmp(action, "convert") == 0) {
        if (words->count != 3)
            return cli_usage("data", "name a file to read and one to write");
        return convert(context, words->rest[1], words->rest[2]);
    }
    if (is_random) {
        if (words->count != 2)
            return cli_usage("data", "name one type such as [1000]f32");
        return make_random(context, words->rest[1], words->seed, words->output);
    }
    const char *near = cli_suggest(action, known, 3);
    if (near != NULL)
        return cli_usage("data", "there is no `data %s`; did you mean `%s`?", action,
                         near);
    return cli_usage(
        "data", "there is no `data %s`; there are show, convert and random", action);
}

int verb_data(int argc, char **argv) {
    Words words = {.seed = 1};
    int status = parse_words(argc, argv, &words);
    if (status != EXIT_FINE) return status;
    WeftContext *context = cli_context((WeftOptions){0});
    status = act(context, &words);
    cli_close(context);
    return status;
}
