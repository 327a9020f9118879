// SPDX-License-Identifier: Apache-2.0
//
// The passes: programs before and after, from tests/core. A section names the passes to
// run, in order; what they leave is printed and compared. The verifier runs after each.
// Whatever section: the whole pipeline must run on the program, too.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>

#include "cases.h"
#include "opt/opt.h"

static CoreProgram *read_case(const Case *c) {
    Source *source = sources_add(&c->cx->sources, STR("case"), c->program, false);
    return core_read(c->cx, c->arena, source);
}

static Str print_all(const CoreProgram *p) {
    StrBuf out = strbuf(p->arena);
    core_print(p, &out);
    return case_trim(strbuf_done(&out));
}

// Takes the next word off the text.
static Str next_word(Str *text) {
    *text = case_trim(*text);
    size_t len = 0;
    while (len < text->len && text->ptr[len] != ' ') len++;
    Str word = {text->ptr, len};
    *text = (Str){text->ptr + len, text->len - len};
    return word;
}

static bool verify(const Case *c, const CoreProgram *p) {
    StrBuf faults = strbuf(c->arena);
    bool ok = core_verify(p, &faults);
    case_check(c, ok, strbuf_done(&faults));
    return ok;
}

// Runs the passes named in the section.
static void run_passes(const Case *c) {
    CoreProgram *p = read_case(c);
    Str names = c->section;
    case_check(c, p != NULL, STR("a program that cannot be read"));
    if (p == NULL || !verify(c, p)) return;
    while (names.len > 0) {
        OptPass pass;
        Str name = next_word(&names);
        if (str_eq(name, STR("stage0"))) {
            OptOptions options = {
                .verify = true, .stage0_only = true, .stop_after = -1};
            StrBuf report = strbuf(c->arena);
            bool ok = opt_run(p, &options, &report);
            case_check(c, ok, strbuf_done(&report));
        } else if (opt_find(name, &pass)) {
            Str before = print_all(p);
            bool changed = opt_passes[pass].run(p);
            if (!changed) case_check(c, str_eq(before, print_all(p)), STR("changed"));
            case_check(c, !opt_passes[pass].run(p) || pass == OPT_INLINE,
                       STR("a second run changes it again"));
        } else {
            case_check(c, false, STR("no such pass"));
        }
        if (!verify(c, p)) return;
    }
    case_check(c, str_eq(print_all(p), c->expected), print_all(p));
}

static void count_pass(void *data, const OptPassInfo *pass, CoreProgram *program) {
    (void)program;
    if (pass->run != NULL) ++*(int *)data;
}

// Takes the place of what the pass has noted.
static void spoil_notes(void *data, const OptPassInfo *pass, CoreProgram *program) {
    enum { SPOILT = 1 << 13 };
    (void)data, (void)pass;
    memset(arena_alloc(program->notes, SPOILT), 0xA5, SPOILT);
}

// The same comes out if passes keep apart what they note.
static void run_with_notes(const Case *c, Str text) {
    CoreProgram *p = read_case(c);
    Arena notes = {.mem = c->arena->mem};
    StrBuf report = strbuf(c->arena);
    OptOptions options = {.verify = true, .stop_after = -1, .after = spoil_notes};
    p->notes = &notes;
    bool ok = opt_run(p, &options, &report);
    case_check(c, ok, strbuf_done(&report));
    case_check(c, ok && str_eq(print_all(p), text), print_all(p));
    arena_free(&notes);
}

