// SPDX-License-Identifier: Apache-2.0
//
// Making types and asking about them. Types are immutable but for the links of
// variables; a ground one (no variables, only constant sizes) is never copied.
#include <string.h>

#include "check/checker.h"

Type *type_resolve(Type *type) {
    // Halving the path on the way keeps long chains of variables cheap (Tarjan, 1975).
    while (type->kind == TYPE_VAR && type->as.var != NULL && type->as.var->link != NULL) {
        TypeVar *var = type->as.var;
        Type *next = var->link;
        if (next->kind == TYPE_VAR && next->as.var != NULL && next->as.var->link != NULL)
            var->link = next->as.var->link;
        type = var->link;
    }
    return type;
}

Type *type_reveal(Type *type) {
    type = type_resolve(type);
    while (type->kind == TYPE_ABS && type->as.abs.def != NULL)
        type = type_resolve(type->as.abs.def);
    return type;
}

static void weigh(Type *type, const Type *part) {
    type->weight += part->weight == 0 ? 1 : part->weight;
    if (type->weight > 2 * MOST_WEIGHT) type->weight = 2 * MOST_WEIGHT;
    if (!part->is_ground) type->is_ground = false;
}

static void weigh_size(Type *type, Size *size) {
    if (size_resolve(size)->kind != SIZE_CONST) type->is_ground = false;
}

Type *type_measure(Checker *ck, Type *type) {
    type->weight = 1;
    type->is_ground = true;
    switch (type->kind) {
    case TYPE_SCALAR: break;
    case TYPE_ARRAY:
        weigh_size(type, type->as.array.size);
        weigh(type, type->as.array.elem);
        break;
    case TYPE_RECORD:
        for (uint32_t i = 0; i < type->as.record.len; i++)
            weigh(type, type->as.record.data[i].type);
        break;
    case TYPE_SUM:
        for (uint32_t i = 0; i < type->as.sum.len; i++)
            for (uint32_t k = 0; k < type->as.sum.data[i].payload.len; k++)
                weigh(type, type->as.sum.data[i].payload.data[k]);
        break;
    case TYPE_FUN:
        weigh(type, type->as.fun.param);
        weigh(type, type->as.fun.result);
        break;
    case TYPE_VAR: type->is_ground = type->as.var == NULL; break;
    case TYPE_ABS:
        for (uint32_t i = 0; i < type->as.abs.type_args.len; i++)
            weigh(type, type->as.abs.type_args.data[i]);
        for (uint32_t i = 0; i < type->as.abs.size_args.len; i++)
            weigh_size(type, type->as.abs.size_args.data[i]);
        break;
    case TYPE_STREAM: weigh(type, type->as.elem); break;
    }
    if (type->weight <= MOST_WEIGHT) return type;
    report_large(ck);
    return ck->error_type;
}

static Type *make(Checker *ck, TypeKind kind) {
    Type *type = arena_new(ck->arena, Type);
    type->kind = kind;
    return type;
}

Type *type_scalar(Checker *ck, ScalarType scalar) {
    return ck->scalars[scalar];
}

Type *type_array(Checker *ck, Size *size, Type *elem) {
    Type *type = make(ck, TYPE_ARRAY);
    type->as.array.size = size;
    type->as.array.elem = elem;
    return type_measure(ck, type);
}

Type *type_tuple(Checker *ck, Type *const *items, uint32_t count) {
    FieldVec fields = {0};
    for (uint32_t i = 0; i < count; i++)
        vec_push(ck->arena, &fields, (Field){field_sym(ck, i), items[i]});
    return type_record(ck, fields);
}

// The number a field name is, or -1.
static int64_t field_number(Str name) {
    if (name.len == 0 || name.len > 9) return -1;
    if (name.ptr[0] == '0' && name.len > 1) return -1;
    int64_t number = 0;
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] < '0' || name.ptr[i] > '9') return -1;
        number = number * 10 + (name.ptr[i] - '0');
    }
    return number;
}

int field_compare(const Checker *ck, Sym a, Sym b) {
    if (a == b) return 0;
    Str s = sym_str(&ck->cx->syms, a), t = sym_str(&ck->cx->syms, b);
    int64_t m = field_number(s), n = field_number(t);
    if (m >= 0 && n >= 0) return m < n ? -1 : 1;
    if ((m >= 0) != (n >= 0)) return m >= 0 ? -1 : 1;
    return str_cmp(s, t);
}

