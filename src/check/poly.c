// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on the normal forms of sizes. Polynomials are small; everything is by
// insertion into a sorted array, and what grows too large counts as overflow.
#include "check/poly.h"

#include <string.h>

// ---- an order on expressions -------------------------------------------------------

static int compare_numbers(uint64_t a, uint64_t b) {
    return a < b ? -1 : a > b;
}

static int compare_exps(const TExp *a, const TExp *b);

static const Size *stand_in(const TExp *exp) {
    const Binding *binding = exp->as.var.binding;
    if (binding->kind != BIND_SIZE || binding->check_data == NULL) return NULL;
    return size_resolve(binding->check_data);
}

static int compare_vars(const TExp *a, const TExp *b) {
    const Size *s = stand_in(a), *t = stand_in(b);
    if ((s != NULL) != (t != NULL)) return s != NULL ? -1 : 1;
    if (s == NULL) return compare_numbers(a->as.var.binding->id, b->as.var.binding->id);
    if (s->kind != t->kind) return s->kind < t->kind ? -1 : 1;
    if (s == t) return 0;
    switch (s->kind) {
    case SIZE_CONST: return compare_numbers((uint64_t)s->value, (uint64_t)t->value);
    case SIZE_NAME: return compare_numbers(s->name->id, t->name->id);
    case SIZE_EXP: return compare_exps(s->exp, t->exp);
    case SIZE_VAR:
    case SIZE_UNKNOWN:
    case SIZE_RAGGED: return compare_numbers(s->id, t->id);
    }
    return 0;
}

static int compare_items(const TExpVec *a, const TExpVec *b) {
    if (a->len != b->len) return a->len < b->len ? -1 : 1;
    for (uint32_t i = 0; i < a->len; i++) {
        int order = compare_exps(a->data[i], b->data[i]);
        if (order != 0) return order;
    }
    return 0;
}

static int compare_exps(const TExp *a, const TExp *b) {
    if (a == b) return 0;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    int order = 0;
    switch (a->kind) {
    case TEXP_LIT: return compare_numbers(a->as.lit.bits, b->as.lit.bits);
    case TEXP_VAR: return compare_vars(a, b);
    case TEXP_FIELD:
        order = compare_exps(a->as.field.exp, b->as.field.exp);
        return order != 0 ? order : compare_numbers(a->as.field.name, b->as.field.name);
    case TEXP_RECORD: return compare_items(&a->as.items, &b->as.items);
    case TEXP_APPLY:
        order = compare_exps(a->as.apply.fun, b->as.apply.fun);
        return order != 0 ? order : compare_items(&a->as.apply.args, &b->as.apply.args);
    case TEXP_INDEX:
        order = compare_exps(a->as.index.exp, b->as.index.exp);
        if (order != 0) return order;
        if (a->as.index.dims.len != b->as.index.dims.len)
            return a->as.index.dims.len < b->as.index.dims.len ? -1 : 1;
        for (uint32_t i = 0; i < a->as.index.dims.len && order == 0; i++)
            order = compare_exps(a->as.index.dims.data[i].index,
                                 b->as.index.dims.data[i].index);
        return order;
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
    case TEXP_ATTR: return a < b ? -1 : 1;
    }
    return 0;
}

static int compare_atoms(const Atom *a, const Atom *b) {
    int rank_a = a->name != NULL ? 0 : a->size != NULL ? 1 : 2;
    int rank_b = b->name != NULL ? 0 : b->size != NULL ? 1 : 2;
    if (rank_a != rank_b) return rank_a - rank_b;
    if (rank_a == 0) {
        int order = compare_numbers(a->name->id, b->name->id);
        return order != 0 || a->name == b->name ? order : a->name < b->name ? -1 : 1;
    }
    if (rank_a == 1)
        return a->size == b->size ? 0 : compare_numbers(a->size->id, b->size->id);
    return compare_exps(a->exp, b->exp);
}

bool poly_same_atom(const Atom *a, const Atom *b) {
    return compare_atoms(a, b) == 0;
}

