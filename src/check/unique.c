// SPDX-License-Identifier: Apache-2.0
//
// Uniqueness, over the typed tree. Values hold references to regions: a parameter's
// data, or what a definition made anew. Consuming an argument (a parameter is `*t`)
// consumes all its regions; a later use of a name that may refer to one is an error, and
// so is consuming what is not one's own. `a with [i] = v` makes a new array and consumes
// nothing; when it can be done in place is decided elsewhere.
#include "check/checker.h"

typedef enum Owner {
    OWN,            // made here, or a `*` parameter
    BORROWED,       // a parameter without `*`
    GLOBAL          // a top-level value
} Owner;

typedef struct Region {
    Binding *name;      // who brought it into being
    Owner owner;
    uint32_t depth;     // how many functions and loops it was made inside
    bool consumed;
    Span where;         // it was consumed
    const char *by;
} Region;

typedef struct { Region **data; uint32_t len, cap; } Regions;

// What a value may refer to. A record's parts are known apart where it was built here.
typedef struct Refs {
    Regions all;              // of the value as a whole; for parts, those are it
    struct Refs *const *parts;
    uint32_t part_count;
} Refs;

typedef enum Barrier { BARRIER_FUNCTION, BARRIER_LOOP } Barrier;

typedef struct Unique {
    Checker *ck;
    Map refs;           // binding id to Refs
    Regions consumed;   // in order, to be undone at the end of a branch
    struct { Barrier *data; uint32_t len, cap; } barriers;
} Unique;

static const Refs nothing = {0};

static const Refs *visit(Unique *u, TExp *exp);

// ---- regions ------------------------------------------------------------------------------

static void add_region(Unique *u, Regions *regions, Region *region) {
    for (uint32_t i = 0; i < regions->len; i++)
        if (regions->data[i] == region) return;
    vec_push(u->ck->arena, regions, region);
}

static void add_refs(Unique *u, Regions *regions, const Refs *refs) {
    for (uint32_t i = 0; i < refs->all.len; i++) add_region(u, regions, refs->all.data[i]);
    for (uint32_t i = 0; i < refs->part_count; i++) add_refs(u, regions, refs->parts[i]);
}

static bool holds_arrays(Type *type) {
    type = type_reveal(type);
    switch (type->kind) {
    case TYPE_SCALAR: return false;
    case TYPE_RECORD:
        for (uint32_t i = 0; i < type->as.record.len; i++)
            if (holds_arrays(type->as.record.data[i].type)) return true;
        return false;
    case TYPE_SUM:
        for (uint32_t i = 0; i < type->as.sum.len; i++)
            for (uint32_t k = 0; k < type->as.sum.data[i].payload.len; k++)
                if (holds_arrays(type->as.sum.data[i].payload.data[k])) return true;
        return false;
    case TYPE_VAR: return type->as.var != NULL;
    case TYPE_ARRAY:
    case TYPE_FUN:
    case TYPE_ABS:
    case TYPE_STREAM: return true;
    }
    return true;
}

static Refs *refs_new(Unique *u) {
    return arena_new(u->ck->arena, Refs);
}

static const Refs *refs_union(Unique *u, const Refs *a, const Refs *b, Type *type) {
    if (!holds_arrays(type)) return &nothing;
    Refs *made = refs_new(u);
    if (a->part_count > 0 && a->part_count == b->part_count) {
        Type *record = type_reveal(type);
        Refs **parts = arena_array(u->ck->arena, Refs *, a->part_count);
        for (uint32_t i = 0; i < a->part_count; i++)
            parts[i] = (Refs *)refs_union(u, a->parts[i], b->parts[i],
                                          record->kind == TYPE_RECORD
                                              ? record->as.record.data[i].type
                                              : type);
        made->parts = parts;
        made->part_count = a->part_count;
        return made;
    }
    add_refs(u, &made->all, a);
    add_refs(u, &made->all, b);
    return made;
}

static const Refs *part_of(Unique *u, const Refs *refs, uint32_t index, Type *type) {
    if (!holds_arrays(type)) return &nothing;
    if (index < refs->part_count) return refs->parts[index];
    (void)u;
    return refs;
}