Sym field_sym(Checker *ck, uint32_t index) {
    char text[16];
    int at = sizeof text;
    do text[--at] = (char)('0' + index % 10);
    while ((index /= 10) != 0);
    return sym_intern(&ck->cx->syms, (Str){text + at, sizeof text - (size_t)at});
}

Type *type_record(Checker *ck, FieldVec fields) {
    bool sorted = true;
    for (uint32_t i = 1; i < fields.len && sorted; i++)
        sorted = field_compare(ck, fields.data[i - 1].name, fields.data[i].name) <= 0;
    for (uint32_t i = 1; i < fields.len && !sorted; i++) {
        Field field = fields.data[i];
        uint32_t at = i;
        while (at > 0 && field_compare(ck, fields.data[at - 1].name, field.name) > 0) {
            fields.data[at] = fields.data[at - 1];
            at--;
        }
        fields.data[at] = field;
    }
    Type *type = make(ck, TYPE_RECORD);
    type->as.record = fields;
    return type_measure(ck, type);
}

Type *type_sum(Checker *ck, CtorVec ctors) {
    for (uint32_t i = 1; i < ctors.len; i++) {
        Ctor ctor = ctors.data[i];
        Str name = sym_str(&ck->cx->syms, ctor.name);
        uint32_t at = i;
        while (at > 0 &&
               str_cmp(sym_str(&ck->cx->syms, ctors.data[at - 1].name), name) > 0) {
            ctors.data[at] = ctors.data[at - 1];
            at--;
        }
        ctors.data[at] = ctor;
    }
    Type *type = make(ck, TYPE_SUM);
    type->as.sum = ctors;
    return type_measure(ck, type);
}

Type *type_fun(Checker *ck, Type *param, Type *result) {
    Type *type = make(ck, TYPE_FUN);
    type->as.fun.param = param;
    type->as.fun.result = result;
    return type_measure(ck, type);
}

TypeVar *type_var_new(Checker *ck, Span origin) {
    TypeVar *var = arena_new(ck->arena, TypeVar);
    var->id = ++ck->counter;
    var->level = (int32_t)var->id;
    var->origin = origin;
    var->lifting = TP_LIFTED;
    if (ck->frame != NULL) vec_push(ck->arena, &ck->frame->vars, var);
    return var;
}

TypeVar *type_param_new(Checker *ck, Sym name, uint8_t lifting, Span origin) {
    TypeVar *var = arena_new(ck->arena, TypeVar);
    var->id = ++ck->counter;
    var->level = (int32_t)var->id;
    var->origin = origin;
    var->name = name;
    var->is_param = true;
    var->lifting = lifting;
    return var;
}

Type *type_of_var(Checker *ck, TypeVar *var) {
    Type *type = make(ck, TYPE_VAR);
    type->as.var = var;
    type->weight = 1;
    return type;
}

Type *type_fresh(Checker *ck, Span origin) {
    return type_of_var(ck, type_var_new(ck, origin));
}

Type *type_fresh_data(Checker *ck, Span origin) {
    TypeVar *var = type_var_new(ck, origin);
    var->lifting = TP_TYPE;
    return type_of_var(ck, var);
}

Type *type_fresh_scalar(Checker *ck, Span origin, ScalarSet set, Sym cause) {
    TypeVar *var = type_var_new(ck, origin);
    Constraint *constraint = arena_new(ck->arena, Constraint);
    constraint->scalars = set;
    constraint->cause = cause;
    constraint->span = origin;
    var->constraint = constraint;
    var->lifting = TP_TYPE;
    return type_of_var(ck, var);
}

bool type_is_error(const Checker *ck, const Type *type) {
    return type_resolve((Type *)type) == ck->error_type;
}

bool type_is_scalar(Type *type, ScalarType scalar) {
    type = type_resolve(type);
    return type->kind == TYPE_SCALAR && type->as.scalar == scalar;
}

bool type_is_open(Type *type) {
    type = type_resolve(type);
    return type->kind == TYPE_VAR && type->as.var != NULL && !type->as.var->is_param;
}