// By degree, so that constants come first.
static int compare_terms(const Term *a, const Term *b) {
    if (a->degree != b->degree) return a->degree < b->degree ? -1 : 1;
    for (uint32_t i = 0; i < a->degree; i++) {
        int order = compare_atoms(&a->atoms[i], &b->atoms[i]);
        if (order != 0) return order;
    }
    return 0;
}

// ---- arithmetic --------------------------------------------------------------------

static void add_term(Checker *ck, Poly *poly, const Term *term, int64_t factor) {
    int64_t value;
    if (__builtin_mul_overflow(term->factor, factor, &value)) poly->overflow = true;
    else if (value == 0) return;
    uint32_t at = 0;
    int order = -1;
    while (at < poly->count && (order = compare_terms(&poly->terms[at], term)) < 0)
        at++;
    if (poly->overflow) return;
    if (at < poly->count && order == 0) {
        if (__builtin_add_overflow(poly->terms[at].factor, value, &value))
            poly->overflow = true;
        poly->terms[at].factor = value;
        if (value != 0) return;
        poly->count--;
        memmove(&poly->terms[at], &poly->terms[at + 1],
                (poly->count - at) * sizeof(Term));
        return;
    }
    if (poly->count == MOST_TERMS) {
        poly->overflow = true;
        return;
    }
    if ((poly->count & (poly->count - 1)) == 0) { // full at every power of two
        Term *terms =
            arena_array(ck->arena, Term, poly->count == 0 ? 1 : 2 * poly->count);
        if (poly->count > 0) memcpy(terms, poly->terms, poly->count * sizeof(Term));
        poly->terms = terms;
    }
    memmove(&poly->terms[at + 1], &poly->terms[at], (poly->count - at) * sizeof(Term));
    poly->terms[at] = *term;
    poly->terms[at].factor = value;
    poly->count++;
}

void poly_add(Checker *ck, Poly *sum, const Poly *poly, int64_t factor) {
    // A sum that lost terms may not be at a power of two: start from a copy.
    Poly fresh = {.overflow = sum->overflow || poly->overflow};
    for (uint32_t i = 0; i < sum->count; i++) add_term(ck, &fresh, &sum->terms[i], 1);
    for (uint32_t i = 0; i < poly->count; i++)
        add_term(ck, &fresh, &poly->terms[i], factor);
    *sum = fresh;
}

void poly_const(Checker *ck, Poly *poly, int64_t value) {
    *poly = (Poly){.terms = NULL};
    Term term = {.factor = 1};
    add_term(ck, poly, &term, value);
}

static void mul_term(Checker *ck, Poly *product, const Term *a, const Term *b) {
    if (a->degree + b->degree > MOST_DEGREE) {
        product->overflow = true;
        return;
    }
    Term term = *a;
    for (uint32_t i = 0; i < b->degree; i++) {
        uint32_t at = term.degree++;
        while (at > 0 && compare_atoms(&term.atoms[at - 1], &b->atoms[i]) > 0) {
            term.atoms[at] = term.atoms[at - 1];
            at--;
        }
        term.atoms[at] = b->atoms[i];
    }
    add_term(ck, product, &term, b->factor);
}

Poly poly_mul(Checker *ck, const Poly *a, const Poly *b) {
    Poly product = {.overflow = a->overflow || b->overflow};
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t k = 0; k < b->count; k++) {
            // Cancellation inside the sum breaks add_term's growth rule: go by copies.
            Poly one = {.terms = NULL};
            mul_term(ck, &one, &a->terms[i], &b->terms[k]);
            poly_add(ck, &product, &one, 1);
        }
    return product;
}

// ---- from sizes and expressions ----------------------------------------------------

static bool poly_of_atom(Checker *ck, Atom atom, Poly *poly_out) {
    Term term = {.factor = 1, .degree = 1, .atoms = {atom}};
    *poly_out = (Poly){.terms = NULL};
    add_term(ck, poly_out, &term, 1);
    return true;
}

