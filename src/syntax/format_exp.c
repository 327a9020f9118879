// SPDX-License-Identifier: Apache-2.0
//
// Where expressions may be broken. Every function adds the steps of one node, in order;
// what it does not name is printed as it comes.
#include "syntax/format.h"

static void exp_step(Format *f, const Exp *exp) {
    format_node(f, STEP_EXP, exp);
}

// Prints what leads to an expression, then it.
static void reach(Format *f, const Exp *exp) {
    if (exp == NULL) return;
    format_until(f, exp->span.start);
    exp_step(f, exp);
}

// On this line or on the next.
static void break_before(Format *f, DocBreak kind, const Exp *exp) {
    format_until(f, exp->span.start);
    format_mark(f, STEP_OPEN);
    format_break(f, kind);
    exp_step(f, exp);
    format_mark(f, STEP_CLOSE);
}

void format_value(Format *f, DocBreak kind, const Exp *exp) {
    format_indent(f, 2);
    break_before(f, kind, exp);
    format_mark(f, STEP_OUTDENT);
}

// ---- brackets --------------------------------------------------------------------

static bool is_plain(const Exp *exp) {
    if (exp->kind == EXP_NEG) exp = exp->as.inner;
    return exp->kind == EXP_LIT || exp->kind == EXP_VAR;
}

static bool all_plain(ExpVec items) {
    for (uint32_t i = 0; i < items.len; i++)
        if (!is_plain(items.data[i])) return false;
    return true;
}

static void format_items(Format *f, const Exp *exp) {
    ExpVec items = exp->as.items;
    if (items.len == 0) return;
    bool fills = exp->kind != EXP_TUPLE && all_plain(items);
    format_until(f, items.data[0]->span.start);
    format_mark(f, STEP_ALIGN);
    format_mark(f, STEP_OPEN);
    for (uint32_t i = 0; i < items.len; i++) {
        if (i > 0) format_break(f, fills ? BREAK_FILL_USER : BREAK_LINE);
        format_mark(f, STEP_OPEN);
        exp_step(f, items.data[i]);
        if (i + 1 < items.len) format_until(f, items.data[i + 1]->span.start);
        format_mark(f, STEP_CLOSE);
    }
    if (exp->kind == EXP_STREAM) format_break(f, BREAK_SPACE);
    format_until(f, exp->span.end);
    format_mark(f, STEP_CLOSE);
    format_mark(f, STEP_OUTDENT);
}

static void format_record(Format *f, const Exp *exp) {
    uint32_t len = exp->as.record.len;
    if (len == 0) return;
    format_until(f, exp->as.record.data[0].name.span.start);
    format_mark(f, STEP_ALIGN);
    format_mark(f, STEP_OPEN);
    for (uint32_t i = 0; i < len; i++) {
        const FieldExp *field = &exp->as.record.data[i];
        if (i > 0) format_break(f, BREAK_LINE);
        format_until(f, field->name.span.end);
        if (field->exp != NULL) format_value(f, BREAK_LINE, field->exp);
        if (i + 1 < len) format_until(f, field[1].name.span.start);
    }
    format_until(f, exp->span.end);
    format_mark(f, STEP_CLOSE);
    format_mark(f, STEP_OUTDENT);
}

static void slice_part(Format *f, const Exp *exp) {
    if (exp == NULL) return;
    format_until(f, exp->span.start);
    format_break(f, BREAK_GLUE);
    exp_step(f, exp);
}

void format_dims(Format *f, IndexVec dims) {
    if (dims.len == 0) return;
    format_until(f, dims.data[0].span.start);
    format_mark(f, STEP_ALIGN);
    format_mark(f, STEP_OPEN);
    for (uint32_t i = 0; i < dims.len; i++) {
        const IndexExp *dim = &dims.data[i];
        if (i > 0) format_break(f, BREAK_LINE);
        reach(f, dim->is_slice ? dim->from : dim->index);
        slice_part(f, dim->to);
        slice_part(f, dim->step);
        format_until(f, i + 1 < dims.len ? dim[1].span.start : dim->span.end);
    }
    format_mark(f, STEP_TOKEN);  // the bracket
    format_mark(f, STEP_CLOSE);
    format_mark(f, STEP_OUTDENT);
}

