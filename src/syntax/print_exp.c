// SPDX-License-Identifier: Apache-2.0
//
// Printing expressions. An expression is a head (a name, a let, ...) followed by what
// leans on it from the right (operators, fields, indices, ascriptions): its spine. The
// last part of either is printed by going round the loop once more.
#include "syntax/print.h"

enum { SMALL = 16, STEP = 2 };

// ---- what fits on a line ---------------------------------------------------------

static bool fits(const Exp *exp, int *room);

static bool all_fit(ExpVec exps, int *room) {
    for (uint32_t i = 0; i < exps.len; i++)
        if (!fits(exps.data[i], room)) return false;
    return true;
}

static bool fields_fit(const Exp *exp, int *room) {
    for (uint32_t i = 0; i < exp->as.record.len; i++) {
        const FieldExp *field = &exp->as.record.data[i];
        if (--*room < 0) return false;
        if (field->exp != NULL && !fits(field->exp, room)) return false;
    }
    return true;
}

// Whether exp has at most *room nodes and nothing that wants lines of its own.
static bool fits(const Exp *exp, int *room) {
    if (--*room < 0) return false;
    switch (exp->kind) {
    case EXP_LIT: case EXP_STRING: case EXP_VAR: case EXP_HOLE: case EXP_SECTION_FIELD:
    case EXP_SECTION_INDEX:
        return true;
    case EXP_PAREN: case EXP_NEG: case EXP_NOT: return fits(exp->as.inner, room);
    case EXP_TUPLE: case EXP_ARRAY: case EXP_STREAM:
        return all_fit(exp->as.items, room);
    case EXP_RECORD: return fields_fit(exp, room);
    case EXP_FIELD: return fits(exp->as.field.exp, room);
    case EXP_INDEX: --*room; return fits(exp->as.index.exp, room);
    case EXP_APPLY:
        return fits(exp->as.apply.fun, room) && all_fit(exp->as.apply.args, room);
    case EXP_BINOP:
        return fits(exp->as.binop.left, room) && fits(exp->as.binop.right, room);
    case EXP_IF:
        return fits(exp->as.if_exp.cond, room) && fits(exp->as.if_exp.then_exp, room) &&
               fits(exp->as.if_exp.else_exp, room);
    case EXP_LAMBDA: return fits(exp->as.lambda.body, room);
    case EXP_SECTION_LEFT: case EXP_SECTION_RIGHT:
        return fits(exp->as.section.operand, room);
    case EXP_RANGE:
        return fits(exp->as.range.start, room) && fits(exp->as.range.end, room) &&
               (exp->as.range.second == NULL || fits(exp->as.range.second, room));
    case EXP_UPDATE:
        return fits(exp->as.update.exp, room) && fits(exp->as.update.value, room);
    case EXP_RECORD_UPDATE:
        return fits(exp->as.record_update.exp, room) &&
               fits(exp->as.record_update.value, room);
    case EXP_ASCRIPT: case EXP_COERCE: return fits(exp->as.ascript.exp, room);
    case EXP_ASSERT:
        return fits(exp->as.assert_exp.cond, room) &&
               fits(exp->as.assert_exp.body, room);
    case EXP_CTOR: return all_fit(exp->as.ctor.args, room);
    case EXP_ATTR: return fits(exp->as.attr.exp, room);
    case EXP_OPEN: return fits(exp->as.open.exp, room);
    case EXP_COMPREHENSION: *room -= 3; return fits(exp->as.comprehension.exp, room);
    case EXP_LET: case EXP_LET_FUN: case EXP_LET_UPDATE: case EXP_LOOP: case EXP_MATCH:
        return false;
    }
    return false;
}

static bool is_small(const Exp *exp) {
    int room = SMALL;
    return fits(exp, &room);
}

void print_body(Printer *p, const Exp *exp) {
    uint32_t indent = p->indent;
    p->indent += STEP;
    if (is_small(exp)) print_text(p, " ");
    else print_line(p);
    print_exp(p, exp);
    p->indent = indent;
}

// ---- brackets --------------------------------------------------------------------

static void print_items(Printer *p, const char *open, ExpVec items, const char *close) {
    print_text(p, open);
    for (uint32_t i = 0; i < items.len; i++) {
        if (i > 0) print_text(p, ", ");
        print_exp(p, items.data[i]);
    }
    print_text(p, close);
}

static void print_record(Printer *p, const Exp *exp) {
    print_text(p, "{");
    for (uint32_t i = 0; i < exp->as.record.len; i++) {
        const FieldExp *field = &exp->as.record.data[i];
        if (i > 0) print_text(p, ", ");
        print_sym(p, field->name.sym);
        if (field->exp == NULL) continue;
        print_text(p, " = ");
        print_exp(p, field->exp);
    }
    print_text(p, "}");
}

