// SPDX-License-Identifier: Apache-2.0
//
// Loops. The sizes of the initial value are first replaced by variables. After the body
// is checked, a size that nothing pinned is invariant if the body gives it back and
// hidden loop state if not: it joins the initial size and the body's, as branches do.
// One that the body or an ascription pinned must be invariant.
#include "check/checker.h"

typedef struct LoopSize {
    Size *var;
    Size *initial;
    Size *body;  // NULL: the body says nothing
    bool pinned; // solved by the pattern or the body
    bool varies; // has a name of the loop, or none
} LoopSize;

typedef struct {
    LoopSize *data;
    uint32_t len, cap;
} LoopSizes;

// ---- the initial value -------------------------------------------------------------

static TExp *pattern_value(Checker *ck, const Pat *pat) {
    switch (pat->kind) {
    case PAT_NAME: {
        QualName name = {.name = pat->as.name, .span = pat->span};
        return infer_var(ck, &name);
    }
    case PAT_TUPLE: {
        FieldVec fields = {0};
        TExp *exp = texp_new(ck, TEXP_RECORD, pat->span, NULL);
        for (uint32_t i = 0; i < pat->as.tuple.len; i++) {
            TExp *item = pattern_value(ck, pat->as.tuple.data[i]);
            vec_push(ck->arena, &exp->as.items, item);
            vec_push(ck->arena, &fields, (Field){field_sym(ck, i), item->type});
        }
        exp->type = type_record(ck, fields);
        return exp;
    }
    case PAT_ASCRIPT: return pattern_value(ck, pat->as.ascript.pat);
    case PAT_ATTR: return pattern_value(ck, pat->as.attr.pat);
    case PAT_PAREN: return pattern_value(ck, pat->as.inner);
    case PAT_RECORD:
    case PAT_WILD:
    case PAT_LIT:
    case PAT_CTOR: {
        Diag *diag = check_error(ck, CHECK_LOOP_INITIAL, pat->span);
        check_hint(ck, diag, "write `loop pattern = initial value for ...`");
        return texp_error(ck, pat->span);
    }
    }
    return NULL;
}

static Type *open_sizes(Checker *ck, Type *type, LoopSizes *sizes) {
    type = type_resolve(type);
    switch (type->kind) {
    case TYPE_ARRAY: {
        LoopSize size = {.initial = size_resolve(type->as.array.size)};
        size.var = size_fresh(ck, size.initial->origin);
        size.var->is_open = true;
        vec_push(ck->arena, sizes, size);
        return type_array(ck, size.var, open_sizes(ck, type->as.array.elem, sizes));
    }
    case TYPE_RECORD: {
        FieldVec fields = {0};
        for (uint32_t i = 0; i < type->as.record.len; i++) {
            Field field = type->as.record.data[i];
            field.type = open_sizes(ck, field.type, sizes);
            vec_push(ck->arena, &fields, field);
        }
        return type_record(ck, fields);
    }
    case TYPE_SUM: {
        CtorVec ctors = {0};
        for (uint32_t i = 0; i < type->as.sum.len; i++) {
            Ctor ctor = {.name = type->as.sum.data[i].name};
            for (uint32_t k = 0; k < type->as.sum.data[i].payload.len; k++)
                vec_push(ck->arena, &ctor.payload,
                         open_sizes(ck, type->as.sum.data[i].payload.data[k], sizes));
            vec_push(ck->arena, &ctors, ctor);
        }
        return type_sum(ck, ctors);
    }
    case TYPE_SCALAR:
    case TYPE_FUN:
    case TYPE_VAR:
    case TYPE_ABS:
    case TYPE_STREAM: return type;
    }
    return type;
}

// ---- what the body did with the sizes ----------------------------------------------

