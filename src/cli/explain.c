// SPDX-License-Identifier: Apache-2.0
//
// weft explain: what a program will do on which devices, and why; or what it did.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

const char help_explain[] =
    "Usage: weft explain [OPTION...] FILE [ENTRY] [VALUE...]\n"
    "\n"
    "Says what a run of FILE would do: which operators are cut into parts for the\n"
    "devices, and why; the tasks that come of it; which device runs which of them "
    "when,\n"
    "by a model of their speeds; what travels; and the memory that it takes. Values "
    "are\n"
    "those of weft run; without any, nothing is known of sizes. `?` is what only the\n"
    "run can tell.\n"
    "\n"
    "Options:\n"
    "  -f, --format NAME   text (the default); dot or svg: the graph of tasks, for\n"
    "                      Graphviz or as a picture\n"
    "  -o, --output FILE   write it there\n"
    "      --measure       run it, twice, and put what the second run took beside "
    "what\n"
    "                      was predicted\n"
    "  -m, --memory SIZE   refuse what needs more at once, by the sizes that are "
    "known\n"
    "  -T, --threads N     threads of the native engine (default: one per core)\n"
    "  -d, --device LIST   where: cpu, cpu*K, opencl:N, cuda:N, all (weft devices)\n"
    "      --times         say on standard error how long each phase took\n"
    "  -h, --help          print this\n"
    "  --                  all words that follow are values\n"
    "\n"
    "Example:\n"
    "  weft explain --device 'cpu*2' examples/heat/heat.weft step -f svg -o heat.svg\n"
    "\n"
    "Exit status: 0; 1 for an error in the program or its input, or a plan that does\n"
    "not fit; 2 for wrong usage.\n";

typedef struct Explain {
    CliWords words;
    const char *output; // NULL: standard output
    WeftExplanation form;
    bool measures;
    CliRecord record;
    WeftOptions options;
} Explain;

static int take_form(const char *name, WeftExplanation *form_out) {
    static const char *const names[] = {"text", "dot", "svg"}; // by WeftExplanation
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *form_out = (WeftExplanation)i;
        return EXIT_FINE;
    }
    return cli_usage("explain", "there is no format `%s`: text, dot or svg", name);
}

static int take_option(int option, Explain *out) {
    if (option == 'f') return take_form(optarg, &out->form);
    if (option == 'o') out->output = optarg;
    if (option == 'M') out->measures = true;
    if (cli_record_option(option, &out->record)) return EXIT_FINE;
    if (option == 'm' && !cli_parse_size(optarg, &out->options.memory_ceiling))
        return cli_usage("explain", "`%s` is not a size such as 500M or 2GiB", optarg);
    return cli_engine_option("explain", option, &out->options);
}

static int parse(int argc, char **argv, Explain *out) {
    static const struct option names[] = {{"format", required_argument, NULL, 'f'},
                                          {"output", required_argument, NULL, 'o'},
                                          {"measure", no_argument, NULL, 'M'},
                                          {"memory", required_argument, NULL, 'm'},
                                          {"threads", required_argument, NULL, 'T'},
                                          {"device", required_argument, NULL, 'd'},
                                          {"times", no_argument, NULL, CLI_TIMES},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    int end = 1; // options end at "--"
    while (end < argc && strcmp(argv[end], "--") != 0) end++;
    for (int option;
         (option = cli_option("explain", end, argv, ":f:o:m:T:d:h", names)) != -1;) {
        if (optarg != NULL) optarg += optarg[0] == CLI_HIDDEN;
        int status = take_option(option, out);
        if (status != EXIT_FINE) return status;
    }
    return cli_take_words("explain", argc, argv, end, &out->words);
}

// Runs the entry, and once more while it is recorded: everything is built then.
static WeftStatus measure(WeftContext *context, WeftProgram *program, size_t entry,
                          WeftValue **args) {
    size_t arg_count = weft_entry_parameter_count(program, entry);
    size_t result_count = weft_entry_result_count(program, entry);
    WeftValue **results = cli_alloc(result_count * sizeof *results);
    WeftStatus status = WEFT_STATUS_OK;
    for (int turn = 0; turn < 2 && status == WEFT_STATUS_OK; turn++) {
        if (turn == 1) status = weft_record(context, WEFT_RECORD_EVENTS);
        if (status == WEFT_STATUS_OK)
            status = weft_call(program, entry, args, arg_count, results, result_count);
        for (size_t i = 0; i < result_count && status == WEFT_STATUS_OK; i++)
            weft_value_free(results[i]);
    }
    free(results);
    return status;
}

static int put(const Explain *e, const char *text) {
    cli_clear_progress();
    if (e->output == NULL) {
        fputs(text, stdout);
        return cli_finish(EXIT_FINE);
    }
    if (cli_replace_file(e->output, text, strlen(text))) return EXIT_FINE;
    fprintf(stderr, "weft explain: cannot write `%s`: %s\n", e->output,
            strerror(errno));
    return EXIT_ERROR;
}

static int explain_entry(WeftContext *context, WeftProgram *program, size_t entry,
                         const Explain *e) {
    size_t count = weft_entry_parameter_count(program, entry);
    bool has_args = e->words.count > 0 || count == 0;
    if (e->measures && !has_args)
        return cli_usage("explain", "`%s` cannot be measured without values for it",
                         weft_entry_name(program, entry));
    WeftValue **args = cli_alloc(count * sizeof *args);
    int result =
        has_args ? cli_read_arguments(program, entry, &e->words, args) : EXIT_FINE;
    const char *text;
    WeftStatus status = WEFT_STATUS_OK;
    if (result == EXIT_FINE && e->measures)
        status = measure(context, program, entry, args);
    if (result == EXIT_FINE && status == WEFT_STATUS_OK)
        status = weft_explain(program, entry, has_args ? args : NULL,
                              has_args ? count : 0, e->form, &text);
    if (result == EXIT_FINE && status == WEFT_STATUS_OK) result = put(e, text);
    else cli_report(context);
    free(args);
    return status == WEFT_STATUS_OK ? result : EXIT_ERROR;
}

static int explain(WeftContext *context, Explain *e) {
    WeftProgram *program;
    if (weft_program_from_file(context, e->words.file, &program) != WEFT_STATUS_OK) {
        cli_report(context);
        return EXIT_ERROR;
    }
    size_t entry;
    int status = cli_pick_entry(program, &e->words, &entry);
    if (status == EXIT_FINE) status = explain_entry(context, program, entry, e);
    if (status == EXIT_FINE) status = cli_record_report("explain", context, &e->record);
    return status;
}

int verb_explain(int argc, char **argv) {
    Explain e = {0};
    char **block = cli_hide_negatives(argc, argv);
    int status = parse(argc, block, &e);
    if (status == EXIT_FINE && e.output != NULL && !cli_can_write(e.output)) {
        fprintf(stderr, "weft explain: cannot write `%s`: %s\n", e.output,
                strerror(errno));
        status = EXIT_ERROR;
    }
    if (status == EXIT_FINE) {
        WeftContext *context = cli_context(e.options);
        cli_record_start(context, &e.record);
        status = explain(context, &e);
        cli_close(context);
    }
    free(block);
    return status;
}
