// SPDX-License-Identifier: Apache-2.0
//
// Reading kernels as text. What is read is well formed but perhaps ill typed: who reads
// a text that people wrote runs loop_verify next. The first mistake is reported and
// ends the reading.
//
//   text:      (["plain"] "function" "name" body)... "kernel" "name" ports -> ports
//   body ports:     ( [["owned"] type, ...] ) body:      { [|x: type, ...|]
//   statement... -> x, ... } statement: x: type, ... = op[.order] [[number]] [(arg,
//   ...)] ["text" | [number,
//              ...]] body... [@place]
//   type:      f64, f64[8] (in lanes), [f64] (a buffer), mark
//
// Every name is bound once in the text.
#include <string.h>

#include "core/rules.h"
#include "core/scan.h"
#include "core/text.h"
#include "loop/build.h"

static const DiagKind expected_kind = {"loop-expected", "expected %s, found %.*s"};
static const DiagKind name_kind = {"loop-name", "%.*s is %s"};

enum { MOST_BODIES = 2 };

typedef struct Reader {
    Cx *cx;
    Arena *arena;
    LoopBuilder b;
    CoreScanner scanner;
    CoreToken token;
    bool failed;
    Map values; // Sym of the word -> LoopRef
    uint32_t depth;
} Reader;

typedef struct Refs {
    LoopRef *data;
    uint32_t len, cap;
} Refs;

// ---- tokens -------------------------------------------------------------------------

static void advance(Reader *r) {
    if (!r->failed) r->token = core_scan(&r->scanner);
}

// After the first mistake every token is the end, at which all loops stop.
static void stop(Reader *r) {
    r->failed = true;
    r->token = (CoreToken){.kind = CORE_TOKEN_END, .span = r->token.span};
}

static Str shown(const Reader *r) {
    Str text =
        r->token.kind == CORE_TOKEN_END ? STR("the end of the file") : r->token.text;
    if (text.len > 40) text.len = 40;
    return text;
}

static void fail_expected(Reader *r, const char *what) {
    if (r->failed) return;
    Str found = shown(r);
    diag_error(&r->cx->diags, r->token.span, &expected_kind, what, STR_ARG(found));
    stop(r);
}

static void fail_name(Reader *r, const char *why) {
    if (r->failed) return;
    Str found = shown(r);
    diag_error(&r->cx->diags, r->token.span, &name_kind, STR_ARG(found), why);
    stop(r);
}

static bool accept(Reader *r, char mark) {
    if (r->token.kind != CORE_TOKEN_MARK || r->token.mark != mark) return false;
    advance(r);
    return true;
}

static void expect(Reader *r, char mark, const char *what) {
    if (!accept(r, mark)) fail_expected(r, what);
}

static bool at_mark(const Reader *r, char mark) {
    return r->token.kind == CORE_TOKEN_MARK && r->token.mark == mark;
}

static bool accept_word(Reader *r, const char *word) {
    if (r->token.kind != CORE_TOKEN_WORD || !str_eq(r->token.text, str_of(word)))
        return false;
    advance(r);
    return true;
}

static void expect_arrow(Reader *r) {
    if (r->token.kind != CORE_TOKEN_ARROW) fail_expected(r, "->");
    advance(r);
}

static Str expect_string(Reader *r) {
    Str bytes = r->token.bytes;
    if (r->token.kind != CORE_TOKEN_STRING) fail_expected(r, "a text in quotes");
    advance(r);
    return r->failed ? STR("") : str_copy(r->arena, bytes);
}

static uint32_t expect_number(Reader *r, uint32_t least) {
    ScalarType type = SCALAR_U32;
    uint64_t bits = 0;
    if (r->token.kind != CORE_TOKEN_NUMBER ||
        core_read_const(r->token.text, true, &type, &bits) != NULL || bits < least) {
        fail_expected(r, "a number");
        return least;
    }
    advance(r);
    return (uint32_t)bits;
}

static ScalarType expect_elem(Reader *r) {
    ScalarType elem = SCALAR_I64;
    if (r->token.kind != CORE_TOKEN_WORD ||
        !scalar_by_name(r->token.text.ptr, r->token.text.len, &elem))
        fail_expected(r, "a type");
    else advance(r);
    return elem;
}

// ---- values -------------------------------------------------------------------------

// "[8]"
static uint32_t read_lanes(Reader *r) {
    expect(r, '[', "[");
    uint32_t lanes = expect_number(r, 2);
    if (lanes > LOOP_MOST_LANES) fail_expected(r, "at most 128 lanes");
    expect(r, ']', "]");
    return lanes;
}

static LoopType read_type(Reader *r) {
    if (accept_word(r, "mark")) return (LoopType){.kind = LOOP_IS_MARK};
    if (accept(r, '[')) {
        LoopType type = loop_buffer_type(expect_elem(r));
        expect(r, ']', "]");
        return type;
    }
    LoopType type = loop_scalar_type(expect_elem(r));
    if (at_mark(r, '[')) type.lanes = (uint8_t)read_lanes(r);
    return type;
}

