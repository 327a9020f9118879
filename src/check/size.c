// SPDX-License-Identifier: Apache-2.0
//
// Sizes: making, comparing, unifying, joining. Unification solves what is linear in one
// variable, takes equal operators apart, and puts the rest off; in the end only
// different constants and different named parameters of one definition are mistakes.
#include "check/poly.h"

Size *size_resolve(Size *size) {
    while (size->kind == SIZE_VAR && size->link != NULL) size = size->link;
    return size;
}

static Size *make(Checker *ck, SizeKind kind, Span origin) {
    Size *size = arena_new(ck->arena, Size);
    size->kind = kind;
    size->origin = origin;
    return size;
}

Size *size_const(Checker *ck, int64_t value, Span origin) {
    Size *size = make(ck, SIZE_CONST, origin);
    size->value = value;
    return size;
}

Size *size_name(Checker *ck, Binding *name, Span origin) {
    Size *size = make(ck, SIZE_NAME, origin);
    size->name = name;
    return size;
}

Size *size_fresh(Checker *ck, Span origin) {
    Size *size = make(ck, SIZE_VAR, origin);
    size->id = ++ck->counter;
    size->level = (int32_t)size->id;
    if (ck->frame != NULL) vec_push(ck->arena, &ck->frame->size_vars, size);
    return size;
}

Size *size_unknown(Checker *ck, Span origin) {
    Size *size = make(ck, SIZE_UNKNOWN, origin);
    size->id = ++ck->counter;
    return size;
}

// ---- expressions as sizes ----------------------------------------------------------

static bool is_expressible(const TExp *exp, int *budget) {
    if (--*budget < 0) return false;
    switch (exp->kind) {
    case TEXP_LIT: return true;
    case TEXP_VAR: return true;
    case TEXP_FIELD: return is_expressible(exp->as.field.exp, budget);
    case TEXP_INDEX:
        for (uint32_t i = 0; i < exp->as.index.dims.len; i++) {
            const TIndex *dim = &exp->as.index.dims.data[i];
            if (dim->is_slice || !is_expressible(dim->index, budget)) return false;
        }
        return is_expressible(exp->as.index.exp, budget);
    case TEXP_RECORD:
        for (uint32_t i = 0; i < exp->as.items.len; i++)
            if (!is_expressible(exp->as.items.data[i], budget)) return false;
        return true;
    case TEXP_APPLY:
        for (uint32_t i = 0; i < exp->as.apply.args.len; i++)
            if (!is_expressible(exp->as.apply.args.data[i], budget)) return false;
        return is_expressible(exp->as.apply.fun, budget);
    case TEXP_STRING:
    case TEXP_ARRAY:
    case TEXP_LAMBDA:
    case TEXP_LET:
    case TEXP_IF:
    case TEXP_AND:
    case TEXP_OR:
    case TEXP_LOOP:
    case TEXP_RANGE:
    case TEXP_UPDATE:
    case TEXP_RECORD_UPDATE:
    case TEXP_COERCE:
    case TEXP_ASSERT:
    case TEXP_CTOR:
    case TEXP_MATCH:
    case TEXP_HOLE:
    case TEXP_ATTR: return false;
    }
    return false;
}

static Size *size_of_poly(Checker *ck, const Poly *poly, Span origin) {
    if (poly->count == 0) return size_const(ck, 0, origin);
    if (poly->count == 1 && poly->terms[0].degree == 0) {
        if (poly->terms[0].factor >= 0)
            return size_const(ck, poly->terms[0].factor, origin);
    } else if (poly->count == 1 && poly->terms[0].factor == 1 &&
               poly->terms[0].degree == 1) {
        const Atom *atom = &poly->terms[0].atoms[0];
        if (atom->name != NULL) return size_name(ck, atom->name, origin);
        if (atom->size != NULL) return atom->size;
    }
    Size *size = make(ck, SIZE_EXP, origin);
    size->exp = poly_exp(ck, poly, origin);
    if (size->exp == NULL) return size_unknown(ck, origin);
    if (ck->frame != NULL) vec_push(ck->arena, &ck->frame->exp_sizes, size);
    return size;
}

