// SPDX-License-Identifier: Apache-2.0
//
// weft run: compile, read the arguments, call, print the results or write them to
// files.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

const char help_run[] =
    "Usage: weft run [OPTION...] FILE [ENTRY] [VALUE...]\n"
    "\n"
    "Compiles FILE and runs one of its entries. The first word after FILE is the\n"
    "entry if it names one; otherwise the entry is `main`, or the only one there is.\n"
    "Values are given as words, or, if there are none, on standard input, where\n"
    "Futhark's binary format is understood too. Results are printed one per line.\n"
    "A word that ends in .npy, .npz, .png, .csv, .txt, .bin, .in, .out or .val is a\n"
    "file that holds one value; the other words beside it are one value each.\n"
    "\n"
    "Options:\n"
    "  -b, --binary       print results in Futhark's binary format\n"
    "  -o, --output FILE  write the first result to FILE, in the form that its ending\n"
    "                     names, the second one to the second -o FILE, and so on;\n"
    "                     results beyond these are printed\n"
    "  -m, --memory SIZE  hold at most SIZE bytes, such as 500M or 2GiB\n"
    CLI_ENGINE_HELP
    "  -t, --time         say on standard error how long each step took\n"
    CLI_RECORD_HELP
    "  -h, --help         print this\n"
    "  --                 all words that follow are values\n"
    "\n"
    "Examples:\n"
    "  weft run dot.weft '[1, 2, 3]' '[4, 5, 6]'\n"
    "  weft run stats.weft mean < numbers.txt\n"
    "  weft run blur.weft photo.png 3i64 -o blurred.png\n"
    "\n"
    "Exit status: 0; 1 for an error in the program or its input; 2 for wrong usage.\n";

// The words of the command line, sorted out.
typedef struct Words {
    CliWords words;
    char **block;         // what they lie in
    const char **outputs; // of -o
    size_t output_count;
    bool is_binary, is_timed;
    CliRecord record;
    WeftOptions options;
} Words;

