// SPDX-License-Identifier: Apache-2.0
//
// Inside the uniqueness check: what values refer to, and what has become of it.
//
// A region is data that somebody brought into being: a parameter's, or what a
// definition made anew. A value refers to a set of regions (Refs). Refs are never
// changed once made, so they are shared freely; the regions themselves carry what
// happened to them, and a log of that is undone at the end of a branch and done again
// after the last.
//
// Nothing here is needed for a program's meaning: an array that is not consumed when it
// might have been is copied. So wherever a limit is met, the check lets the program
// pass.
#ifndef WEFT_CHECK_UNIQUE_H
#define WEFT_CHECK_UNIQUE_H

#include "check/checker.h"

enum {
    MOST_REGIONS = 100,     // that one value refers to; more are forgotten
    MOST_SPLIT_FIELDS = 16, // records with more fields have one region
    MOST_SPLIT_DEPTH = 3
};

typedef enum Owner {
    OWN,      // made here, or a `*` parameter
    BORROWED, // a parameter without `*`
    GLOBAL    // a top-level value
} Owner;

typedef struct Region {
    uint32_t id;
    Binding *name; // who brought it into being; NULL until it is bound
    Owner owner;
    uint32_t depth; // how many functions and loops it was made inside
    bool is_once;   // a function that holds consumed data: calling it consumes it
    bool is_flow;   // part of a loop's state, the part with this number:
    uint32_t flow;
    bool is_consumed;
    bool is_updated;  // `with` was applied to it
    bool was_updated; // on some path
    bool by_loop;     // that had it as its initial value
    Span consumed_at, updated_at;
    const char *by; // it was consumed
} Region;

typedef struct Refs {
    Region *const *regions; // by id
    uint32_t count;
    // A record's parts, where they are known apart; there are then no regions above.
    const struct Refs *const *parts;
    uint32_t part_count;
} Refs;

typedef enum BarrierKind { BARRIER_FUNCTION, BARRIER_LOOP } BarrierKind;

// The inside of something that may run more than once.
typedef struct Barrier {
    BarrierKind kind;
    const Refs *captured; // FUNCTION: what it mentions from outside
    uint32_t outer_function;
} Barrier;

typedef enum EventKind { EVENT_CONSUME, EVENT_UPDATE, EVENT_LOOP_UPDATE } EventKind;

typedef struct Event {
    Region *region;
    EventKind kind;
    Span at;
    const char *by;
} Event;
typedef struct {
    Event *data;
    uint32_t len, cap;
} Events;

typedef struct Unique {
    Checker *ck;
    Map refs;  // binding id to Refs
    Map holds; // Type to 1 (holds no arrays) or 2
    Events log;
    struct {
        Barrier *data;
        uint32_t len, cap;
    } barriers;
    uint32_t function; // the innermost function's barrier plus 1, or 0
    uint32_t next_region;
} Unique;

extern const Refs unique_nothing;

// ---- refs.c: sets of regions -------------------------------------------------

bool unique_holds_arrays(Unique *u, Type *type);
Region *unique_region(Unique *u, Binding *name, Owner owner);
const Refs *unique_of_region(Unique *u, Region *region);
// Regions of its own for a new value of the type; NULL for name: bound later. What the
// diet says is OWN all the same.
const Refs *unique_own(Unique *u, Type *type, Binding *name, Owner owner,
                       const Diet *diet);
// The same refs, with regions of their own for parts that refer to nothing.
const Refs *unique_fill(Unique *u, const Refs *refs, Type *type, Binding *name);
const Refs *unique_flat(Unique *u, const Refs *refs);
// Keeps parts apart if both do.
const Refs *unique_union(Unique *u, const Refs *a, const Refs *b);
// What was made inside no more than `depth` functions and loops.
const Refs *unique_outside(Unique *u, const Refs *refs, uint32_t depth);
const Refs *unique_without_consumed(Unique *u, const Refs *refs);
const Refs *unique_part(const Refs *refs, uint32_t index);
const Refs *unique_record(Unique *u, const Refs *const *parts, uint32_t count);
Region *unique_first_consumed(const Refs *refs);

// ---- unique_use.c: using, consuming, updating ---------------------------------------

// A name, or a part of what it stands for, is used.
void unique_use(Unique *u, const Refs *refs, const Binding *binding, Span span);
// NULL for diet: nothing is consumed.
void unique_consume(Unique *u, const Refs *refs, const Diet *diet, Span span,
                    const char *by);
void unique_update(Unique *u, const Refs *refs, Span span, bool is_loop);
// Reports a value that was still to be used when something consumed it: the call's
// argument `consumer`, or {0, 0} if it was not a call's.
void unique_in_flight(Unique *u, const Refs *refs, Span span, Span consumer);
// The result of a function is declared `*`, where the diet says so.
void unique_promise(Unique *u, const Refs *refs, const Diet *diet, uint32_t depth,
                    Span span);
void unique_undo(Unique *u, uint32_t mark, Events *undone);
void unique_redo(Unique *u, const Events *undone);

// ---- unique.c, unique_loop.c --------------------------------------------------------

const Refs *unique_visit(Unique *u, TExp *exp);
void unique_bind(Unique *u, const TPat *pat, const Refs *refs);
// Gives the parameters regions of their own. strict: those without `*` are borrowed.
const Refs *unique_bind_params(Unique *u, const TPat *pat, bool strict);
void unique_enter(Unique *u, BarrierKind kind);
void unique_leave(Unique *u);
const Refs *unique_visit_loop(Unique *u, TExp *exp);

#endif