static Region *region_new(Unique *u, Binding *name, Owner owner) {
    Region *region = arena_new(u->ck->arena, Region);
    region->name = name;
    region->owner = owner;
    region->depth = u->barriers.len;
    return region;
}

static void set_refs(Unique *u, const Binding *binding, const Refs *refs) {
    map_set(&u->refs, binding->id, (uint64_t)(uintptr_t)refs);
}

static const Refs *refs_of(Unique *u, const Binding *binding) {
    uint64_t value = 0;
    if (!map_get(&u->refs, binding->id, &value)) return NULL;
    return (const Refs *)(uintptr_t)value;
}

// A name with a region of its own.
static const Refs *own_refs(Unique *u, Binding *name, Owner owner) {
    if (!holds_arrays(name->type)) return &nothing;
    Refs *refs = refs_new(u);
    vec_push(u->ck->arena, &refs->all, region_new(u, name, owner));
    return refs;
}

static bool refers(const Refs *refs) {
    if (refs->all.len > 0) return true;
    for (uint32_t i = 0; i < refs->part_count; i++)
        if (refers(refs->parts[i])) return true;
    return false;
}

// Binds the names of a pattern to what the value refers to. What is new gets a region.
static void bind_pat(Unique *u, const TPat *pat, const Refs *refs) {
    switch (pat->kind) {
    case TPAT_NAME:
        if (refers(refs)) set_refs(u, pat->as.name, refs);
        else set_refs(u, pat->as.name, own_refs(u, pat->as.name, OWN));
        break;
    case TPAT_RECORD:
        for (uint32_t i = 0; i < pat->as.record.len; i++) {
            const TPat *part = pat->as.record.data[i];
            bind_pat(u, part, part_of(u, refs, i, part->type));
        }
        break;
    case TPAT_CTOR:
        for (uint32_t i = 0; i < pat->as.ctor.args.len; i++) {
            const TPat *part = pat->as.ctor.args.data[i];
            bind_pat(u, part, holds_arrays(part->type) ? refs : &nothing);
        }
        break;
    case TPAT_WILD:
    case TPAT_LIT: break;
    }
}

static void bind_param(Unique *u, const TPat *pat, bool strict) {
    switch (pat->kind) {
    case TPAT_NAME:
        set_refs(u, pat->as.name,
                 own_refs(u, pat->as.name, pat->as.name->is_unique || !strict ? OWN : BORROWED));
        break;
    case TPAT_RECORD:
        for (uint32_t i = 0; i < pat->as.record.len; i++)
            bind_param(u, pat->as.record.data[i], strict);
        break;
    case TPAT_CTOR:
        for (uint32_t i = 0; i < pat->as.ctor.args.len; i++)
            bind_param(u, pat->as.ctor.args.data[i], strict);
        break;
    case TPAT_WILD:
    case TPAT_LIT: break;
    }
}

// ---- consuming and using -------------------------------------------------------------------------

static const char *name_of(Unique *u, const Binding *binding) {
    return sym_show(u->ck, binding->name);
}

static Region *first_consumed(const Refs *refs) {
    for (uint32_t i = 0; i < refs->all.len; i++)
        if (refs->all.data[i]->consumed) return refs->all.data[i];
    for (uint32_t i = 0; i < refs->part_count; i++) {
        Region *region = first_consumed(refs->parts[i]);
        if (region != NULL) return region;
    }
    return NULL;
}

static void check_use(Unique *u, const Refs *refs, const char *name, const Binding *binding,
                      Span span) {
    Checker *ck = u->ck;
    Region *region = first_consumed(refs);
    if (region == NULL) return;
    bool alias = region->name != binding;
    Diag *diag = alias ? check_error(ck, CHECK_CONSUMED_ALIAS, span, name,
                                     name_of(u, region->name))
                       : check_error(ck, CHECK_CONSUMED, span, name);
    check_note(ck, diag, region->where, "`%s` is consumed here, by %s",
               name_of(u, region->name), region->by);
    check_hint(ck, diag, "use the result instead, or pass `copy %s` there",
               name_of(u, region->name));
}