// Products, and sums of more than constants, stay what they are, so that `n * m` can be
// taken apart against `2 * 3` and `n + m` against `k + (l - k)`.
static bool has_parts(const Checker *ck, const TExp *exp, const Poly *poly) {
    if (exp->kind != TEXP_APPLY || exp->as.apply.fun->kind != TEXP_VAR) return false;
    const Binding *op = exp->as.apply.fun->as.var.binding;
    return op == ck->mul_op ||
           (op == ck->add_op && poly->count > 0 && poly->terms[0].degree > 0);
}

Size *size_of_exp(Checker *ck, TExp *exp) {
    int budget = 40;
    if (exp->kind == TEXP_VAR && !type_is_error(ck, exp->type)) {
        Binding *name = exp->as.var.binding;
        if (name->kind == BIND_SIZE && name->check_data != NULL)
            return size_resolve(name->check_data);
        return size_name(ck, name, exp->span);
    }
    if (type_is_error(ck, exp->type) || !is_expressible(exp, &budget))
        return size_unknown(ck, exp->span);
    Poly poly;
    if (poly_of_exp(ck, exp, &poly) && poly.count <= 1 &&
        (poly.count == 0 || poly.terms[0].degree <= 1) && !has_parts(ck, exp, &poly)) {
        Size *size = size_of_poly(ck, &poly, exp->span);
        if (size->kind != SIZE_EXP) return size;
    }
    Size *size = make(ck, SIZE_EXP, exp->span);
    size->exp = exp;
    if (ck->frame != NULL) vec_push(ck->arena, &ck->frame->exp_sizes, size);
    return size;
}

bool size_is_const(Checker *ck, Size *size, int64_t *value_out) {
    size = size_resolve(size);
    if (size->kind == SIZE_CONST) {
        *value_out = size->value;
        return true;
    }
    Poly poly;
    if (size->kind == SIZE_UNKNOWN || !poly_of_size(ck, size, &poly)) return false;
    if (poly.count == 0) *value_out = 0;
    else if (poly.count == 1 && poly.terms[0].degree == 0)
        *value_out = poly.terms[0].factor;
    else return false;
    return true;
}

bool size_equal(Checker *ck, Size *a, Size *b) {
    a = size_resolve(a);
    b = size_resolve(b);
    if (a == b) return true;
    if (a->kind == SIZE_CONST && b->kind == SIZE_CONST) return a->value == b->value;
    if (a->kind == SIZE_NAME && b->kind == SIZE_NAME && a->name == b->name) return true;
    Poly p, q;
    if (!poly_of_size(ck, a, &p) || !poly_of_size(ck, b, &q)) return false;
    poly_add(ck, &p, &q, -1);
    return p.count == 0 && !p.overflow;
}

Size *size_linear(Checker *ck, Size *a, int64_t factor, Size *b, int64_t offset,
                  Span origin) {
    Poly sum, other;
    if (!poly_of_size(ck, a, &sum) || !poly_of_size(ck, b, &other))
        return size_unknown(ck, origin);
    poly_add(ck, &sum, &other, factor);
    poly_const(ck, &other, offset);
    poly_add(ck, &sum, &other, 1);
    return sum.overflow ? size_unknown(ck, origin) : size_of_poly(ck, &sum, origin);
}

// ---- unification -------------------------------------------------------------------

static void solve(Checker *ck, Size *var, Size *size) {
    Subst subst = {.escape_from = (uint32_t)var->level, .level = (uint32_t)var->level};
    size = size_resolve(size_subst(ck, &subst, size));
    if (size != var) var->link = size;
}

static bool atom_mentions(const Atom *atom, const Size *var) {
    return atom->size == var ||
           (atom->exp != NULL && poly_exp_mentions(atom->exp, var));
}

static bool mentions(const Poly *poly, const Size *var, uint32_t but) {
    for (uint32_t i = 0; i < poly->count; i++)
        for (uint32_t k = 0; k < poly->terms[i].degree && i != but; k++)
            if (atom_mentions(&poly->terms[i].atoms[k], var)) return true;
    return false;
}