static int parse_words(int argc, char **argv, Words *out) {
    static const struct option names[] = {{"binary", no_argument, NULL, 'b'},
                                          {"output", required_argument, NULL, 'o'},
                                          {"memory", required_argument, NULL, 'm'},
                                          {"time", no_argument, NULL, 't'},
                                          CLI_ENGINE_OPTIONS,
                                          CLI_RECORD_OPTIONS,
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    int end = 1; // options end at "--"
    while (end < argc && strcmp(argv[end], "--") != 0) end++;
    out->block = cli_hide_negatives(argc, argv);
    argv = out->block;
    for (int option;
         (option = cli_option("run", end, argv, ":bo:m:t" CLI_ENGINE_LETTERS "h", names)) != -1;) {
        if (optarg != NULL) optarg += optarg[0] == CLI_HIDDEN;
        if (option == 'b') out->is_binary = true;
        if (option == 't') out->is_timed = true;
        cli_record_option(option, &out->record);
        if (option == 'o') {
            if (!weft_path_is_file(optarg))
                return cli_usage(
                    "run", "what `%s` is to be cannot be told from its ending", optarg);
            out->outputs[out->output_count++] = optarg;
        }
        if (cli_engine_option("run", option, &out->options) != EXIT_FINE)
            return EXIT_USAGE;
        if (option == 'm' && !cli_parse_size(optarg, &out->options.memory_ceiling))
            return cli_usage("run", "`%s` is not a size such as 500M or 2GiB", optarg);
    }
    return cli_take_words("run", argc, argv, end, &out->words);
}

static int check_outputs(const Words *words, const char *entry, size_t result_count) {
    if (words->output_count > result_count)
        return cli_usage(
            "run", "there are %zu files to write, but `%s` has %zu result%s",
            words->output_count, entry, result_count, result_count == 1 ? "" : "s");
    for (size_t i = 0; i < words->output_count; i++) {
        for (size_t j = 0; j < i; j++)
            if (strcmp(words->outputs[i], words->outputs[j]) == 0)
                return cli_usage("run", "two results are to be written to `%s`",
                                 words->outputs[i]);
        if (cli_can_write(words->outputs[i])) continue;
        fprintf(stderr, "weft run: cannot write `%s`: %s\n", words->outputs[i],
                strerror(errno));
        return EXIT_ERROR;
    }
    return EXIT_FINE;
}

static int report_result(WeftContext *context, const Words *words, size_t written) {
    cli_report(context);
    if (written > 0) fputs("note: written before that:", stderr);
    for (size_t i = 0; i < written; i++)
        fprintf(stderr, "%s `%s`", i > 0 ? "," : "", words->outputs[i]);
    if (written > 0) fputc('\n', stderr);
    return cli_finish(EXIT_ERROR);
}

// Results beyond the files named are printed.
static int put_results(WeftContext *context, WeftValue *const *results, size_t count,
                       const Words *words) {
    for (size_t i = 0; i < words->output_count; i++)
        if (weft_value_to_file(results[i], words->outputs[i]) != WEFT_STATUS_OK)
            return report_result(context, words, i);
    for (size_t i = words->output_count; i < count; i++) {
        WeftFormat format = words->is_binary ? WEFT_FORMAT_BINARY : WEFT_FORMAT_TEXT;
        WeftStatus status = weft_value_print(results[i], format, cli_write, NULL);
        if (status == WEFT_STATUS_IO) break; // cli_finish says why
        if (status != WEFT_STATUS_OK)
            return report_result(context, words, words->output_count);
        if (!words->is_binary) putchar('\n');
    }
    return cli_finish(EXIT_FINE);
}

// The times at which the steps ended; seconds.
typedef struct Times {
    double start, compiled, read, called;
} Times;

// In a form that `weft bench --against` understands: the call is what counts.
static void print_times(const Times *times) {
    fprintf(stderr,
            "seconds: %.6f running, %.6f compiling, %.6f reading, %.6f writing\n",
            times->called - times->read, times->compiled - times->start,
            times->read - times->compiled, cli_clock() - times->called);
}

static int call_entry(WeftContext *context, WeftProgram *program, size_t entry,
                      const Words *words, Times *times) {
    size_t arg_count = weft_entry_parameter_count(program, entry);
    size_t result_count = weft_entry_result_count(program, entry);
    WeftValue **values = cli_alloc((arg_count + result_count) * sizeof *values);
    WeftValue **results = values + arg_count;
    int status = cli_read_arguments(program, entry, &words->words, values);
    times->read = cli_clock();
    if (status == EXIT_FINE) {
        WeftStatus called =
            weft_call(program, entry, values, arg_count, results, result_count);
        times->called = cli_clock();
        status = called == WEFT_STATUS_OK
                     ? put_results(context, results, result_count, words)
                     : EXIT_ERROR;
        if (called != WEFT_STATUS_OK) cli_report(context);
    } else {
        cli_report(context);
    }
    free(values);
    return status;
}

static int run(WeftContext *context, Words *words) {
    Times times = {.start = cli_clock()};
    WeftProgram *program;
    if (weft_program_from_file(context, words->words.file, &program) != WEFT_STATUS_OK) {
        cli_report(context);
        return EXIT_ERROR;
    }
    times.compiled = cli_clock();
    size_t entry;
    int status = cli_pick_entry(program, &words->words, &entry);
    if (status != EXIT_FINE) return status;
    status = check_outputs(words, weft_entry_name(program, entry),
                           weft_entry_result_count(program, entry));
    if (status != EXIT_FINE) return status;
    status = call_entry(context, program, entry, words, &times);
    if (status == EXIT_FINE && words->is_timed) print_times(&times);
    return status;
}

static void print_trace(void *data, const char *text) {
    (void)data;
    cli_clear_progress();
    fprintf(stderr, "%s\n", text);
}

int verb_run(int argc, char **argv) {
    Words words = {0};
    words.outputs = cli_alloc((size_t)argc * sizeof *words.outputs);
    int status = parse_words(argc, argv, &words);
    if (status == EXIT_FINE) status = cli_record_check("run", &words.record);
    if (status == EXIT_FINE) {
        words.options.trace = print_trace;
        WeftContext *context = cli_context(words.options);
        cli_record_start(context, &words.record);
        status = run(context, &words);
        if (status != EXIT_USAGE &&
            cli_record_report("run", context, &words.record) != EXIT_FINE)
            status = EXIT_ERROR;
        cli_close(context);
    }
    free(words.block);
    free(words.outputs);
    return status;
}
