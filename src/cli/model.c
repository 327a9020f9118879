// SPDX-License-Identifier: Apache-2.0
//
// weft model: for those who work on Weft. Checks the rules by which one operator
// becomes several, on all that can become of a program.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "cli/cli.h"
#include "cli/model.h"
#include "fission/model.h"
#include "opt/opt.h"

const char help_model[] =
    "Usage: weft model [OPTION...] FILE...\n"
    "       weft model [OPTION...] --random N\n"
    "\n"
    "Splits the operators of programs in every way that the rules of fission allow, "
    "and\n"
    "evaluates what is left in every order; all must give the same bits. The entries "
    "run\n"
    "on the inputs of their test blocks. Says for each how many states there were, and "
    "on\n"
    "how many paths one could go through them.\n"
    "\n"
    "Options:\n"
    "  --places     list where which rule applies, and do no more\n"
    "  --apply K    print core with the rule applied at place K of that list\n"
    "  --at N       there, cut after N elements (default: in halves)\n"
    "  --random N   instead of files, N random programs, on some paths each by "
    "chance;\n"
    "               what differs is shown on the smallest program\n"
    "  --seed S     the number of the first of them (default: 1)\n"
    "  --depth N    split up to N times along a path (default: 2)\n"
    "  --states N   give up after N states of an input (default: 200000)\n"
    "  --all        an input that has more than that is a failure\n"
    "  --after PASS begin with core as it is after this pass (default: contract, the "
    "last\n"
    "               one that decides what the program means)\n"
    "  -h, --help   print this\n"
    "\n"
    "Example:\n"
    "  weft model --depth 1 dot.weft\n"
    "\n"
    "Exit status: 0; 1 if something differs, with the program and the steps that lead\n"
    "there, or is wrong with a file; 2 for wrong usage.\n";

typedef struct ModelCall {
    const char *path;
    OptPass after;
    ModelOptions options;
    uint64_t seed;        // of a random program
    uint32_t definitions; // that it has
    bool walks;           // one path by chance; else all
    bool shows;           // what is wrong with it
    bool lists;
    bool wants_all;     // states to be seen
    uint32_t apply, at; // a place from 1, 0: none; UINT32_MAX: halves
    WeftProgram *program;
    size_t entry;
    WeftValue **args;
    ModelResult result;
} ModelCall;

static size_t passed, failed;

static WeftStatus compile(WeftContext *context, void *data) {
    ModelCall *call = data;
    StrBuf text = strbuf(&context->scratch), source = strbuf(&context->scratch);
    if (call->path == NULL) model_write(&source, call->seed, call->definitions);
    ApiCompile compiled = {.name = STR("random.weft"),
                           .text = strbuf_done(&source),
                           .path = call->path,
                           .stage = API_STAGE_CORE,
                           .after = (int)call->after,
                           .dump = &text,
                           .out = &call->program};
    return call->path == NULL ? api_compile(context, &compiled)
                              : api_compile_file(context, &compiled);
}

static WeftStatus explore(WeftContext *context, void *data) {
    ModelCall *call = data;
    const ApiEntry *entry = &call->program->entries[call->entry];
    uint32_t count = entry->fun->body->param_count;
    RtValue *args = arena_array(&context->scratch, RtValue, count);
    for (uint32_t i = 0; i < entry->param_count; i++)
        memcpy(args + entry->params[i].first, call->args[i]->leaves,
               entry->params[i].count * sizeof *args);
    call->options.heap = &context->heap;
    call->options.cancel = &context->cancel;
    CoreProgram *core = call->program->core;
    CoreFun *fun = (CoreFun *)entry->fun;
    Status status =
        call->walks
            ? model_walk(core, fun, args, &call->options, call->seed, &call->result)
            : model_check(core, fun, args, &call->options, &call->result);
    return status == STATUS_OK ? WEFT_STATUS_OK : WEFT_STATUS_CANCELLED;
}

static void tell(const ModelCall *call, const WeftTest *test) {
    const ModelResult *result = &call->result;
    cli_clear_progress();
    printf("%s:%u: %s: ", call->path, test->line, test->entry);
    if (result->counterexample.len > 0) {
        failed++;
        printf("FAIL: another meaning\n%.*s", STR_ARG(result->counterexample));
        return;
    }
    printf("%llu states, %.0f paths, %llu rules applied%s\n",
           (unsigned long long)result->states, result->paths,
           (unsigned long long)result->rules,
           result->is_complete ? "" : "; there are more");
    if (call->wants_all && !result->is_complete) failed++;
    else passed++;
}

