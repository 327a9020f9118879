// SPDX-License-Identifier: Apache-2.0
//
// The outermost scope: built-in operators (from operators.def) and scalar types.
#include <string.h>

#include "check/checker.h"

enum {
    BOOLS = 1 << SCALAR_BOOL,
    INTS = 1 << SCALAR_I8 | 1 << SCALAR_I16 | 1 << SCALAR_I32 | 1 << SCALAR_I64 |
           1 << SCALAR_U8 | 1 << SCALAR_U16 | 1 << SCALAR_U32 | 1 << SCALAR_U64,
    NUMBERS = INTS | 1 << SCALAR_F16 | 1 << SCALAR_F32 | 1 << SCALAR_F64,
    BITS = INTS | BOOLS,
    ORDERED = NUMBERS | BOOLS,
    ANY = 0
};

typedef enum Shape { BINARY, COMPARE, UNARY, EQUALITY } Shape;

typedef struct OperatorRow {
    const char *text, *intrinsic;
    int set;
    Shape shape;
} OperatorRow;

static const OperatorRow rows[] = {
#define OPERATOR(text, intrinsic, set, shape) {text, intrinsic, set, shape},
#include "check/operators.def"
#undef OPERATOR
};

static Binding *make_operator(Checker *ck, const OperatorRow *row) {
    Name name = {sym_cstr(&ck->cx->syms, row->text), {0, 0}};
    Binding *binding = binding_new(ck, BIND_INTRINSIC, name, NULL);
    binding->intrinsic = sym_cstr(&ck->cx->syms, row->intrinsic);
    Type *result = ck->scalars[SCALAR_BOOL], *operand = result;
    if (row->set != BOOLS) {
        TypeVar *var =
            type_param_new(ck, sym_cstr(&ck->cx->syms, "t"), TP_TYPE, name.span);
        Constraint *constraint = arena_new(ck->arena, Constraint);
        constraint->scalars = constraint->operator_scalars = (ScalarSet)row->set;
        constraint->equality = row->shape == EQUALITY;
        constraint->cause = row->shape == UNARY && row->text[0] == 'p'
                                ? sym_cstr(&ck->cx->syms, "-")
                                : name.sym;
        var->constraint = constraint;
        vec_push(ck->arena, &binding->type_params, var);
        operand = type_of_var(ck, var);
        if (row->shape == BINARY || row->shape == UNARY) result = operand;
    }
    if (row->shape != UNARY) result = type_fun(ck, operand, result);
    binding->type = type_fun(ck, operand, result);
    return binding;
}

void operators_declare(Checker *ck, Scope *root) {
    Binding *made[sizeof rows / sizeof *rows];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        made[i] = make_operator(ck, &rows[i]);
        Name name = {made[i]->name, {0, 0}};
        Entry *entry = scope_add(ck, root, SPACE_VALUE, name, false);
        entry->state = ENTRY_DONE;
        entry->value = made[i];
        if (strcmp(rows[i].intrinsic, "add") == 0) ck->add_op = made[i];
        if (strcmp(rows[i].intrinsic, "sub") == 0) ck->sub_op = made[i];
        if (strcmp(rows[i].intrinsic, "mul") == 0) ck->mul_op = made[i];
        if (strcmp(rows[i].intrinsic, "neg") == 0) ck->neg_op = made[i];
        if (strcmp(rows[i].intrinsic, "pow") == 0) ck->pow_op = made[i];
        if (strcmp(rows[i].intrinsic, "not") == 0) ck->not_op = made[i];
        if (strcmp(rows[i].intrinsic, "logand") == 0) ck->and_op = made[i];
        if (strcmp(rows[i].intrinsic, "logor") == 0) ck->or_op = made[i];
    }
    for (int t = 0; t < SCALAR_COUNT; t++) {
        Name name = {sym_cstr(&ck->cx->syms, scalar_info[t].name), {0, 0}};
        Entry *entry = scope_add(ck, root, SPACE_TYPE, name, false);
        TypeCon *con = arena_new(ck->arena, TypeCon);
        con->name = name.sym;
        con->lifting = TP_TYPE;
        con->body = ck->scalars[t];
        entry->state = ENTRY_DONE;
        entry->type = con;
    }
}