static void format_comprehension(Format *f, const Exp *exp) {
    format_mark(f, STEP_TOKEN);
    format_mark(f, STEP_ALIGN);
    format_mark(f, STEP_OPEN);
    format_break(f, BREAK_SPACE);
    reach(f, exp->as.comprehension.exp);
    for (uint32_t i = 0; i < exp->as.comprehension.generators.len; i++) {
        const Generator *generator = &exp->as.comprehension.generators.data[i];
        format_break(f, i == 0 ? BREAK_LINE : BREAK_GLUE);
        format_until(f, generator->pat->span.start);
        if (i > 0) format_break(f, BREAK_LINE);
        format_node(f, STEP_PAT, generator->pat);
        reach(f, generator->exp);
    }
    if (exp->as.comprehension.guard != NULL) {
        format_break(f, BREAK_LINE);
        reach(f, exp->as.comprehension.guard);
    }
    format_break(f, BREAK_SPACE);
    format_until(f, exp->span.end);
    format_mark(f, STEP_CLOSE);
    format_mark(f, STEP_OUTDENT);
}

// ---- application and operators ---------------------------------------------------

static void format_args(Format *f, ExpVec args) {
    for (uint32_t i = 0; i < args.len; i++) {
        format_break(f, BREAK_FILL_USER);
        format_mark(f, STEP_OPEN);
        exp_step(f, args.data[i]);
        format_mark(f, STEP_CLOSE);
    }
}

// Arguments are aligned behind a short name, else indented by 2.
static uint8_t args_indent(const Format *f, const Exp *exp) {
    enum { SHORT = 6 };
    if (exp->kind != EXP_APPLY || exp->as.apply.fun->kind != EXP_VAR) return 2;
    const QualName *name = &exp->as.apply.fun->as.var;
    size_t len = sym_str(&f->cx->syms, name->name.sym).len;
    return name->quals.len > 0 || len > SHORT ? 2 : (uint8_t)(len + 1);
}

static void format_apply(Format *f, const Exp *exp) {
    format_mark(f, STEP_OPEN);
    format_mark(f, STEP_ALIGN);
    format_indent(f, args_indent(f, exp));
    format_mark(f, STEP_OPEN);
    if (exp->kind == EXP_APPLY) exp_step(f, exp->as.apply.fun);
    else format_until(f, exp->as.ctor.name.span.end);
    format_mark(f, STEP_CLOSE);
    format_args(f, exp->kind == EXP_APPLY ? exp->as.apply.args : exp->as.ctor.args);
    format_mark(f, STEP_OUTDENT);
    format_mark(f, STEP_OUTDENT);
    format_mark(f, STEP_CLOSE);
}

// Operators of one class stand in one group: + and -, or * and / and %.
static uint32_t class_of(const Format *f, const Exp *exp) {
    Sym sym = exp->as.binop.op.name.sym;
    Str text = sym_str(&f->cx->syms, sym);
    char c = text.len == 0 ? '\0' : text.ptr[0];
    if (exp->as.binop.op.quals.len > 0 || text.len != 1) return sym + 256;
    if (c == '+' || c == '-') return '+';
    return c == '*' || c == '/' || c == '%' ? '*' : sym + 256;
}

static bool is_op(const Format *f, const Exp *exp, const char *text) {
    return str_eq(sym_str(&f->cx->syms, exp->as.binop.op.name.sym), str_of(text));
}

// f <| x: the operator ends its line.
static void format_feed(Format *f, const Exp *exp) {
    const Exp *right = exp->as.binop.right;
    exp_step(f, exp->as.binop.left);
    if (right->kind == EXP_LAMBDA) reach(f, right);
    else format_value(f, BREAK_LINE, right);
}