// One input, with a program of its own, whose arena goes with it.
static bool check_input(WeftContext *context, WeftTests *tests, size_t index,
                        const WeftTest *test, ModelCall *call) {
    if (api_guard(context, API_STARTS, compile, call) != WEFT_STATUS_OK) return false;
    call->entry = weft_entry_find(call->program, test->entry);
    if (call->entry == WEFT_NONE) {
        fprintf(stderr, "weft model: %s has no entry `%s`\n", call->path, test->entry);
        return true;
    }
    size_t count = weft_entry_parameter_count(call->program, call->entry);
    call->args = cli_alloc((count + 1) * sizeof *call->args);
    WeftStatus status =
        weft_test_arguments(tests, index, call->program, call->args, count);
    if (status == WEFT_STATUS_OK) {
        status = api_guard(context, API_STARTS, explore, call);
        if (status == WEFT_STATUS_OK) tell(call, test);
        for (size_t i = 0; i < count; i++) weft_value_free(call->args[i]);
    } else {
        fprintf(stderr, "weft model: %s:%u: an input that `%s` cannot have\n",
                call->path, test->line, test->entry);
    }
    free(call->args);
    weft_program_free(call->program);
    return status == WEFT_STATUS_OK;
}

// ---- random programs ---------------------------------------------------------------

// Checks the program of call->seed. Returns whether it could be run.
static bool try_random(WeftContext *context, ModelCall *call) {
    call->entry = 0;
    if (api_guard(context, API_STARTS, compile, call) != WEFT_STATUS_OK) return false;
    WeftStatus status = api_guard(context, API_STARTS, explore, call);
    const ModelResult *result = &call->result;
    if (status == WEFT_STATUS_OK && result->counterexample.len > 0 && call->shows) {
        cli_clear_progress();
        printf("FAIL: another meaning, with seed %llu:\n%.*s%.*s",
               (unsigned long long)call->seed,
               STR_ARG(call->program->cx.sources.data[0]->text),
               STR_ARG(result->counterexample));
    }
    weft_program_free(call->program);
    return status == WEFT_STATUS_OK;
}

// Shows the smallest part of a program that is wrong, on as few rules as can be; else
// the path that was found.
static void show_smallest(WeftContext *context, ModelCall *call) {
    ModelCall small = *call;
    small.walks = false;
    small.options.depth = 2;
    small.options.most_states = 2000;
    small.shows = call->shows = true;
    for (small.definitions = 1; small.definitions <= call->definitions;
         small.definitions++)
        if (try_random(context, &small) && small.result.counterexample.len > 0) return;
    try_random(context, call);
}

static void check_random(ModelCall *call, uint32_t count, uint64_t first) {
    enum { DEFINITIONS = 9, RULES = 12 };
    call->walks = true;
    call->options.depth = RULES;
    for (call->seed = first; call->seed < first + count && !cli_interrupted();
         call->seed++) {
        WeftContext *context = cli_context((WeftOptions){0});
        call->definitions = DEFINITIONS;
        call->shows = false;
        bool is_fine = try_random(context, call);
        if (!is_fine) cli_report(context);
        bool is_right = is_fine && call->result.counterexample.len == 0;
        if (is_fine && !is_right && failed < 3) show_smallest(context, call);
        is_right ? passed++ : failed++;
        cli_close(context);
    }
}

// ---- what a rule does ---------------------------------------------------------------

static void print_place(CoreProgram *core, CoreFun *fun, const FissionPlace *place,
                        uint32_t number) {
    StrBuf text = strbuf(core->arena);
    core_print_stm(core, fun->body->stms.data[place->stm], &text);
    strbuf_char(&text, '\n');
    Str stm = strbuf_done(&text);
    size_t line = (size_t)((const char *)memchr(stm.ptr, '\n', stm.len) - stm.ptr);
    printf("%u  %s, dimension %u: %.*s\n", number, place->rule->name, place->dim,
           (int)line, stm.ptr);
}

static void print_applied(CoreProgram *core, CoreFun *fun, const FissionPlace *place,
                          uint32_t at) {
    StrBuf text = strbuf(core->arena);
    FissionCut cut = {.parts = 2, .at = at == UINT32_MAX ? -1 : (int64_t)at};
    fun->body = fission_apply(core, fun->body, place, cut);
    core_print(core, &text);
    printf("%.*s", STR_ARG(strbuf_done(&text)));
}