static void print_index(Printer *p, IndexVec dims) {
    print_text(p, "[");
    for (uint32_t i = 0; i < dims.len; i++) {
        const IndexExp *dim = &dims.data[i];
        if (i > 0) print_text(p, ", ");
        if (!dim->is_slice) {
            print_exp(p, dim->index);
            continue;
        }
        if (dim->from != NULL) print_exp(p, dim->from);
        print_text(p, ":");
        if (dim->to != NULL) print_exp(p, dim->to);
        if (dim->step != NULL) print_text(p, ":");
        if (dim->step != NULL) print_exp(p, dim->step);
    }
    print_text(p, "]");
}

static void print_comprehension(Printer *p, const Exp *exp) {
    print_text(p, "{ ");
    print_exp(p, exp->as.comprehension.exp);
    for (uint32_t i = 0; i < exp->as.comprehension.generators.len; i++) {
        const Generator *generator = &exp->as.comprehension.generators.data[i];
        print_text(p, i == 0 ? " : " : "; ");
        print_pat(p, generator->pat);
        print_text(p, " in ");
        print_exp(p, generator->exp);
    }
    if (exp->as.comprehension.guard != NULL) {
        print_text(p, " if ");
        print_exp(p, exp->as.comprehension.guard);
    }
    print_text(p, " }");
}

static void print_infix_name(Printer *p, const QualName *op) {
    bool is_operator = print_is_operator(p, op->name.sym);
    if (!is_operator) print_text(p, "`");
    print_qual_name(p, op);
    if (!is_operator) print_text(p, "`");
}

static void print_section(Printer *p, const Exp *exp) {
    print_text(p, "(");
    if (exp->kind == EXP_SECTION_LEFT) {
        print_exp(p, exp->as.section.operand);
        print_text(p, " ");
        print_infix_name(p, &exp->as.section.op);
    } else {
        print_infix_name(p, &exp->as.section.op);
        print_text(p, " ");
        print_exp(p, exp->as.section.operand);
    }
    print_text(p, ")");
}

static void print_section_field(Printer *p, const Exp *exp) {
    print_text(p, "(");
    for (uint32_t i = 0; i < exp->as.fields.len; i++) {
        print_text(p, ".");
        print_sym(p, exp->as.fields.data[i].sym);
    }
    print_text(p, ")");
}

// x, m.x, (+), m.(+)
static void print_var(Printer *p, const QualName *name) {
    for (uint32_t i = 0; i < name->quals.len; i++) {
        print_sym(p, name->quals.data[i].sym);
        print_text(p, ".");
    }
    print_value_name(p, name->name.sym);
}

// m.(e): some expressions bring parentheses of their own.
static void print_open(Printer *p, const Exp *exp) {
    const Exp *inner = exp->as.open.exp;
    bool has_parens = inner->kind == EXP_TUPLE || inner->kind == EXP_SECTION_LEFT ||
                      inner->kind == EXP_SECTION_RIGHT ||
                      inner->kind == EXP_SECTION_FIELD ||
                      inner->kind == EXP_SECTION_INDEX;
    print_qual_name(p, &exp->as.open.module);
    print_text(p, has_parens ? "." : ".(");
    print_exp(p, inner);
    if (!has_parens) print_text(p, ")");
}

// ---- forms that begin with a word ------------------------------------------------

static const Exp *print_let(Printer *p, const Exp *exp) {
    const Exp *bound = NULL, *body = NULL;
    print_text(p, "let ");
    if (exp->kind == EXP_LET) {
        print_size_names(p, exp->as.let.sizes);
        if (exp->as.let.sizes.len > 0) print_text(p, " ");
        print_pat(p, exp->as.let.pat);
        bound = exp->as.let.exp;
        body = exp->as.let.body;
    } else if (exp->kind == EXP_LET_FUN) {
        print_value_name(p, exp->as.let_fun.name.sym);
        print_type_params(p, exp->as.let_fun.type_params);
        print_params(p, exp->as.let_fun.params);
        if (exp->as.let_fun.result != NULL) {
            print_text(p, " : ");
            print_type(p, exp->as.let_fun.result);
        }
        bound = exp->as.let_fun.exp;
        body = exp->as.let_fun.body;
    } else {
        print_sym(p, exp->as.let_update.name.sym);
        print_index(p, exp->as.let_update.dims);
        bound = exp->as.let_update.exp;
        body = exp->as.let_update.body;
    }
    print_text(p, " =");
    print_body(p, bound);
    print_line(p);
    bool goes_on = body->kind == EXP_LET || body->kind == EXP_LET_FUN ||
                   body->kind == EXP_LET_UPDATE;
    if (!goes_on) print_text(p, "in ");
    return body;
}

