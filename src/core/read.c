// SPDX-License-Identifier: Apache-2.0
//
// Reading .core texts. What is read is well formed (every name stands for one value)
// but perhaps ill typed: who reads a text that people wrote runs core_verify next. The
// first mistake is reported and ends the reading.
//
//   program:   ["stage0"] place... function...
//   place:     "place" 1 ["file"[start, end]] ["in" "function"] ["from" 2]
//   function:  ["#[" ("noinline" | ("parallel" | "sequential") [function]) "]"]
//              ("def" | "entry") name(x: type, ...) -> (type, ...)
//              port... { statement... -> x, ... }
//   port:      ("param" | "result") "name": ["unique"] "type" [first, count]
//   statement: x: type, ... = ["unsafe"] op[.stamp] [[attr, ...]] [(arg, ...)]
//              ["text" | [number, ...]] body... [@place]
//   body:      { [|x: type, ...|] statement... -> x, ... }
//
// A name may be bound again in another body; it then means the innermost one. A name
// whose body has ended still means that value if no outer one has the name, so that the
// verifier, which knows what scopes are, can say what is wrong.
#include <stdarg.h>
#include <string.h>

#include "core/rules.h"
#include "core/scan.h"
#include "core/text.h"

enum {
#define DIAG(name, code, format) DIAG_##name,
#include "core/diags.def"
#undef DIAG
    DIAG_COUNT
};

static const DiagKind kinds[DIAG_COUNT] = {
#define DIAG(name, code, format) {code, format},
#include "core/diags.def"
#undef DIAG
};

enum { MOST_BODIES = 8, LARGEST_BLANK = 1 << 20 };

typedef struct Binder {
    Sym word;
    CoreRef ref;
    Span span;
} Binder;

typedef struct {
    Binder *data;
    uint32_t len, cap;
} Binders;

typedef struct Shadowed {
    Sym word;
    uint64_t outer; // its entry of Reader.values before; 0: none
} Shadowed;

typedef struct PlaceRow {
    Str file;
    uint32_t start, end;
    bool has_span;
} PlaceRow;

typedef struct {
    PlaceRow *data;
    uint32_t len, cap;
} PlaceRows;

typedef struct Reader {
    Cx *cx;
    Arena *arena;
    CoreProgram *program;
    CoreScanner scanner;
    CoreToken token;
    bool failed;
    Map values; // Sym of the word -> CoreRef << 32 | number of its body; 0: it ended
    Map funs;   // Sym of the word -> function index + 1
    struct {
        Shadowed *data;
        uint32_t len, cap;
    } shadowed;
    uint32_t body;       // number of the body being read
    uint32_t body_count; // bodies so far
    uint32_t depth;
} Reader;

// ---- tokens -------------------------------------------------------------------------

static void advance(Reader *r) {
    if (!r->failed) r->token = core_scan(&r->scanner);
}

// After the first mistake every token is the end, at which all loops stop.
static void stop(Reader *r) {
    r->failed = true;
    r->token = (CoreToken){.kind = CORE_TOKEN_END, .span = r->token.span};
}

static void fail_expected(Reader *r, const char *what) {
    if (r->failed) return;
    Str found =
        r->token.kind == CORE_TOKEN_END ? STR("the end of the file") : r->token.text;
    if (found.len > 40) found.len = 40;
    diag_error(&r->cx->diags, r->token.span, &kinds[DIAG_CORE_EXPECTED], what,
               STR_ARG(found));
    stop(r);
}

static void fail_text(Reader *r, int kind, Str text) {
    if (r->failed) return;
    if (text.len > 100) text.len = 100;
    diag_error(&r->cx->diags, r->token.span, &kinds[kind], STR_ARG(text));
    stop(r);
}

static void fail_at(Reader *r, Span span, const char *message) {
    if (r->failed) return;
    diag_error(&r->cx->diags, span, &kinds[DIAG_CORE_LIMIT], message);
    stop(r);
}