static void report_foreign(Unique *u, const Region *region, Span span, const char *by) {
    Checker *ck = u->ck;
    const char *name = name_of(u, region->name);
    if (region->owner == OWN) {
        Barrier barrier = u->barriers.data[region->depth];
        Diag *diag = check_error(ck, CHECK_CONSUME_OUTER, span, name,
                                 barrier == BARRIER_LOOP ? "loop" : "function");
        check_label(ck, diag, "consumed by %s", by);
        check_note(ck, diag, region->name->span, "`%s` is bound outside the %s", name,
                   barrier == BARRIER_LOOP ? "loop" : "function");
        check_hint(ck, diag,
                   barrier == BARRIER_LOOP
                       ? "every iteration would consume it: make it part of the loop's state, "
                         "or pass `copy %s`"
                       : "the function may run more than once: make it a parameter, or pass "
                         "`copy %s`",
                   name);
        return;
    }
    // Not an error: what the callee writes to is then a copy.
    Diag *diag = check_warning(ck, CHECK_COPIED, span, name);
    check_label(ck, diag, "%s asks for an array to keep", by);
    check_note(ck, diag, region->name->span,
               region->owner == GLOBAL ? "`%s` is a definition at top level"
                                       : "the parameter `%s` is not declared with `*`",
               name);
    if (region->owner == BORROWED)
        check_hint(ck, diag, "declare the parameter `*` if its callers can spare it");
}

static void consume(Unique *u, const Refs *refs, const Diet *diet, Span span, const char *by) {
    if (diet == NULL) return;
    if (!diet->consumed && refs->part_count > 0) {
        for (uint32_t i = 0; i < refs->part_count && i < diet->part_count; i++)
            consume(u, refs->parts[i], diet->parts[i], span, by);
        return;
    }
    Regions regions = {0};
    add_refs(u, &regions, refs);
    for (uint32_t i = 0; i < regions.len; i++) {
        Region *region = regions.data[i];
        if (region->consumed) continue;
        if (region->owner != OWN || region->depth < u->barriers.len) {
            report_foreign(u, region, span, by);
            continue;
        }
        region->consumed = true;
        region->where = span;
        region->by = by;
        vec_push(u->ck->arena, &u->consumed, region);
    }
}

static void take_back(Unique *u, uint32_t mark, Regions *taken) {
    while (u->consumed.len > mark) {
        Region *region = u->consumed.data[--u->consumed.len];
        region->consumed = false;
        vec_push(u->ck->arena, taken, region);
    }
}

static void put_back(Unique *u, const Regions *taken) {
    for (uint32_t i = taken->len; i-- > 0;) {
        if (taken->data[i]->consumed) continue;
        taken->data[i]->consumed = true;
        vec_push(u->ck->arena, &u->consumed, taken->data[i]);
    }
}

// ---- expressions --------------------------------------------------------------------------------

static const Refs *visit_var(Unique *u, TExp *exp) {
    Binding *binding = exp->as.var.binding;
    if (binding->kind == BIND_GLOBAL) {
        if (type_resolve(exp->type)->kind == TYPE_FUN) return &nothing;
        const Refs *refs = refs_of(u, binding);
        if (refs == NULL) {
            refs = own_refs(u, binding, GLOBAL);
            set_refs(u, binding, refs);
        }
        return refs;
    }
    const Refs *refs = refs_of(u, binding);
    if (refs == NULL) return &nothing;
    check_use(u, refs, name_of(u, binding), binding, exp->span);
    return refs;
}

static const char *consumer(Unique *u, const TExp *fun, uint32_t index, uint32_t count) {
    StrBuf buf = strbuf(u->ck->arena);
    if (fun->kind != TEXP_VAR || fun->as.var.binding->name == 0)
        strbuf_printf(&buf, "parameter %u of this function", index + 1);
    else if (count == 1)
        strbuf_printf(&buf, "`%s`", name_of(u, fun->as.var.binding));
    else
        strbuf_printf(&buf, "parameter %u of `%s`", index + 1, name_of(u, fun->as.var.binding));
    return str_terminated(u->ck->arena, strbuf_done(&buf));
}

