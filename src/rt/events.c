// SPDX-License-Identifier: Apache-2.0
//
// The recorder (events.h). A row is an array filled up once; its length is published
// after the event, so that readers see whole ones. The totals are a hash table, which
// the host alone touches: when it cannot grow, what is new goes to one entry for all.
#include "rt/events.h"

#include <stdio.h>
#include <string.h>

#include "rt/pool.h"

enum { MOST_ROWS = RT_THREADS_MAX + 64, NO_ROW = MOST_ROWS };
enum { MORE_CALLS = 64 }; // room for calls, which end after what they are full of

typedef struct Row {
    char name[48];
    _Atomic size_t count;
    _Atomic uint64_t dropped, busy;
    RtEvent events[];
} Row;

struct RtEvents {
    Mem *mem;
    size_t most;
    uint64_t began;
    uint64_t ns; // of all totals
    _Atomic uint32_t owner;
    uint32_t row_count;
    bool lacks_rows;
    Row *rows[MOST_ROWS];
    // Totals in the order of their first event, and a table of 1 + their index.
    RtTotal *totals;
    uint32_t *slots;
    size_t total_count, slot_count;
};

// ---- the recorder -------------------------------------------------------------------

static size_t row_size(const RtEvents *events) {
    return sizeof(Row) + (events->most + MORE_CALLS) * sizeof(RtEvent);
}

static uint32_t find_row(const RtEvents *events, const char *name) {
    for (uint32_t i = 0; i < events->row_count; i++)
        if (strcmp(events->rows[i]->name, name) == 0) return i;
    return NO_ROW;
}

static uint32_t add_row(RtEvents *events, const char *name) {
    Row *row = NULL;
    if (events->row_count < MOST_ROWS)
        row = mem_try_alloc(events->mem, row_size(events));
    if (row == NULL) {
        events->lacks_rows = true;
        return NO_ROW;
    }
    *row = (Row){.count = 0};
    strncat(row->name, name, sizeof row->name - 1);
    events->rows[events->row_count] = row;
    return events->row_count++;
}

uint32_t rt_events_row(RtEvents *events, const char *name) {
    uint32_t row = find_row(events, name);
    return row != NO_ROW ? row : add_row(events, name);
}

uint32_t rt_events_rows(RtEvents *events, const char *name, uint32_t count) {
    char full[sizeof events->rows[0]->name];
    snprintf(full, sizeof full, "%s %u", name, count - 1);
    uint32_t last = find_row(events, full);
    if (last != NO_ROW) return last - (count - 1);
    for (uint32_t i = 0; i < count && !events->lacks_rows; i++) {
        snprintf(full, sizeof full, "%s %u", name, i);
        last = add_row(events, full);
    }
    return events->lacks_rows ? NO_ROW : last - (count - 1);
}

static bool make_table(Mem *mem, size_t slot_count, RtTotal **totals_out,
                       uint32_t **slots_out) {
    RtTotal *totals = mem_try_alloc(mem, slot_count / 2 * sizeof *totals);
    uint32_t *slots = mem_try_alloc(mem, slot_count * sizeof *slots);
    if (totals == NULL || slots == NULL) {
        mem_free(mem, totals, slot_count / 2 * sizeof *totals);
        mem_free(mem, slots, slot_count * sizeof *slots);
        return false;
    }
    memset(slots, 0, slot_count * sizeof *slots);
    *totals_out = totals;
    *slots_out = slots;
    return true;
}

static void free_table(RtEvents *events) {
    mem_free(events->mem, events->totals,
             events->slot_count / 2 * sizeof *events->totals);
    mem_free(events->mem, events->slots, events->slot_count * sizeof *events->slots);
}

RtEvents *rt_events_new(Mem *mem, size_t most) {
    enum { FIRST_SLOTS = 128 };
    RtEvents *events = mem_try_alloc(mem, sizeof *events);
    if (events == NULL) return NULL;
    memset(events, 0, sizeof *events);
    events->mem = mem;
    events->most = most;
    events->began = clock_ns();
    bool is_made = make_table(mem, FIRST_SLOTS, &events->totals, &events->slots);
    if (is_made) events->slot_count = FIRST_SLOTS;
    if (is_made && rt_events_row(events, "host") == RT_EVENTS_HOST) return events;
    rt_events_free(events);
    return NULL;
}

void rt_events_free(RtEvents *events) {
    if (events == NULL) return;
    for (uint32_t i = 0; i < events->row_count; i++)
        mem_free(events->mem, events->rows[i], row_size(events));
    free_table(events);
    mem_free(events->mem, events, sizeof *events);
}

bool rt_events_are_kept(const RtEvents *events) {
    return events != NULL && events->most > 0;
}

void rt_events_own(RtEvents *events, uint32_t owner) {
    atomic_store_explicit(&events->owner, owner, memory_order_relaxed);
}

// ---- rows ---------------------------------------------------------------------------

static void append(RtEvents *events, uint32_t number, const RtEvent *event) {
    if (number >= MOST_ROWS) return;
    Row *row = events->rows[number];
    size_t count = atomic_load_explicit(&row->count, memory_order_relaxed);
    atomic_fetch_add_explicit(&row->busy, event->end - event->begin,
                              memory_order_relaxed);
    size_t most = events->most + (event->kind == RT_EVENT_CALL ? MORE_CALLS : 0);
    if (count >= most) {
        atomic_fetch_add_explicit(&row->dropped, 1, memory_order_relaxed);
        return;
    }
    row->events[count] = *event;
    row->events[count].owner =
        atomic_load_explicit(&events->owner, memory_order_relaxed);
    atomic_store_explicit(&row->count, count + 1, memory_order_release);
}