static void fail_limit(Reader *r, const char *message) {
    fail_at(r, r->token.span, message);
}

static bool at_mark(const Reader *r, char mark) {
    return r->token.kind == CORE_TOKEN_MARK && r->token.mark == mark;
}

static bool accept(Reader *r, char mark) {
    if (!at_mark(r, mark)) return false;
    advance(r);
    return true;
}

static void expect(Reader *r, char mark, const char *what) {
    if (!accept(r, mark)) fail_expected(r, what);
}

static bool at_word(const Reader *r, const char *word) {
    return r->token.kind == CORE_TOKEN_WORD && str_eq(r->token.text, str_of(word));
}

static bool accept_word(Reader *r, const char *word) {
    if (!at_word(r, word)) return false;
    advance(r);
    return true;
}

static void expect_arrow(Reader *r) {
    if (r->token.kind != CORE_TOKEN_ARROW) fail_expected(r, "->");
    advance(r);
}

static Str expect_string(Reader *r, const char *what) {
    Str bytes = r->token.bytes;
    if (r->token.kind != CORE_TOKEN_STRING) fail_expected(r, what);
    advance(r);
    return r->failed ? STR("") : bytes;
}

static int64_t expect_number(Reader *r, int64_t least, int64_t most) {
    ScalarType type = SCALAR_I64;
    uint64_t bits = 0;
    if (r->token.kind != CORE_TOKEN_NUMBER ||
        core_read_const(r->token.text, true, &type, &bits) != NULL) {
        fail_expected(r, "a number");
        return least;
    }
    if ((int64_t)bits < least || (int64_t)bits > most) {
        fail_limit(r, "this number is out of range");
        return least;
    }
    advance(r);
    return (int64_t)bits;
}

static void expect_range(Reader *r, uint32_t *first_out, uint32_t *second_out) {
    expect(r, '[', "[");
    *first_out = (uint32_t)expect_number(r, 0, INT32_MAX);
    expect(r, ',', ",");
    *second_out = (uint32_t)expect_number(r, 0, INT32_MAX);
    expect(r, ']', "]");
}

// ---- names and types ----------------------------------------------------------------

// The source name in a word: x of x.12, nothing of %3. False if the word is no name.
static bool name_of_word(Str word, Str *base_out) {
    size_t base = 0;
    while (base < word.len && word.ptr[base] != '.' && word.ptr[base] != '#' &&
           word.ptr[base] != '%')
        base++;
    bool nameless = base == 0 && word.len > 1 && word.ptr[0] == '%';
    for (size_t i = base + 1; i < word.len; i++)
        if (word.ptr[i] < '0' || word.ptr[i] > '9') return false;
    if (!nameless && base != word.len &&
        (word.ptr[base] != '.' || base + 1 == word.len))
        return false;
    *base_out = (Str){word.ptr, base};
    return !str_eq(word, STR("true")) && !str_eq(word, STR("false"));
}

static CoreType read_type(Reader *r) {
    CoreType type = {SCALAR_I64, 0};
    while (accept(r, '[')) {
        expect(r, ']', "]");
        if (type.rank == UINT8_MAX) fail_limit(r, "this type has too many dimensions");
        type.rank++;
    }
    ScalarType elem;
    if (r->token.kind != CORE_TOKEN_WORD ||
        !scalar_by_name(r->token.text.ptr, r->token.text.len, &elem)) {
        fail_expected(r, "a type");
        return type;
    }
    type.elem = (uint8_t)elem;
    advance(r);
    return type;
}

