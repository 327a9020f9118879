// SPDX-License-Identifier: Apache-2.0
//
// weft bench: times the inputs of test blocks. A benchmark is a call with its arguments
// made beforehand; nothing else is timed. bench_stat.c makes numbers of the times,
// bench_against.c runs the command to compare with.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/cli.h"

const char help_bench[] =
    "Usage: weft bench [OPTION...] FILE...\n"
    "\n"
    "Times every input of the test blocks in FILE, but those marked `nobench` and "
    "those\n"
    "that expect an error. What is timed is the call alone, its arguments being "
    "there.\n"
    "A result is first compared with the one expected. After warm-up a call is run "
    "until\n"
    "there are enough runs and the median is known to 1 %, or time is up.\n"
    "\n"
    "Printed are the median, the least time, the spread (what lies between the "
    "quarters\n"
    "of the runs, relative to the median), the number of runs, the bytes of arguments\n"
    "and results per second, and the most memory held, for compiling too.\n"
    "\n"
    "Options:\n"
    "  -n, --entry NAME   only this entry\n"
    "  -r, --runs N       at least N runs (default: 10)\n"
    "  -w, --warm-up N    N runs before those (default: what fills 0.1 s, at least 1)\n"
    "  -l, --limit SECS   after N runs go on no longer than SECS in all (default: 5)\n"
    "  -a, --against CMD  in turn with each run, run CMD by the shell, with the "
    "arguments\n"
    "                     on its standard input; it is timed from start to end, or, if "
    "it\n"
    "                     prints a line `seconds: X` on standard error, took X. It "
    "finds\n"
    "                     the file and entry in $WEFT_FILE and $WEFT_ENTRY\n"
    "  -b, --binary       give CMD the arguments in Futhark's binary format\n"
    "  -j, --json FILE    write all times to FILE too; `-` prints them "
    "instead\n" CLI_ENGINE_HELP
    "  --times            say on standard error how long each phase took, up to the\n"
    "                     end of the warm-up\n"
    "  --profile          say there on which lines of the program the runs spent time\n"
    "  --trace FILE       write when what ran where in the runs of the first input,\n"
    "                     for ui.perfetto.dev\n"
    "  -h, --help         print this\n"
    "\n"
    "Example:\n"
    "  weft bench dot.weft --against './dot-in-c' --json dot.json\n"
    "\n"
    "Exit status: 0; 1 if something failed or nothing was timed; 2 for wrong usage.\n";

typedef struct Options {
    size_t runs, warm_up;
    bool has_warm_up;
    double limit;
    WeftOptions context;
    CliRecord record;
    const char *entry, *against, *json;
    WeftFormat format;
} Options;

// One benchmark: a test of a file, its arguments, and its times.
typedef struct Bench {
    const Options *options;
    WeftContext *context;
    WeftProgram *program;
    const char *path;
    WeftTest test;
    size_t entry, arg_count, result_count;
    WeftValue **args, **results;
    CliRecord record; // what is told of the runs
    double bytes; // of arguments and results; negative: some are not arrays
    size_t memory;
    Other other;
    Sample ours, theirs;
} Bench;

typedef struct Tally {
    size_t timed, failed;
    FILE *json; // or NULL
    bool has_table;
} Tally;

enum { MOST_RUNS = 10000 };

// ---- running ------------------------------------------------------------------------

static void tell_failed(const Bench *bench) {
    cli_clear_progress();
    if (!cli_interrupted())
        fprintf(stderr, "FAIL %s:%u: %s\n", bench->path, bench->test.line,
                bench->test.entry);
}

static bool fail(const Bench *bench) {
    tell_failed(bench);
    cli_report(bench->context);
    return false;
}

static void free_values(WeftValue **values, size_t count) {
    for (size_t i = 0; i < count; i++) weft_value_free(values[i]);
}

static double count_bytes(WeftValue *const *values, size_t count) {
    static const double widths[] = {1, 1, 2, 4, 8, 1,
                                    2, 4, 8, 2, 4, 8}; // by WeftScalar
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        if (!weft_value_is_array(values[i])) return -1;
        double bytes = widths[weft_value_element(values[i])];
        const int64_t *shape = weft_value_shape(values[i]);
        for (size_t d = 0; d < weft_value_rank(values[i]); d++)
            bytes *= (double)shape[d];
        total += bytes;
    }
    return total;
}

