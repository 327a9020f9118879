// SPDX-License-Identifier: Apache-2.0
//
// What happens to regions: they are used, consumed (an argument for a `*` parameter)
// and updated (`with`, which consumes nothing but copies what is used again). Consuming
// what was lent is no mistake, only a copy.
#include "check/unique.h"

static const char UPDATE_COPY[] = "the update writes to a copy";
static const char LOOP_COPY[] = "the loop updates it, and starts with a copy";

static const char *name_of(Unique *u, const Binding *binding) {
    return binding == NULL || binding->name == 0 ? "_" : sym_show(u->ck, binding->name);
}

static Span place_of(const Binding *binding) {
    return binding == NULL ? (Span){0, 0} : binding->span;
}

static bool is_outer(const Unique *u, const Region *region) {
    return region->depth < u->barriers.len;
}

static const char *barrier_name(const Unique *u, const Region *region) {
    return u->barriers.data[region->depth].kind == BARRIER_LOOP ? "loop" : "function";
}

// ---- the log -----------------------------------------------------------------------

static void apply(Unique *u, const Event *event) {
    Region *region = event->region;
    if (event->kind != EVENT_CONSUME) {
        if (region->is_updated) return;
        region->is_updated = region->was_updated = true;
        region->updated_at = event->at;
        region->by_loop = event->kind == EVENT_LOOP_UPDATE;
    } else {
        if (region->is_consumed) return;
        region->is_consumed = true;
        region->consumed_at = event->at;
        region->by = event->by;
    }
    vec_push(u->ck->arena, &u->log, *event);
}

void unique_undo(Unique *u, uint32_t mark, Events *undone) {
    while (u->log.len > mark) {
        Event event = u->log.data[--u->log.len];
        if (event.kind == EVENT_CONSUME) event.region->is_consumed = false;
        else event.region->is_updated = false;
        vec_push(u->ck->arena, undone, event);
    }
}

void unique_redo(Unique *u, const Events *undone) {
    for (uint32_t i = 0; i < undone->len; i++) apply(u, &undone->data[i]);
}

// ---- using -------------------------------------------------------------------------

static void report_consumed(Unique *u, const Region *region, const Binding *binding,
                            Span span) {
    Checker *ck = u->ck;
    const char *owner = name_of(u, region->name);
    const char *name = binding == NULL ? owner : name_of(u, binding);
    bool is_alias = binding != NULL && region->name != binding;
    Diag *diag = is_alias ? check_error(ck, CHECK_CONSUMED_ALIAS, span, name, owner)
                          : check_error(ck, CHECK_CONSUMED, span, name);
    check_note(ck, diag, region->consumed_at, "`%s` is consumed here, by %s", owner,
               region->by);
    if (region->is_once) check_hint(ck, diag, "make the function anew for every call");
    else check_hint(ck, diag, "use the result instead, or pass `copy %s` there", owner);
}

static void advise_copy(Unique *u, const Region *region, const Binding *binding,
                        Span span) {
    Checker *ck = u->ck;
    const char *owner = name_of(u, region->name);
    Diag *diag = check_warning(ck, CHECK_COPIED, region->updated_at, owner);
    check_label(ck, diag, "%s", region->by_loop ? LOOP_COPY : UPDATE_COPY);
    if (region->name == binding)
        check_note(ck, diag, span, "`%s` is used again here", owner);
    else
        check_note(ck, diag, span, "`%s` is used here and may share its data with `%s`",
                   name_of(u, binding), owner);
}

// What functions mention from outside is theirs for as long as they live.
static void capture(Unique *u, const Refs *refs) {
    if (u->function == 0) return;
    Barrier *barrier = &u->barriers.data[u->function - 1];
    refs = unique_outside(u, unique_flat(u, refs), u->function - 1);
    barrier->captured = unique_union(u, barrier->captured, refs);
}

static void use(Unique *u, const Refs *refs, const Binding *binding, Span span) {
    for (uint32_t i = 0; i < refs->count; i++) {
        Region *region = refs->regions[i];
        if (!region->is_updated) continue;
        advise_copy(u, region, binding, span);
        region->is_updated = false;
    }
    for (uint32_t i = 0; i < refs->part_count; i++)
        use(u, refs->parts[i], binding, span);
}

void unique_use(Unique *u, const Refs *refs, const Binding *binding, Span span) {
    const Region *region = unique_first_consumed(refs);
    if (region != NULL) report_consumed(u, region, binding, span);
    use(u, refs, binding, span);
    capture(u, refs);
}

void unique_in_flight(Unique *u, const Refs *refs, Span span, Span consumer) {
    const Region *region = unique_first_consumed(refs);
    if (region == NULL) return;
    Checker *ck = u->ck;
    const char *owner = name_of(u, region->name);
    bool is_call = consumer.end != 0;
    Diag *diag = check_error(
        ck, is_call ? CHECK_CONSUMED_SHARED : CHECK_CONSUMED_BESIDE, span, owner);
    if (is_call)
        check_note(ck, diag, consumer, "this argument is consumed, by %s", region->by);
    else
        check_note(ck, diag, region->consumed_at, "`%s` is consumed here, by %s", owner,
                   region->by);
    check_hint(ck, diag, "pass a `copy` in one of the two places");
}

// ---- consuming ---------------------------------------------------------------------

