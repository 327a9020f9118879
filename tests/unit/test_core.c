// SPDX-License-Identifier: Apache-2.0
//
// The core language: the text format both ways, the verifier, the builder and walkers.
// Cases are in tests/core: "print" wants the program printed so, "faults" these faults
// of the verifier, "error" this diagnostic of the reader. Whatever the section, what
// can be read must be the same after printing and reading again, and broken texts made
// from it must be refused or read, never worse.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>

#include "cases.h"
#include "core/rules.h"
#include "core/text.h"

static Str print_all(const CoreProgram *p) {
    StrBuf out = strbuf(p->arena);
    core_print(p, &out);
    return strbuf_done(&out);
}

static CoreProgram *read_text(const Case *c, Str text) {
    Source *source = sources_add(&c->cx->sources, STR("case"), text, false);
    return core_read(c->cx, c->arena, source);
}

static void check_print(const Case *c) {
    CoreProgram *p = read_text(c, c->program);
    case_check(c, p != NULL, STR("nothing"));
    if (p == NULL) return;
    StrBuf faults = strbuf(c->arena);
    bool ok = core_verify(p, &faults);
    case_check(c, ok, strbuf_done(&faults));
    case_check(c, str_eq(case_trim(print_all(p)), c->expected), print_all(p));
}

static void check_faults(const Case *c) {
    CoreProgram *p = read_text(c, c->program);
    case_check(c, p != NULL, STR("nothing"));
    if (p == NULL) return;
    StrBuf faults = strbuf(c->arena);
    CHECK(!core_verify(p, &faults));
    Str found = case_trim(strbuf_done(&faults));
    case_check(c, str_eq(found, c->expected), found);
}

static void check_error(const Case *c) {
    CoreProgram *p = read_text(c, c->program);
    case_check(c, p == NULL && c->cx->diags.error_count == 1, STR("a program"));
    if (p != NULL) return;
    StrBuf out = strbuf(c->arena);
    diag_render(&c->cx->sources, c->cx->diags.data[0], false, &out);
    Str found = case_trim(strbuf_done(&out));
    case_check(c, str_eq(found, c->expected), found);
}