// Whether the results are those that the test expects.
static bool check_results(const Bench *bench, const WeftTests *tests, size_t test) {
    if (!bench->test.has_output) return true;
    size_t count = bench->result_count;
    WeftValue **expected = cli_alloc(count * sizeof *expected);
    bool is_good = weft_test_results(tests, test, bench->program, expected, count) ==
                   WEFT_STATUS_OK;
    if (is_good) {
        for (size_t i = 0; i < count; i++) {
            int is_equal = 0;
            weft_value_equal(bench->results[i], expected[i], 0.002, &is_equal);
            is_good &= is_equal != 0;
        }
        free_values(expected, count);
        if (!is_good) {
            tell_failed(bench);
            fputs("  the result is not the one expected\nhint: weft test shows both\n",
                  stderr);
        }
    } else {
        fail(bench);
    }
    free(expected);
    return is_good;
}

static WeftStatus call(const Bench *bench) {
    return weft_call(bench->program, bench->entry, bench->args, bench->arg_count,
                     bench->results, bench->result_count);
}

static bool run_ours(Bench *bench, bool counts) {
    double begin = cli_clock();
    WeftStatus status = call(bench);
    double seconds = cli_clock() - begin;
    if (status != WEFT_STATUS_OK) return fail(bench);
    free_values(bench->results, bench->result_count);
    if (counts) bench_add(&bench->ours, seconds);
    return true;
}

static bool run_theirs(Bench *bench, bool counts) {
    double seconds;
    if (bench->other.command == NULL) return true;
    if (!bench_other_run(&bench->other, &seconds)) return false;
    if (counts) bench_add(&bench->theirs, seconds);
    return true;
}

// Both, each first as often as the other.
static bool run_pair(Bench *bench, size_t number, bool counts) {
    if (number % 2 == 0) return run_ours(bench, counts) && run_theirs(bench, counts);
    return run_theirs(bench, counts) && run_ours(bench, counts);
}

static bool is_settled(const Sample *sample) {
    if (sample->len == 0) return true;
    Summary summary = bench_summarise(sample);
    return summary.high - summary.low <= 0.02 * summary.median;
}

static bool warm_up(Bench *bench) {
    const Options *options = bench->options;
    double begin = cli_clock();
    for (size_t i = 0; options->has_warm_up ? i < options->warm_up
                                            : i == 0 || cli_clock() < begin + 0.1;
         i++)
        if (!run_pair(bench, i, false)) return false;
    return true;
}

static bool tell_recorded(const Bench *bench, CliRecord record) {
    if (record.times || record.profile)
        fprintf(stderr, "%s:%u %s\n", bench->path, bench->test.line,
                bench->test.entry);
    return cli_record_report("bench", bench->context, &record) == EXIT_FINE;
}

// The first call, the warm-up, and the runs that count.
static bool take_times(Bench *bench, const WeftTests *tests, size_t test) {
    const Options *options = bench->options;
    if (call(bench) != WEFT_STATUS_OK) return fail(bench);
    bool is_right = check_results(bench, tests, test);
    double results = count_bytes(bench->results, bench->result_count);
    double args = count_bytes(bench->args, bench->arg_count);
    bench->bytes = results < 0 || args < 0 ? -1 : results + args;
    free_values(bench->results, bench->result_count);
    if (!is_right || !warm_up(bench)) return false;
    if (options->record.times) tell_recorded(bench, (CliRecord){.times = true});
    cli_record_start(bench->context, &bench->record);
    double begin = cli_clock();
    for (size_t i = 0; i < MOST_RUNS || i < options->runs; i++) {
        bool is_power = (i & (i - 1)) == 0; // no need to look at every run
        if (i >= options->runs && cli_clock() - begin > options->limit) break;
        if (i >= options->runs && (is_power || i % 64 == 0 || i == options->runs) &&
            is_settled(&bench->ours) && is_settled(&bench->theirs))
            break;
        if (!run_pair(bench, i, true)) return false;
    }
    bench->memory = weft_memory_peak(bench->context);
    return tell_recorded(bench, bench->record);
}