static void format_binop(Format *f, const Exp *exp) {
    if (is_op(f, exp, "<|")) {
        format_feed(f, exp);
        return;
    }
    bool is_pipe = is_op(f, exp, "|>");
    bool fills = !is_pipe && !is_op(f, exp, "&&") && !is_op(f, exp, "||");
    struct { const Exp **data; uint32_t len, cap; } chain = {0};
    uint32_t class = class_of(f, exp);
    for (; exp->kind == EXP_BINOP && class_of(f, exp) == class;
         exp = exp->as.binop.left)
        vec_push(f->cx->arena, &chain, exp);
    format_mark(f, STEP_ALIGN);
    format_mark(f, STEP_OPEN);
    format_mark(f, STEP_OPEN);
    exp_step(f, exp);
    format_mark(f, STEP_CLOSE);
    format_indent(f, is_pipe ? 0 : 2);
    while (chain.len > 0) {
        exp = chain.data[--chain.len];
        format_break(f, is_pipe ? BREAK_USER : fills ? BREAK_FILL : BREAK_LINE);
        format_mark(f, STEP_OPEN);
        reach(f, exp->as.binop.right);
        format_mark(f, STEP_CLOSE);
    }
    format_mark(f, STEP_OUTDENT);
    format_mark(f, STEP_CLOSE);
    format_mark(f, STEP_OUTDENT);
}

static void format_prefix(Format *f, const Exp *exp) {
    ExpKind inner = exp->as.inner->kind;
    format_until(f, exp->as.inner->span.start);
    format_break(f, inner == EXP_NEG || inner == EXP_NOT ? BREAK_SPACE : BREAK_GLUE);
    exp_step(f, exp->as.inner);
}

static void format_range(Format *f, const Exp *exp) {
    const Exp *second = exp->as.range.second, *start = exp->as.range.start;
    bool is_wide = start->kind == EXP_BINOP || exp->as.range.end->kind == EXP_BINOP ||
                   (second != NULL && second->kind == EXP_BINOP);
    DocBreak gap = is_wide ? BREAK_SPACE : BREAK_GLUE;
    exp_step(f, start);
    format_break(f, gap);
    if (second != NULL) {
        format_until(f, second->span.start);
        format_break(f, gap);
        exp_step(f, second);
        format_break(f, gap);
    }
    format_until(f, exp->as.range.end->span.start);
    format_break(f, gap);
    exp_step(f, exp->as.range.end);
}

static void format_update(Format *f, const Exp *exp) {
    bool is_record = exp->kind == EXP_RECORD_UPDATE;
    const Exp *old = is_record ? exp->as.record_update.exp : exp->as.update.exp;
    format_mark(f, STEP_OPEN);
    exp_step(f, old);
    format_indent(f, 2);
    format_break(f, BREAK_LINE);
    format_mark(f, STEP_TOKEN);  // with
    format_break(f, BREAK_SPACE);
    if (!is_record) format_dims(f, exp->as.update.dims);
    format_value(f, BREAK_LINE,
                 is_record ? exp->as.record_update.value : exp->as.update.value);
    format_mark(f, STEP_OUTDENT);
    format_mark(f, STEP_CLOSE);
}

static void format_ascription(Format *f, const Exp *exp) {
    exp_step(f, exp->as.ascript.exp);
    format_break(f, BREAK_SPACE);
    format_until(f, exp->as.ascript.type->span.start);
    format_node(f, STEP_TYPE, exp->as.ascript.type);
}

// ---- forms that begin with a word ------------------------------------------------