static void pair_sizes(Checker *ck, Type *pattern, Type *body, LoopSizes *sizes,
                       uint32_t *next) {
    pattern = type_resolve(pattern);
    body = type_resolve(body);
    if (!deep_enough(ck, ck->here)) return;
    if (pattern->kind == TYPE_ARRAY) {
        bool same = body->kind == TYPE_ARRAY;
        uint32_t at = (*next)++;
        if (same && at < sizes->len)
            sizes->data[at].body = size_resolve(body->as.array.size);
        pair_sizes(ck, pattern->as.array.elem, same ? body->as.array.elem : body, sizes,
                   next);
    } else if (pattern->kind == TYPE_RECORD) {
        bool same =
            body->kind == TYPE_RECORD && body->as.record.len == pattern->as.record.len;
        for (uint32_t i = 0; i < pattern->as.record.len; i++)
            pair_sizes(ck, pattern->as.record.data[i].type,
                       same ? body->as.record.data[i].type : body, sizes, next);
    } else if (pattern->kind == TYPE_SUM) {
        bool same = body->kind == TYPE_SUM && body->as.sum.len == pattern->as.sum.len;
        for (uint32_t i = 0; i < pattern->as.sum.len; i++)
            for (uint32_t k = 0; k < pattern->as.sum.data[i].payload.len; k++) {
                bool fits = same && k < body->as.sum.data[i].payload.len;
                pair_sizes(ck, pattern->as.sum.data[i].payload.data[k],
                           fits ? body->as.sum.data[i].payload.data[k] : body, sizes,
                           next);
            }
    }
}

static bool is_own(const BindingVec *own, const Size *size) {
    if (size->kind != SIZE_NAME) return false;
    for (uint32_t i = 0; i < own->len; i++)
        if (own->data[i] == size->name) return true;
    return false;
}

static void report_variant(Checker *ck, Span span, const LoopSize *size, Size *other,
                           const char *whose) {
    ck->clash = (Clash){0};
    if (size_unify(ck, size_resolve(size->var), other)) return;
    Diag *diag = check_error(ck, CHECK_LOOP_SIZE, span, size_show(ck, size->var), whose,
                             size_show(ck, other));
    check_note(ck, diag, size_resolve(size->var)->origin, "the size is named here");
    check_hint(ck, diag,
               "write `[]` for a size that may change from iteration to iteration");
}

static void settle(Checker *ck, LoopSizes *sizes, const BindingVec *own, Span init,
                   Span body) {
    for (uint32_t i = 0; i < sizes->len; i++) {
        LoopSize *size = &sizes->data[i];
        Size *now = size_resolve(size->var);
        size->pinned = now->kind != SIZE_VAR;
        size->varies = is_own(own, now) || now->kind == SIZE_UNKNOWN;
        if (size->varies) continue;
        if (size->pinned) {
            report_variant(ck, init, size, size->initial, "the initial value");
            if (size->body != NULL)
                report_variant(ck, body, size, size->body, "the body");
        } else {
            if (now->level > size->var->level) now->level = size->var->level;
            Size *first = size_resolve(size->initial);
            now->link = first == now ? NULL : first;
            now->is_open = false;
        }
    }
    for (uint32_t i = 0; i < sizes->len; i++) {
        LoopSize *size = &sizes->data[i];
        if (size->pinned || size->varies || size->body == NULL) continue;
        size->var->link = size_join(ck, size->initial, size->body, size->var->origin);
    }
}

static bool has_own(Checker *ck, Size *size, void *data) {
    (void)ck;
    return !is_own(data, size);
}

static Type *result_type(Checker *ck, Type *pattern, const BindingVec *own) {
    if (type_visit_sizes(ck, pattern, has_own, (void *)own)) return pattern;
    Size **sizes = arena_array(ck->arena, Size *, own->len);
    for (uint32_t i = 0; i < own->len; i++)
        sizes[i] = size_unknown(ck, own->data[i]->span);
    Subst subst = {.names = own->data, .sizes = sizes, .name_count = own->len};
    ck->visits = 0;
    return type_subst(ck, &subst, pattern);
}

// ---- the loop ----------------------------------------------------------------------

static void check_form(Checker *ck, const Exp *exp, TExp *loop, Type **elem_out) {
    const Exp *bound = exp->as.loop.bound;
    if (exp->as.loop.form == FORM_FOR_LESS) {
        loop->as.loop.form = TLOOP_FOR;
        ScalarSet ints = 0;
        for (int t = 0; t < SCALAR_COUNT; t++)
            if (scalar_is_int((ScalarType)t)) ints |= SCALARS(t);
        Type *type = type_fresh_scalar(ck, bound->span, ints, 0);
        loop->as.loop.bound = infer_as(ck, bound, type, "the bound of the loop");
    } else if (exp->as.loop.form == FORM_FOR_IN) {
        loop->as.loop.form = TLOOP_IN;
        Type *elem = type_fresh_data(ck, bound->span);
        Type *array = type_array(ck, size_fresh(ck, bound->span), elem);
        loop->as.loop.bound = infer_as(ck, bound, array, "what the loop goes through");
        *elem_out = elem;
    } else {
        loop->as.loop.form = TLOOP_WHILE;
    }
}