// The source name in a word: x of x.12, nothing of %3.
static Sym name_of(Reader *r, Str word) {
    size_t len = 0;
    while (len < word.len && word.ptr[len] != '.' && word.ptr[len] != '%') len++;
    return len == 0 ? 0 : sym_intern(&r->cx->syms, (Str){word.ptr, len});
}

static void read_binders(Reader *r, Refs *refs) {
    do {
        if (r->token.kind != CORE_TOKEN_WORD) {
            fail_expected(r, "a name");
            return;
        }
        Str word = r->token.text;
        uint64_t known;
        Sym sym = sym_intern(&r->cx->syms, word);
        if (map_get(&r->values, sym, &known)) fail_name(r, "bound twice");
        advance(r);
        expect(r, ':', ":");
        LoopRef ref = loop_value(&r->b, read_type(r), name_of(r, word));
        map_set(&r->values, sym, ref);
        vec_push(r->arena, refs, ref);
    } while (accept(r, ','));
}

static LoopRef read_operand(Reader *r) {
    uint64_t ref;
    Str word = r->token.text;
    if (r->token.kind == CORE_TOKEN_WORD &&
        map_get(&r->values, sym_intern(&r->cx->syms, word), &ref)) {
        advance(r);
        return (LoopRef)ref;
    }
    ScalarType type = SCALAR_I64;
    uint64_t bits = 0;
    if (r->token.kind != CORE_TOKEN_WORD && r->token.kind != CORE_TOKEN_NUMBER) {
        fail_expected(r, "a value");
        return 0;
    }
    const char *fault = core_read_const(word, false, &type, &bits);
    if (fault != NULL) {
        fail_name(r, r->token.kind == CORE_TOKEN_WORD ? "not bound" : fault);
        return 0;
    }
    advance(r);
    return loop_const(&r->b, type, bits);
}

static void read_operands(Reader *r, Refs *refs) {
    do vec_push(r->arena, refs, read_operand(r));
    while (accept(r, ','));
}

// ---- statements ---------------------------------------------------------------------

static LoopBody *read_body(Reader *r);

// Takes the order of a loop's turns off its word.
static LoopOrder cut_order(Str *word) {
    for (int order = 1; order < ORDER_COUNT; order++) {
        Str name = str_of(loop_order_names[order]);
        if (word->len <= name.len ||
            memcmp(word->ptr + word->len - name.len, name.ptr, name.len) != 0)
            continue;
        word->len -= name.len;
        return (LoopOrder)order;
    }
    return ORDER_SEQUENTIAL;
}

static CoreOp read_scalar_op(Reader *r, Str word) {
    int scalar = 0;
    while (scalar < OP_COUNT && (core_op_operands((CoreOp)scalar) == 0 ||
                                 !str_eq(word, str_of(core_op_info[scalar].name))))
        scalar++;
    if (scalar == OP_COUNT) fail_name(r, "no operator");
    return (CoreOp)scalar;
}

static void read_op(Reader *r, LoopStm *stm) {
    static const Str atomic = {"atomic.", 7};
    Str word = r->token.text;
    if (r->token.kind != CORE_TOKEN_WORD) fail_expected(r, "an operator");
    stm->order = (uint8_t)cut_order(&word);
    int op = 1;
    while (op < LOOP_COUNT && !str_eq(word, str_of(loop_op_names[op]))) op++;
    stm->op = op < LOOP_COUNT ? (LoopOp)op : LOOP_SCALAR;
    if (word.len > atomic.len && memcmp(word.ptr, atomic.ptr, atomic.len) == 0) {
        stm->op = LOOP_ATOMIC;
        word = (Str){word.ptr + atomic.len, word.len - atomic.len};
    } else if (stm->op == LOOP_ATOMIC) {
        fail_name(r, "no operator");
    }
    if (stm->op == LOOP_SCALAR || stm->op == LOOP_ATOMIC)
        stm->scalar = read_scalar_op(r, word);
    if (stm->order != ORDER_SEQUENTIAL && stm->op != LOOP_FOR)
        fail_name(r, "no operator");
    advance(r);
}

static void read_data(Reader *r, LoopStm *stm, ScalarType elem) {
    StrBuf data = strbuf(r->arena);
    expect(r, '[', "[");
    while (!r->failed && !at_mark(r, ']')) {
        uint64_t bits = 0;
        bool is_word = r->token.kind == CORE_TOKEN_WORD;
        if ((!is_word && r->token.kind != CORE_TOKEN_NUMBER) ||
            core_read_const(r->token.text, true, &elem, &bits) != NULL) {
            fail_expected(r, "an element");
            return;
        }
        for (unsigned i = 0; i < scalar_info[elem].bytes; i++)
            strbuf_char(&data, (char)(unsigned char)(bits >> (8 * i) & 0xff));
        advance(r);
        if (!accept(r, ',')) break;
    }
    expect(r, ']', "] or ,");
    stm->text = strbuf_done(&data);
}

