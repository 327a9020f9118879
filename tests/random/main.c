// SPDX-License-Identifier: Apache-2.0
//
// Random programs against the compiler. Each program is compiled and run by the oracle
// straight after stage 0; then after every later pass, and after a round trip through
// text, it must give the same bits or the same error; and where only integers are
// computed, the bits that the generator's own evaluation gives. What differs is shrunk.
//
//   random_programs [-n COUNT] [-s FIRST_SEED] [-c] [-q] [-e] [-d DEVICES] [-f LEAST]
// -c prints the coverage; -q stops at the first difference, without shrinking; -e runs
// them on the native engine too, with 1 and 3 threads and on cpu*3, and -d on those
// devices, which must give the same or fail with the same message; -f counts the forms
// of code (forms.h) that every fourth program reaches: each must be reached by so many.
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check/check.h"
#include "engine.h"
#include "forms.h"
#include "gen.h"
#include "interp/interp.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "syntax/syntax.h"

typedef enum Outcome {
    SAME,
    SIZES_DIFFER,
    TOO_LONG,
    REJECTED,
    UNSOUND,
    PASS_DIFFERS,
    TEXT_DIFFERS,
    EVALUATION_DIFFERS,
    ENGINE_DIFFERS,
    OUT_OF_MEMORY
} Outcome;

static const char *const outcome_names[] = {"same",
                                            "sizes differ",
                                            "it takes too long",
                                            "a well-typed program is rejected",
                                            "the verifier objects",
                                            "a pass changes the answer",
                                            "text does not round trip",
                                            "the answer is not the expected one",
                                            "an engine differs",
                                            "out of memory"};

static bool has_engines;     // -e, -d
static const char *devices;  // -d; NULL: machine code
static uint64_t least_forms; // -f

// What the oracle takes longer for after stage 0 is not run to its end.
enum { MOST_SECONDS = 2 };

typedef struct Trial {
    Mem mem;
    Arena arena;
    jmp_buf out_of_memory;
    const GProgram *program;
    CoreProgram *core;
    Str first;     // the answer after stage 0
    clock_t begun; // when that was asked for
    atomic_bool takes_long;
    Outcome outcome;
    StrBuf why;
} Trial;

static void set_inputs(Trial *t, RtHeap *heap, RtValue *args) {
    for (uint32_t i = 0; i < GEN_INPUTS; i++) {
        GValue v = gen_input(&t->arena, t->program, i);
        args[i] = (RtValue){.elem = v.type.elem, .rank = v.type.rank};
        if (v.type.rank == 0) {
            args[i].bits = v.data[0];
            continue;
        }
        args[i].array = rt_new(heap, v.type.elem, v.type.rank, v.shape);
        int64_t n = rt_count(args[i].array);
        for (int64_t k = 0; k < n; k++)
            rt_store(v.type.elem,
                     args[i].array->data + k * scalar_info[v.type.elem].bytes,
                     v.data[k]);
    }
}

static void put_bits(StrBuf *out, ScalarType t, uint64_t bits) {
    bool is_nan = (t == SCALAR_F64 && (bits & ~0ull >> 1) > 0x7ff0000000000000) ||
                  (t == SCALAR_F32 && (bits & 0x7fffffff) > 0x7f800000) ||
                  (t == SCALAR_F16 && (bits & 0x7fff) > 0x7c00);
    if (is_nan) strbuf_cstr(out, "nan ");
    else strbuf_printf(out, "%llx ", (unsigned long long)bits);
}

static const CoreFun *find_entry(const CoreProgram *core) {
    for (uint32_t i = 0; i < core->funs.len; i++)
        if (core->funs.data[i]->is_entry) return core->funs.data[i];
    return NULL;
}

// A loop whose state grows with each turn may not come to its end.
static void watch(void *data, CoreLoc loc, double fraction) {
    (void)loc, (void)fraction;
    Trial *t = data;
    if (t->first.ptr == NULL && clock() - t->begun > MOST_SECONDS * CLOCKS_PER_SEC)
        t->takes_long = true;
}

