// SPDX-License-Identifier: Apache-2.0
//
// Types, type and size parameters, and patterns.
#include "syntax/parse.h"

// ---- sizes and parameters --------------------------------------------------------

static SizeExp parse_size(Parser *p) {
    Token opener = p->tok;
    SizeExp size = {.kind = SIZE_EXP_ANY};
    parse_next(p);
    if (parse_at(p, TOK_QUESTION)) {
        size.kind = SIZE_EXP_RAGGED;
        parse_next(p);
    } else if (!parse_at(p, TOK_SQUARE_CLOSE)) {
        size.kind = SIZE_EXP_EXP;
        size.exp = parse_exp_inside(p);
    }
    parse_close(p, TOK_SQUARE_CLOSE, opener);
    size.span = parse_span_from(p, opener.start);
    return size;
}

static Name parse_size_name(Parser *p) {
    Token opener = p->tok;
    parse_next(p);
    Name name = parse_name(p, "the name of a size");
    parse_close(p, TOK_SQUARE_CLOSE, opener);
    return name;
}

NameVec parse_size_names(Parser *p) {
    NameVec names = {0};
    while (parse_at(p, TOK_SQUARE_OPEN)) {
        Name name = parse_size_name(p);
        parse_push(p, &names, name);
    }
    return names;
}

static bool at_type_param(const Parser *p) {
    return parse_at(p, TOK_SQUARE_OPEN) || parse_at(p, TOK_TICK) ||
           parse_at(p, TOK_TICK_TILDE) || parse_at(p, TOK_TICK_HAT);
}

TypeParamVec parse_type_params(Parser *p) {
    TypeParamVec params = {0};
    while (at_type_param(p)) {
        TypeParam param = {.kind = TP_SIZE};
        if (parse_at(p, TOK_SQUARE_OPEN)) {
            param.name = parse_size_name(p);
        } else {
            param.kind = parse_at(p, TOK_TICK)         ? TP_TYPE
                         : parse_at(p, TOK_TICK_TILDE) ? TP_SIZE_LIFTED
                                                       : TP_LIFTED;
            parse_next(p);
            param.name = parse_name(p, "the name of a type parameter");
        }
        parse_push(p, &params, param);
    }
    return params;
}

// ---- types -----------------------------------------------------------------------

static TypeExp *new_type(Parser *p, TypeExpKind kind, uint32_t start) {
    TypeExp *type = arena_new(p->cx->arena, TypeExp);
    type->kind = kind;
    type->span = (Span){start, start};
    return type;
}

static TypeExp *finish_type(Parser *p, TypeExp *type) {
    type->span = parse_span_from(p, type->span.start);
    return type;
}

static bool at_type_atom(const Parser *p) {
    return parse_at(p, TOK_NAME) || parse_at(p, TOK_PAREN_OPEN) ||
           parse_at(p, TOK_BRACE_OPEN) || parse_at(p, TOK_SQUARE_OPEN);
}

static TypeExp *parse_paren_type(Parser *p) {
    Token opener = p->tok;
    TypeExp *type = new_type(p, TYPE_EXP_TUPLE, opener.start);
    parse_next(p);
    bool is_tuple = parse_at(p, TOK_PAREN_CLOSE);
    while (!parse_at(p, TOK_PAREN_CLOSE)) {
        TypeExp *part = parse_type(p);
        parse_push(p, &type->as.tuple, part);
        if (!parse_accept(p, TOK_COMMA)) break;
        is_tuple = true;
    }
    parse_close(p, TOK_PAREN_CLOSE, opener);
    if (!is_tuple) {
        TypeExp *inner = type->as.tuple.data[0];
        type->kind = TYPE_EXP_PAREN;
        type->as.inner = inner;
    } else if (type->as.tuple.len == 1) {
        parse_fail(p, SYNTAX_TUPLE_OF_ONE, parse_span_from(p, opener.start), "");
    }
    return finish_type(p, type);
}

// {x: t}, {t}, {}
static TypeExp *parse_brace_type(Parser *p) {
    Token opener = p->tok;
    TypeExp *type = new_type(p, TYPE_EXP_RECORD, opener.start);
    parse_next(p);
    bool is_field = (parse_at(p, TOK_NAME) || parse_at(p, TOK_NUMBER)) &&
                    parse_peek(p, 1)->kind == TOK_COLON;
    if (!is_field && !parse_at(p, TOK_BRACE_CLOSE)) {
        type->kind = TYPE_EXP_STREAM;
        type->as.inner = parse_type(p);
        bool is_field_slip = parse_at(p, TOK_EQUALS) || parse_at(p, TOK_COMMA);
        Diag *diag = parse_close(p, TOK_BRACE_CLOSE, opener);
        if (diag != NULL && is_field_slip)
            diag_hint(&p->cx->diags, diag, "a record type is written {x: t, y: u}");
        return finish_type(p, type);
    }
    while (!parse_at(p, TOK_BRACE_CLOSE)) {
        TypeField field = {.name = parse_field_name(p)};
        parse_expect(p, TOK_COLON, "`:` and the type of the field");
        field.type = parse_type(p);
        parse_push(p, &type->as.record, field);
        if (!parse_accept(p, TOK_COMMA)) break;
    }
    parse_close(p, TOK_BRACE_CLOSE, opener);
    return finish_type(p, type);
}