// Reads `x: type, ...` and makes the values; their names are not in force yet.
static Binders read_binders(Reader *r) {
    Binders binders = {0};
    do {
        Str base;
        if (r->token.kind != CORE_TOKEN_WORD || !name_of_word(r->token.text, &base)) {
            fail_expected(r, "a name");
            break;
        }
        Binder binder = {.word = sym_intern(&r->cx->syms, r->token.text),
                         .span = r->token.span};
        Sym name = sym_intern(&r->cx->syms, base);
        advance(r);
        expect(r, ':', ":");
        binder.ref = core_value(r->program, read_type(r), name);
        vec_push(r->arena, &binders, binder);
    } while (accept(r, ','));
    return binders;
}

// Puts the names in force and returns the values.
static CoreRef *bind(Reader *r, Binders binders) {
    CoreRef *refs = arena_array(r->arena, CoreRef, binders.len);
    for (uint32_t i = 0; i < binders.len && !r->failed; i++) {
        Binder binder = binders.data[i];
        uint64_t outer = 0;
        if (map_get(&r->values, binder.word, &outer) && (uint32_t)outer == r->body) {
            r->token.span = binder.span;
            fail_text(r, DIAG_CORE_REBOUND, sym_str(&r->cx->syms, binder.word));
        }
        vec_push(r->arena, &r->shadowed, (Shadowed){binder.word, outer});
        map_set(&r->values, binder.word, (uint64_t)binder.ref << 32 | r->body);
        refs[i] = binder.ref;
    }
    return refs;
}

static void end_scope(Reader *r, uint32_t mark) {
    while (r->shadowed.len > mark) {
        Shadowed s = r->shadowed.data[--r->shadowed.len];
        uint64_t entry = s.outer;
        if (entry == 0) {
            map_get(&r->values, s.word, &entry);
            entry &= ~(uint64_t)UINT32_MAX;
        }
        map_set(&r->values, s.word, entry);
    }
}

static CoreRef read_operand(Reader *r) {
    Str text = r->token.text;
    if (r->token.kind == CORE_TOKEN_WORD) {
        uint64_t entry;
        if (map_get(&r->values, sym_intern(&r->cx->syms, text), &entry) &&
            entry >> 32 != 0) {
            advance(r);
            return (CoreRef)(entry >> 32);
        }
        Str base;
        if (name_of_word(text, &base)) {
            fail_text(r, DIAG_CORE_NAME, text);
            return 0;
        }
    } else if (r->token.kind != CORE_TOKEN_NUMBER) {
        fail_expected(r, "a value");
        return 0;
    }
    ScalarType type = SCALAR_I64;
    uint64_t bits = 0;
    const char *fault = core_read_const(text, false, &type, &bits);
    if (fault != NULL) {
        if (text.len > 100) text.len = 100;
        diag_error(&r->cx->diags, r->token.span, &kinds[DIAG_CORE_CONST], STR_ARG(text),
                   fault);
        stop(r);
        return 0;
    }
    advance(r);
    return core_const(r->program, type, bits);
}

static void read_operands(Reader *r, CoreRefs *refs) {
    do vec_push(r->arena, refs, read_operand(r));
    while (accept(r, ','));
}

// ---- statements ---------------------------------------------------------------------

static CoreBody *read_body(Reader *r);

static void read_op(Reader *r, CoreStm *stm) {
    if (r->token.kind != CORE_TOKEN_WORD) {
        fail_expected(r, "an operator");
        return;
    }
    Str word = r->token.text, stamp = {0};
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] != '.') continue;
        stamp = (Str){word.ptr + i + 1, word.len - i - 1};
        word.len = i;
    }
    int op = 0;
    while (op < OP_COUNT && !str_eq(word, str_of(core_op_info[op].name))) op++;
    if (op == OP_COUNT) {
        fail_text(r, DIAG_CORE_OP, word);
        return;
    }
    stm->op = (CoreOp)op;
    if (stamp.ptr != NULL) {
        int known = 1;
        while (known < STAMP_COUNT && !str_eq(stamp, str_of(core_stamp_names[known])))
            known++;
        if (known == STAMP_COUNT) fail_text(r, DIAG_CORE_STAMP, stamp);
        else stm->stamp = (uint8_t)known;
    }
    advance(r);
}