// One run: the shape and bits of the result, or the error, as text to compare.
static Str run_core(Trial *t, const CoreProgram *core) {
    RtHeap heap;
    rt_heap_init(&heap, &t->mem);
    RtValue args[GEN_INPUTS], result = {0};
    set_inputs(t, &heap, args);
    InterpOptions options = {.heap = &heap,
                             .arena = &t->arena,
                             .cancel = &t->takes_long,
                             .progress = watch,
                             .progress_data = t};
    InterpError error = {0};
    StrBuf out = strbuf(&t->arena);
    Status status = interp_run(core, find_entry(core), &options, args, &result, &error);
    if (status != STATUS_OK) {
        strbuf_printf(&out, "error: %.*s", STR_ARG(error.message));
        for (CoreLoc at = error.loc; at != 0; at = core->places.data[at].caller)
            strbuf_printf(&out, " at %u", core->places.data[at].span.start);
    } else if (result.rank == 0) {
        put_bits(&out, result.elem, result.bits);
    } else {
        result.array = rt_contiguous(&heap, result.array);
        int64_t n = rt_count(result.array);
        for (uint32_t d = 0; d < result.rank && (n != 0 || d == 0); d++)
            strbuf_printf(&out, "[%lld]", (long long)result.array->shape[d]);
        for (int64_t k = 0; k < n; k++)
            put_bits(&out, result.elem,
                     rt_load(result.elem,
                             result.array->data + k * scalar_info[result.elem].bytes));
    }
    rt_heap_free(&heap);
    return strbuf_done(&out);
}

static Str show_value(Trial *t, GValue v) {
    StrBuf out = strbuf(&t->arena);
    int64_t n = 1;
    for (uint32_t d = 0; d < v.type.rank; d++) n *= v.shape[d];
    for (uint32_t d = 0; d < v.type.rank && (n != 0 || d == 0); d++)
        strbuf_printf(&out, "[%lld]", (long long)v.shape[d]);
    for (int64_t k = 0; k < n; k++) put_bits(&out, v.type.elem, v.data[k]);
    return strbuf_done(&out);
}

static void found(Trial *t, Outcome outcome, const char *where, Str expected,
                  Str seen) {
    if (t->outcome != SAME) return;
    t->outcome = outcome;
    strbuf_printf(&t->why, "%s\n  expected %.*s\n  found    %.*s\n", where,
                  STR_ARG(expected), STR_ARG(seen));
}

static void after_pass(void *data, const OptPassInfo *pass, CoreProgram *core) {
    Trial *t = data;
    if (pass == &opt_passes[OPT_SIMPLIFY]) forms_before_fusion(core);
    if (!core->is_stage0 || t->outcome == TOO_LONG) return;
    if (t->first.ptr == NULL) t->begun = clock();
    Str seen = run_core(t, core);
    if (t->takes_long) t->outcome = TOO_LONG;
    else if (t->first.ptr == NULL) t->first = seen;
    else if (!str_eq(seen, t->first))
        found(t, PASS_DIFFERS, pass->name, t->first, seen);
}

static void check_text(Trial *t, Cx *cx) {
    StrBuf first = strbuf(&t->arena), second = strbuf(&t->arena);
    core_print(t->core, &first);
    const Source *source =
        sources_add(&cx->sources, STR("printed"), strbuf_done(&first), false);
    CoreProgram *again = core_read(cx, &t->arena, source);
    if (again == NULL) {
        StrBuf text = strbuf(&t->arena);
        diag_render(&cx->sources, cx->diags.data[cx->diags.len - 1], false, &text);
        found(t, TEXT_DIFFERS, "reading", STR("a program"), strbuf_done(&text));
        return;
    }
    core_print(again, &second);
    if (!str_eq(strbuf_done(&first), strbuf_done(&second)))
        found(t, TEXT_DIFFERS, "printing", strbuf_done(&first), strbuf_done(&second));
    Str seen = run_core(t, again);
    if (!str_eq(seen, run_core(t, t->core)))
        found(t, TEXT_DIFFERS, "running what was read", run_core(t, t->core), seen);
}

static void check_evaluation(Trial *t) {
    GValue value;
    GAnswer answer = gen_eval(&t->arena, t->program, &value);
    bool stopped = t->first.len > 6 && memcmp(t->first.ptr, "error:", 6) == 0;
    // An error that nothing needs is dropped by stage 0; one that is needed never is.
    if (answer == GEN_ERROR && !stopped)
        found(t, EVALUATION_DIFFERS, "evaluation", STR("an error"), t->first);
    if (answer != GEN_VALUE) return;
    Str expected = show_value(t, value);
    if (!str_eq(expected, t->first))
        found(t, EVALUATION_DIFFERS, "evaluation", expected, t->first);
}