static bool shares(const Refs *refs, const Region *region) {
    for (uint32_t i = 0; i < refs->all.len; i++)
        if (refs->all.data[i] == region) return true;
    for (uint32_t i = 0; i < refs->part_count; i++)
        if (shares(refs->parts[i], region)) return true;
    return false;
}

// One argument is consumed: no other of the same call may share its data.
static void check_shared(Unique *u, const TExp *exp, const Refs *const *args, uint32_t index,
                         uint32_t mark, const char *by) {
    Checker *ck = u->ck;
    for (uint32_t i = 0; i < exp->as.apply.args.len; i++) {
        if (i == index) continue;
        for (uint32_t k = mark; k < u->consumed.len; k++) {
            if (!shares(args[i], u->consumed.data[k])) continue;
            Diag *diag = check_error(ck, CHECK_CONSUMED_SHARED, exp->as.apply.args.data[i]->span,
                                     name_of(u, u->consumed.data[k]->name));
            check_note(ck, diag, exp->as.apply.args.data[index]->span,
                       "this argument is consumed, by %s", by);
            check_hint(ck, diag, "pass a `copy` in one of the two places");
            break;
        }
    }
}

static const Refs *visit_apply(Unique *u, TExp *exp) {
    const Refs *fun = visit(u, exp->as.apply.fun);
    uint32_t count = exp->as.apply.args.len;
    const Refs **args = arena_array(u->ck->arena, const Refs *, count);
    for (uint32_t i = 0; i < count; i++) args[i] = visit(u, exp->as.apply.args.data[i]);
    Type *type = type_resolve(exp->as.apply.fun->type);
    bool fresh = false;
    Refs *result = refs_new(u);
    add_refs(u, &result->all, fun);
    for (uint32_t i = 0; i < count && type->kind == TYPE_FUN; i++) {
        const Diet *diet = type->as.fun.param_unique ? type->as.fun.param_diet : NULL;
        if (diet != NULL) {
            const char *by = consumer(u, exp->as.apply.fun, i, count);
            uint32_t mark = u->consumed.len;
            consume(u, args[i], diet, exp->as.apply.args.data[i]->span, by);
            check_shared(u, exp, args, i, mark, by);
        }
        if (diet == NULL || !diet->consumed) add_refs(u, &result->all, args[i]);
        fresh = type->as.fun.result_unique;
        type = type_resolve(type->as.fun.result);
    }
    if (fresh || !holds_arrays(exp->type)) return &nothing;
    return result;
}

static const Refs *visit_record(Unique *u, TExp *exp) {
    Refs *made = refs_new(u);
    uint32_t count = exp->as.items.len;
    Refs **parts = arena_array(u->ck->arena, Refs *, count + 1);
    for (uint32_t i = 0; i < count; i++) parts[i] = (Refs *)visit(u, exp->as.items.data[i]);
    made->parts = parts;
    made->part_count = count;
    return made;
}

static void visit_dims(Unique *u, const TIndexVec *dims) {
    for (uint32_t i = 0; i < dims->len; i++) {
        const TIndex *dim = &dims->data[i];
        if (dim->index != NULL) visit(u, dim->index);
        if (dim->from != NULL) visit(u, dim->from);
        if (dim->to != NULL) visit(u, dim->to);
        if (dim->step != NULL) visit(u, dim->step);
    }
}

// A function refers to what it mentions: its free variables' regions.
static void free_refs(Unique *u, const TExp *exp, Refs *into);

static const Refs *visit_lambda(Unique *u, TExp *exp, bool strict) {
    vec_push(u->ck->arena, &u->barriers, BARRIER_FUNCTION);
    for (uint32_t i = 0; i < exp->as.lambda.params.len; i++)
        bind_param(u, exp->as.lambda.params.data[i], strict);
    visit(u, exp->as.lambda.body);
    u->barriers.len--;
    Refs *made = refs_new(u);
    free_refs(u, exp->as.lambda.body, made);
    Refs *outer = refs_new(u);
    for (uint32_t i = 0; i < made->all.len; i++)
        if (made->all.data[i]->depth <= u->barriers.len && made->all.data[i]->owner != GLOBAL)
            vec_push(u->ck->arena, &outer->all, made->all.data[i]);
    return outer;
}

