// SPDX-License-Identifier: Apache-2.0
//
// Sets of regions. They are sorted by the regions' numbers and short (MOST_REGIONS), so
// that a union is a merge, and they are shared: a union that adds nothing is its
// argument.
#include <string.h>

#include "check/unique.h"

const Refs unique_nothing = {0};

// ---- which types hold arrays --------------------------------------------------------

static bool record_holds(Unique *u, const FieldVec *fields) {
    for (uint32_t i = 0; i < fields->len; i++)
        if (unique_holds_arrays(u, fields->data[i].type)) return true;
    return false;
}

static bool sum_holds(Unique *u, const CtorVec *ctors) {
    for (uint32_t i = 0; i < ctors->len; i++)
        for (uint32_t k = 0; k < ctors->data[i].payload.len; k++)
            if (unique_holds_arrays(u, ctors->data[i].payload.data[k])) return true;
    return false;
}

bool unique_holds_arrays(Unique *u, Type *type) {
    type = type_reveal(type);
    if (type->kind == TYPE_SCALAR) return false;
    if (type->kind != TYPE_RECORD && type->kind != TYPE_SUM)
        return type->kind != TYPE_VAR || type->as.var != NULL;
    uint64_t key = (uint64_t)(uintptr_t)type, known = 0;
    if (map_get(&u->holds, key, &known)) return known == 2;
    if (stack_is_low(&u->ck->cx->stack)) return true;
    bool holds = type->kind == TYPE_RECORD ? record_holds(u, &type->as.record)
                                           : sum_holds(u, &type->as.sum);
    map_set(&u->holds, key, holds ? 2 : 1);
    return holds;
}

// ---- making -------------------------------------------------------------------------

static const Refs *refs_new(Unique *u, Refs refs) {
    return arena_copy(u->ck->arena, &refs, sizeof refs);
}

Region *unique_region(Unique *u, Binding *name, Owner owner) {
    Region *region = arena_new(u->ck->arena, Region);
    region->id = u->next_region++;
    region->name = name;
    region->owner = owner;
    region->depth = u->barriers.len;
    return region;
}

const Refs *unique_of_region(Unique *u, Region *region) {
    Region *const *regions = arena_copy(u->ck->arena, &region, sizeof region);
    return refs_new(u, (Refs){.regions = regions, .count = 1});
}

const Refs *unique_record(Unique *u, const Refs *const *parts, uint32_t count) {
    return refs_new(u, (Refs){.parts = parts, .part_count = count});
}

static const Refs *own(Unique *u, Type *type, Binding *name, Owner owner,
                       const Diet *diet, int depth) {
    if (!unique_holds_arrays(u, type)) return &unique_nothing;
    if (diet != NULL && diet->consumed) owner = OWN;
    type = type_reveal(type);
    uint32_t count = type->kind == TYPE_RECORD ? type->as.record.len : 0;
    if (count == 0 || count > MOST_SPLIT_FIELDS || depth == MOST_SPLIT_DEPTH)
        return unique_of_region(u, unique_region(u, name, owner));
    const Refs **parts = arena_array(u->ck->arena, const Refs *, count);
    for (uint32_t i = 0; i < count; i++) {
        const Diet *part = diet != NULL && i < diet->part_count ? diet->parts[i] : NULL;
        parts[i] = own(u, type->as.record.data[i].type, name, owner, part, depth + 1);
    }
    return unique_record(u, parts, count);
}

const Refs *unique_own(Unique *u, Type *type, Binding *name, Owner owner,
                       const Diet *diet) {
    return own(u, type, name, owner, diet, 0);
}

const Refs *unique_fill(Unique *u, const Refs *refs, Type *type, Binding *name) {
    for (uint32_t i = 0; i < refs->count; i++)
        if (refs->regions[i]->name == NULL) refs->regions[i]->name = name;
    if (refs->count > 0 || !unique_holds_arrays(u, type)) return refs;
    type = type_reveal(type);
    if (refs->part_count == 0) return unique_own(u, type, name, OWN, NULL);
    if (type->kind != TYPE_RECORD || type->as.record.len != refs->part_count)
        return refs;
    const Refs **parts = NULL;
    for (uint32_t i = 0; i < refs->part_count; i++) {
        const Refs *part =
            unique_fill(u, refs->parts[i], type->as.record.data[i].type, name);
        if (part == refs->parts[i]) continue;
        if (parts == NULL) {
            parts = arena_array(u->ck->arena, const Refs *, refs->part_count);
            memcpy(parts, refs->parts, refs->part_count * sizeof *parts);
        }
        parts[i] = part;
    }
    return parts == NULL ? refs : unique_record(u, parts, refs->part_count);
}