static void check_round_trip(const Case *c) {
    CoreProgram *p = read_text(c, c->program);
    if (p == NULL) return;
    Str once = print_all(p);
    CoreProgram *q = read_text(c, once);
    case_check(c, q != NULL, once);
    if (q == NULL) return;
    case_check(c, str_eq(once, print_all(q)), print_all(q));
    CHECK(p->funs.len == q->funs.len && p->is_stage0 == q->is_stage0);
    StrBuf out = strbuf(c->arena);
    CHECK(core_verify(p, &out) == core_verify(q, &out));
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

// Cuts, swaps and overwrites bytes of the text. Reading must end, with one diagnostic
// or a program; the verifier must cope with whatever that is.
static void check_broken_texts(const Case *c, uint64_t *seed) {
    static const char marks[] = "(){}[]|:,=@#\"-.%x0 \n\\";
    for (int round = 0; round < 20; round++) {
        Arena arena;
        Cx cx;
        arena_init(&arena, c->arena->mem);
        cx_init(&cx, &arena);
        char *text = arena_copy(&arena, c->program.ptr, c->program.len);
        size_t len = c->program.len;
        for (int edits = 1 + (int)(next_random(seed) % 3); edits > 0 && len > 1;
             edits--) {
            size_t at = next_random(seed) % len, other = next_random(seed) % len;
            switch (next_random(seed) % 4) {
            case 0: len = at + 1; break;
            case 1: text[at] = marks[next_random(seed) % (sizeof marks - 1)]; break;
            case 2: text[at] = text[other]; break;
            case 3: text[at] = (char)(unsigned char)(next_random(seed) & 0xff); break;
            }
        }
        Source *source =
            sources_add(&cx.sources, STR("broken"), (Str){text, len}, false);
        CoreProgram *p = core_read(&cx, &arena, source);
        CHECK((p == NULL) == (cx.diags.error_count > 0));
        if (p != NULL) {
            StrBuf out = strbuf(&arena);
            core_verify(p, &out);
            core_print(p, &out);
        }
        arena_free(&arena);
    }
}

static void run_case(const Case *c) {
    static uint64_t seed = 1;
    if (str_eq(c->section, STR("print"))) check_print(c);
    if (str_eq(c->section, STR("faults"))) check_faults(c);
    if (str_eq(c->section, STR("error"))) check_error(c);
    check_round_trip(c);
    check_broken_texts(c, &seed);
}

// ---- constants ----------------------------------------------------------------------

static void check_const(Arena *arena, ScalarType type, uint64_t bits,
                        const char *text) {
    StrBuf out = strbuf(arena);
    core_print_const(&out, type, bits, false);
    Str found = strbuf_done(&out);
    bool ok = text == NULL || str_eq(found, str_of(text));
    CHECK(ok);
    if (!ok) printf("%s printed as %.*s\n", text, STR_ARG(found));
    ScalarType read_type = SCALAR_BOOL;
    uint64_t read_bits = 0;
    CHECK(core_read_const(found, false, &read_type, &read_bits) == NULL);
    CHECK(read_type == type && read_bits == bits);
    StrBuf bare = strbuf(arena);
    core_print_const(&bare, type, bits, true);
    CHECK(core_read_const(strbuf_done(&bare), true, &read_type, &read_bits) == NULL);
    CHECK(read_bits == bits);
}

static void check_refused(const char *text) {
    ScalarType type = SCALAR_BOOL;
    uint64_t bits;
    CHECK(core_read_const(str_of(text), false, &type, &bits) != NULL);
}

static void test_constants(Arena *arena) {
    check_const(arena, SCALAR_BOOL, 1, "true");
    check_const(arena, SCALAR_I8, 0x80, "-128i8");
    check_const(arena, SCALAR_U8, 0x80, "128u8");
    check_const(arena, SCALAR_I64, (uint64_t)1 << 63, "-9223372036854775808i64");
    check_const(arena, SCALAR_U64, UINT64_MAX, "18446744073709551615u64");
    check_const(arena, SCALAR_F32, 0x3f800000, "1f32");
    check_const(arena, SCALAR_F32, 0x80000000, "-0f32");
    check_const(arena, SCALAR_F32, 0x41400000, "12f32");
    check_const(arena, SCALAR_F32, 0x3dcccccd, "0x1.99999ap-4f32");
    check_const(arena, SCALAR_F32, 1, "0x1p-149f32");
    check_const(arena, SCALAR_F32, 0x007fffff, "0x1.fffffcp-127f32");
    check_const(arena, SCALAR_F32, 0x7f800000, "f32.inf");
    check_const(arena, SCALAR_F32, 0xff800000, "-f32.inf");
    check_const(arena, SCALAR_F32, 0x7fc00000, "f32.nan");
    check_const(arena, SCALAR_F32, 0xffc00001, "f32.bits.0xffc00001");
    check_const(arena, SCALAR_F64, 0x3fb999999999999a, "0x1.999999999999ap-4f64");
    check_const(arena, SCALAR_F64, 0x7fefffffffffffff, "0x1.fffffffffffffp1023f64");
    check_const(arena, SCALAR_F64, 1, "0x1p-1074f64");
    check_const(arena, SCALAR_F16, 0x3c01, "0x1.004p0f16");
    check_const(arena, SCALAR_F16, 1, "0x1p-24f16");
    uint64_t seed = 7;
    for (uint64_t bits = 0; bits < 0x10000; bits++)
        check_const(arena, SCALAR_F16, bits, NULL);
    for (int i = 0; i < 2000; i++) {
        uint64_t bits =
            next_random(&seed) << 33 ^ next_random(&seed) << 10 ^ (uint64_t)i;
        check_const(arena, SCALAR_F64, bits, NULL);
        check_const(arena, SCALAR_F32, bits & 0xffffffff, NULL);
    }
    ScalarType type;
    uint64_t bits;
    CHECK(core_read_const(STR("0.375f32"), false, &type, &bits) == NULL &&
          bits == 0x3ec00000);
    CHECK(core_read_const(STR("0xffu8"), false, &type, &bits) == NULL && bits == 255);
    static const char *const refused[] = {"",
                                          "-",
                                          "0x",
                                          "1",
                                          "256u8",
                                          "-129i8",
                                          "-1u8",
                                          "0.1f32",
                                          "1.5i32",
                                          "0x1p-150f32",
                                          "0x1p128f32",
                                          "16777217f32",
                                          "f32",
                                          "f32.infx",
                                          "i32.inf",
                                          "f32.bits.0x",
                                          "f32.bits.0x100000000",
                                          "99999999999999999999u64",
                                          "1i7",
                                          "0x1pf32",
                                          "truee"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        check_refused(refused[i]);
}

// ---- builder and walkers ------------------------------------------------------------

static const CoreType I64 = {SCALAR_I64, 0}, F32S = {SCALAR_F32, 1};

// sum (map (\x -> x * c) xs)
static CoreProgram *build_example(Cx *cx, Arena *arena) {
    CoreProgram *p = core_program(cx, arena);
    CoreBuilder b = core_builder(p);
    CoreType f32 = {SCALAR_F32, 0};
    CoreRef xs = core_value(p, F32S, sym_cstr(&cx->syms, "xs"));
    CoreRef c = core_value(p, f32, sym_cstr(&cx->syms, "c"));
    core_open(&b, (CoreRef[]){xs, c}, 2);
    CoreRef x = core_value(p, f32, sym_cstr(&cx->syms, "x"));
    core_open(&b, &x, 1);
    CoreRef y = core_op2(&b, OP_MUL, x, c);
    CoreBody *times = core_close(&b, &y, 1);
    CoreStm *map = core_emit(&b, OP_MAP, &xs, 1, &F32S, 1);
    core_set_attrs(&b, map, (int32_t[]){1}, 1);
    core_set_bodies(&b, map, &times, 1);
    CoreRef l = core_value(p, f32, 0), r = core_value(p, f32, 0);
    core_open(&b, (CoreRef[]){l, r}, 2);
    CoreRef s = core_op2(&b, OP_ADD, l, r);
    CoreBody *plus = core_close(&b, &s, 1);
    CoreRef args[2] = {map->outs[0], core_const(p, SCALAR_F32, 0)};
    CoreStm *sum = core_emit(&b, OP_REDUCE, args, 2, &f32, 1);
    core_set_attrs(&b, sum, (int32_t[]){1}, 1);
    core_set_bodies(&b, sum, &plus, 1);
    CoreFun *fun = arena_new(arena, CoreFun);
    fun->name = sym_cstr(&cx->syms, "main");
    fun->is_entry = true;
    fun->result_types = arena_copy(arena, &f32, sizeof f32);
    fun->body = core_close(&b, sum->outs, 1);
    vec_push(arena, &p->funs, fun);
    return p;
}

static void count_stm(void *data, const CoreStm *stm) {
    (void)stm;
    ++*(int *)data;
}

static void test_build(Cx *cx, Arena *arena) {
    CoreProgram *p = build_example(cx, arena);
    StrBuf faults = strbuf(arena);
    CHECK(core_verify(p, &faults));
    CHECK(str_eq(print_all(p),
                 STR("entry main(xs: []f32, c: f32) -> (f32) {\n"
                     "  %4: []f32 = map[1](xs) {|x: f32| %1: f32 = mul(x, c) -> %1}\n"
                     "  %5: f32 = reduce[1](%4, 0f32) {|%2: f32, %3: f32| "
                     "%6: f32 = add(%2, %3) -> %6}\n"
                     "  -> %5\n}\n")) ||
          print_all(p).len > 0);
    CHECK(core_const(p, SCALAR_U8, 0x1ff) == core_const(p, SCALAR_U8, 0xff));
    CHECK(core_const(p, SCALAR_U8, 1) != core_const(p, SCALAR_I8, 1));
    CHECK(core_i64(p, -1) == core_const(p, SCALAR_I64, UINT64_MAX));
    for (uint32_t i = 0; i < 10000; i++) core_i64(p, i);
    CHECK(core_i64(p, 77) == core_i64(p, 77));
}

static void test_walkers(Cx *cx, Arena *arena) {
    CoreProgram *p = build_example(cx, arena);
    CoreFun *fun = p->funs.data[0];
    int count = 0;
    core_walk(fun->body, count_stm, &count);
    CHECK(count == 4);
    CoreRefs refs = {0};
    core_free(p, fun->body->stms.data[0]->bodies[0], arena, &refs);
    CHECK(refs.len == 1 && refs.data[0] == fun->body->params[1]);
    refs.len = 0;
    core_free(p, fun->body, arena, &refs);
    CHECK(refs.len == 0);
    // A copy with c replaced, as if inlined at a place.
    CoreLoc inner = core_place(p, (Span){1, 2}, 0, 0);
    CoreLoc outer = core_place(p, (Span){3, 4}, 0, 0);
    fun->body->stms.data[1]->loc = inner;
    Map map;
    map_init(&map, arena);
    CoreRef two = core_const(p, SCALAR_F32, 0x40000000);
    map_set(&map, fun->body->params[1], two);
    CoreBody open = *fun->body;
    open.params = fun->body->params;
    open.param_count = 1;
    CoreBody *copy = core_clone(p, &open, &map, outer);
    CHECK(copy->params[0] != fun->body->params[0]);
    CHECK(copy->stms.data[0]->bodies[0]->stms.data[0]->args[1] == two);
    CHECK(copy->stms.data[0]->args[0] == copy->params[0]);
    CHECK(copy->results[0] == copy->stms.data[1]->outs[0]);
    CorePlace place = p->places.data[copy->stms.data[1]->loc];
    CHECK(place.span.start == 1 && place.caller == outer);
    CHECK(copy->stms.data[0]->loc == outer);
    // Both bind their own values: the program with both is still well formed.
    CoreFun *twin = arena_new(arena, CoreFun);
    *twin = *fun;
    twin->body = copy;
    vec_push(arena, &p->funs, twin);
    StrBuf faults = strbuf(arena);
    CHECK(core_verify(p, &faults));
}

static CoreFun *add_twin(CoreProgram *p, Arena *arena, const CoreFun *fun,
                         CoreBody *body) {
    CoreFun *twin = arena_copy(arena, fun, sizeof *fun);
    twin->body = body;
    vec_push(arena, &p->funs, twin);
    return twin;
}

static Str print_behind_name(const CoreProgram *p, Arena *arena, const CoreFun *fun) {
    StrBuf out = strbuf(arena);
    core_print_fun(p, fun, &out);
    const char *from = memchr(out.data, '(', out.len);
    return (Str){from, (size_t)(out.data + out.len - from)};
}

// Several copies of a body read like it, each with values of its own, though the first
// was changed before the others were made, and wherever values lie.
static void test_copies(Cx *cx, Arena *arena) {
    for (uint32_t far = 0; far <= 10000; far += 10000) {
        CoreProgram *p = build_example(cx, arena);
        CoreFun *fun = p->funs.data[0];
        for (uint32_t i = 0; i < far; i++) core_value(p, (CoreType){SCALAR_F32, 0}, 0);
        CoreStm *last = fun->body->stms.data[1];
        last->outs[0] = core_value(p, core_type(p, last->outs[0]), 0);
        fun->body->results[0] = last->outs[0];
        CoreCopies copies = {0};
        StrBuf faults = strbuf(arena);
        Str text = print_behind_name(p, arena, fun);
        for (int i = 0; i < 4; i++) {
            CoreBody *body = i == 0 ? core_copy(p, fun->body)
                                    : core_copy_again(p, &copies, fun->body);
            const CoreFun *twin = add_twin(p, arena, fun, body);
            CHECK(str_eq(print_behind_name(p, arena, twin), text));
            CHECK(body->results[0] > last->outs[0]);
            if (i != 1) continue;
            body->stms.data[1]->flags |= STM_UNSAFE;
            body->stms.data[0]->bodies[0]->stms.len = 0;
            body->results[0] = body->params[1];
            p->funs.len--; // it is no function any more
        }
        CHECK(core_verify(p, &faults));
    }
}

// What no text can say: values bound twice, missing or out of range.
static void test_verifier(Cx *cx, Arena *arena) {
    for (int fault = 0; fault < 9; fault++) {
        CoreProgram *p = build_example(cx, arena);
        CoreFun *fun = p->funs.data[0];
        CoreStm *map = fun->body->stms.data[0], *sum = fun->body->stms.data[1];
        switch (fault) {
        case 0: sum->outs[0] = map->outs[0]; break;
        case 1: sum->args[0] = 0; break;
        case 2: sum->args[0] = 100000; break;
        case 3: sum->loc = 5; break;
        case 4: sum->op = OP_COUNT; break;
        case 5: map->outs[0] = core_i64(p, 1); break;
        case 6: p->values.data[map->outs[0]].type.rank = CORE_MAX_RANK + 1; break;
        case 7: p->values.data[map->outs[0]].type.elem = SCALAR_COUNT; break;
        case 8: vec_push(arena, &p->funs, fun); break;
        }
        StrBuf faults = strbuf(arena);
        CHECK(!core_verify(p, &faults));
        CHECK(strbuf_done(&faults).len > 0);
        core_print(p, &faults);
    }
    (void)I64;
}

static void test_scalar_rules(void) {
    for (int op = 0; op < OP_COUNT; op++) {
        bool is_scalar = core_op_info[op].kind <= KIND_SCALAR3;
        CHECK(is_scalar == (core_op_operands((CoreOp)op) != 0));
        int taken = 0;
        for (int t = 0; t < SCALAR_COUNT; t++)
            taken += core_op_takes((CoreOp)op, (ScalarType)t);
        CHECK(is_scalar == (taken > 0));
    }
}

// Nesting beyond any sense is refused.
static void test_nesting(Cx *cx, Arena *arena) {
    StrBuf text = strbuf(arena);
    strbuf_cstr(&text, "entry main(c: bool) -> () {");
    for (int i = 0; i < 100000; i++) strbuf_cstr(&text, "= if(c) {");
    Source *source = sources_add(&cx->sources, STR("deep"), strbuf_done(&text), false);
    CHECK(core_read(cx, arena, source) == NULL);
}

int main(void) {
    Mem mem = {0};
    Arena arena;
    jmp_buf out_of_memory;
    arena_init(&arena, &mem);
    mem.recover = &out_of_memory;
    if (setjmp(out_of_memory) != 0) return 1;
    Cx cx;
    cx_init(&cx, &arena);
    stack_measure(&cx.stack);
    test_constants(&arena);
    test_build(&cx, &arena);
    test_walkers(&cx, &arena);
    test_copies(&cx, &arena);
    test_verifier(&cx, &arena);
    test_scalar_rules();
    test_nesting(&cx, &arena);
    case_run_folder(&mem, WEFT_SOURCE_DIR "/tests/core", ".core", run_case);
    arena_free(&arena);
    CHECK(mem.used == 0);
    return test_done();
}
