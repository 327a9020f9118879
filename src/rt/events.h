// SPDX-License-Identifier: Apache-2.0
//
// What happened when, for profiles and traces. A recorder has rows ("host", "worker 1",
// "opencl:0 transfers"), on each of which things happen one after the other or nested;
// and totals of the time spent on the host, which add up to all of it.
//
//     RtSpan span = rt_span_open(events);          // on the host: what is inside the
//     ...                                          // span has spans of its own
//     rt_span_close(events, span, &(RtEvent){.kind = RT_EVENT_KERNEL, ...});
//
//     uint64_t begin = clock_ns();            // on any other row
//     ...
//     rt_event(events, row, RT_EVENT_LOOP, "map", begin, clock_ns(), 0, n, loc);
//
// Recording is off where there is no recorder: spans take NULL for one, and others ask.
//
// Threads: the thread of the context makes rows, owns the row "host", and reads. A row
// is written to by one thread at a time, without waiting or allocating. It may be read
// meanwhile, unless it takes pieces.
#ifndef WEFT_RT_EVENTS_H
#define WEFT_RT_EVENTS_H

#include "base/clock.h"
#include "base/mem.h"

typedef enum RtEventKind {
    RT_EVENT_CALL,     // of the library; everything else on the host lies in one
    RT_EVENT_PASS,     // of the compiler, or another of its phases
    RT_EVENT_BUILD,    // by the machine's compiler; on the host: waiting for it
    RT_EVENT_KERNEL,   // a call of a kernel
    RT_EVENT_LOOP,     // a worker's share of a parallel loop
    RT_EVENT_TRANSFER, // from one memory to another
    RT_EVENT_INTERPRET // a statement, or the call of a kernel that no engine took
} RtEventKind;

typedef struct RtEvent {
    const char *name;    // lives as long as the recorder; may be NULL
    uint64_t begin, end; // as clock_ns has it
    uint64_t bytes;      // read and written; of a PASS: statements before it
    uint64_t turns;      // of loops; of a PASS: statements after it
    uint32_t place;      // CoreLoc in the program of the owner; 0: none
    uint32_t owner;      // filled in by the recorder
    RtEventKind kind;
} RtEvent;

// Time on the host spent on all events alike, without that of events inside them.
typedef struct RtTotal {
    RtEvent event; // name, place, owner, kind; bytes and turns in all
    uint64_t count, ns;
} RtTotal;

typedef struct RtEvents RtEvents;

enum { RT_EVENTS_HOST = 0 }; // the row of the context's thread

// NULL: no memory. Each row keeps its first `most` events and counts those after them;
// 0: totals alone are of interest.
RtEvents *rt_events_new(Mem *mem, size_t most);
void rt_events_free(RtEvents *events); // NULL is ignored
// Whether events are kept; if not, rows need not be written to.
bool rt_events_are_kept(const RtEvents *events);
// The row of that name, which is copied, made when it is new. When that cannot be, a
// row that takes no events.
uint32_t rt_events_row(RtEvents *events, const char *name);
// The first of `count` rows in turn, "NAME 0" and so on; a name has one count.
uint32_t rt_events_rows(RtEvents *events, const char *name, uint32_t count);
// What places of events from now on belong to; a number of the caller's.
void rt_events_own(RtEvents *events, uint32_t owner);

// Appends to a row what ended after all that is there.
void rt_event(RtEvents *events, uint32_t row, RtEventKind kind, const char *name,
              uint64_t begin, uint64_t end, uint64_t bytes, uint64_t turns,
              uint32_t place);
// The same for pieces of one piece of work, which began at `since`: one that follows
// the piece before it within ten microseconds becomes part of it.
void rt_event_piece(RtEvents *events, uint32_t row, RtEventKind kind, const char *name,
                    uint64_t since, uint64_t begin, uint64_t end, uint64_t turns,
                    uint32_t place);

typedef struct RtSpan {
    uint64_t begin, before;
} RtSpan;

// Opens a span on the host. Spans nest; one that is never closed counts as part of the
// one around it.
RtSpan rt_span_open(const RtEvents *events);
// Appends the event, its times and owner filled in, and adds to the totals. Of the
// interpreter's statements those that take less than 10 microseconds go to the totals
// alone.
void rt_span_close(RtEvents *events, RtSpan span, const RtEvent *event);

// Adds to the totals alone what took place beside the host, from begin to end.
void rt_event_beside(RtEvents *events, const RtEvent *event);

// ---- reading ------------------------------------------------------------------------

// Whether a row could not be made.
bool rt_events_lack_rows(const RtEvents *events);
uint32_t rt_events_row_count(const RtEvents *events);
const char *rt_events_row_name(const RtEvents *events, uint32_t row);
// The events of a row in the order in which they ended; how many there are, how many
// more were not kept, and the nanoseconds spent on all.
const RtEvent *rt_events_on(const RtEvents *events, uint32_t row, size_t *count_out,
                            uint64_t *dropped_out, uint64_t *busy_out);
const RtTotal *rt_events_totals(const RtEvents *events, size_t *count_out);
uint64_t rt_events_began(const RtEvents *events);

#endif