static TypeExp *parse_type_atom(Parser *p) {
    switch (p->tok.kind) {
    case TOK_PAREN_OPEN: return parse_paren_type(p);
    case TOK_BRACE_OPEN: return parse_brace_type(p);
    case TOK_SQUARE_OPEN: return parse_type_term(p);
    default: break;
    }
    TypeExp *type = new_type(p, TYPE_EXP_NAME, p->tok.start);
    type->as.name.name = parse_qual_name(p, "a type");
    return finish_type(p, type);
}

// A name and its arguments, or another atom.
static TypeExp *parse_type_apply(Parser *p) {
    TypeExp *type = parse_type_atom(p);
    if (type->kind != TYPE_EXP_NAME) return type;
    while (at_type_atom(p)) {
        TypeArg arg = {.is_size = parse_at(p, TOK_SQUARE_OPEN)};
        if (arg.is_size) arg.size = parse_size(p);
        else arg.type = parse_type_atom(p);
        parse_push(p, &type->as.name.args, arg);
    }
    return finish_type(p, type);
}

static TypeExp *parse_sum(Parser *p) {
    TypeExp *type = new_type(p, TYPE_EXP_SUM, p->tok.start);
    for (;;) {
        TypeCtor ctor = {.name = {p->tok.sym, {p->tok.start + 1, p->tok.end}}};
        parse_expect(p, TOK_CTOR, "a constructor such as #name");
        while (at_type_atom(p)) {
            TypeExp *part = parse_type_atom(p);
            parse_push(p, &ctor.payload, part);
        }
        parse_push(p, &type->as.sum, ctor);
        if (!parse_at_operator(p, "|")) break;
        parse_next(p);
    }
    return finish_type(p, type);
}

// [n], [n][m], *: a chain of prefixes and then the rest.
static TypeExp *parse_array_type(Parser *p) {
    TypeExp *first = NULL, **hole = &first;
    for (;;) {
        bool is_unique = parse_at_operator(p, "*");
        if (!is_unique && !parse_at(p, TOK_SQUARE_OPEN)) break;
        TypeExp *type = new_type(p, TYPE_EXP_UNIQUE, p->tok.start);
        *hole = type;
        if (is_unique) {
            hole = &type->as.inner;
            parse_next(p);
        } else {
            type->kind = TYPE_EXP_ARRAY;
            hole = &type->as.array.elem;
            type->as.array.size = parse_size(p);
        }
    }
    TypeExp *last = parse_at(p, TOK_CTOR) ? parse_sum(p) : parse_type_apply(p);
    *hole = last;
    for (TypeExp *type = first; type != last;) {
        finish_type(p, type);
        type = type->kind == TYPE_EXP_UNIQUE ? type->as.inner : type->as.array.elem;
    }
    return first;
}

TypeExp *parse_type_term(Parser *p) {
    if (!parse_enter(p)) return new_type(p, TYPE_EXP_TUPLE, p->tok.start);
    TypeExp *type = parse_array_type(p);
    parse_leave(p);
    return type;
}

static bool at_named_param(Parser *p) {
    return parse_at(p, TOK_PAREN_OPEN) && parse_peek(p, 1)->kind == TOK_NAME &&
           parse_peek(p, 2)->kind == TOK_COLON;
}

static TypeExp *parse_named_param(Parser *p) {
    Token opener = p->tok;
    TypeExp *type = new_type(p, TYPE_EXP_FUN, opener.start);
    parse_next(p);
    type->as.fun.param_name = parse_name(p, "a name");
    parse_expect(p, TOK_COLON, "`:`");
    type->as.fun.param = parse_type(p);
    parse_close(p, TOK_PAREN_CLOSE, opener);
    parse_expect(p, TOK_ARROW, "`->` and the type of the result");
    return type;
}

static TypeExp *parse_exists(Parser *p) {
    TypeExp *type = new_type(p, TYPE_EXP_EXISTS, p->tok.start);
    parse_next(p);
    if (!parse_at(p, TOK_SQUARE_OPEN)) parse_unexpected(p, "a size such as [n]");
    type->as.exists.sizes = parse_size_names(p);
    parse_expect(p, TOK_DOT, "`.` and a type");
    return type;
}

// Arrows to the right; each link of the chain leaves a hole for the next.
static TypeExp *parse_arrows(Parser *p) {
    TypeExp *first = NULL, **hole = &first, *last = NULL;
    while (last == NULL) {
        if (parse_at(p, TOK_QUESTION)) {
            TypeExp *type = parse_exists(p);
            *hole = type;
            hole = &type->as.exists.type;
        } else if (at_named_param(p)) {
            TypeExp *type = parse_named_param(p);
            *hole = type;
            hole = &type->as.fun.result;
        } else {
            TypeExp *term = parse_array_type(p);
            if (!parse_at(p, TOK_ARROW)) {
                *hole = last = term;
                break;
            }
            parse_next(p);
            TypeExp *type = new_type(p, TYPE_EXP_FUN, term->span.start);
            type->as.fun.param = term;
            *hole = type;
            hole = &type->as.fun.result;
        }
    }
    for (TypeExp *type = first; type != last;) {
        finish_type(p, type);
        type = type->kind == TYPE_EXP_FUN ? type->as.fun.result : type->as.exists.type;
    }
    return first;
}

TypeExp *parse_type(Parser *p) {
    if (!parse_enter(p)) return new_type(p, TYPE_EXP_TUPLE, p->tok.start);
    TypeExp *type = parse_arrows(p);
    parse_leave(p);
    return type;
}
