// SPDX-License-Identifier: Apache-2.0
//
// What the uniqueness check knows of values: the regions of data they may refer to, and
// which of those were consumed.
#ifndef WEFT_CHECK_UNIQUE_H
#define WEFT_CHECK_UNIQUE_H

#include "check/checker.h"

typedef enum Owner {
    OWN,      // made here, or a `*` parameter
    BORROWED, // a parameter without `*`
    GLOBAL    // a top-level value
} Owner;

typedef struct Region {
    Binding *name; // who brought it into being
    Owner owner;
    uint32_t depth; // how many functions and loops it was made inside
    bool consumed;
    Span where; // it was consumed
    const char *by;
} Region;

typedef struct {
    Region **data;
    uint32_t len, cap;
} Regions;

// What a value may refer to. A record's parts are known apart where it was built here.
typedef struct Refs {
    Regions all; // of the value as a whole; for parts, those are it
    struct Refs *const *parts;
    uint32_t part_count;
} Refs;

typedef enum Barrier { BARRIER_FUNCTION, BARRIER_LOOP } Barrier;

typedef struct Unique {
    Checker *ck;
    Map refs;         // binding id to Refs
    Regions consumed; // in order, to be undone at the end of a branch
    struct {
        Barrier *data;
        uint32_t len, cap;
    } barriers;
} Unique;

extern const Refs refs_nothing;

Refs *refs_new(Unique *u);
// Adds the regions of refs and of its parts.
void refs_add(Unique *u, Regions *regions, const Refs *refs);
const Refs *refs_union(Unique *u, const Refs *a, const Refs *b, Type *type);
const Refs *refs_part(const Refs *refs, uint32_t index, Type *type);
// Of a name that has regions of its own: one, or one for each part of a record.
const Refs *refs_own(Unique *u, Binding *name, Type *type, Owner owner,
                     const Diet *diet);
bool refs_share(const Refs *refs, const Region *region);
// What a name was bound to, or NULL.
const Refs *refs_of(Unique *u, const Binding *binding);
void refs_set(Unique *u, const Binding *binding, const Refs *refs);
// Binds a pattern's names to a value's parts; what is new gets a region.
void refs_bind(Unique *u, const TPat *pat, const Refs *refs);
// Binds a parameter's; strict: what has no `*` is borrowed.
void refs_bind_param(Unique *u, const TPat *pat, bool strict);
// Whether values of the type may refer to data at all.
bool refs_matter(Type *type);

const char *unique_name(Unique *u, const Binding *binding);
// Reports a use of what was consumed.
void unique_use(Unique *u, const Refs *refs, const Binding *binding, Span span);
// Consumes what the diet says; `by` names the consumer.
void unique_consume(Unique *u, const Refs *refs, const Diet *diet, Span span,
                    const char *by);
// Advice: updating what is not one's own makes a copy.
void unique_advise(Unique *u, const Refs *refs, Span span);
// Undoes what was consumed since mark, and does it again.
void unique_take_back(Unique *u, uint32_t mark, Regions *taken);
void unique_put_back(Unique *u, const Regions *taken);

#endif
