// SPDX-License-Identifier: Apache-2.0
//
// What an abbreviation was given: a type keeps the abbreviation it was written by, and
// only a message needs the arguments, so that they are found again by holding the type
// against the abbreviation's body.
#include "check/checker.h"

typedef struct Match {
    const Cx *cx;
    const TypeCon *con;
    WrittenArg *args;
} Match;

static void match_size(Match *m, Size *body, Size *size) {
    body = size_resolve(body);
    if (body->kind != SIZE_NAME) return;
    for (uint32_t i = 0; i < m->con->params.len; i++)
        if (m->con->params.data[i].size == body->name) m->args[i].size = size;
}

static bool match_var(Match *m, const Type *body, Type *type) {
    for (uint32_t i = 0; i < m->con->params.len; i++)
        if (m->con->params.data[i].var == body->as.var) {
            m->args[i].type = type;
            return true;
        }
    return type->kind == TYPE_VAR && type->as.var == body->as.var;
}

static bool match(Match *m, Type *body, Type *type);

static bool match_all(Match *m, const TypeVec *body, const TypeVec *types) {
    if (body->len != types->len) return false;
    for (uint32_t i = 0; i < body->len; i++)
        if (!match(m, body->data[i], types->data[i])) return false;
    return true;
}

static bool match_records(Match *m, const FieldVec *body, const FieldVec *fields) {
    if (body->len != fields->len) return false;
    for (uint32_t i = 0; i < body->len; i++)
        if (body->data[i].name != fields->data[i].name ||
            !match(m, body->data[i].type, fields->data[i].type))
            return false;
    return true;
}

static bool match_sums(Match *m, const CtorVec *body, const CtorVec *ctors) {
    if (body->len != ctors->len) return false;
    for (uint32_t i = 0; i < body->len; i++)
        if (body->data[i].name != ctors->data[i].name ||
            !match_all(m, &body->data[i].payload, &ctors->data[i].payload))
            return false;
    return true;
}

static bool match_abs(Match *m, const Type *body, const Type *type) {
    if (body->as.abs.id != type->as.abs.id) return false;
    for (uint32_t i = 0; i < body->as.abs.size_args.len; i++)
        match_size(m, body->as.abs.size_args.data[i], type->as.abs.size_args.data[i]);
    return match_all(m, &body->as.abs.type_args, &type->as.abs.type_args);
}

static bool match(Match *m, Type *body, Type *type) {
    if (stack_is_low(&m->cx->stack)) return false;
    body = type_resolve(body);
    type = type_resolve(type);
    if (body->kind == TYPE_VAR && body->as.var != NULL) return match_var(m, body, type);
    if (body->is_ground) return body == type; // such a type is never copied
    if (body->kind != type->kind) return false;
    switch (body->kind) {
    case TYPE_SCALAR: return body->as.scalar == type->as.scalar;
    case TYPE_ARRAY:
        match_size(m, body->as.array.size, type->as.array.size);
        return match(m, body->as.array.elem, type->as.array.elem);
    case TYPE_RECORD: return match_records(m, &body->as.record, &type->as.record);
    case TYPE_SUM: return match_sums(m, &body->as.sum, &type->as.sum);
    case TYPE_FUN:
        return match(m, body->as.fun.param, type->as.fun.param) &&
               match(m, body->as.fun.result, type->as.fun.result);
    case TYPE_VAR: return body == type;
    case TYPE_ABS: return match_abs(m, body, type);
    case TYPE_STREAM: return match(m, body->as.elem, type->as.elem);
    }
    return false;
}

WrittenArg *written_args(const Cx *cx, const Type *type, Arena *arena) {
    const TypeCon *con = type->written;
    Match m = {cx, con, arena_array(arena, WrittenArg, con->params.len)};
    if (!match(&m, con->body, (Type *)type)) return NULL;
    for (uint32_t i = 0; i < con->params.len; i++)
        if (m.args[i].type == NULL && m.args[i].size == NULL) return NULL;
    return m.args;
}