// A line break before a part of a large expression, a blank in a small one.
static void print_break(Printer *p, bool small) {
    if (small) print_text(p, " ");
    else print_line(p);
}

static const Exp *print_if(Printer *p, const Exp *exp) {
    bool small = is_small(exp);
    print_text(p, "if ");
    print_exp(p, exp->as.if_exp.cond);
    print_break(p, small);
    print_text(p, "then ");
    print_exp(p, exp->as.if_exp.then_exp);
    print_break(p, small);
    print_text(p, "else ");
    return exp->as.if_exp.else_exp;
}

static const Exp *print_match(Printer *p, const Exp *exp) {
    print_text(p, "match ");
    print_exp(p, exp->as.match.exp);
    for (uint32_t i = 0;; i++) {
        const Case *one = &exp->as.match.cases.data[i];
        print_line(p);
        print_text(p, "case ");
        print_pat(p, one->pat);
        print_text(p, " -> ");
        if (i + 1 == exp->as.match.cases.len) return one->body;
        p->indent += STEP;
        print_exp(p, one->body);
        p->indent -= STEP;
    }
}

static const Exp *print_lambda(Printer *p, const Exp *exp) {
    print_text(p, "\\");
    for (uint32_t i = 0; i < exp->as.lambda.params.len; i++) {
        if (i > 0) print_text(p, " ");
        print_pat(p, exp->as.lambda.params.data[i]);
    }
    if (exp->as.lambda.result != NULL) {
        print_text(p, " : ");
        print_type(p, exp->as.lambda.result);
    }
    print_text(p, " ->");
    bool small = is_small(exp->as.lambda.body);
    if (!small) p->indent += STEP;
    print_break(p, small);
    return exp->as.lambda.body;
}

static const Exp *print_loop(Printer *p, const Exp *exp) {
    print_text(p, "loop ");
    print_size_names(p, exp->as.loop.sizes);
    if (exp->as.loop.sizes.len > 0) print_text(p, " ");
    print_pat(p, exp->as.loop.pat);
    if (exp->as.loop.init != NULL) {
        print_text(p, " = ");
        print_exp(p, exp->as.loop.init);
    }
    switch (exp->as.loop.form) {
    case FORM_WHILE: print_text(p, " while "); break;
    case FORM_FOR_LESS:
        print_text(p, " for ");
        print_sym(p, exp->as.loop.index.sym);
        print_text(p, " < ");
        break;
    case FORM_FOR_IN:
        print_text(p, " for ");
        print_pat(p, exp->as.loop.elem);
        print_text(p, " in ");
        break;
    }
    print_exp(p, exp->as.loop.bound);
    print_text(p, " do");
    p->indent += STEP;
    print_line(p);
    return exp->as.loop.body;
}

static const Exp *print_range(Printer *p, const Exp *exp) {
    static const char *const dots[] = {
        [RANGE_TO] = "...", [RANGE_UP_TO] = "..<", [RANGE_DOWN_TO] = "..>"};
    print_exp(p, exp->as.range.start);
    if (exp->as.range.second != NULL) {
        print_text(p, "..");
        print_exp(p, exp->as.range.second);
    }
    print_text(p, dots[exp->as.range.kind]);
    return exp->as.range.end;
}

static const Exp *print_prefix(Printer *p, const Exp *exp) {
    ExpKind inner = exp->as.inner->kind;
    print_text(p, exp->kind == EXP_NEG ? "-" : "!");
    if (inner == EXP_NEG || inner == EXP_NOT) print_text(p, " ");
    return exp->as.inner;
}

static void print_apply(Printer *p, ExpVec args) {
    for (uint32_t i = 0; i < args.len; i++) {
        print_text(p, " ");
        print_exp(p, args.data[i]);
    }
}

// ---- heads and spines ------------------------------------------------------------

// What exp leans on from the right, or NULL.
static const Exp *left_of(const Exp *exp) {
    switch (exp->kind) {
    case EXP_BINOP: return exp->as.binop.left;
    case EXP_FIELD: return exp->as.field.exp;
    case EXP_INDEX: return exp->as.index.exp;
    case EXP_UPDATE: return exp->as.update.exp;
    case EXP_RECORD_UPDATE: return exp->as.record_update.exp;
    case EXP_ASCRIPT: case EXP_COERCE: return exp->as.ascript.exp;
    default: return NULL;
    }
}