// Divides by the factor and the atoms of `by` other than the one at `skip`.
static bool divide(const Term *term, const Term *by, uint32_t skip,
                   Term *quotient_out) {
    if (term->factor % by->factor != 0) return false;
    *quotient_out = *term;
    quotient_out->factor = -(term->factor / by->factor);
    for (uint32_t i = 0; i < by->degree; i++) {
        if (i == skip) continue;
        uint32_t at = 0;
        while (at < quotient_out->degree &&
               !poly_same_atom(&quotient_out->atoms[at], &by->atoms[i]))
            at++;
        if (at == quotient_out->degree) return false;
        quotient_out->degree--;
        for (; at < quotient_out->degree; at++)
            quotient_out->atoms[at] = quotient_out->atoms[at + 1];
    }
    return true;
}

// Solves `poly = 0` for a variable that is in one term only, by dividing the others by
// what it is multiplied with.
static bool solve_linear(Checker *ck, Poly *poly, Span origin) {
    for (uint32_t i = 0; i < poly->count; i++) {
        const Term *term = &poly->terms[i];
        if (term->factor == INT64_MIN) continue;
        for (uint32_t k = 0; k < term->degree; k++) {
            Size *var = term->atoms[k].size;
            if (var == NULL || var->kind != SIZE_VAR || mentions(poly, var, i))
                continue;
            bool alone = true;
            for (uint32_t j = 0; j < term->degree; j++)
                if (j != k && (atom_mentions(&term->atoms[j], var) ||
                               (term->atoms[j].size != NULL &&
                                term->atoms[j].size->kind == SIZE_VAR)))
                    alone = false;
            Poly rest = {.terms = NULL};
            for (uint32_t j = 0; j < poly->count && alone; j++) {
                Term quotient;
                if (j == i) continue;
                alone = divide(&poly->terms[j], term, k, &quotient);
                Poly one = {.terms = &quotient, .count = 1};
                if (alone) poly_add(ck, &rest, &one, 1);
            }
            if (!alone || rest.overflow) continue;
            solve(ck, var, size_of_poly(ck, &rest, origin));
            return true;
        }
    }
    return false;
}

static bool has_var(const Poly *poly, bool only_open) {
    for (uint32_t i = 0; i < poly->count; i++)
        for (uint32_t k = 0; k < poly->terms[i].degree; k++) {
            const Atom *atom = &poly->terms[i].atoms[k];
            const Size *size = atom->size;
            if (size != NULL && size->kind == SIZE_VAR && (size->is_open || !only_open))
                return true;
            if (atom->exp != NULL && !only_open && poly_exp_mentions(atom->exp, NULL))
                return true;
        }
    return false;
}

// More than one: solving for either says nothing of both, where taking apart does.
static bool has_vars(const Poly *poly) {
    const Size *first = NULL;
    for (uint32_t i = 0; i < poly->count; i++)
        for (uint32_t k = 0; k < poly->terms[i].degree; k++) {
            const Size *size = poly->terms[i].atoms[k].size;
            if (size == NULL || size->kind != SIZE_VAR || size == first) continue;
            if (first != NULL) return true;
            first = size;
        }
    return false;
}

// Unifies the operands of equal operators: n * m and 3 * 4. No failure is reported.
static bool take_apart(Checker *ck, const TExp *a, const TExp *b) {
    if (a->kind != TEXP_APPLY || b->kind != TEXP_APPLY) return false;
    const TExp *f = a->as.apply.fun, *g = b->as.apply.fun;
    if (f->kind != TEXP_VAR || g->kind != TEXP_VAR) return false;
    if (f->as.var.binding->kind != BIND_INTRINSIC ||
        g->as.var.binding->kind != BIND_INTRINSIC)
        return false;
    if (f->as.var.binding->intrinsic != g->as.var.binding->intrinsic) return false;
    if (a->as.apply.args.len != b->as.apply.args.len) return false;
    for (uint32_t i = 0; i < a->as.apply.args.len; i++) {
        Size *x = size_of_exp(ck, a->as.apply.args.data[i]);
        Size *y = size_of_exp(ck, b->as.apply.args.data[i]);
        x = size_resolve(x);
        y = size_resolve(y);
        if (x->kind == SIZE_VAR) solve(ck, x, y);
        else if (y->kind == SIZE_VAR) solve(ck, y, x);
        else if (x->kind == SIZE_EXP && y->kind == SIZE_EXP)
            take_apart(ck, x->exp, y->exp);
    }
    return true;
}