uint32_t type_arity(Type *type) {
    uint32_t count = 0;
    for (type = type_resolve(type); type->kind == TYPE_FUN;
         type = type_resolve(type->as.fun.result))
        count++;
    return count;
}

bool type_arities_differ(Type *a, Type *b) {
    uint32_t m = type_arity(a), n = type_arity(b);
    if (m == 0 || n == 0 || m == n) return false;
    Type *last = type_resolve(m < n ? a : b);
    while (last->kind == TYPE_FUN) last = type_resolve(last->as.fun.result);
    return last->kind != TYPE_VAR ||
           (last->as.var != NULL && last->as.var->lifting != TP_LIFTED);
}

int record_find(const FieldVec *fields, Sym name) {
    for (uint32_t i = 0; i < fields->len; i++)
        if (fields->data[i].name == name) return (int)i;
    return -1;
}

int sum_find(const CtorVec *ctors, Sym name) {
    for (uint32_t i = 0; i < ctors->len; i++)
        if (ctors->data[i].name == name) return (int)i;
    return -1;
}

bool record_is_tuple(const Checker *ck, const FieldVec *fields) {
    if (fields->len == 1) return false;
    for (uint32_t i = 0; i < fields->len; i++)
        if (field_number(sym_str(&ck->cx->syms, fields->data[i].name)) != (int64_t)i)
            return false;
    return true;
}

// ---- questions ---------------------------------------------------------------------

bool type_visit_sizes(Checker *ck, Type *type, SizeVisit visit, void *data) {
    type = type_resolve(type);
    if (!deep_enough(ck, ck->here)) return true;
    switch (type->kind) {
    case TYPE_SCALAR:
    case TYPE_VAR: return true;
    case TYPE_ARRAY:
        return visit(ck, size_resolve(type->as.array.size), data) &&
               type_visit_sizes(ck, type->as.array.elem, visit, data);
    case TYPE_RECORD:
        for (uint32_t i = 0; i < type->as.record.len; i++)
            if (!type_visit_sizes(ck, type->as.record.data[i].type, visit, data))
                return false;
        return true;
    case TYPE_SUM:
        for (uint32_t i = 0; i < type->as.sum.len; i++) {
            const TypeVec *payload = &type->as.sum.data[i].payload;
            for (uint32_t k = 0; k < payload->len; k++)
                if (!type_visit_sizes(ck, payload->data[k], visit, data)) return false;
        }
        return true;
    case TYPE_FUN:
        return type_visit_sizes(ck, type->as.fun.param, visit, data) &&
               type_visit_sizes(ck, type->as.fun.result, visit, data);
    case TYPE_ABS:
        for (uint32_t i = 0; i < type->as.abs.size_args.len; i++)
            if (!visit(ck, size_resolve(type->as.abs.size_args.data[i]), data))
                return false;
        for (uint32_t i = 0; i < type->as.abs.type_args.len; i++)
            if (!type_visit_sizes(ck, type->as.abs.type_args.data[i], visit, data))
                return false;
        return true;
    case TYPE_STREAM: return type_visit_sizes(ck, type->as.elem, visit, data);
    }
    return true;
}

static bool is_free_size(Checker *ck, Size *size, void *data) {
    (void)ck, (void)data;
    return size->kind == SIZE_UNKNOWN || size->kind == SIZE_VAR;
}

bool type_has_sizes(Checker *ck, Type *type) {
    return !type_visit_sizes(ck, type, is_free_size, NULL);
}

bool type_holds_function(Checker *ck, Type *type) {
    type = type_resolve(type);
    if (type->is_ground && type->kind == TYPE_SCALAR) return false;
    if (!deep_enough(ck, ck->here)) return false;
    switch (type->kind) {
    case TYPE_SCALAR: return false;
    case TYPE_ARRAY: return type_holds_function(ck, type->as.array.elem);
    case TYPE_RECORD:
        for (uint32_t i = 0; i < type->as.record.len; i++)
            if (type_holds_function(ck, type->as.record.data[i].type)) return true;
        return false;
    case TYPE_SUM:
        for (uint32_t i = 0; i < type->as.sum.len; i++)
            for (uint32_t k = 0; k < type->as.sum.data[i].payload.len; k++)
                if (type_holds_function(ck, type->as.sum.data[i].payload.data[k]))
                    return true;
        return false;
    case TYPE_FUN: return true;
    case TYPE_VAR:
        return type->as.var != NULL && type->as.var->is_param &&
               type->as.var->lifting == TP_LIFTED;
    case TYPE_ABS: return type->as.abs.lifting == TP_LIFTED;
    case TYPE_STREAM: return true;
    }
    return false;
}