// Prints a head and returns the part it ends with, which is still to print, or NULL.
static const Exp *print_head(Printer *p, const Exp *exp) {
    switch (exp->kind) {
    case EXP_LIT: strbuf_str(p->out, exp->as.lit.text); return NULL;
    case EXP_STRING: print_string(p, exp->as.string); return NULL;
    case EXP_VAR: print_var(p, &exp->as.var); return NULL;
    case EXP_HOLE: print_text(p, "???"); return NULL;
    case EXP_PAREN:
        print_text(p, "(");
        print_exp(p, exp->as.inner);
        print_text(p, ")");
        return NULL;
    case EXP_TUPLE: print_items(p, "(", exp->as.items, ")"); return NULL;
    case EXP_ARRAY: print_items(p, "[", exp->as.items, "]"); return NULL;
    case EXP_STREAM: print_items(p, "{| ", exp->as.items, " |}"); return NULL;
    case EXP_RECORD: print_record(p, exp); return NULL;
    case EXP_APPLY:
        print_exp(p, exp->as.apply.fun);
        print_apply(p, exp->as.apply.args);
        return NULL;
    case EXP_CTOR:
        print_text(p, "#");
        print_sym(p, exp->as.ctor.name.sym);
        print_apply(p, exp->as.ctor.args);
        return NULL;
    case EXP_NEG: case EXP_NOT: return print_prefix(p, exp);
    case EXP_IF: return print_if(p, exp);
    case EXP_LET: case EXP_LET_FUN: case EXP_LET_UPDATE: return print_let(p, exp);
    case EXP_LAMBDA: return print_lambda(p, exp);
    case EXP_SECTION_LEFT: case EXP_SECTION_RIGHT: print_section(p, exp); return NULL;
    case EXP_SECTION_FIELD: print_section_field(p, exp); return NULL;
    case EXP_SECTION_INDEX:
        print_text(p, "(.");
        print_index(p, exp->as.dims);
        print_text(p, ")");
        return NULL;
    case EXP_LOOP: return print_loop(p, exp);
    case EXP_RANGE: return print_range(p, exp);
    case EXP_ASSERT:
        print_text(p, "assert ");
        print_exp(p, exp->as.assert_exp.cond);
        print_text(p, " ");
        return exp->as.assert_exp.body;
    case EXP_MATCH: return print_match(p, exp);
    case EXP_ATTR:
        print_attr(p, &exp->as.attr.attr);
        print_text(p, " ");
        return exp->as.attr.exp;
    case EXP_OPEN: print_open(p, exp); return NULL;
    case EXP_COMPREHENSION: print_comprehension(p, exp); return NULL;
    case EXP_BINOP: case EXP_FIELD: case EXP_INDEX: case EXP_UPDATE:
    case EXP_RECORD_UPDATE: case EXP_ASCRIPT: case EXP_COERCE:
        return NULL;  // never heads
    }
    return NULL;
}

static const Exp *print_operator(Printer *p, const Exp *exp, bool small) {
    Str op = sym_str(&p->cx->syms, exp->as.binop.op.name.sym);
    print_break(p, small || !str_eq(op, STR("|>")));
    print_infix_name(p, &exp->as.binop.op);
    print_text(p, " ");
    return exp->as.binop.right;
}

// Prints what exp adds to its left side, but for the part that is returned.
static const Exp *print_spine(Printer *p, const Exp *exp, bool small) {
    switch (exp->kind) {
    case EXP_BINOP: return print_operator(p, exp, small);
    case EXP_FIELD:
        print_text(p, ".");
        print_sym(p, exp->as.field.name.sym);
        return NULL;
    case EXP_INDEX: print_index(p, exp->as.index.dims); return NULL;
    case EXP_UPDATE:
        print_text(p, " with ");
        print_index(p, exp->as.update.dims);
        print_text(p, " = ");
        return exp->as.update.value;
    case EXP_RECORD_UPDATE:
        print_text(p, " with ");
        for (uint32_t i = 0; i < exp->as.record_update.path.len; i++) {
            if (i > 0) print_text(p, ".");
            print_sym(p, exp->as.record_update.path.data[i].sym);
        }
        print_text(p, " = ");
        return exp->as.record_update.value;
    default:
        print_text(p, exp->kind == EXP_ASCRIPT ? " : " : " :> ");
        print_type(p, exp->as.ascript.type);
        return NULL;
    }
}

void print_exp(Printer *p, const Exp *exp) {
    uint32_t indent = p->indent, base = p->spine.len;
    while (exp != NULL) {
        bool small = left_of(exp) == NULL || is_small(exp);
        for (const Exp *left = left_of(exp); left != NULL; left = left_of(exp)) {
            vec_push(p->out->arena, &p->spine, exp);
            exp = left;
        }
        exp = print_head(p, exp);
        while (p->spine.len > base) {
            if (exp != NULL) print_exp(p, exp);
            exp = print_spine(p, p->spine.data[--p->spine.len], small);
        }
    }
    p->indent = indent;
}