static void run_pipeline(const Case *c) {
    CoreProgram *p = read_case(c);
    if (p == NULL) return;
    int passes = 0;
    bool was_stage0 = p->is_stage0;
    OptOptions options = {
        .verify = true, .stop_after = -1, .after = count_pass, .data = &passes};
    StrBuf report = strbuf(c->arena);
    bool ok = opt_run(p, &options, &report);
    case_check(c, ok, strbuf_done(&report));
    int wanted = 0;
    for (int i = 0; i < OPT_COUNT; i++)
        wanted += opt_passes[i].is_on && !(was_stage0 && opt_passes[i].is_stage0);
    CHECK(passes == wanted && p->is_stage0);
    // What came out is read again, and then nothing is left to be done.
    Str text = str_copy(c->arena, print_all(p));
    run_with_notes(c, text);
    Source *source = sources_add(&c->cx->sources, STR("again"), text, false);
    CoreProgram *again = core_read(c->cx, c->arena, source);
    CHECK(again != NULL);
    if (again == NULL) return;
    CHECK(opt_run(again, &options, &report));
    case_check(c, str_eq(print_all(again), text), print_all(again));
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static bool is_word(char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || ch == '.' ||
           ch == '_';
}

// A word of the text at or after a random place; empty if there is none.
static Str random_word(Str text, uint64_t *seed) {
    size_t start = next_random(seed) % text.len;
    while (start < text.len && is_word(text.ptr[start])) start++;
    while (start < text.len && !is_word(text.ptr[start])) start++;
    size_t end = start;
    while (end < text.len && is_word(text.ptr[end])) end++;
    return (Str){text.ptr + start, end - start};
}

// Programs that nobody would write: words of the case swapped for others of it. Those
// that the verifier accepts must go through all passes and stay well formed.
static void run_swapped(const Case *c, uint64_t *seed) {
    for (int round = 0; round < 60; round++) {
        Arena arena;
        Cx cx;
        arena_init(&arena, c->arena->mem);
        cx_init(&cx, &arena);
        Str text = c->program;
        for (uint64_t edits = 1 + next_random(seed) % 3; edits > 0; edits--) {
            Str from = random_word(text, seed), to = random_word(text, seed);
            StrBuf edited = strbuf(&arena);
            strbuf_bytes(&edited, text.ptr, (size_t)(from.ptr - text.ptr));
            strbuf_str(&edited, to);
            const char *rest = from.ptr + from.len;
            strbuf_bytes(&edited, rest, text.len - (size_t)(rest - text.ptr));
            text = strbuf_done(&edited);
        }
        Source *source = sources_add(&cx.sources, STR("swapped"), text, false);
        CoreProgram *p = core_read(&cx, &arena, source);
        StrBuf report = strbuf(&arena);
        if (p != NULL && core_verify(p, &report)) {
            OptOptions options = {.verify = true, .stop_after = -1};
            bool ok = opt_run(p, &options, &report);
            CHECK(ok);
            if (!ok)
                printf("%.*s\n%.*s\n", STR_ARG(text), STR_ARG(strbuf_done(&report)));
        }
        arena_free(&arena);
    }
}

static void run_case(const Case *c) {
    static uint64_t seed = 1;
    run_swapped(c, &seed);
    if (str_eq(c->section, STR("print"))) run_pipeline(c);
    if (str_eq(c->section, STR("print")) || str_eq(c->section, STR("faults")) ||
        str_eq(c->section, STR("error")))
        return;
    run_passes(c);
    Case again = *c;
    run_pipeline(&again);
}

// The programs in docs/internals/core.md: all are well formed and printed as the text
// format has it, and the last one is what stage 0 makes of the first.
static void check_docs(const Case *c) {
    Str text = c->program, blocks[8];
    uint32_t count = 0;
    while (text.len > 0 && count < 8) {
        size_t line = 0;
        while (line < text.len && text.ptr[line] != '\n') line++;
        bool fence = line >= 3 && memcmp(text.ptr, "```", 3) == 0;
        text = (Str){text.ptr + line + (line < text.len),
                     text.len - line - (line < text.len)};
        if (!fence) continue;
        size_t end = 0;
        while (end + 3 <= text.len && memcmp(text.ptr + end, "```", 3) != 0) end++;
        blocks[count++] = (Str){text.ptr, end};
        text = (Str){text.ptr + end + 3, text.len - end - 3};
    }
    CHECK(count >= 2);
    Str made = {0};
    for (uint32_t i = 0; i < count; i++) {
        Case block = *c;
        block.program = blocks[i];
        block.expected = case_trim(blocks[i]);
        CoreProgram *p = read_case(&block);
        case_check(&block, p != NULL, STR("nothing"));
        if (p == NULL) return;
        verify(&block, p);
        case_check(&block, str_eq(print_all(p), block.expected), print_all(p));
        OptOptions options = {.verify = true, .stage0_only = true, .stop_after = -1};
        StrBuf report = strbuf(c->arena);
        CHECK(opt_run(p, &options, &report));
        if (i == 0) made = print_all(p);
        if (i + 1 == count) case_check(&block, str_eq(made, block.expected), made);
    }
}

static void test_docs(Mem *mem) {
    size_t size = 0;
    char *text = case_read_file(WEFT_SOURCE_DIR "/docs/internals/core.md", &size);
    CHECK(text != NULL);
    Arena arena;
    Cx cx;
    arena_init(&arena, mem);
    cx_init(&cx, &arena);
    Case c = {&cx, &arena, "core.md", {text, size}, STR("docs"), STR("")};
    if (text != NULL) check_docs(&c);
    arena_free(&arena);
    free(text);
}

// Bodies nested as deeply as the reader allows go through every pass.
static void test_nesting(Mem *mem) {
    Arena arena;
    Cx cx;
    arena_init(&arena, mem);
    cx_init(&cx, &arena);
    StrBuf text = strbuf(&arena);
    strbuf_cstr(&text, "entry main(n: i64, x: f32) -> (f32) {");
    for (int i = 0; i < 900; i++)
        strbuf_cstr(&text, "r: f32 = for(n, x) {|i: i64, s: f32| p: f32 = mul(s, s)\n");
    strbuf_cstr(&text, "r: f32 = add(p, x) -> r }");
    for (int i = 0; i < 899; i++) strbuf_cstr(&text, "q: f32 = add(p, r) -> q }");
    strbuf_cstr(&text, " -> r }");
    Source *source = sources_add(&cx.sources, STR("deep"), strbuf_done(&text), false);
    CoreProgram *p = core_read(&cx, &arena, source);
    CHECK(p != NULL);
    OptOptions options = {.verify = true, .stop_after = -1};
    StrBuf report = strbuf(&arena);
    CHECK(p != NULL && opt_run(p, &options, &report));
    arena_free(&arena);
}

static const char sum_text[] =
    "entry main(n: i64, xs: []f32) -> (f32) {\n"
    "  ps: []f32 = generate[1](n) {|i: i64| x: f32 = index(xs, i) p: f32 = mul(x, x) "
    "-> p}\n"
    "  s: f32 = reduce[1](ps, 0f32) {|a: f32, b: f32| c: f32 = add(a, b) -> c}\n"
    "  -> s\n"
    "}\n";

static CoreProgram *read_sum(Cx *cx, Arena *arena) {
    Source *source = sources_add(&cx->sources, STR("sum"), str_of(sum_text), false);
    return core_read(cx, arena, source);
}

// Where the pipeline stops, and what it says of a broken program.
static void test_options(Mem *mem) {
    Arena arena;
    Cx cx;
    arena_init(&arena, mem);
    cx_init(&cx, &arena);
    CoreProgram *p = read_sum(&cx, &arena);
    int passes = 0;
    OptOptions options = {.verify = true, .stop_after = OPT_STAMP};
    options.after = count_pass;
    options.data = &passes;
    StrBuf report = strbuf(&arena);
    CHECK(opt_run(p, &options, &report));
    CHECK(passes == OPT_STAMP + 1 && !p->is_stage0);
    CHECK(p->funs.data[0]->body->stms.data[1]->stamp == STAMP_OUTER_LANES);
    options.stop_after = -1;
    options.stage0_only = true;
    CHECK(opt_run(p, &options, &report) && p->is_stage0);
    CHECK(passes == OPT_STAMP + 1 + OPT_SIMPLIFY && strbuf_done(&report).len == 0);
    p->funs.data[0]->body->results[0] = 0;
    CHECK(!opt_run(p, &options, &report));
    Str text = strbuf_done(&report);
    CHECK(text.len > 6 && memcmp(text.ptr, "after ", 6) == 0);
    arena_free(&arena);
}

static void run_sum(Mem *mem, Arena *arena) {
    jmp_buf out_of_memory;
    mem->recover = &out_of_memory;
    if (setjmp(out_of_memory) != 0) return;
    Cx *cx = arena_new(arena, Cx);
    cx_init(cx, arena);
    CoreProgram *p = read_sum(cx, arena);
    OptOptions options = {.verify = true, .stop_after = -1};
    StrBuf report = strbuf(arena);
    opt_run(p, &options, &report);
    core_print(p, &report);
}

// Memory that runs out anywhere unwinds and leaves nothing behind.
static void test_memory(void) {
    bool finished = false;
    for (uint64_t k = 1; !finished && k < 1000; k++) {
        Mem mem = {.fail_at = k};
        Arena arena;
        arena_init(&arena, &mem);
        run_sum(&mem, &arena);
        finished = mem.calls < k;
        arena_free(&arena);
        CHECK(mem.used == 0);
    }
    CHECK(finished);
}

static void test_table(void) {
    OptPass pass = OPT_COUNT;
    CHECK(opt_find(STR("contract"), &pass) && pass == OPT_CONTRACT);
    CHECK(!opt_find(STR("contrac"), &pass));
    for (int i = 0; i < OPT_COUNT; i++) CHECK(opt_passes[i].run != NULL);
    for (int i = 1; i < OPT_COUNT; i++)
        CHECK(opt_passes[i - 1].is_stage0 || !opt_passes[i].is_stage0);
}

int main(void) {
    Mem mem = {0};
    jmp_buf out_of_memory;
    mem.recover = &out_of_memory;
    if (setjmp(out_of_memory) != 0) return 1;
    test_table();
    test_docs(&mem);
    test_options(&mem);
    test_memory();
    test_nesting(&mem);
    case_run_folder(&mem, WEFT_SOURCE_DIR "/tests/core", ".core", run_case);
    CHECK(mem.used == 0);
    return test_done();
}
