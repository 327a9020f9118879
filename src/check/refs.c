// SPDX-License-Identifier: Apache-2.0
//
// Regions of data: which a name may refer to, consuming them, and what is said when one
// is used afterwards.
#include "check/unique.h"

const Refs refs_nothing = {0};

// ---- regions
// ------------------------------------------------------------------------------

static void add_region(Unique *u, Regions *regions, Region *region) {
    for (uint32_t i = 0; i < regions->len; i++)
        if (regions->data[i] == region) return;
    vec_push(u->ck->arena, regions, region);
}

void refs_add(Unique *u, Regions *regions, const Refs *refs) {
    for (uint32_t i = 0; i < refs->all.len; i++)
        add_region(u, regions, refs->all.data[i]);
    for (uint32_t i = 0; i < refs->part_count; i++)
        refs_add(u, regions, refs->parts[i]);
}

bool refs_matter(Type *type) {
    type = type_reveal(type);
    switch (type->kind) {
    case TYPE_SCALAR: return false;
    case TYPE_RECORD:
        for (uint32_t i = 0; i < type->as.record.len; i++)
            if (refs_matter(type->as.record.data[i].type)) return true;
        return false;
    case TYPE_SUM:
        for (uint32_t i = 0; i < type->as.sum.len; i++)
            for (uint32_t k = 0; k < type->as.sum.data[i].payload.len; k++)
                if (refs_matter(type->as.sum.data[i].payload.data[k])) return true;
        return false;
    case TYPE_VAR: return type->as.var != NULL;
    case TYPE_ARRAY:
    case TYPE_FUN:
    case TYPE_ABS:
    case TYPE_STREAM: return true;
    }
    return true;
}

Refs *refs_new(Unique *u) {
    return arena_new(u->ck->arena, Refs);
}

const Refs *refs_union(Unique *u, const Refs *a, const Refs *b, Type *type) {
    if (!refs_matter(type)) return &refs_nothing;
    Refs *made = refs_new(u);
    if (a->part_count > 0 && a->part_count == b->part_count) {
        Type *record = type_reveal(type);
        Refs **parts = arena_array(u->ck->arena, Refs *, a->part_count);
        for (uint32_t i = 0; i < a->part_count; i++)
            parts[i] = (Refs *)refs_union(
                u, a->parts[i], b->parts[i],
                record->kind == TYPE_RECORD ? record->as.record.data[i].type : type);
        made->parts = parts;
        made->part_count = a->part_count;
        return made;
    }
    refs_add(u, &made->all, a);
    refs_add(u, &made->all, b);
    return made;
}

const Refs *refs_part(const Refs *refs, uint32_t index, Type *type) {
    if (!refs_matter(type)) return &refs_nothing;
    if (index < refs->part_count) return refs->parts[index];
    return refs;
}

static Region *region_new(Unique *u, Binding *name, Owner owner) {
    Region *region = arena_new(u->ck->arena, Region);
    region->name = name;
    region->owner = owner;
    region->depth = u->barriers.len;
    return region;
}

void refs_set(Unique *u, const Binding *binding, const Refs *refs) {
    map_set(&u->refs, binding->id, (uint64_t)(uintptr_t)refs);
}

const Refs *refs_of(Unique *u, const Binding *binding) {
    uint64_t value = 0;
    if (!map_get(&u->refs, binding->id, &value)) return NULL;
    return (const Refs *)(uintptr_t)value;
}

// A name with a region of its own; a record, with one for each part.
const Refs *refs_own(Unique *u, Binding *name, Type *type, Owner owner,
                     const Diet *diet) {
    if (!refs_matter(type)) return &refs_nothing;
    type = type_reveal(type);
    Refs *refs = refs_new(u);
    if (diet != NULL && diet->consumed) owner = OWN;
    if (type->kind != TYPE_RECORD || type->weight > 100) {
        vec_push(u->ck->arena, &refs->all, region_new(u, name, owner));
        return refs;
    }
    uint32_t count = type->as.record.len;
    Refs **parts = arena_array(u->ck->arena, Refs *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const Diet *part = diet == NULL || diet->consumed ? diet
                           : i < diet->part_count         ? diet->parts[i]
                                                          : NULL;
        parts[i] = (Refs *)refs_own(u, name, type->as.record.data[i].type, owner, part);
    }
    refs->parts = parts;
    refs->part_count = count;
    return refs;
}

static bool refers(const Refs *refs) {
    if (refs->all.len > 0) return true;
    for (uint32_t i = 0; i < refs->part_count; i++)
        if (refers(refs->parts[i])) return true;
    return false;
}