static const Exp *format_binding(Format *f, const Exp *let) {
    if (let->kind == EXP_LET_UPDATE) {
        format_until(f, let->as.let_update.name.span.end);
        format_dims(f, let->as.let_update.dims);
        format_value(f, BREAK_USER, let->as.let_update.exp);
        return let->as.let_update.body;
    }
    if (let->kind == EXP_LET_FUN) {
        format_until(f, let->as.let_fun.name.span.end);
        format_mark(f, STEP_PAREN);
        format_mark(f, STEP_OPEN);
        format_indent(f, 4);
        format_type_params(f, let->as.let_fun.type_params);
        format_params(f, let->as.let_fun.params);
        format_result(f, let->as.let_fun.result);
        format_mark(f, STEP_OUTDENT);
        format_mark(f, STEP_CLOSE);
        format_value(f, BREAK_USER, let->as.let_fun.exp);
        return let->as.let_fun.body;
    }
    format_mark(f, STEP_TOKEN);
    if (let->as.let.sizes.len > 0) {
        format_break(f, BREAK_SPACE);
        format_until(f, let->as.let.pat->span.start);
        format_break(f, BREAK_SPACE);
    }
    format_node(f, STEP_PAT, let->as.let.pat);
    format_value(f, BREAK_USER, let->as.let.exp);
    return let->as.let.body;
}

static void format_let(Format *f, const Exp *exp) {
    format_mark(f, STEP_ALIGN);
    while (exp->kind == EXP_LET || exp->kind == EXP_LET_FUN ||
           exp->kind == EXP_LET_UPDATE) {
        exp = format_binding(f, exp);
        format_break(f, BREAK_PARAGRAPH);
        format_until(f, exp->span.start);
    }
    exp_step(f, exp);
    format_mark(f, STEP_OUTDENT);
}

static void format_branch(Format *f, const Exp *exp) {
    format_mark(f, STEP_TOKEN);
    format_value(f, BREAK_LINE, exp);
}

static void format_if(Format *f, const Exp *exp) {
    format_mark(f, STEP_ALIGN);
    format_mark(f, STEP_OPEN);
    for (;;) {
        reach(f, exp->as.if_exp.cond);
        format_break(f, BREAK_USER);
        format_branch(f, exp->as.if_exp.then_exp);
        format_break(f, BREAK_USER);
        exp = exp->as.if_exp.else_exp;
        if (exp->kind != EXP_IF) break;
        format_until(f, exp->span.start);
    }
    format_branch(f, exp);
    format_mark(f, STEP_CLOSE);
    format_mark(f, STEP_OUTDENT);
}

// The body hangs from the line the lambda begins on, so that it stays left however far
// to the right that is.
static void format_lambda(Format *f, const Exp *exp) {
    format_step(f, (Step){.kind = STEP_HANG, .what = 2});
    format_mark(f, STEP_TOKEN);
    format_indent(f, 2);
    for (uint32_t i = 0; i < exp->as.lambda.params.len; i++)
        format_node(f, STEP_PAT, exp->as.lambda.params.data[i]);
    if (exp->as.lambda.result != NULL) format_node(f, STEP_TYPE, exp->as.lambda.result);
    format_mark(f, STEP_OUTDENT);
    if (exp->as.lambda.body->kind == EXP_LAMBDA) reach(f, exp->as.lambda.body);
    else break_before(f, BREAK_USER, exp->as.lambda.body);
    format_mark(f, STEP_OUTDENT);
}

static void format_loop(Format *f, const Exp *exp) {
    format_mark(f, STEP_ALIGN);
    format_mark(f, STEP_OPEN);
    format_mark(f, STEP_OPEN);
    format_mark(f, STEP_TOKEN);
    format_indent(f, 4);
    if (exp->as.loop.sizes.len > 0) {
        format_break(f, BREAK_SPACE);
        format_until(f, exp->as.loop.pat->span.start);
        format_break(f, BREAK_SPACE);
    }
    format_node(f, STEP_PAT, exp->as.loop.pat);
    if (exp->as.loop.init != NULL) format_value(f, BREAK_LINE, exp->as.loop.init);
    format_break(f, BREAK_LINE);
    format_mark(f, STEP_TOKEN);  // for, while
    if (exp->as.loop.form == FORM_FOR_IN) format_node(f, STEP_PAT, exp->as.loop.elem);
    reach(f, exp->as.loop.bound);
    format_mark(f, STEP_TOKEN);  // do
    format_mark(f, STEP_OUTDENT);
    format_mark(f, STEP_CLOSE);
    format_indent(f, 2);
    format_break(f, BREAK_USER);
    exp_step(f, exp->as.loop.body);
    format_mark(f, STEP_OUTDENT);
    format_mark(f, STEP_CLOSE);
    format_mark(f, STEP_OUTDENT);
}