static bool are_distinct_params(const Size *a, const Size *b) {
    if (a->kind != SIZE_NAME || b->kind != SIZE_NAME || a->name == b->name)
        return false;
    const Binding *x = a->name, *y = b->name;
    return x->kind == BIND_SIZE && y->kind == BIND_SIZE && x->name != 0 &&
           y->name != 0 && x->owner == y->owner && x->alias == NULL && y->alias == NULL;
}

static bool clash(Checker *ck, Size *a, Size *b) {
    if (ck->size_mode != SIZES_STRICT) return true;
    if (ck->clash.kind == CLASH_NONE)
        ck->clash = (Clash){.kind = CLASH_SIZES, .size_a = a, .size_b = b};
    return false;
}

bool size_unify(Checker *ck, Size *a, Size *b) {
    a = size_resolve(a);
    b = size_resolve(b);
    if (a == b) return true;
    if (a->kind == SIZE_VAR && b->kind == SIZE_VAR) {
        if (ck->size_mode == SIZES_JOIN && a->is_open && b->is_open) return true;
        if (a->level < b->level) b->link = a;
        else a->link = b;
        a->is_open = b->is_open = a->is_open || b->is_open;
        return true;
    }
    if (a->kind == SIZE_UNKNOWN && b->kind == SIZE_UNKNOWN) return true;
    if (a->kind == SIZE_CONST && b->kind == SIZE_CONST)
        return a->value == b->value || clash(ck, a, b);
    Poly p, q;
    bool known = poly_of_size(ck, a, &p) && poly_of_size(ck, b, &q);
    if (a->kind == SIZE_VAR || b->kind == SIZE_VAR) {
        Size *var = a->kind == SIZE_VAR ? a : b, *other = a->kind == SIZE_VAR ? b : a;
        if (ck->size_mode == SIZES_JOIN && var->is_open) return true;
        if (ck->size_mode == SIZES_VIEW && other->kind == SIZE_UNKNOWN) return true;
        if (!known || !mentions(var == a ? &q : &p, var, UINT32_MAX))
            solve(ck, var, other);
        return true;
    }
    if (!known || a->kind == SIZE_UNKNOWN || b->kind == SIZE_UNKNOWN) return true;
    poly_add(ck, &p, &q, -1);
    if (p.overflow || p.count == 0) return true;
    if (has_var(&p, false)) {
        if (ck->size_mode == SIZES_JOIN && has_var(&p, true)) return true;
        bool apart = a->kind == SIZE_EXP && b->kind == SIZE_EXP;
        bool forced = ck->size_mode == SIZES_FORCED, wait = apart && has_vars(&p);
        if (!wait && solve_linear(ck, &p, a->origin)) return true;
        if (forced && apart && take_apart(ck, a->exp, b->exp)) return true;
        if (forced && wait && solve_linear(ck, &p, a->origin)) return true;
        if (ck->frame != NULL) {
            vec_push(ck->arena, &ck->frame->deferred, a);
            vec_push(ck->arena, &ck->frame->deferred, b);
        }
        return true;
    }
    int64_t x, y;
    if (size_is_const(ck, a, &x) && size_is_const(ck, b, &y)) return clash(ck, a, b);
    if (are_distinct_params(a, b)) return clash(ck, a, b);
    return true;
}

void sizes_retry(Checker *ck, Frame *frame) {
    SizeMode mode = ck->size_mode;
    for (uint32_t round = 0; round < 3; round++) {
        ck->size_mode = round == 0 ? SIZES_LOOSE : SIZES_FORCED;
        SizeVec pairs = frame->deferred;
        frame->deferred = (SizeVec){0};
        for (uint32_t i = 0; i + 1 < pairs.len; i += 2)
            size_unify(ck, pairs.data[i], pairs.data[i + 1]);
    }
    ck->size_mode = mode;
}

static bool goes_out(Checker *ck, Size *size, uint32_t mark) {
    Subst subst = {.escape_from = mark};
    ck->visits = 0;
    return size_subst(ck, &subst, size) != size_resolve(size);
}