// ---- telling ------------------------------------------------------------------------

static void print_row(const Sample *sample, double bytes, double memory) {
    char text[3][CLI_NUMBER], rate[CLI_NUMBER + 2] = "-", held[CLI_NUMBER] = "-";
    Summary s = bench_summarise(sample);
    double spread = 100 * (s.quartiles[1] - s.quartiles[0]) / s.median;
    if (bytes >= 0)
        snprintf(rate, sizeof rate, "%s/s", cli_bytes_text(text[2], bytes / s.median));
    if (memory >= 0) cli_bytes_text(held, memory);
    printf("%9s %9s %6.1f %% %6zu %11s %9s", cli_time_text(text[0], s.median),
           cli_time_text(text[1], s.least), spread, sample->len, rate, held);
}

// The label, or the first words of the input.
static void print_label(const WeftTest *test) {
    enum { SHOWN = 40 }; // bytes
    static const char blanks[] = " \t\r\n";
    const char *text = test->label != NULL ? test->label : test->input;
    if (text == NULL) return;
    size_t len = strlen(text += strspn(text, blanks));
    while (len > 0 && strchr(blanks, text[len - 1]) != NULL) len--;
    bool is_long = len > SHOWN;
    if (is_long) len = SHOWN;
    while (is_long && ((unsigned char)text[len] & 0xc0) == 0x80) len--;
    if (len > 0) putchar(' ');
    for (size_t i = 0; i < len; i++)
        putchar(strchr(blanks, text[i]) != NULL ? ' ' : text[i]);
    if (is_long) fputs("...", stdout);
}

static void print_bench(const Bench *bench, bool is_first) {
    cli_clear_progress();
    if (is_first)
        printf("%9s %9s %8s %6s %11s %9s  %s\n", "median", "least", "spread", "runs",
               "bytes", "memory", "benchmark");
    print_row(&bench->ours, bench->bytes, (double)bench->memory);
    printf("  %s:%u %s", bench->path, bench->test.line, bench->test.entry);
    print_label(&bench->test);
    putchar('\n');
    if (bench->theirs.len > 0) {
        Ratio r = bench_compare(&bench->ours, &bench->theirs);
        print_row(&bench->theirs, bench->bytes, -1);
        printf("  %s\n%9s %.3f times as long (95 %%: %.3f to %.3f)\n",
               bench->options->against, "", r.ratio, r.low, r.high);
    }
    fflush(stdout);
}

static void put_text(FILE *out, const char *name, const char *text) {
    fprintf(out, "\"%s\": ", name);
    if (text == NULL) fputs("null", out);
    else cli_json_text(out, text);
    fputs(", ", out);
}

static void put_sample(FILE *out, const Sample *sample) {
    Summary s = bench_summarise(sample);
    fprintf(out,
            "\"median\": %.9g, \"median_low\": %.9g, \"median_high\": %.9g, "
            "\"least\": %.9g, \"greatest\": %.9g, \"quartiles\": [%.9g, %.9g],\n"
            "   \"seconds\": [",
            s.median, s.low, s.high, s.least, s.greatest, s.quartiles[0],
            s.quartiles[1]);
    for (size_t i = 0; i < sample->len; i++)
        fprintf(out, "%s%.9g", i > 0 ? ", " : "", sample->data[i]);
    fputc(']', out);
}

static void put_bench(FILE *out, const Bench *bench, bool is_first) {
    fprintf(out, "%s\n  {", is_first ? "" : ",");
    put_text(out, "file", bench->path);
    fprintf(out, "\"line\": %u, ", bench->test.line);
    put_text(out, "entry", bench->test.entry);
    put_text(out, "label", bench->test.label);
    if (bench->bytes >= 0) fprintf(out, "\"bytes\": %.0f, ", bench->bytes);
    else fputs("\"bytes\": null, ", out);
    fprintf(out, "\"memory\": %zu,\n   ", bench->memory);
    put_sample(out, &bench->ours);
    if (bench->theirs.len > 0) {
        Ratio r = bench_compare(&bench->ours, &bench->theirs);
        fputs(",\n   \"against\": {", out);
        put_text(out, "command", bench->options->against);
        fprintf(out, "\"ratio\": %.6g, \"ratio_low\": %.6g, \"ratio_high\": %.6g,\n   ",
                r.ratio, r.low, r.high);
        put_sample(out, &bench->theirs);
        fputc('}', out);
    }
    fputc('}', out);
}