// Binds the names of a pattern to what the value refers to. What is new gets a region.
void refs_bind(Unique *u, const TPat *pat, const Refs *refs) {
    switch (pat->kind) {
    case TPAT_NAME:
        if (refers(refs)) refs_set(u, pat->as.name, refs);
        else refs_set(u, pat->as.name, refs_own(u, pat->as.name, pat->type, OWN, NULL));
        break;
    case TPAT_RECORD:
        for (uint32_t i = 0; i < pat->as.record.len; i++) {
            const TPat *part = pat->as.record.data[i];
            refs_bind(u, part, refs_part(refs, i, part->type));
        }
        break;
    case TPAT_CTOR:
        for (uint32_t i = 0; i < pat->as.ctor.args.len; i++) {
            const TPat *part = pat->as.ctor.args.data[i];
            refs_bind(u, part, refs_matter(part->type) ? refs : &refs_nothing);
        }
        break;
    case TPAT_WILD:
    case TPAT_LIT: break;
    }
}

void refs_bind_param(Unique *u, const TPat *pat, bool strict) {
    switch (pat->kind) {
    case TPAT_NAME:
        refs_set(u, pat->as.name,
                 refs_own(u, pat->as.name, pat->type, strict ? BORROWED : OWN,
                          pat->as.name->check_data));
        break;
    case TPAT_RECORD:
        for (uint32_t i = 0; i < pat->as.record.len; i++)
            refs_bind_param(u, pat->as.record.data[i], strict);
        break;
    case TPAT_CTOR:
        for (uint32_t i = 0; i < pat->as.ctor.args.len; i++)
            refs_bind_param(u, pat->as.ctor.args.data[i], strict);
        break;
    case TPAT_WILD:
    case TPAT_LIT: break;
    }
}

// ---- consuming and using
// -------------------------------------------------------------------------

const char *unique_name(Unique *u, const Binding *binding) {
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

void unique_use(Unique *u, const Refs *refs, const Binding *binding, Span span) {
    Checker *ck = u->ck;
    const char *name = unique_name(u, binding);
    Region *region = first_consumed(refs);
    if (region == NULL) return;
    bool alias = region->name != binding;
    Diag *diag = alias ? check_error(ck, CHECK_CONSUMED_ALIAS, span, name,
                                     unique_name(u, region->name))
                       : check_error(ck, CHECK_CONSUMED, span, name);
    check_note(ck, diag, region->where, "`%s` is consumed here, by %s",
               unique_name(u, region->name), region->by);
    check_hint(ck, diag, "use the result instead, or pass `copy %s` there",
               unique_name(u, region->name));
}

static void note_owner(Unique *u, Diag *diag, const Region *region) {
    bool is_global = region->owner == GLOBAL;
    check_note(u->ck, diag, region->name->span,
               is_global ? "`%s` is a definition at top level"
                         : "the parameter `%s` is not declared with `*`",
               unique_name(u, region->name));
    if (!is_global)
        check_hint(u->ck, diag,
                   "declare the parameter `*` if its callers can spare it");
}

static void report_foreign(Unique *u, const Region *region, Span span, const char *by) {
    Checker *ck = u->ck;
    const char *name = unique_name(u, region->name);
    if (region->owner == OWN) {
        Barrier barrier = u->barriers.data[region->depth];
        Diag *diag = check_error(ck, CHECK_CONSUME_OUTER, span, name,
                                 barrier == BARRIER_LOOP ? "loop" : "function");
        check_label(ck, diag, "consumed by %s", by);
        check_note(ck, diag, region->name->span, "`%s` is bound outside the %s", name,
                   barrier == BARRIER_LOOP ? "loop" : "function");
        check_hint(
            ck, diag,
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
    note_owner(u, diag, region);
}

void unique_consume(Unique *u, const Refs *refs, const Diet *diet, Span span,
                    const char *by) {
    if (diet == NULL) return;
    if (!diet->consumed && refs->part_count > 0) {
        for (uint32_t i = 0; i < refs->part_count && i < diet->part_count; i++)
            unique_consume(u, refs->parts[i], diet->parts[i], span, by);
        return;
    }
    Regions regions = {0};
    refs_add(u, &regions, refs);
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

void unique_take_back(Unique *u, uint32_t mark, Regions *taken) {
    while (u->consumed.len > mark) {
        Region *region = u->consumed.data[--u->consumed.len];
        region->consumed = false;
        vec_push(u->ck->arena, taken, region);
    }
}

void unique_put_back(Unique *u, const Regions *taken) {
    for (uint32_t i = taken->len; i-- > 0;) {
        if (taken->data[i]->consumed) continue;
        taken->data[i]->consumed = true;
        vec_push(u->ck->arena, &u->consumed, taken->data[i]);
    }
}

bool refs_share(const Refs *refs, const Region *region) {
    for (uint32_t i = 0; i < refs->all.len; i++)
        if (refs->all.data[i] == region) return true;
    for (uint32_t i = 0; i < refs->part_count; i++)
        if (refs_share(refs->parts[i], region)) return true;
    return false;
}

void unique_advise(Unique *u, const Refs *refs, Span span) {
    if (refs->all.len == 0 || refs->all.data[0]->owner == OWN) return;
    const Region *region = refs->all.data[0];
    Checker *ck = u->ck;
    Diag *diag = check_warning(ck, CHECK_COPIED, span, unique_name(u, region->name));
    check_label(ck, diag, "the update writes to a copy");
    note_owner(u, diag, region);
}