// The name of a function that came before: 1 + its index; 0 if there is none.
static uint32_t read_callee(Reader *r) {
    uint64_t number;
    if (!map_get(&r->funs, sym_intern(&r->cx->syms, r->token.text), &number)) {
        fail_text(r, DIAG_CORE_FUN, r->token.text);
        return 0;
    }
    advance(r);
    return (uint32_t)number;
}

static void read_attrs(Reader *r, CoreStm *stm) {
    struct {
        int32_t *data;
        uint32_t len, cap;
    } attrs = {0};
    do {
        if (r->token.kind == CORE_TOKEN_WORD) {
            uint32_t number = read_callee(r);
            if (number == 0) return;
            vec_push(r->arena, &attrs, (int32_t)(number - 1));
        } else {
            vec_push(r->arena, &attrs, (int32_t)expect_number(r, INT32_MIN, INT32_MAX));
        }
    } while (accept(r, ','));
    expect(r, ']', "]");
    stm->attrs = attrs.data;
    stm->attr_count = attrs.len;
}

static void read_elements(Reader *r, CoreStm *stm, const Binders *outs) {
    ScalarType elem = SCALAR_I64;
    if (outs->len > 0) elem = (ScalarType)core_type(r->program, outs->data[0].ref).elem;
    StrBuf data = strbuf(r->arena);
    while (!r->failed && !at_mark(r, ']')) {
        uint64_t bits = 0;
        if (r->token.kind != CORE_TOKEN_WORD && r->token.kind != CORE_TOKEN_NUMBER) {
            fail_expected(r, "a constant");
            return;
        }
        const char *fault = core_read_const(r->token.text, true, &elem, &bits);
        if (fault != NULL) {
            fail_expected(r, "a constant of the literal's type");
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

static void read_bodies(Reader *r, CoreStm *stm) {
    CoreBody *bodies[MOST_BODIES];
    uint32_t count = 0;
    while (at_mark(r, '{')) {
        if (count == MOST_BODIES) {
            fail_limit(r, "this statement has too many bodies");
            return;
        }
        bodies[count++] = read_body(r);
    }
    stm->bodies = arena_copy(r->arena, bodies, count * sizeof *bodies);
    stm->body_count = (uint8_t)count;
}

static void read_stm_place(Reader *r, CoreStm *stm) {
    Span span = r->token.span;
    int64_t number = expect_number(r, 1, INT32_MAX);
    if (number >= r->program->places.len) fail_at(r, span, "there is no such place");
    else stm->loc = (CoreLoc)number;
}

static CoreStm *read_stm(Reader *r) {
    CoreStm *stm = arena_new(r->arena, CoreStm);
    CoreRefs args = {0};
    Binders outs = {0};
    if (!at_mark(r, '=')) outs = read_binders(r);
    expect(r, '=', "=");
    if (accept_word(r, "unsafe")) stm->flags |= STM_UNSAFE;
    read_op(r, stm);
    if (accept(r, '[')) {
        if (stm->op == OP_LITERAL) read_elements(r, stm, &outs);
        else read_attrs(r, stm);
    }
    if (accept(r, '(')) {
        read_operands(r, &args);
        expect(r, ')', ") or ,");
    }
    stm->args = args.data;
    stm->arg_count = args.len;
    if (r->token.kind == CORE_TOKEN_STRING)
        stm->text = str_copy(r->arena, expect_string(r, "a text"));
    read_bodies(r, stm);
    if (accept(r, '@')) read_stm_place(r, stm);
    stm->outs = bind(r, outs);
    stm->out_count = outs.len;
    return stm;
}

// Reads statements and results up to the closing brace.
static void read_block(Reader *r, CoreBody *body) {
    while (!r->failed && r->token.kind != CORE_TOKEN_ARROW) {
        if (r->token.kind != CORE_TOKEN_WORD && !at_mark(r, '=')) {
            fail_expected(r, "a statement or ->");
            return;
        }
        vec_push(r->arena, &body->stms, read_stm(r));
    }
    expect_arrow(r);
    CoreRefs results = {0};
    if (!at_mark(r, '}')) read_operands(r, &results);
    expect(r, '}', "}");
    body->results = results.data;
    body->result_count = results.len;
}

static CoreBody *read_body(Reader *r) {
    CoreBody *body = arena_new(r->arena, CoreBody);
    if (r->depth == CORE_MOST_NESTING || stack_is_low(&r->cx->stack)) {
        fail_limit(r, "bodies are nested too deeply");
        return body;
    }
    uint32_t outer = r->body, mark = r->shadowed.len;
    r->depth++;
    r->body = ++r->body_count;
    expect(r, '{', "{");
    if (accept(r, '|')) {
        Binders params = read_binders(r);
        expect(r, '|', "| or ,");
        body->params = bind(r, params);
        body->param_count = params.len;
    }
    read_block(r, body);
    end_scope(r, mark);
    r->body = outer;
    r->depth--;
    return body;
}

// ---- places -------------------------------------------------------------------------

// Reads a row of the table into the program; its span waits for its source.
static void read_place(Reader *r, PlaceRows *rows) {
    CoreProgram *p = r->program;
    CorePlace place = {0};
    PlaceRow row = {0};
    CoreToken number = r->token;
    if (expect_number(r, 1, INT32_MAX) != p->places.len)
        fail_at(r, number.span, "the places are not numbered in order");
    if (r->token.kind == CORE_TOKEN_STRING) {
        row.has_span = true;
        row.file = expect_string(r, "a file");
        expect_range(r, &row.start, &row.end);
        if (row.end < row.start)
            fail_at(r, number.span, "the span of this place ends before it starts");
    }
    if (accept_word(r, "in"))
        place.function =
            sym_intern(&r->cx->syms, expect_string(r, "a function's name"));
    if (accept_word(r, "from")) {
        CoreToken caller = r->token;
        place.caller = (CoreLoc)expect_number(r, 1, INT32_MAX);
        if (place.caller >= p->places.len)
            fail_at(r, caller.span, "this place does not come before this one");
    }
    vec_push(p->arena, &p->places, place);
    vec_push(r->arena, rows, row);
}

static const Source *find_source(const Reader *r, Str name) {
    for (uint32_t i = 0; i < r->cx->sources.len; i++)
        if (str_eq(r->cx->sources.data[i]->name, name)) return r->cx->sources.data[i];
    return NULL;
}

// A file nobody has loaded gets a blank text, long enough for the places in it.
static const Source *add_blank(Reader *r, const PlaceRows *rows, Str name) {
    uint32_t len = 0;
    for (uint32_t i = 0; i < rows->len; i++)
        if (rows->data[i].has_span && str_eq(rows->data[i].file, name) &&
            rows->data[i].end > len)
            len = rows->data[i].end;
    if (len > LARGEST_BLANK) return NULL;
    char *blank = arena_alloc(r->arena, len);
    memset(blank, ' ', len);
    return sources_add(&r->cx->sources, str_copy(r->arena, name), (Str){blank, len},
                       false);
}

static void resolve_places(Reader *r, const PlaceRows *rows) {
    for (uint32_t i = 0; i < rows->len && !r->failed; i++) {
        PlaceRow row = rows->data[i];
        if (!row.has_span) continue;
        const Source *source = find_source(r, row.file);
        if (source == NULL) source = add_blank(r, rows, row.file);
        if (source == NULL || row.end > source->text.len) {
            fail_limit(r, "a place lies beyond the end of its file");
            return;
        }
        r->program->places.data[i + 1].span =
            (Span){source->base + row.start, source->base + row.end};
    }
}

// ---- functions ----------------------------------------------------------------------

static CorePort read_port(Reader *r) {
    CorePort port = {.name = expect_string(r, "a name in quotes")};
    expect(r, ':', ":");
    port.is_unique = accept_word(r, "unique");
    port.type = expect_string(r, "a type in quotes");
    expect_range(r, &port.first, &port.count);
    return port;
}

static void read_signature(Reader *r, CoreFun *fun, uint32_t *result_count) {
    struct {
        CoreType *data;
        uint32_t len, cap;
    } types = {0};
    expect(r, '(', "(");
    if (!at_mark(r, ')')) {
        Binders params = read_binders(r);
        fun->body->params = bind(r, params);
        fun->body->param_count = params.len;
    }
    expect(r, ')', ") or ,");
    expect_arrow(r);
    expect(r, '(', "(");
    if (!at_mark(r, ')')) {
        do vec_push(r->arena, &types, read_type(r));
        while (accept(r, ','));
    }
    expect(r, ')', ") or ,");
    fun->result_types = types.data;
    *result_count = types.len;
}

static void read_attribute(Reader *r, CoreFun *fun) {
    expect(r, '[', "[");
    if (accept_word(r, "parallel"))
        fun->kernel = CORE_PARALLEL_KERNEL;
    else if (accept_word(r, "sequential"))
        fun->kernel = CORE_SEQUENTIAL_KERNEL;
    else if (!accept_word(r, "noinline"))
        fail_expected(r, "noinline, parallel or sequential");
    if (fun->kernel != CORE_NO_KERNEL && !at_mark(r, ']'))
        fun->otherwise = read_callee(r);
    expect(r, ']', "]");
    fun->no_inline = true;
}

static void read_fun(Reader *r) {
    CoreFun *fun = arena_new(r->arena, CoreFun);
    fun->body = arena_new(r->arena, CoreBody);
    if (accept(r, '#')) read_attribute(r, fun);
    fun->is_entry = at_word(r, "entry");
    if (!fun->is_entry && !at_word(r, "def")) fail_expected(r, "entry or def");
    advance(r);
    Str word = r->token.text, base = {0};
    Span span = r->token.span;
    if (r->token.kind != CORE_TOKEN_WORD || !name_of_word(word, &base))
        fail_expected(r, "a function's name");
    advance(r);
    map_init(&r->values, r->arena);
    r->shadowed.len = 0;
    r->body = ++r->body_count;
    uint32_t result_count;
    read_signature(r, fun, &result_count);
    while (at_word(r, "param") || at_word(r, "result")) {
        bool is_param = at_word(r, "param");
        advance(r);
        CorePort port = read_port(r);
        if (is_param) vec_push(r->arena, &fun->params, port);
        else vec_push(r->arena, &fun->results, port);
    }
    expect(r, '{', "{");
    read_block(r, fun->body);
    if (r->failed) return;
    if (fun->body->result_count != result_count) {
        fail_at(r, span, "this function's results and their types differ in number");
        return;
    }
    fun->name = sym_intern(&r->cx->syms, base);
    vec_push(r->arena, &r->program->funs, fun);
    map_set(&r->funs, sym_intern(&r->cx->syms, word), r->program->funs.len);
}

CoreProgram *core_read(Cx *cx, Arena *arena, const Source *source) {
    Reader r = {.cx = cx, .arena = arena, .program = core_program(cx, arena)};
    r.scanner = (CoreScanner){.source = source, .arena = arena};
    map_init(&r.funs, arena);
    advance(&r);
    r.program->is_stage0 = accept_word(&r, "stage0");
    PlaceRows rows = {0};
    while (accept_word(&r, "place")) read_place(&r, &rows);
    resolve_places(&r, &rows);
    while (!r.failed && r.token.kind != CORE_TOKEN_END) read_fun(&r);
    return r.failed ? NULL : r.program;
}