// ---- combining ----------------------------------------------------------------------

static bool is_subset(const Refs *small, const Refs *large) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < small->count; i++) {
        while (k < large->count && large->regions[k]->id < small->regions[i]->id) k++;
        if (k == large->count || large->regions[k] != small->regions[i]) return false;
    }
    return true;
}

static const Refs *merge(Unique *u, const Refs *a, const Refs *b) {
    if (is_subset(b, a)) return a;
    if (is_subset(a, b)) return b;
    uint32_t most = a->count + b->count, count = 0, i = 0, k = 0;
    if (most > MOST_REGIONS) most = MOST_REGIONS;
    Region **regions = arena_array(u->ck->arena, Region *, most);
    while (count < most && (i < a->count || k < b->count)) {
        if (k == b->count) regions[count++] = a->regions[i++];
        else if (i == a->count) regions[count++] = b->regions[k++];
        else {
            Region *x = a->regions[i], *y = b->regions[k];
            regions[count++] = x->id <= y->id ? x : y;
            if (x->id <= y->id) i++;
            if (y->id <= x->id) k++;
        }
    }
    return refs_new(u, (Refs){.regions = regions, .count = count});
}

const Refs *unique_flat(Unique *u, const Refs *refs) {
    if (refs->part_count == 0) return refs;
    const Refs *all = &unique_nothing;
    for (uint32_t i = 0; i < refs->part_count; i++)
        all = merge(u, all, unique_flat(u, refs->parts[i]));
    return all;
}

const Refs *unique_union(Unique *u, const Refs *a, const Refs *b) {
    if (a == b || (b->count == 0 && b->part_count == 0)) return a;
    if (a->count == 0 && a->part_count == 0) return b;
    uint32_t count = a->part_count;
    if (count == 0 || count != b->part_count)
        return merge(u, unique_flat(u, a), unique_flat(u, b));
    const Refs **parts = arena_array(u->ck->arena, const Refs *, count);
    bool same = true;
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = unique_union(u, a->parts[i], b->parts[i]);
        same &= parts[i] == a->parts[i];
    }
    return same ? a : unique_record(u, parts, count);
}

typedef bool (*Keep)(const Region *region, uint32_t depth);

static const Refs *filter(Unique *u, const Refs *refs, Keep keep, uint32_t depth) {
    bool same = true;
    if (refs->part_count > 0) {
        const Refs **parts = arena_array(u->ck->arena, const Refs *, refs->part_count);
        for (uint32_t i = 0; i < refs->part_count; i++) {
            parts[i] = filter(u, refs->parts[i], keep, depth);
            same &= parts[i] == refs->parts[i];
        }
        return same ? refs : unique_record(u, parts, refs->part_count);
    }
    for (uint32_t i = 0; i < refs->count && same; i++)
        same = keep(refs->regions[i], depth);
    if (same) return refs;
    Region **regions = arena_array(u->ck->arena, Region *, refs->count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < refs->count; i++)
        if (keep(refs->regions[i], depth)) regions[count++] = refs->regions[i];
    return refs_new(u, (Refs){.regions = regions, .count = count});
}

static bool is_outside(const Region *region, uint32_t depth) {
    return region->depth <= depth;
}

static bool is_left(const Region *region, uint32_t depth) {
    (void)depth;
    return !region->is_consumed;
}

const Refs *unique_outside(Unique *u, const Refs *refs, uint32_t depth) {
    return filter(u, refs, is_outside, depth);
}

const Refs *unique_without_consumed(Unique *u, const Refs *refs) {
    return filter(u, refs, is_left, 0);
}

// ---- looking ------------------------------------------------------------------------

const Refs *unique_part(const Refs *refs, uint32_t index) {
    return index < refs->part_count ? refs->parts[index] : refs;
}

Region *unique_first_consumed(const Refs *refs) {
    for (uint32_t i = 0; i < refs->count; i++)
        if (refs->regions[i]->is_consumed) return refs->regions[i];
    for (uint32_t i = 0; i < refs->part_count; i++) {
        Region *region = unique_first_consumed(refs->parts[i]);
        if (region != NULL) return region;
    }
    return NULL;
}