// ---- files --------------------------------------------------------------------------

static bool open_other(Bench *bench) {
    const Options *options = bench->options;
    if (options->against == NULL) return true;
    setenv("WEFT_FILE", bench->path, 1);
    setenv("WEFT_ENTRY", bench->test.entry, 1);
    if (bench_other_open(&bench->other, options->against, options->format, bench->args,
                         bench->arg_count))
        return true;
    fprintf(stderr, "weft bench: cannot write the input of the command: %s\n",
            weft_message(bench->context)[0] != '\0' ? weft_message(bench->context)
                                                    : strerror(errno));
    return false;
}

// Makes the arguments and measures; what is freed here is what was made here.
static bool run_bench(Bench *bench, const WeftTests *tests, size_t test) {
    bench->entry = weft_entry_find(bench->program, bench->test.entry);
    bench->arg_count = weft_entry_parameter_count(bench->program, bench->entry);
    bench->result_count = weft_entry_result_count(bench->program, bench->entry);
    size_t count = bench->arg_count + bench->result_count;
    bench->args = cli_alloc(count * sizeof *bench->args);
    bench->results = bench->args + bench->arg_count;
    bool is_good = weft_test_arguments(tests, test, bench->program, bench->args,
                                       bench->arg_count) == WEFT_STATUS_OK;
    if (is_good) {
        is_good = open_other(bench) && take_times(bench, tests, test);
        bench_other_close(&bench->other);
        free_values(bench->args, bench->arg_count);
    } else {
        fail(bench);
    }
    free(bench->args);
    return is_good;
}

// Each benchmark has a context of its own, so that none is charged another's memory.
static void bench_test(const Options *options, const char *path, size_t test,
                       Tally *tally) {
    WeftTests *tests;
    WeftContext *context = cli_context(options->context);
    Bench bench = {.options = options,
                   .context = context,
                   .path = path,
                   .test = {.struct_size = sizeof bench.test},
                   .record = options->record};
    bench.record.times = false;
    if (tally->timed + tally->failed > 0) bench.record.trace = NULL;
    cli_record_start(context, &(CliRecord){.times = options->record.times});
    bool is_good =
        weft_tests_from_file(context, path, &tests) == WEFT_STATUS_OK &&
        weft_test_info(tests, test, &bench.test) == WEFT_STATUS_OK &&
        weft_program_from_file(context, path, &bench.program) == WEFT_STATUS_OK;
    if (!is_good) cli_report(context);
    else is_good = run_bench(&bench, tests, test);
    if (is_good) {
        if (tally->has_table) print_bench(&bench, tally->timed == 0);
        if (tally->json != NULL) put_bench(tally->json, &bench, tally->timed == 0);
        tally->timed++;
    } else {
        tally->failed++;
    }
    free(bench.ours.data);
    free(bench.theirs.data);
    cli_close(context);
}

static bool is_wanted(const Options *options, const WeftTest *test) {
    return test->kind == WEFT_TEST_CALL && test->error == NULL && !test->only_test &&
           (options->entry == NULL || strcmp(options->entry, test->entry) == 0);
}

static void bench_file(const Options *options, const char *path, Tally *tally) {
    WeftTests *tests;
    WeftContext *context = cli_context((WeftOptions){0});
    WeftStatus status = weft_tests_from_file(context, path, &tests);
    if (status != WEFT_STATUS_OK) {
        cli_report(context);
        tally->failed++;
        cli_close(context);
        return;
    }
    size_t count = weft_test_count(tests), wanted_count = 0;
    size_t *wanted = cli_alloc(count * sizeof *wanted);
    for (size_t i = 0; i < count; i++) {
        WeftTest test = {.struct_size = sizeof test};
        if (weft_test_info(tests, i, &test) == WEFT_STATUS_OK &&
            is_wanted(options, &test))
            wanted[wanted_count++] = i;
    }
    cli_close(context);
    for (size_t i = 0; i < wanted_count && !cli_interrupted(); i++)
        bench_test(options, path, wanted[i], tally);
    if (wanted_count == 0) {
        fprintf(stderr,
                "weft bench: `%s` has no input to time\nhint: write one in a "
                "test block, as docs/testing.md says\n",
                path);
        tally->failed++;
    }
    free(wanted);
}