static const Refs *visit_loop(Unique *u, TExp *exp) {
    const Refs *init = visit(u, exp->as.loop.init);
    if (exp->as.loop.form != TLOOP_WHILE) visit(u, exp->as.loop.bound);
    vec_push(u->ck->arena, &u->barriers, BARRIER_LOOP);
    bind_param(u, exp->as.loop.pat, false);
    if (exp->as.loop.form == TLOOP_WHILE) visit(u, exp->as.loop.bound);
    if (exp->as.loop.elem != NULL) {
        const Refs *array = refs_new(u);
        bind_pat(u, exp->as.loop.elem, array);
    }
    const Refs *body = visit(u, exp->as.loop.body);
    u->barriers.len--;
    if (!holds_arrays(exp->type)) return &nothing;
    Refs *all = refs_new(u), *outer = refs_new(u);
    add_refs(u, &all->all, body);
    bool keeps_state = false;
    for (uint32_t i = 0; i < all->all.len; i++) {
        if (all->all.data[i]->depth > u->barriers.len) keeps_state = true;
        else vec_push(u->ck->arena, &outer->all, all->all.data[i]);
    }
    if (keeps_state) add_refs(u, &outer->all, init);
    return outer;
}

static const Refs *visit_if(Unique *u, TExp *exp) {
    visit(u, exp->as.if_exp.cond);
    uint32_t mark = u->consumed.len;
    Regions taken = {0};
    const Refs *yes = visit(u, exp->as.if_exp.then_exp);
    take_back(u, mark, &taken);
    const Refs *no = visit(u, exp->as.if_exp.else_exp);
    put_back(u, &taken);
    return refs_union(u, yes, no, exp->type);
}

static const Refs *visit_match(Unique *u, TExp *exp) {
    const Refs *value = visit(u, exp->as.match.exp), *result = &nothing;
    uint32_t mark = u->consumed.len;
    Regions taken = {0};
    for (uint32_t i = 0; i < exp->as.match.cases.len; i++) {
        bind_pat(u, exp->as.match.cases.data[i].pat, value);
        const Refs *body = visit(u, exp->as.match.cases.data[i].body);
        take_back(u, mark, &taken);
        result = i == 0 ? body : refs_union(u, result, body, exp->type);
    }
    put_back(u, &taken);
    return holds_arrays(exp->type) ? result : &nothing;
}

static bool is_function(const TExp *exp) {
    return exp->kind == TEXP_LAMBDA;
}

static const Refs *visit_let(Unique *u, TExp *exp) {
    for (; exp->kind == TEXP_LET; exp = exp->as.let.body) {
        const Refs *value = is_function(exp->as.let.exp) ? visit_lambda(u, exp->as.let.exp, true)
                                                         : visit(u, exp->as.let.exp);
        bind_pat(u, exp->as.let.pat, value);
    }
    return visit(u, exp);
}

static const Refs *visit_record_update(Unique *u, TExp *exp) {
    const Refs *record = visit(u, exp->as.record_update.exp);
    const Refs *value = visit(u, exp->as.record_update.value);
    Type *type = type_reveal(exp->type);
    if (exp->as.record_update.path.len != 1 || type->kind != TYPE_RECORD)
        return refs_union(u, record, value, exp->type);
    uint32_t count = type->as.record.len;
    Refs *made = refs_new(u);
    Refs **parts = arena_array(u->ck->arena, Refs *, count);
    for (uint32_t i = 0; i < count; i++)
        parts[i] = (Refs *)(i == exp->as.record_update.path.data[0]
                                ? value
                                : part_of(u, record, i, type->as.record.data[i].type));
    made->parts = parts;
    made->part_count = count;
    return made;
}

static const Refs *visit_field(Unique *u, TExp *exp) {
    TExp *inner = exp->as.field.exp;
    // r.a may be used when only r.b was consumed.
    if (inner->kind == TEXP_VAR && inner->as.var.binding->kind == BIND_LOCAL) {
        Binding *binding = inner->as.var.binding;
        const Refs *refs = refs_of(u, binding);
        if (refs == NULL) return &nothing;
        refs = part_of(u, refs, exp->as.field.index, exp->type);
        check_use(u, refs, name_of(u, binding), binding, exp->span);
        return refs;
    }
    return part_of(u, visit(u, inner), exp->as.field.index, exp->type);
}