bool poly_of_size(Checker *ck, Size *size, Poly *poly_out) {
    size = size_resolve(size);
    switch (size->kind) {
    case SIZE_CONST: poly_const(ck, poly_out, size->value); return true;
    case SIZE_VAR:
    case SIZE_UNKNOWN: return poly_of_atom(ck, (Atom){.size = size}, poly_out);
    case SIZE_NAME:
        if (size->name->alias != NULL)
            return poly_of_size(ck, size->name->alias, poly_out);
        return poly_of_atom(ck, (Atom){.name = size->name}, poly_out);
    case SIZE_EXP: return poly_of_exp(ck, size->exp, poly_out);
    case SIZE_RAGGED: return false;
    }
    return false;
}

static bool is_length(const Checker *ck, const Binding *fun) {
    return fun->name == ck->sym_length && fun->kind == BIND_GLOBAL &&
           fun->check_data != NULL && ((const Global *)fun->check_data)->is_lib;
}

static bool poly_of_apply(Checker *ck, TExp *exp, Poly *poly_out) {
    const TExp *fun = exp->as.apply.fun;
    const TExpVec *args = &exp->as.apply.args;
    if (fun->kind != TEXP_VAR) return poly_of_atom(ck, (Atom){.exp = exp}, poly_out);
    const Binding *binding = fun->as.var.binding;
    if (is_length(ck, binding) && args->len == 1) {
        Type *type = type_resolve(args->data[0]->type);
        if (type->kind == TYPE_ARRAY &&
            size_resolve(type->as.array.size)->kind != SIZE_UNKNOWN)
            return poly_of_size(ck, type->as.array.size, poly_out);
    }
    if (binding->kind != BIND_INTRINSIC)
        return poly_of_atom(ck, (Atom){.exp = exp}, poly_out);
    Poly right;
    if (binding->intrinsic == ck->op_neg && args->len == 1) {
        if (!poly_of_exp(ck, args->data[0], &right)) return false;
        poly_const(ck, poly_out, 0);
        poly_add(ck, poly_out, &right, -1);
        return true;
    }
    bool is_ring = binding->intrinsic == ck->op_add ||
                   binding->intrinsic == ck->op_sub || binding->intrinsic == ck->op_mul;
    if (!is_ring || args->len != 2)
        return poly_of_atom(ck, (Atom){.exp = exp}, poly_out);
    if (!poly_of_exp(ck, args->data[0], poly_out) ||
        !poly_of_exp(ck, args->data[1], &right))
        return false;
    if (binding->intrinsic == ck->op_mul) *poly_out = poly_mul(ck, poly_out, &right);
    else poly_add(ck, poly_out, &right, binding->intrinsic == ck->op_add ? 1 : -1);
    return !poly_out->overflow;
}

bool poly_of_exp(Checker *ck, TExp *exp, Poly *poly_out) {
    if (!deep_enough(ck, exp->span)) return false;
    if (exp->kind == TEXP_LIT) {
        poly_const(ck, poly_out, (int64_t)exp->as.lit.bits);
        return true;
    }
    if (exp->kind == TEXP_VAR) {
        Binding *name = exp->as.var.binding;
        if (name->kind == BIND_SIZE && name->check_data != NULL)
            return poly_of_size(ck, name->check_data, poly_out);
        if (name->alias != NULL) return poly_of_size(ck, name->alias, poly_out);
        return poly_of_atom(ck, (Atom){.name = name}, poly_out);
    }
    if (exp->kind == TEXP_APPLY) return poly_of_apply(ck, exp, poly_out);
    return poly_of_atom(ck, (Atom){.exp = exp}, poly_out);
}