static void check_inside(Checker *ck, const Exp *exp, TExp *loop, Type *elem) {
    if (exp->as.loop.form == FORM_FOR_LESS) {
        loop->as.loop.index =
            binding_new(ck, BIND_LOCAL, exp->as.loop.index, loop->as.loop.bound->type);
        local_value(ck, exp->as.loop.index, loop->as.loop.index);
    } else if (exp->as.loop.form == FORM_FOR_IN) {
        PatCx pcx = {.types = {.anon = ANON_VAR}};
        loop->as.loop.elem = pat_check(ck, exp->as.loop.elem, elem, &pcx);
        Pending pending = {.kind = PENDING_LET_PAT, .pat = loop->as.loop.elem};
        vec_push(ck->arena, &ck->frame->pending, pending);
    } else {
        loop->as.loop.bound =
            infer_as(ck, exp->as.loop.bound, type_scalar(ck, SCALAR_BOOL),
                     "the condition of the loop");
    }
}

TExp *infer_loop(Checker *ck, const Exp *exp) {
    TExp *loop = texp_new(ck, TEXP_LOOP, exp->span, NULL);
    TExp *init = exp->as.loop.init != NULL ? infer(ck, exp->as.loop.init)
                                           : pattern_value(ck, exp->as.loop.pat);
    loop->as.loop.init = init;
    if (!type_require_data(ck, init->type)) {
        report_function(ck, init->span, init->type, "loop state");
        init->type = ck->error_type;
    }
    Type *elem = NULL;
    check_form(ck, exp, loop, &elem);
    uint32_t mark = ++ck->counter, locals = locals_mark(ck);
    uint32_t joins = ck->frame->joins.len;
    ck->frame->loops++;
    LoopSizes sizes = {0};
    Type *state = open_sizes(ck, init->type, &sizes);
    PatCx pcx = {.types = {.anon = ANON_VAR}, .is_param = true, .value = init->span};
    uint32_t owner = ck->frame->owner;
    if (exp->as.loop.sizes.len > 0) ck->frame->owner = ++ck->next_owner;
    for (uint32_t i = 0; i < exp->as.loop.sizes.len; i++)
        vec_push(ck->arena, &pcx.sizes,
                 size_param_bind(ck, exp->as.loop.sizes.data[i]));
    ck->frame->owner = owner;
    loop->as.loop.sizes = pcx.sizes;
    // Names bound by the loop are in scope of its sizes, whatever their age.
    for (uint32_t i = 0; i < sizes.len; i++)
        sizes.data[i].var->level = (int32_t)ck->counter + 1;
    loop->as.loop.pat = pat_check(ck, exp->as.loop.pat, state, &pcx);
    Pending pending = {.kind = PENDING_LET_PAT, .pat = loop->as.loop.pat};
    vec_push(ck->arena, &ck->frame->pending, pending);
    check_inside(ck, exp, loop, elem);
    TExp *body = infer(ck, exp->as.loop.body);
    // While the body's type is compared, open sizes stay what they are.
    for (uint32_t i = 0; i < sizes.len; i++)
        if (sizes.data[i].var->link == NULL) sizes.data[i].var->kind = SIZE_UNKNOWN;
    SizeMode mode = ck->size_mode;
    ck->size_mode = SIZES_JOIN;
    bool fits = expect(ck, body->span, state, body->type, "the loop's next state");
    ck->size_mode = mode;
    uint32_t next = 0;
    if (fits) pair_sizes(ck, state, body->type, &sizes, &next);
    for (uint32_t i = 0; i < sizes.len; i++)
        if (sizes.data[i].var->link == NULL) sizes.data[i].var->kind = SIZE_VAR;
    settle(ck, &sizes, &pcx.sizes, init->span, body->span);
    ck->frame->loops--;
    size_joins_settle(ck, joins, mark);
    loop->as.loop.body = body;
    locals_release(ck, locals);
    loop->type = type_escape(ck, result_type(ck, state, &pcx.sizes), mark);
    return loop;
}