static const Refs *visit(Unique *u, TExp *exp) {
    if (!deep_enough(u->ck, exp->span)) return &nothing;
    switch (exp->kind) {
    case TEXP_LIT:
    case TEXP_STRING:
    case TEXP_HOLE: return &nothing;
    case TEXP_VAR: return visit_var(u, exp);
    case TEXP_RECORD: return visit_record(u, exp);
    case TEXP_ARRAY:
        for (uint32_t i = 0; i < exp->as.items.len; i++) visit(u, exp->as.items.data[i]);
        return &nothing;
    case TEXP_FIELD: return visit_field(u, exp);
    case TEXP_INDEX: {
        const Refs *array = visit(u, exp->as.index.exp);
        visit_dims(u, &exp->as.index.dims);
        return holds_arrays(exp->type) ? array : &nothing;
    }
    case TEXP_APPLY: return visit_apply(u, exp);
    case TEXP_LAMBDA: return visit_lambda(u, exp, false);
    case TEXP_LET: return visit_let(u, exp);
    case TEXP_IF: return visit_if(u, exp);
    case TEXP_AND:
    case TEXP_OR:
        visit(u, exp->as.logic.left);
        visit(u, exp->as.logic.right);
        return &nothing;
    case TEXP_LOOP: return visit_loop(u, exp);
    case TEXP_RANGE:
        visit(u, exp->as.range.start);
        if (exp->as.range.second != NULL) visit(u, exp->as.range.second);
        visit(u, exp->as.range.end);
        return &nothing;
    case TEXP_UPDATE:
        visit(u, exp->as.update.exp);
        visit_dims(u, &exp->as.update.dims);
        visit(u, exp->as.update.value);
        return &nothing;
    case TEXP_RECORD_UPDATE: return visit_record_update(u, exp);
    case TEXP_COERCE: return visit(u, exp->as.inner);
    case TEXP_ASSERT:
        visit(u, exp->as.assert_exp.cond);
        return visit(u, exp->as.assert_exp.body);
    case TEXP_CTOR: {
        Refs *made = refs_new(u);
        for (uint32_t i = 0; i < exp->as.ctor.args.len; i++)
            add_refs(u, &made->all, visit(u, exp->as.ctor.args.data[i]));
        return made;
    }
    case TEXP_MATCH: return visit_match(u, exp);
    case TEXP_ATTR: return visit(u, exp->as.attr.exp);
    }
    return &nothing;
}

// ---- free variables ------------------------------------------------------------------------------

static void free_dims(Unique *u, const TIndexVec *dims, Refs *into) {
    for (uint32_t i = 0; i < dims->len; i++) {
        const TIndex *dim = &dims->data[i];
        if (dim->index != NULL) free_refs(u, dim->index, into);
        if (dim->from != NULL) free_refs(u, dim->from, into);
        if (dim->to != NULL) free_refs(u, dim->to, into);
        if (dim->step != NULL) free_refs(u, dim->step, into);
    }
}