static void format_match(Format *f, const Exp *exp) {
    format_mark(f, STEP_ALIGN);
    reach(f, exp->as.match.exp);
    for (uint32_t i = 0; i < exp->as.match.cases.len; i++) {
        const Case *one = &exp->as.match.cases.data[i];
        format_break(f, BREAK_PARAGRAPH);
        format_until(f, one->pat->span.start);
        format_node(f, STEP_PAT, one->pat);
        format_value(f, BREAK_USER, one->body);
    }
    format_mark(f, STEP_OUTDENT);
}

static void format_assert(Format *f, const Exp *exp) {
    format_mark(f, STEP_OPEN);
    format_indent(f, 2);
    reach(f, exp->as.assert_exp.cond);
    format_break(f, BREAK_LINE);
    exp_step(f, exp->as.assert_exp.body);
    format_mark(f, STEP_OUTDENT);
    format_mark(f, STEP_CLOSE);
}

static void format_paren(Format *f, const Exp *exp) {
    format_until(f, exp->as.inner->span.start);
    format_mark(f, STEP_ALIGN);
    exp_step(f, exp->as.inner);
    format_until(f, exp->span.end);
    format_mark(f, STEP_OUTDENT);
}

void format_exp(Format *f, const Exp *exp) {
    switch (exp->kind) {
    case EXP_LIT: case EXP_STRING: case EXP_VAR: case EXP_HOLE: case EXP_SECTION_FIELD:
        break;
    case EXP_PAREN: format_paren(f, exp); break;
    case EXP_TUPLE: case EXP_ARRAY: case EXP_STREAM: format_items(f, exp); break;
    case EXP_RECORD: format_record(f, exp); break;
    case EXP_FIELD: exp_step(f, exp->as.field.exp); break;
    case EXP_INDEX:
        exp_step(f, exp->as.index.exp);
        format_break(f, BREAK_GLUE);
        format_dims(f, exp->as.index.dims);
        break;
    case EXP_APPLY: case EXP_CTOR: format_apply(f, exp); break;
    case EXP_BINOP: format_binop(f, exp); break;
    case EXP_NEG: case EXP_NOT: format_prefix(f, exp); break;
    case EXP_IF: format_if(f, exp); break;
    case EXP_LET: case EXP_LET_FUN: case EXP_LET_UPDATE: format_let(f, exp); break;
    case EXP_LAMBDA: format_lambda(f, exp); break;
    case EXP_SECTION_LEFT: case EXP_SECTION_RIGHT:
        reach(f, exp->as.section.operand);
        break;
    case EXP_SECTION_INDEX: format_dims(f, exp->as.dims); break;
    case EXP_LOOP: format_loop(f, exp); break;
    case EXP_RANGE: format_range(f, exp); break;
    case EXP_UPDATE: case EXP_RECORD_UPDATE: format_update(f, exp); break;
    case EXP_ASCRIPT: case EXP_COERCE: format_ascription(f, exp); break;
    case EXP_ASSERT: format_assert(f, exp); break;
    case EXP_MATCH: format_match(f, exp); break;
    case EXP_ATTR:
        format_step(f,
                    (Step){.kind = STEP_ATTR, .pos = exp->as.attr.attr.span.end});
        reach(f, exp->as.attr.exp);
        break;
    case EXP_OPEN: reach(f, exp->as.open.exp); break;
    case EXP_COMPREHENSION: format_comprehension(f, exp); break;
    }
    format_until(f, exp->span.end);
}