// ---- printing ----------------------------------------------------------------------

typedef struct Printer {
    const Cx *cx;
    StrBuf *out;
    uint32_t budget;
    const Type *whole; // the abbreviation to be shown in full, or NULL
} Printer;

static void put_type(Printer *p, const Type *type, int level);

static bool put_budget(Printer *p) {
    if (p->budget == 0) {
        strbuf_cstr(p->out, "...");
        return false;
    }
    p->budget--;
    return true;
}

static void put_size(Printer *p, const Size *size) {
    strbuf_char(p->out, '[');
    size_print(p->cx, size, p->out);
    strbuf_char(p->out, ']');
}

static bool is_tuple(const Cx *cx, const FieldVec *fields) {
    if (fields->len == 1) return false;
    for (uint32_t i = 0; i < fields->len; i++)
        if (field_number(sym_str(&cx->syms, fields->data[i].name)) != (int64_t)i)
            return false;
    return true;
}

static void put_record(Printer *p, const FieldVec *fields) {
    bool tuple = is_tuple(p->cx, fields);
    strbuf_char(p->out, tuple ? '(' : '{');
    for (uint32_t i = 0; i < fields->len; i++) {
        if (i > 0) strbuf_cstr(p->out, ", ");
        if (!tuple) {
            strbuf_str(p->out, sym_str(&p->cx->syms, fields->data[i].name));
            strbuf_cstr(p->out, ": ");
        }
        put_type(p, fields->data[i].type, 0);
    }
    strbuf_char(p->out, tuple ? ')' : '}');
}

static void put_sum(Printer *p, const CtorVec *ctors) {
    for (uint32_t i = 0; i < ctors->len; i++) {
        strbuf_cstr(p->out, i > 0 ? " | #" : "#");
        strbuf_str(p->out, sym_str(&p->cx->syms, ctors->data[i].name));
        for (uint32_t k = 0; k < ctors->data[i].payload.len; k++) {
            strbuf_char(p->out, ' ');
            put_type(p, ctors->data[i].payload.data[k], 3);
        }
    }
}

static const char *set_name(ScalarSet set) {
    ScalarSet floats = SCALARS(SCALAR_F16) | SCALARS(SCALAR_F32) | SCALARS(SCALAR_F64);
    if ((set & ~floats) == 0) return "float";
    if ((set & floats) == 0)
        return set & SCALARS(SCALAR_BOOL) ? "integer or bool" : "integer";
    return "number";
}

static void put_var(Printer *p, const TypeVar *var) {
    const Constraint *constraint = var == NULL ? NULL : var->constraint;
    if (var != NULL && var->is_param) {
        strbuf_char(p->out, '\'');
        strbuf_str(p->out, sym_str(&p->cx->syms, var->name));
    } else if (constraint != NULL && constraint->scalars != 0) {
        strbuf_cstr(p->out, set_name(constraint->scalars));
    } else if (constraint != NULL && constraint->fields.len > 0) {
        strbuf_char(p->out, '{');
        for (uint32_t i = 0; i < constraint->fields.len; i++) {
            strbuf_str(p->out, sym_str(&p->cx->syms, constraint->fields.data[i].name));
            strbuf_cstr(p->out, ": ");
            put_type(p, constraint->fields.data[i].type, 0);
            strbuf_cstr(p->out, ", ");
        }
        strbuf_cstr(p->out, "...}");
    } else if (constraint != NULL && constraint->ctors.len > 0) {
        put_sum(p, &constraint->ctors);
        strbuf_cstr(p->out, " | ...");
    } else {
        strbuf_char(p->out, '_');
    }
}