// Constant sizes that the checker knows to differ, as where a loop's state starts: the
// generator does not avoid them all.
static bool is_of_sizes(const Diag *diag) {
    const char *code = diag->kind->code;
    return strcmp(code, "size-mismatch") == 0 || strcmp(code, "loop-size") == 0;
}

static void check_engine(Trial *t, Str expected, const char *name,
                         const WeftOptions *options) {
    Str seen = engine_run(&t->arena, t->program, *options);
    if (!str_eq(seen, expected)) found(t, ENGINE_DIFFERS, name, expected, seen);
}

static void check_engines(Trial *t) {
    Str expected =
        engine_run(&t->arena, t->program, (WeftOptions){.engine = WEFT_ENGINE_INTERP});
    if (devices != NULL) {
        check_engine(t, expected, devices, &(WeftOptions){.devices = devices});
        return;
    }
    check_engine(t, expected, "native",
                 &(WeftOptions){.engine = WEFT_ENGINE_NATIVE, .threads = 1});
    check_engine(t, expected, "native, 3 threads",
                 &(WeftOptions){.engine = WEFT_ENGINE_NATIVE, .threads = 3});
    check_engine(t, expected, "cpu*3", &(WeftOptions){.devices = "cpu*3"});
}

static void compile_and_run(Trial *t) {
    Cx *cx = arena_new(&t->arena, Cx);
    cx_init(cx, &t->arena);
    StrBuf text = strbuf(&t->arena);
    gen_print(t->program, &text);
    const Source *source =
        sources_add(&cx->sources, STR("random.weft"), strbuf_done(&text), false);
    Ast *ast = syntax_parse(cx, source);
    TProgram *typed = NULL;
    if (cx->diags.error_count == 0) typed = check_program(cx, ast, STR("random"), NULL);
    if (typed != NULL) t->core = lower_program(cx, &t->arena, typed);
    if (t->core == NULL) {
        StrBuf diags = strbuf(&t->arena);
        for (uint32_t i = 0; i < cx->diags.len; i++)
            diag_render(&cx->sources, cx->diags.data[i], false, &diags);
        bool of_sizes = cx->diags.len > 0 && is_of_sizes(cx->diags.data[0]);
        found(t, of_sizes ? SIZES_DIFFER : REJECTED, "compiling", STR("a program"),
              strbuf_done(&diags));
        return;
    }
    OptOptions options = {
        .verify = true, .stop_after = -1, .after = after_pass, .data = t};
    StrBuf report = strbuf(&t->arena);
    if (!opt_run(t->core, &options, &report)) {
        found(t, UNSOUND, "verifying", STR("a sound program"), strbuf_done(&report));
        return;
    }
    if (t->outcome == TOO_LONG) return;
    if (least_forms > 0 && t->program->seed % 4 == 0) forms_of(&t->mem, t->core);
    check_evaluation(t);
    check_text(t, cx);
    if (has_engines && t->outcome == SAME) check_engines(t);
}

// Apart, so that no variable of a caller lives across the jump.
static void try_safely(Trial *t) {
    if (setjmp(t->out_of_memory) == 0) {
        t->why = strbuf(&t->arena);
        compile_and_run(t);
    } else {
        t->outcome = OUT_OF_MEMORY;
    }
}

// Tries the program; *why_out is owned by `arena`.
static Outcome try_program(Arena *arena, const GProgram *program, Str *why_out) {
    Trial *t = calloc(1, sizeof *t);
    if (t == NULL) abort();
    t->program = program;
    arena_init(&t->arena, &t->mem);
    t->mem.recover = &t->out_of_memory;
    t->mem.limit = (size_t)2 << 30;
    try_safely(t);
    Outcome outcome = t->outcome;
    *why_out = STR("");
    if (outcome != SAME && outcome != OUT_OF_MEMORY)
        *why_out = str_copy(arena, strbuf_done(&t->why));
    arena_free(&t->arena);
    if (t->mem.used != 0) abort();
    free(t);
    return outcome;
}

typedef struct Failure {
    Arena *arena;
    Outcome outcome;
} Failure;

static bool still_fails(void *data, const GProgram *program) {
    Failure *failure = data;
    Str why;
    return try_program(failure->arena, program, &why) == failure->outcome;
}