static void free_refs(Unique *u, const TExp *exp, Refs *into) {
    if (stack_is_low(&u->ck->cx->stack)) return;
    switch (exp->kind) {
    case TEXP_LIT:
    case TEXP_STRING:
    case TEXP_HOLE: break;
    case TEXP_VAR: {
        const Refs *refs = refs_of(u, exp->as.var.binding);
        if (refs != NULL) add_refs(u, &into->all, refs);
        break;
    }
    case TEXP_RECORD:
    case TEXP_ARRAY:
        for (uint32_t i = 0; i < exp->as.items.len; i++) free_refs(u, exp->as.items.data[i], into);
        break;
    case TEXP_FIELD: free_refs(u, exp->as.field.exp, into); break;
    case TEXP_INDEX:
        free_refs(u, exp->as.index.exp, into);
        free_dims(u, &exp->as.index.dims, into);
        break;
    case TEXP_APPLY:
        free_refs(u, exp->as.apply.fun, into);
        for (uint32_t i = 0; i < exp->as.apply.args.len; i++)
            free_refs(u, exp->as.apply.args.data[i], into);
        break;
    case TEXP_LAMBDA: free_refs(u, exp->as.lambda.body, into); break;
    case TEXP_LET:
        for (; exp->kind == TEXP_LET; exp = exp->as.let.body) free_refs(u, exp->as.let.exp, into);
        free_refs(u, exp, into);
        break;
    case TEXP_IF:
        free_refs(u, exp->as.if_exp.cond, into);
        free_refs(u, exp->as.if_exp.then_exp, into);
        free_refs(u, exp->as.if_exp.else_exp, into);
        break;
    case TEXP_AND:
    case TEXP_OR:
        free_refs(u, exp->as.logic.left, into);
        free_refs(u, exp->as.logic.right, into);
        break;
    case TEXP_LOOP:
        free_refs(u, exp->as.loop.init, into);
        free_refs(u, exp->as.loop.bound, into);
        free_refs(u, exp->as.loop.body, into);
        break;
    case TEXP_RANGE:
        free_refs(u, exp->as.range.start, into);
        if (exp->as.range.second != NULL) free_refs(u, exp->as.range.second, into);
        free_refs(u, exp->as.range.end, into);
        break;
    case TEXP_UPDATE:
        free_refs(u, exp->as.update.exp, into);
        free_dims(u, &exp->as.update.dims, into);
        free_refs(u, exp->as.update.value, into);
        break;
    case TEXP_RECORD_UPDATE:
        free_refs(u, exp->as.record_update.exp, into);
        free_refs(u, exp->as.record_update.value, into);
        break;
    case TEXP_COERCE: free_refs(u, exp->as.inner, into); break;
    case TEXP_ASSERT:
        free_refs(u, exp->as.assert_exp.cond, into);
        free_refs(u, exp->as.assert_exp.body, into);
        break;
    case TEXP_CTOR:
        for (uint32_t i = 0; i < exp->as.ctor.args.len; i++)
            free_refs(u, exp->as.ctor.args.data[i], into);
        break;
    case TEXP_MATCH:
        free_refs(u, exp->as.match.exp, into);
        for (uint32_t i = 0; i < exp->as.match.cases.len; i++)
            free_refs(u, exp->as.match.cases.data[i].body, into);
        break;
    case TEXP_ATTR: free_refs(u, exp->as.attr.exp, into); break;
    }
}

// ---- a definition ---------------------------------------------------------------------------------

static void check_result(Unique *u, const Refs *result, Span span) {
    Checker *ck = u->ck;
    Regions all = {0};
    add_refs(u, &all, result);
    for (uint32_t i = 0; i < all.len; i++) {
        if (all.data[i]->owner == OWN) continue;
        Diag *diag = check_error(ck, CHECK_RESULT_SHARED, span, name_of(u, all.data[i]->name));
        check_note(ck, diag, all.data[i]->name->span,
                   all.data[i]->owner == BORROWED ? "this parameter is not declared with `*`"
                                                  : "this is a definition at top level");
        check_hint(ck, diag, "return a `copy` of it, or drop the `*` of the result");
        return;
    }
}

void unique_check(Checker *ck, Binding *global) {
    const Global *data = global->check_data;
    if (data->is_lib || !ck->frame->has_star || global->body == NULL) return;
    if (ck->cx->diags.error_count > ck->frame->errors) return;
    Unique u = {.ck = ck};
    map_init(&u.refs, ck->arena);
    TExp *body = global->body;
    const TExp *lambda = body->kind == TEXP_LAMBDA ? body : NULL;
    for (uint32_t i = 0; lambda != NULL && i < lambda->as.lambda.params.len; i++)
        bind_param(&u, lambda->as.lambda.params.data[i], true);
    TExp *inner = lambda != NULL ? lambda->as.lambda.body : body;
    const Refs *result = visit(&u, inner);
    if (data->head->result_unique) check_result(&u, result, inner->span);
}