static WeftStatus show(WeftContext *context, void *data) {
    ModelCall *call = data;
    WeftStatus status = compile(context, data);
    if (status != WEFT_STATUS_OK) return status;
    CoreProgram *core = call->program->core;
    uint32_t number = 0;
    for (uint32_t e = 0; e < call->program->entry_count; e++) {
        CoreFun *fun = (CoreFun *)call->program->entries[e].fun;
        FissionPlaces places = {0};
        fission_places(fission_new_facts(core), fun->body, fission_rules,
                       fission_rule_count, core->arena, &places);
        for (uint32_t i = 0; i < places.len; i++)
            if (++number == call->apply)
                print_applied(core, fun, &places.data[i], call->at);
            else if (call->lists) print_place(core, fun, &places.data[i], number);
    }
    if (call->apply > number)
        return api_fail(context, WEFT_STATUS_USAGE, "there are %u places", number);
    return WEFT_STATUS_OK;
}

static int show_file(ModelCall *call) {
    WeftContext *context = cli_context((WeftOptions){0});
    WeftStatus status = api_guard(context, API_STARTS, show, call);
    int result = status == WEFT_STATUS_OK ? EXIT_FINE : EXIT_ERROR;
    if (status == WEFT_STATUS_USAGE)
        result = cli_usage("model", "%s", weft_message(context));
    else if (status != WEFT_STATUS_OK) cli_report(context);
    cli_close(context);
    return cli_finish(result);
}

// ---- the verb -----------------------------------------------------------------------

static void check_file(ModelCall *call) {
    WeftContext *context = cli_context((WeftOptions){0});
    WeftTests *tests;
    bool is_fine = weft_tests_from_file(context, call->path, &tests) == WEFT_STATUS_OK;
    size_t before = passed + failed;
    for (size_t i = 0; is_fine && i < weft_test_count(tests); i++) {
        WeftTest test = {.struct_size = sizeof test};
        if (weft_test_info(tests, i, &test) != WEFT_STATUS_OK) continue;
        if (test.kind != WEFT_TEST_CALL || test.only_bench) continue;
        is_fine = check_input(context, tests, i, &test, call);
    }
    if (!is_fine) cli_report(context);
    else if (passed + failed == before)
        fprintf(stderr, "weft model: %s has no test block with an input\n", call->path);
    if (passed + failed == before) failed++;
    cli_close(context);
}

static bool parse_count(const char *text, uint32_t *count_out) {
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number > 1000000000)
        return false;
    *count_out = (uint32_t)number;
    return true;
}

int verb_model(int argc, char **argv) {
    static const struct option names[] = {{"places", no_argument, NULL, 'p'},
                                          {"apply", required_argument, NULL, 'A'},
                                          {"random", required_argument, NULL, 'R'},
                                          {"seed", required_argument, NULL, 'S'},
                                          {"at", required_argument, NULL, 't'},
                                          {"depth", required_argument, NULL, 'd'},
                                          {"states", required_argument, NULL, 's'},
                                          {"all", no_argument, NULL, 'l'},
                                          {"after", required_argument, NULL, 'a'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    ModelCall call = {.after = OPT_CONTRACT,
                      .at = UINT32_MAX,
                      .options = {.rules = fission_rules,
                                  .rule_count = fission_rule_count,
                                  .depth = 2,
                                  .most_states = 200000}};
    uint32_t random = 0, seed = 1;
    uint32_t *const counts[] = {['A'] = &call.apply,
                                ['R'] = &random,
                                ['S'] = &seed,
                                ['d'] = &call.options.depth,
                                ['s'] = &call.options.most_states,
                                ['t'] = &call.at};
    for (int option; (option = cli_option("model", argc, argv, "h", names)) != -1;) {
        if (option == 'p') call.lists = true;
        else if (option == 'l') call.wants_all = true;
        else if (option == 'a' && !opt_find(str_of(optarg), &call.after))
            return cli_usage("model", "there is no pass `%s`", optarg);
        else if (option != 'a' && !parse_count(optarg, counts[option]))
            return cli_usage("model", "`%s` is no number", optarg);
    }
    if (random > 0 && optind < argc)
        return cli_usage("model", "name programs, or ask for random ones");
    if (random > 0) check_random(&call, random, seed);
    else if (optind == argc) return cli_usage("model", "name one or more programs");
    if (random == 0) call.path = argv[optind];
    if (random == 0 && (call.lists || call.apply > 0)) return show_file(&call);
    for (int i = optind; i < argc && !cli_interrupted(); i++) {
        call.path = argv[i];
        check_file(&call);
    }
    cli_tell_interrupt();
    printf("%zu passed, %zu failed\n", passed, failed);
    return cli_finish(failed == 0 && !cli_interrupted() ? EXIT_FINE : EXIT_ERROR);
}