void rt_event(RtEvents *events, uint32_t row, RtEventKind kind, const char *name,
              uint64_t begin, uint64_t end, uint64_t bytes, uint64_t turns,
              uint32_t place) {
    RtEvent event = {.name = name,
                     .begin = begin,
                     .end = end,
                     .bytes = bytes,
                     .turns = turns,
                     .place = place,
                     .kind = kind};
    append(events, row, &event);
}

void rt_event_piece(RtEvents *events, uint32_t number, RtEventKind kind,
                    const char *name, uint64_t since, uint64_t begin, uint64_t end,
                    uint64_t turns, uint32_t place) {
    enum { GAP_NS = 10000 };
    if (number >= MOST_ROWS) return;
    Row *row = events->rows[number];
    size_t count = atomic_load_explicit(&row->count, memory_order_relaxed);
    RtEvent *last = count == 0 ? NULL : &row->events[count - 1];
    bool is_full = atomic_load_explicit(&row->dropped, memory_order_relaxed) > 0;
    if (last == NULL || is_full || last->begin < since || begin - last->end > GAP_NS) {
        rt_event(events, number, kind, name, begin, end, 0, turns, place);
        return;
    }
    atomic_fetch_add_explicit(&row->busy, end - last->end, memory_order_relaxed);
    last->end = end;
    last->turns += turns;
}

// ---- totals -------------------------------------------------------------------------

static bool is_same(const RtEvent *a, const RtEvent *b) {
    return a->kind == b->kind && a->place == b->place && a->owner == b->owner &&
           a->name == b->name;
}

static uint32_t *find_slot(uint32_t *slots, size_t slot_count, const RtTotal *totals,
                           const RtEvent *event) {
    uint64_t hash = ((uint64_t)event->kind << 56) ^ ((uint64_t)event->owner << 32) ^
                    event->place ^ ((uint64_t)(uintptr_t)event->name << 8);
    size_t at = (hash * 0x9e3779b97f4a7c15u >> 32) & (slot_count - 1);
    while (slots[at] != 0 && !is_same(&totals[slots[at] - 1].event, event))
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

static bool grow_table(RtEvents *events) {
    size_t count = events->slot_count * 2;
    RtTotal *totals;
    uint32_t *slots;
    if (!make_table(events->mem, count, &totals, &slots)) return false;
    memcpy(totals, events->totals, events->total_count * sizeof *totals);
    for (size_t i = 0; i < events->total_count; i++)
        *find_slot(slots, count, totals, &totals[i].event) = (uint32_t)i + 1;
    free_table(events);
    events->totals = totals;
    events->slots = slots;
    events->slot_count = count;
    return true;
}

static RtTotal *find_total(RtEvents *events, const RtEvent *event) {
    uint32_t *slot =
        find_slot(events->slots, events->slot_count, events->totals, event);
    if (*slot == 0 && events->total_count == events->slot_count / 2) {
        if (!grow_table(events)) return &events->totals[0];
        slot = find_slot(events->slots, events->slot_count, events->totals, event);
    }
    if (*slot == 0) {
        events->totals[events->total_count] = (RtTotal){.event = {.name = event->name,
                                                                  .place = event->place,
                                                                  .owner = event->owner,
                                                                  .kind = event->kind}};
        *slot = (uint32_t)++events->total_count;
    }
    return &events->totals[*slot - 1];
}

// ---- spans --------------------------------------------------------------------------

RtSpan rt_span_open(const RtEvents *events) {
    if (events == NULL) return (RtSpan){0};
    return (RtSpan){.begin = clock_ns(), .before = events->ns};
}

static void add_to_total(RtEvents *events, const RtEvent *event, uint64_t ns) {
    RtTotal *total = find_total(events, event);
    total->count++;
    total->ns += ns;
    total->event.bytes += event->bytes;
    total->event.turns += event->turns;
}

void rt_event_beside(RtEvents *events, const RtEvent *given) {
    RtEvent event = *given;
    if (events == NULL) return;
    event.owner = atomic_load_explicit(&events->owner, memory_order_relaxed);
    add_to_total(events, &event, event.end - event.begin);
}

void rt_span_close(RtEvents *events, RtSpan span, const RtEvent *given) {
    enum { SHORT_NS = 10000 };
    if (events == NULL) return;
    RtEvent event = *given;
    event.begin = span.begin;
    event.end = clock_ns();
    event.owner = atomic_load_explicit(&events->owner, memory_order_relaxed);
    uint64_t inner = events->ns - span.before;
    uint64_t own = event.end - event.begin - inner;
    add_to_total(events, &event, own);
    events->ns += own;
    if (event.kind != RT_EVENT_INTERPRET || event.end - event.begin >= SHORT_NS)
        append(events, RT_EVENTS_HOST, &event);
}

// ---- reading ------------------------------------------------------------------------

bool rt_events_lack_rows(const RtEvents *events) {
    return events->lacks_rows;
}

uint32_t rt_events_row_count(const RtEvents *events) {
    return events->row_count;
}

const char *rt_events_row_name(const RtEvents *events, uint32_t row) {
    return events->rows[row]->name;
}

const RtEvent *rt_events_on(const RtEvents *events, uint32_t number, size_t *count_out,
                            uint64_t *dropped_out, uint64_t *busy_out) {
    const Row *row = events->rows[number];
    *count_out = atomic_load_explicit(&row->count, memory_order_acquire);
    *dropped_out = atomic_load_explicit(&row->dropped, memory_order_relaxed);
    *busy_out = atomic_load_explicit(&row->busy, memory_order_relaxed);
    return row->events;
}

const RtTotal *rt_events_totals(const RtEvents *events, size_t *count_out) {
    *count_out = events->total_count;
    return events->totals;
}

uint64_t rt_events_began(const RtEvents *events) {
    return events->began;
}