static void report_outer(Unique *u, const Region *region, Span span, const char *by) {
    Checker *ck = u->ck;
    const char *name = name_of(u, region->name), *where = barrier_name(u, region);
    Diag *diag = check_error(ck, CHECK_CONSUME_OUTER, span, name, where);
    check_label(ck, diag, "consumed by %s", by);
    check_note(ck, diag, place_of(region->name), "`%s` is bound outside the %s", name,
               where);
    if (u->barriers.data[region->depth].kind == BARRIER_LOOP)
        check_hint(
            ck, diag,
            "every iteration would consume it: make it part of the loop's state, "
            "or pass `copy %s`",
            name);
    else
        check_hint(ck, diag,
                   "the function may run more than once: make it a parameter, or pass "
                   "`copy %s`",
                   name);
}

static void note_lent(Unique *u, Diag *diag, const Region *region) {
    Checker *ck = u->ck;
    const char *name = name_of(u, region->name);
    if (region->owner == GLOBAL) {
        check_note(ck, diag, place_of(region->name),
                   "`%s` is a definition at top level", name);
        return;
    }
    check_note(ck, diag, place_of(region->name),
               "the parameter `%s` is not declared with `*`", name);
    check_hint(ck, diag, "declare the parameter `*` if its callers can spare it");
}

static void consume_region(Unique *u, Region *region, Span span, const char *by) {
    if (region->is_consumed) return;
    if (region->owner != OWN) {
        Diag *diag = check_warning(u->ck, CHECK_COPIED, span, name_of(u, region->name));
        check_label(u->ck, diag, "%s asks for an array to keep", by);
        note_lent(u, diag, region);
        return;
    }
    if (is_outer(u, region)) {
        report_outer(u, region, span, by);
        return;
    }
    apply(u, &(Event){.region = region, .at = span, .by = by});
}

void unique_consume(Unique *u, const Refs *refs, const Diet *diet, Span span,
                    const char *by) {
    static const Diet all = {.consumed = true};
    if (diet == NULL) return;
    if (diet->part_count > 0 && refs->part_count == 0) diet = &all;
    for (uint32_t i = 0; i < refs->count; i++)
        consume_region(u, refs->regions[i], span, by);
    for (uint32_t i = 0; i < refs->part_count; i++)
        if (diet->consumed) unique_consume(u, refs->parts[i], &all, span, by);
        else if (i < diet->part_count)
            unique_consume(u, refs->parts[i], diet->parts[i], span, by);
}

// ---- updating ----------------------------------------------------------------------

static void advise_update(Unique *u, const Region *region, Span span, bool is_loop) {
    Checker *ck = u->ck;
    Diag *diag = check_warning(ck, CHECK_COPIED, span, name_of(u, region->name));
    check_label(ck, diag, "%s", is_loop ? LOOP_COPY : UPDATE_COPY);
    if (region->owner != OWN) {
        note_lent(u, diag, region);
        return;
    }
    check_note(ck, diag, place_of(region->name), "`%s` is bound outside the %s",
               name_of(u, region->name), barrier_name(u, region));
    if (u->barriers.data[region->depth].kind == BARRIER_LOOP)
        check_hint(ck, diag,
                   "every iteration copies it; make it part of the loop's state");
}

void unique_update(Unique *u, const Refs *refs, Span span, bool is_loop) {
    for (uint32_t i = 0; i < refs->count; i++) {
        Region *region = refs->regions[i];
        if (region->owner != OWN || is_outer(u, region))
            advise_update(u, region, span, is_loop);
        else
            apply(u, &(Event){.region = region,
                              .kind = is_loop ? EVENT_LOOP_UPDATE : EVENT_UPDATE,
                              .at = span});
    }
    for (uint32_t i = 0; i < refs->part_count; i++)
        unique_update(u, refs->parts[i], span, is_loop);
}

// ---- promises ----------------------------------------------------------------------

static bool breaks_promise(const Region *region, uint32_t depth) {
    return region->owner != OWN || region->depth < depth;
}

static const Region *find_breach(const Refs *refs, const Diet *diet, uint32_t depth) {
    static const Diet all = {.consumed = true};
    if (diet == NULL) return NULL;
    if (diet->consumed || refs->part_count > 0)
        for (uint32_t i = 0; i < refs->count; i++)
            if (breaks_promise(refs->regions[i], depth)) return refs->regions[i];
    for (uint32_t i = 0; i < refs->part_count; i++) {
        const Diet *part = diet->consumed         ? &all
                           : i < diet->part_count ? diet->parts[i]
                                                  : NULL;
        const Region *region = find_breach(refs->parts[i], part, depth);
        if (region != NULL) return region;
    }
    return NULL;
}

void unique_promise(Unique *u, const Refs *refs, const Diet *diet, uint32_t depth,
                    Span span) {
    Checker *ck = u->ck;
    const Region *region = find_breach(refs, diet, depth);
    if (region == NULL) return;
    Diag *diag = check_error(ck, CHECK_RESULT_SHARED, span, name_of(u, region->name));
    check_note(ck, diag, place_of(region->name),
               region->owner == BORROWED ? "this parameter is not declared with `*`"
               : region->owner == GLOBAL ? "this is a definition at top level"
                                         : "this is bound outside the function");
    check_hint(ck, diag, "return a `copy` of it, or drop the `*` of the result");
}