static void report(Arena *arena, GProgram *program, Outcome outcome) {
    Failure failure = {arena, outcome};
    uint32_t before = gen_size(program->body);
    program = gen_shrink(arena, program, still_fails, &failure);
    StrBuf text = strbuf(arena);
    gen_print(program, &text);
    Str why;
    try_program(arena, program, &why);
    printf("seed %llu: %s: %.*s(%u nodes, %u before shrinking)\n%.*s\n",
           (unsigned long long)program->seed, outcome_names[outcome], STR_ARG(why),
           gen_size(program->body), before, STR_ARG(strbuf_done(&text)));
}

static void print_coverage(const GCoverage *coverage) {
    int reached = 0, cells = 0;
    printf("%-10s rank 0..3 at nesting 0..%d\n", "operator", GEN_NESTING - 1);
    for (int k = 0; k < G_COUNT; k++) {
        printf("%-10s", gen_info[k].name);
        for (int rank = 0; rank < 4; rank++) {
            printf(" |");
            uint64_t any = 0;
            for (int deep = 0; deep < GEN_NESTING; deep++) {
                printf(" %6llu", (unsigned long long)coverage->made[k][rank][deep]);
                any += coverage->made[k][rank][deep];
            }
            if (any == 0) continue; // the operator does not exist at this rank
            for (int deep = 0; deep < GEN_NESTING; deep++) {
                cells++;
                reached += coverage->made[k][rank][deep] > 0;
            }
        }
        printf("\n");
    }
    printf("coverage: %d of %d cells (operator x rank x nesting)\n", reached, cells);
}

typedef struct Counts {
    uint64_t passed, failed, skipped;
} Counts;

static char last_words[64]; // should the program now running not end

// A program that does not end is a failure of its own: the process ends.
static void give_up(int signal) {
    (void)signal;
    (void)!write(STDOUT_FILENO, last_words, strlen(last_words));
    _exit(1);
}

// Returns false when memory runs out. The counts are the caller's, so that nothing here
// changes after the jump is set.
static bool run_seed(uint64_t seed, GCoverage *coverage, bool stops, Counts *counts) {
    static Mem mem;
    static Arena arena;
    static jmp_buf out_of_memory;
    mem = (Mem){.recover = &out_of_memory};
    arena_init(&arena, &mem);
    if (setjmp(out_of_memory) != 0) return false;
    snprintf(last_words, sizeof last_words, "seed %llu does not end\n",
             (unsigned long long)seed);
    alarm(has_engines ? 120 : 30);
    GProgram *program = gen_program(&arena, seed, coverage);
    Str why;
    Outcome outcome = try_program(&arena, program, &why);
    if (outcome == SAME) counts->passed++;
    else if (outcome == SIZES_DIFFER || outcome == TOO_LONG) counts->skipped++;
    else if (++counts->failed <= 5 && !stops) report(&arena, program, outcome);
    arena_free(&arena);
    fflush(stdout);
    return true;
}

int main(int argc, char **argv) {
    uint64_t count = 200, first = 1;
    bool shows_coverage = false, stops = false;
    for (int c; (c = getopt(argc, argv, "n:s:cqed:f:")) != -1;) {
        if (c == 'n') count = strtoull(optarg, NULL, 10);
        else if (c == 's') first = strtoull(optarg, NULL, 10);
        else if (c == 'c') shows_coverage = true;
        else if (c == 'q') stops = true;
        else if (c == 'e') has_engines = true;
        else if (c == 'd') has_engines = true, devices = optarg;
        else if (c == 'f') least_forms = strtoull(optarg, NULL, 10);
        else return 2;
    }
    static GCoverage coverage;
    Counts counts = {0};
    signal(SIGALRM, give_up);
    for (uint64_t seed = first; seed < first + count; seed++) {
        if (!run_seed(seed, &coverage, stops, &counts)) return 1;
        if (stops && counts.failed > 0) break;
    }
    if (shows_coverage) print_coverage(&coverage);
    if (counts.skipped * 10 > count) counts.failed++; // they must be few
    if (least_forms > 0) counts.failed += (uint64_t)forms_print(least_forms);
    printf("%llu programs were rejected for their sizes, or take too long\n",
           (unsigned long long)counts.skipped);
    printf("%llu passed, %llu failed\n", (unsigned long long)counts.passed,
           (unsigned long long)counts.failed);
    return counts.failed != 0;
}