static void put_fun(Printer *p, const Type *type) {
    Str name = type->as.fun.param_binding == NULL
                   ? STR("")
                   : sym_str(&p->cx->syms, type->as.fun.param_name);
    if (name.len > 0) {
        strbuf_char(p->out, '(');
        strbuf_str(p->out, name);
        strbuf_cstr(p->out, ": ");
    }
    if (type->as.fun.param_unique) strbuf_char(p->out, '*');
    put_type(p, type->as.fun.param, name.len > 0 ? 0 : 1);
    strbuf_cstr(p->out, name.len > 0 ? ") -> " : " -> ");
    if (type->as.fun.result_unique) strbuf_char(p->out, '*');
    put_type(p, type->as.fun.result, 0);
}

static void put_abs(Printer *p, const Type *type) {
    strbuf_str(p->out, sym_str(&p->cx->syms, type->as.abs.name));
    for (uint32_t i = 0; i < type->as.abs.size_args.len; i++) {
        strbuf_char(p->out, ' ');
        put_size(p, type->as.abs.size_args.data[i]);
    }
    for (uint32_t i = 0; i < type->as.abs.type_args.len; i++) {
        strbuf_char(p->out, ' ');
        put_type(p, type->as.abs.type_args.data[i], 4);
    }
}

// The abbreviation a type was written by, with its arguments, if they can be told.
static bool put_written(Printer *p, const Type *type, int level) {
    if (type->written == NULL || type == p->whole) return false;
    uint32_t count = type->written->params.len;
    const WrittenArg *args = NULL;
    if (count > 0) args = written_args(p->cx, type, p->out->arena);
    if (count > 0 && args == NULL) return false;
    if (count > 0 && level >= 3) strbuf_char(p->out, '(');
    strbuf_str(p->out, sym_str(&p->cx->syms, type->written->name));
    for (uint32_t i = 0; i < count; i++) {
        strbuf_char(p->out, ' ');
        if (args[i].type != NULL) put_type(p, args[i].type, 4);
        else put_size(p, args[i].size);
    }
    if (count > 0 && level >= 3) strbuf_char(p->out, ')');
    return true;
}

// level: 0 anything; 1 no bare function; 2 no bare sum; 3 one word, or an array; 4 one
// word, since an array's brackets would be taken for another argument.
static void put_type(Printer *p, const Type *type, int level) {
    if (!put_budget(p) || stack_is_low(&p->cx->stack)) return;
    type = type_resolve((Type *)type);
    if (put_written(p, type, level)) return;
    bool open = (type->kind == TYPE_FUN && level >= 1) ||
                (type->kind == TYPE_SUM && level >= 2) ||
                (type->kind == TYPE_ARRAY && level >= 4) ||
                (type->kind == TYPE_ABS && level >= 3 &&
                 type->as.abs.type_args.len + type->as.abs.size_args.len > 0);
    if (open) strbuf_char(p->out, '(');
    switch (type->kind) {
    case TYPE_SCALAR: strbuf_cstr(p->out, scalar_info[type->as.scalar].name); break;
    case TYPE_ARRAY:
        put_size(p, type->as.array.size);
        put_type(p, type->as.array.elem, 2);
        break;
    case TYPE_RECORD: put_record(p, &type->as.record); break;
    case TYPE_SUM: put_sum(p, &type->as.sum); break;
    case TYPE_FUN: put_fun(p, type); break;
    case TYPE_VAR: put_var(p, type->as.var); break;
    case TYPE_ABS: put_abs(p, type); break;
    case TYPE_STREAM:
        strbuf_char(p->out, '{');
        put_type(p, type->as.elem, 0);
        strbuf_char(p->out, '}');
        break;
    }
    if (open) strbuf_char(p->out, ')');
}

void type_print(const Cx *cx, const Type *type, StrBuf *out) {
    Printer p = {cx, out, 200, NULL};
    put_type(&p, type, 0);
}

const char *type_show_whole(Checker *ck, Type *type) {
    StrBuf buf = strbuf(ck->arena);
    type = type_resolve(type);
    Printer p = {ck->cx, &buf, 200, type};
    put_type(&p, type, 0);
    return str_terminated(ck->arena, strbuf_done(&buf));
}

const char *type_show(Checker *ck, Type *type) {
    StrBuf buf = strbuf(ck->arena);
    type_print(ck->cx, type, &buf);
    return str_terminated(ck->arena, strbuf_done(&buf));
}

const char *sym_show(Checker *ck, Sym sym) {
    return str_terminated(ck->arena, sym_str(&ck->cx->syms, sym));
}