// ---- the verb -----------------------------------------------------------------------

static bool parse_count(const char *text, size_t least, size_t *out) {
    char *end;
    errno = 0;
    unsigned long long count = strtoull(text, &end, 10);
    *out = (size_t)count;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 &&
           count >= least && count <= 1000000;
}

static bool parse_seconds(const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= 0 && *out < 1e9;
}

static int parse_words(int argc, char **argv, Options *out) {
    static const struct option names[] = {{"entry", required_argument, NULL, 'n'},
                                          {"runs", required_argument, NULL, 'r'},
                                          {"warm-up", required_argument, NULL, 'w'},
                                          {"limit", required_argument, NULL, 'l'},
                                          {"against", required_argument, NULL, 'a'},
                                          {"binary", no_argument, NULL, 'b'},
                                          {"json", required_argument, NULL, 'j'},
                                          CLI_ENGINE_OPTIONS,
                                          CLI_RECORD_OPTIONS,
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    for (int option; (option = cli_option("bench", argc, argv, ":n:r:w:l:a:bj:" CLI_ENGINE_LETTERS "h",
                                          names)) != -1;) {
        bool is_good = true;
        if (option == 'n') out->entry = optarg;
        if (option == 'r') is_good = parse_count(optarg, 1, &out->runs);
        if (option == 'w') {
            is_good = parse_count(optarg, 0, &out->warm_up);
            out->has_warm_up = true;
        }
        if (option == 'l') is_good = parse_seconds(optarg, &out->limit);
        if (option == 'a') out->against = optarg;
        if (option == 'b') out->format = WEFT_FORMAT_BINARY;
        if (option == 'j') out->json = optarg;
        cli_record_option(option, &out->record);
        if (!is_good) return cli_usage("bench", "`%s` is not a fitting number", optarg);
        if (cli_engine_option("bench", option, &out->context) != EXIT_FINE)
            return EXIT_USAGE;
    }
    if (optind == argc) return cli_usage("bench", "name one or more programs");
    if (out->format == WEFT_FORMAT_BINARY && out->against == NULL)
        return cli_usage("bench", "`--binary` goes with `--against`");
    return EXIT_FINE;
}

static int write_json(const char *path, const char *text, size_t len) {
    if (strcmp(path, "-") == 0) {
        fwrite(text, 1, len, stdout);
        return EXIT_FINE;
    }
    if (cli_replace_file(path, text, len)) return EXIT_FINE;
    fprintf(stderr, "weft bench: cannot write `%s`: %s\n", path, strerror(errno));
    return EXIT_ERROR;
}

int verb_bench(int argc, char **argv) {
    Options options = {.runs = 10, .limit = 5};
    int status = parse_words(argc, argv, &options);
    if (status == EXIT_FINE) status = cli_record_check("bench", &options.record);
    if (status != EXIT_FINE) return status;
    bool is_printed = options.json != NULL && strcmp(options.json, "-") == 0;
    Tally tally = {.has_table = !is_printed};
    char *text = NULL;
    size_t len = 0;
    if (options.json != NULL) {
        if (!is_printed && !cli_can_write(options.json)) {
            fprintf(stderr, "weft bench: cannot write `%s`: %s\n", options.json,
                    strerror(errno));
            return EXIT_ERROR;
        }
        tally.json = open_memstream(&text, &len);
        if (tally.json == NULL) cli_no_memory();
        fputs("{", tally.json);
        put_text(tally.json, "weft", weft_version());
        fputs("\"benchmarks\": [", tally.json);
    }
    for (int i = optind; i < argc && !cli_interrupted(); i++)
        bench_file(&options, argv[i], &tally);
    if (tally.failed > 0 || cli_interrupted()) status = EXIT_ERROR;
    if (tally.json != NULL) {
        fputs("\n]}\n", tally.json);
        fclose(tally.json);
        if (!cli_interrupted() && write_json(options.json, text, len) != EXIT_FINE)
            status = EXIT_ERROR;
        free(text);
    }
    return cli_finish(status);
}