// What waits but mentions a name that goes out of scope is settled now: later, no
// variable outside could stand for that name.
void sizes_leave(Checker *ck, uint32_t mark) {
    if (ck->frame == NULL || ck->frame->deferred.len == 0) return;
    SizeMode mode = ck->size_mode;
    ck->size_mode = SIZES_FORCED;
    SizeVec pairs = ck->frame->deferred;
    ck->frame->deferred = (SizeVec){0};
    for (uint32_t i = 0; i + 1 < pairs.len; i += 2) {
        Size *a = pairs.data[i], *b = pairs.data[i + 1];
        if (goes_out(ck, a, mark) || goes_out(ck, b, mark)) {
            size_unify(ck, a, b);
        } else {
            vec_push(ck->arena, &ck->frame->deferred, a);
            vec_push(ck->arena, &ck->frame->deferred, b);
        }
    }
    ck->size_mode = mode;
}

void sizes_finish(Checker *ck, Frame *frame) {
    for (uint32_t i = 0; i < frame->size_vars.len; i++) {
        Size *var = frame->size_vars.data[i];
        if (var->link == NULL) var->kind = SIZE_UNKNOWN;
    }
    frame->size_vars.len = 0;
    for (uint32_t i = 0; i < frame->exp_sizes.len; i++) {
        Size *size = frame->exp_sizes.data[i];
        Subst nothing = {0};
        TExp *exp = texp_subst(ck, &nothing, size->exp);
        int64_t value;
        if (exp == NULL) {
            size->kind = SIZE_UNKNOWN;
            size->id = ++ck->counter;
            continue;
        }
        size->exp = exp;
        if (size_is_const(ck, size, &value) && value >= 0) {
            size->kind = SIZE_CONST;
            size->value = value;
        }
    }
    frame->exp_sizes.len = 0;
}

// ---- joins -------------------------------------------------------------------------

// Whether the two sizes that meet in a branch are one may hang on which sizes a loop
// keeps, and that on what its branches join. So the loop's end assumes that all are one
// and takes back, again and again, what does not follow.

Size *size_join(Checker *ck, Size *a, Size *b, Span origin) {
    Size *joined = size_unknown(ck, origin);
    if (ck->frame != NULL && ck->frame->loops > 0)
        vec_push(ck->arena, &ck->frame->joins, (SizeJoin){joined, a, b});
    return joined;
}

static bool is_one(const SizeJoin *join) {
    return join->joined->kind == SIZE_VAR;
}

static void set_one(const SizeJoin *join, bool is_one) {
    join->joined->kind = is_one ? SIZE_VAR : SIZE_UNKNOWN;
    join->joined->link = is_one ? join->a : NULL;
}

void size_joins_settle(Checker *ck, uint32_t from, uint32_t mark) {
    SizeJoin *joins = ck->frame->joins.data;
    uint32_t len = ck->frame->joins.len, kept = from;
    for (uint32_t i = from; i < len; i++)
        if (size_resolve(joins[i].a) != joins[i].joined) set_one(&joins[i], true);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = from; i < len; i++) {
            const SizeJoin *join = &joins[i];
            if (!is_one(join) ||
                (size_equal(ck, join->a, join->b) && !goes_out(ck, join->a, mark)))
                continue;
            set_one(join, false);
            changed = true;
        }
    }
    for (uint32_t i = from; i < len && ck->frame->loops > 0; i++)
        if (!is_one(&joins[i])) joins[kept++] = joins[i];
    ck->frame->joins.len = kept;
}

// ---- printing ----------------------------------------------------------------------

void size_print(const Cx *cx, const Size *size, StrBuf *out) {
    size = size_resolve((Size *)size);
    switch (size->kind) {
    case SIZE_CONST: strbuf_printf(out, "%lld", (long long)size->value); break;
    case SIZE_NAME: strbuf_str(out, sym_str(&cx->syms, size->name->name)); break;
    case SIZE_EXP: texp_print_size(cx, size->exp, out); break;
    case SIZE_RAGGED: strbuf_char(out, '?'); break;
    case SIZE_VAR:
    case SIZE_UNKNOWN: break;
    }
}

const char *size_show(Checker *ck, Size *size) {
    StrBuf buf = strbuf(ck->arena);
    size_print(ck->cx, size, &buf);
    return str_terminated(ck->arena, strbuf_done(&buf));
}