bool poly_exp_mentions(const TExp *exp, const Size *var) {
    switch (exp->kind) {
    case TEXP_VAR: {
        const Size *size = stand_in(exp);
        if (size == NULL) return false;
        if (size->kind == SIZE_EXP) return poly_exp_mentions(size->exp, var);
        return size->kind == SIZE_VAR && (var == NULL || size == var);
    }
    case TEXP_FIELD: return poly_exp_mentions(exp->as.field.exp, var);
    case TEXP_RECORD:
        for (uint32_t i = 0; i < exp->as.items.len; i++)
            if (poly_exp_mentions(exp->as.items.data[i], var)) return true;
        return false;
    case TEXP_APPLY:
        for (uint32_t i = 0; i < exp->as.apply.args.len; i++)
            if (poly_exp_mentions(exp->as.apply.args.data[i], var)) return true;
        return poly_exp_mentions(exp->as.apply.fun, var);
    case TEXP_INDEX:
        for (uint32_t i = 0; i < exp->as.index.dims.len; i++)
            if (poly_exp_mentions(exp->as.index.dims.data[i].index, var)) return true;
        return poly_exp_mentions(exp->as.index.exp, var);
    case TEXP_LIT:
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

// ---- back to expressions -----------------------------------------------------------

static TExp *make_lit(Checker *ck, int64_t value, Span span) {
    TExp *exp = texp_new(ck, TEXP_LIT, span, type_scalar(ck, SCALAR_I64));
    exp->as.lit.bits = (uint64_t)value;
    return exp;
}

static TExp *make_binary(Checker *ck, Binding *op, TExp *left, TExp *right) {
    Type *i64 = type_scalar(ck, SCALAR_I64);
    TExp *fun =
        texp_new(ck, TEXP_VAR, left->span, type_fun(ck, i64, type_fun(ck, i64, i64)));
    fun->as.var.binding = op;
    vec_push(ck->arena, &fun->as.var.type_args, i64);
    TExp *exp = texp_new(ck, TEXP_APPLY, left->span, i64);
    exp->as.apply.fun = fun;
    vec_push(ck->arena, &exp->as.apply.args, left);
    vec_push(ck->arena, &exp->as.apply.args, right);
    return exp;
}

static TExp *make_atom(Checker *ck, const Atom *atom, Span span) {
    if (atom->exp != NULL) return atom->exp;
    Binding *binding = atom->name;
    if (binding == NULL) {
        if (atom->size->kind != SIZE_VAR) return NULL;
        binding = arena_new(ck->arena, Binding);
        binding->kind = BIND_SIZE;
        binding->type = type_scalar(ck, SCALAR_I64);
        binding->span = span;
        binding->alias = atom->size;
        binding->check_data = atom->size;
    }
    TExp *exp = texp_new(ck, TEXP_VAR, span, type_scalar(ck, SCALAR_I64));
    exp->as.var.binding = binding;
    return exp;
}

static TExp *make_term(Checker *ck, const Term *term, int64_t factor, Span span) {
    TExp *exp = factor != 1 || term->degree == 0 ? make_lit(ck, factor, span) : NULL;
    for (uint32_t i = 0; i < term->degree; i++) {
        TExp *atom = make_atom(ck, &term->atoms[i], span);
        if (atom == NULL) return NULL;
        exp = exp == NULL ? atom : make_binary(ck, ck->mul_op, exp, atom);
    }
    return exp;
}

TExp *poly_exp(Checker *ck, const Poly *poly, Span span) {
    TExp *sum = NULL;
    // Positive terms of the highest degree first: n * m - 1.
    for (int negative = 0; negative <= 1; negative++)
        for (uint32_t i = poly->count; i-- > 0;) {
            const Term *term = &poly->terms[i];
            if ((term->factor < 0) != (negative == 1)) continue;
            if (term->factor == INT64_MIN) return NULL;
            bool minus = negative && sum != NULL;
            TExp *exp = make_term(ck, term, minus ? -term->factor : term->factor, span);
            if (exp == NULL) return NULL;
            sum = sum == NULL
                      ? exp
                      : make_binary(ck, minus ? ck->sub_op : ck->add_op, sum, exp);
        }
    return sum == NULL ? make_lit(ck, 0, span) : sum;
}