static void read_bodies(Reader *r, LoopStm *stm) {
    LoopBody *bodies[MOST_BODIES];
    uint32_t count = 0;
    while (at_mark(r, '{')) {
        if (count == MOST_BODIES) {
            fail_expected(r, "no further body");
            return;
        }
        bodies[count++] = read_body(r);
    }
    loop_set_bodies(&r->b, stm, bodies, count);
}

static LoopStm *read_stm(Reader *r) {
    LoopStm *stm = arena_new(r->arena, LoopStm);
    Refs outs = {0}, args = {0};
    ScalarType elem = SCALAR_I64;
    if (!at_mark(r, '=')) read_binders(r, &outs);
    if (outs.len > 0) elem = (ScalarType)loop_type(&r->b, outs.data[0]).elem;
    expect(r, '=', "=");
    bool is_unsafe = accept_word(r, "unsafe");
    read_op(r, stm);
    stm->number = is_unsafe;
    if (is_unsafe && stm->op != LOOP_CHECK && !loop_keeps_bits(stm))
        fail_expected(r, "a check");
    if (stm->op == LOOP_RESULT || stm->op == LOOP_CALL || stm->op == LOOP_APPLY) {
        expect(r, '[', "[");
        stm->number = expect_number(r, 0);
        expect(r, ']', "]");
    }
    if (stm->op == LOOP_FOR && at_mark(r, '[')) stm->number = read_lanes(r);
    if (accept(r, '(')) {
        read_operands(r, &args);
        expect(r, ')', ") or ,");
    }
    if (stm->op == LOOP_DATA) read_data(r, stm, elem);
    if (stm->op == LOOP_CHECK) stm->text = expect_string(r);
    read_bodies(r, stm);
    if (accept(r, '@')) stm->loc = expect_number(r, 1);
    stm->outs = outs.data;
    stm->out_count = outs.len;
    stm->args = args.data;
    stm->arg_count = args.len;
    return stm;
}

static LoopBody *read_body(Reader *r) {
    Refs params = {0}, results = {0};
    LoopBody *body = arena_new(r->arena, LoopBody);
    if (r->depth == CORE_MOST_NESTING || stack_is_low(&r->cx->stack)) {
        fail_expected(r, "less nesting");
        return body;
    }
    r->depth++;
    expect(r, '{', "{");
    if (accept(r, '|')) {
        read_binders(r, &params);
        expect(r, '|', "| or ,");
    }
    while (!r->failed && r->token.kind != CORE_TOKEN_ARROW) {
        if (r->token.kind != CORE_TOKEN_WORD && !at_mark(r, '='))
            fail_expected(r, "a statement or ->");
        else vec_push(r->arena, &body->stms, read_stm(r));
    }
    expect_arrow(r);
    if (!at_mark(r, '}')) read_operands(r, &results);
    expect(r, '}', "}");
    body->params = params.data;
    body->param_count = params.len;
    body->results = results.data;
    body->result_count = results.len;
    r->depth--;
    return body;
}

// ---- kernels ------------------------------------------------------------------------

static LoopPort *read_ports(Reader *r, uint32_t *count_out) {
    struct {
        LoopPort *data;
        uint32_t len, cap;
    } ports = {0};
    expect(r, '(', "(");
    while (!r->failed && !at_mark(r, ')')) {
        LoopPort port = {.is_owned = accept_word(r, "owned")};
        while (accept(r, '[')) {
            expect(r, ']', "]");
            if (port.type.rank++ == CORE_MAX_RANK) fail_expected(r, "fewer dimensions");
        }
        port.type.elem = (uint8_t)expect_elem(r);
        vec_push(r->arena, &ports, port);
        if (!accept(r, ',')) break;
    }
    expect(r, ')', ") or ,");
    *count_out = ports.len;
    return ports.data;
}

LoopKernel *loop_read(Cx *cx, Arena *arena, const CoreProgram *core,
                      const Source *source) {
    LoopKernel *kernel = loop_kernel(arena, core, 0);
    Reader r = {.cx = cx,
                .arena = arena,
                .b = loop_builder(kernel),
                .scanner = {.source = source, .arena = arena}};
    map_init(&r.values, arena);
    advance(&r);
    while (!r.failed && !accept_word(&r, "kernel")) {
        LoopFun fun = {.is_plain = accept_word(&r, "plain")};
        if (!accept_word(&r, "function"))
            fail_expected(&r, fun.is_plain ? "function" : "kernel");
        fun.name = sym_intern(&cx->syms, expect_string(&r));
        fun.body = read_body(&r);
        vec_push(arena, &kernel->funs, fun);
    }
    kernel->name = sym_intern(&cx->syms, expect_string(&r));
    kernel->params = read_ports(&r, &kernel->param_count);
    expect_arrow(&r);
    kernel->results = read_ports(&r, &kernel->result_count);
    kernel->root = read_body(&r);
    if (r.token.kind != CORE_TOKEN_END) fail_expected(&r, "the end of the file");
    kernel->is_parallel = loop_has_parallel(kernel->root);
    return r.failed ? NULL : kernel;
}
