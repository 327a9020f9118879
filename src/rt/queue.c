// SPDX-License-Identifier: Apache-2.0
//
// Lines of errands and their threads (queue.h). Everything is guarded by the turn.
// Lists are sorted by number; they are as long as the host runs ahead.
#include "rt/queue.h"

#include <string.h>

#include "base/clock.h"
#include "base/thread.h"

// Seconds: what it takes to wake a thread; how long errands are that the host may run,
// which does not look at what comes back meanwhile, and those that it waits for anyway;
// how long one waits for it while it is busy.
static const double wake = 5e-5, most_hosted = 5e-3, most_needed = 0.1,
                    most_delay = 1e-3;

typedef struct Line {
    RtQueue *queue;
    unsigned number;
    RtErrand *waiting;
    uint64_t running; // number of the errand, or RT_NO_ERRAND
    uint64_t awaited; // of that it has waited for last
    bool is_shared;   // with the host
    bool sleeps;      // its thread
    pthread_t thread;
    bool has_thread;
} Line;

struct RtQueue {
    Mem *mem;
    RtTurn turn;
    RtErrand *back;
    uint64_t made;  // errands so far
    uint64_t waits; // for errands, likewise
    uint64_t hold;  // nothing from this number on is started
    uint32_t count;
    bool is_over;
    bool host_waits, host_sleeps;
    uint64_t host_left;      // when it last stopped waiting
    unsigned hosted;         // the line whose errand it runs, or RT_NO_LINE
    unsigned own;            // the first that is shared, or RT_NO_LINE
    RtErrand *const *needed; // by the host, which waits; NULL: no one errand is
    unsigned line_count;
    Line lines[];
};

// ---- lists --------------------------------------------------------------------------

static void insert(RtErrand **list, RtErrand *errand) {
    while (*list != NULL && (*list)->number < errand->number) list = &(*list)->next;
    errand->next = *list;
    *list = errand;
}

static RtErrand *take(RtErrand **link) {
    RtErrand *errand = *link;
    if (errand != NULL) *link = errand->next;
    return errand;
}

// ---- lines --------------------------------------------------------------------------

static bool may_start(const RtQueue *queue, const RtErrand *errand) {
    return queue->hold == RT_NO_ERRAND || errand->number < queue->hold;
}

// Where in the list the first errand is that is ready, or that is common, too; NULL:
// none is.
static RtErrand **find_first(Line *line, bool is_common) {
    RtErrand **link = &line->waiting;
    for (; *link != NULL && may_start(line->queue, *link); link = &(*link)->next)
        if ((!is_common || (*link)->is_common) && (*link)->is_ready(*link)) return link;
    return NULL;
}

static RtErrand **find_common(RtQueue *queue) {
    RtErrand **link = NULL;
    for (unsigned i = 0; i < queue->line_count && link == NULL; i++)
        link = find_first(&queue->lines[i], true);
    return link;
}

// Where the last is that is ready and need not stay.
static RtErrand **find_last(Line *line) {
    RtErrand **link = &line->waiting, **last = NULL;
    for (; *link != NULL && may_start(line->queue, *link); link = &(*link)->next)
        if ((*link)->gain != NULL && (*link)->is_ready(*link)) last = link;
    return last;
}

// Where one is that waits in another line and is better taken over.
static RtErrand **find_other(const Line *line) {
    RtQueue *queue = line->queue;
    RtErrand **best = NULL;
    double most = 0;
    for (unsigned i = 0; i < queue->line_count; i++) {
        RtErrand **last = i != line->number ? find_last(&queue->lines[i]) : NULL;
        double gain = last != NULL ? (*last)->gain(*last, line->number) : 0;
        if (gain <= most) continue;
        best = last;
        most = gain;
    }
    return best;
}

// Where the errand is that the line is to run now; NULL: there is none. What there is
// to gain changes with time, so who asks twice may be told otherwise.
static RtErrand **find_next(Line *line) {
    RtErrand **next = find_common(line->queue);
    if (next == NULL) next = find_first(line, false);
    return next != NULL ? next : find_other(line);
}

static void run(Line *line, RtErrand *errand) {
    RtQueue *queue = line->queue;
    line->running = errand->number;
    errand->line = line->number;
    if (errand->run(errand)) queue->count--;
    else insert(&queue->back, errand);
    line->running = RT_NO_ERRAND;
    rt_turn_tell(&queue->turn);
}

// ---- the host -----------------------------------------------------------------------

// Whether the host waits for the errand, or for what comes behind it in that line.
static bool is_needed(const Line *line, const RtErrand *errand) {
    const RtErrand *needed = line->queue->needed != NULL ? *line->queue->needed : NULL;
    return needed != NULL && needed->line == line->number &&
           needed->number >= errand->number;
}

static bool may_host(const Line *line, const RtErrand *errand) {
    bool is_known = errand->seconds > 0 || errand->is_common; // that has no work
    double most = is_needed(line, errand) ? most_needed : most_hosted;
    return is_known && errand->seconds < most;
}

// Where an errand of the line is that the host may run now; NULL: there is none.
static RtErrand **find_hosted(Line *line) {
    if (!line->is_shared || line->running != RT_NO_ERRAND) return NULL;
    RtErrand **next = find_next(line);
    return next != NULL && may_host(line, *next) ? next : NULL;
}

// Where an errand for the host is, of its own line before others, and which line's it
// is; NULL: there is none.
static RtErrand **find_any(RtQueue *queue, Line **line_out) {
    RtErrand **next = NULL;
    for (unsigned i = 0; i < queue->line_count && next == NULL; i++) {
        *line_out = &queue->lines[i];
        next = find_hosted(*line_out);
    }
    return next;
}

// Notes that nothing of the line can run, of which something waits: each errand once.
static void note_wait(Line *line) {
    const RtErrand *first = line->waiting;
    if (first == NULL || line->running != RT_NO_ERRAND) return;
    if (first->number == line->awaited || find_hosted(line) != NULL) return;
    line->awaited = first->number;
    line->queue->waits++;
}

// The same of the host's own line, whose thread may be about to run what the host will
// not.
static void note_own_wait(RtQueue *queue) {
    Line *own = queue->own != RT_NO_LINE ? &queue->lines[queue->own] : NULL;
    if (own != NULL && find_next(own) == NULL) note_wait(own);
}

// Whether the host waits, and runs nothing meanwhile.
static bool is_host_free(const RtQueue *queue) {
    bool runs = queue->hosted != RT_NO_LINE &&
                queue->lines[queue->hosted].running != RT_NO_ERRAND;
    return queue->host_waits && !runs;
}

// Seconds that the host alone would take for what it could begin with now; less the
// first, if it is about to run that.
static double seconds_alone(RtQueue *queue) {
    bool is_first = is_host_free(queue);
    double seconds = 0;
    for (unsigned i = 0; i < queue->line_count; i++) {
        RtErrand **next = find_hosted(&queue->lines[i]);
        if (next == NULL) continue;
        for (const RtErrand *e = *next; e != NULL && e->is_ready(e); e = e->next) {
            if (!is_first) seconds += e->seconds;
            is_first = false;
        }
    }
    return seconds;
}

// Whether the errand has waited for long while the host was busy with other things.
static bool is_late(const RtQueue *queue, const RtErrand *errand) {
    uint64_t since = errand->since;
    if (queue->host_waits) return false;
    if (since < queue->host_left) since = queue->host_left;
    return (double)(clock_ns() - since) * 1e-9 > most_delay;
}

// Whether the thread of the line, which sleeps, is to run the next errand.
static bool is_worth_waking(Line *line) {
    RtQueue *queue = line->queue;
    RtErrand **next = find_hosted(line);
    if (next == NULL || is_late(queue, *next)) return true;
    return line->number != queue->own && seconds_alone(queue) > wake;
}

typedef struct HostNeed {
    RtQueue *queue;
    bool (*is_due)(const void *data);
    const void *data;
} HostNeed;

static bool is_host_due(const void *data) {
    const HostNeed *need = data;
    Line *line;
    return need->is_due(need->data) || find_any(need->queue, &line) != NULL;
}

// The same of the host while it sleeps: threads that are awake run what is theirs.
static bool is_host_wanted(const void *data) {
    const HostNeed *need = data;
    bool any = need->is_due(need->data);
    for (unsigned i = 0; i < need->queue->line_count && !any; i++) {
        Line *line = &need->queue->lines[i];
        any = line->sleeps && find_hosted(line) != NULL;
    }
    return any;
}

static void run_hosted(Line *line, RtErrand *errand) {
    line->queue->hosted = line->number;
    run(line, errand);
    line->queue->hosted = RT_NO_LINE;
}

void rt_queue_wait(RtQueue *queue, bool (*is_due)(const void *data), const void *data,
                   int ms, RtErrand *const *needed) {
    HostNeed need = {queue, is_due, data};
    Line *line;
    queue->needed = needed;
    queue->host_waits = true;
    rt_turn_tell(&queue->turn);
    RtErrand **next = find_any(queue, &line);
    if (next == NULL) {
        note_own_wait(queue);
        rt_turn_watch(&queue->turn, is_host_due, &need);
        next = find_any(queue, &line);
    }
    if (next != NULL) run_hosted(line, take(next));
    queue->host_sleeps = next == NULL && !is_due(data);
    if (queue->host_sleeps) rt_turn_wait(&queue->turn, is_host_wanted, &need, ms);
    queue->host_waits = queue->host_sleeps = false;
    queue->needed = NULL;
    queue->host_left = clock_ns();
}

void rt_queue_look(RtQueue *queue) {
    Line *line;
    RtErrand **next = find_any(queue, &line);
    if (next != NULL && is_late(queue, *next)) rt_turn_tell(&queue->turn);
}

// ---- threads ------------------------------------------------------------------------

// Whether the host, which is awake, is about to run the next errand of the line.
static bool is_left_to_host(Line *line) {
    const RtQueue *queue = line->queue;
    bool looks = queue->host_waits && !queue->host_sleeps;
    return looks && line->number == queue->own && find_hosted(line) != NULL;
}

// Where the errand is that the thread of the line is to run now; NULL: there is none.
static RtErrand **find_work(Line *line) {
    bool is_free = line->running == RT_NO_ERRAND && !line->queue->is_over;
    return is_free && !is_left_to_host(line) ? find_next(line) : NULL;
}

static bool has_work(const void *data) {
    Line *line = (Line *)(uintptr_t)data;
    return line->queue->is_over || find_work(line) != NULL;
}

static bool is_wanted(const void *data) {
    Line *line = (Line *)(uintptr_t)data;
    return has_work(line) && is_worth_waking(line);
}

static void sleep_until_wanted(Line *line) {
    line->sleeps = true;
    rt_turn_wait(&line->queue->turn, is_wanted, line, -1);
    line->sleeps = false;
}

static void *serve(void *arg) {
    Line *line = arg;
    RtQueue *queue = line->queue;
    rt_turn_take(&queue->turn);
    while (!queue->is_over) {
        RtErrand **next = find_work(line);
        if (next == NULL) {
            note_wait(line);
            rt_turn_watch(&queue->turn, has_work, line);
            next = find_work(line);
        }
        if (next != NULL) run(line, take(next));
        else if (!queue->is_over) sleep_until_wanted(line);
    }
    rt_turn_give(&queue->turn);
    return NULL;
}

// ---- the queue ----------------------------------------------------------------------

static size_t size_of(unsigned lines) {
    return sizeof(RtQueue) + lines * sizeof(Line);
}

RtQueue *rt_queue_new(Mem *mem, unsigned lines) {
    RtQueue *queue = mem_try_alloc(mem, size_of(lines));
    if (queue == NULL) return NULL;
    memset(queue, 0, size_of(lines));
    queue->mem = mem;
    queue->line_count = lines;
    queue->hosted = queue->own = RT_NO_LINE;
    if (!rt_turn_init(&queue->turn)) {
        mem_free(mem, queue, size_of(lines));
        return NULL;
    }
    bool all = true;
    for (unsigned i = 0; i < lines && all; i++) {
        Line *line = &queue->lines[i];
        line->queue = queue;
        line->number = i;
        all = line->has_thread = thread_start(&line->thread, serve, line);
    }
    if (all) return queue;
    rt_queue_free(queue);
    return NULL;
}

void rt_queue_free(RtQueue *queue) {
    if (queue == NULL) return;
    rt_turn_take(&queue->turn);
    queue->is_over = true;
    rt_turn_tell(&queue->turn);
    rt_turn_give(&queue->turn);
    for (unsigned i = 0; i < queue->line_count; i++)
        if (queue->lines[i].has_thread) pthread_join(queue->lines[i].thread, NULL);
    rt_turn_free(&queue->turn);
    mem_free(queue->mem, queue, size_of(queue->line_count));
}

RtTurn *rt_queue_turn(RtQueue *queue) {
    return &queue->turn;
}

void rt_queue_share(RtQueue *queue, unsigned line) {
    queue->lines[line].is_shared = true;
    if (line < queue->own) queue->own = line;
}

unsigned rt_queue_hosted(const RtQueue *queue) {
    return queue->hosted;
}

void rt_queue_add(RtQueue *queue, RtErrand *errand, unsigned line) {
    if (errand->number == RT_NO_ERRAND) errand->number = ++queue->made;
    errand->line = line;
    errand->since = clock_ns();
    insert(&queue->lines[line].waiting, errand);
    queue->count++;
    rt_turn_tell(&queue->turn);
}

void rt_queue_hold(RtQueue *queue, uint64_t number) {
    queue->hold = number;
    rt_turn_tell(&queue->turn);
}

bool rt_queue_has_back(const RtQueue *queue) {
    return queue->back != NULL;
}

RtErrand *rt_queue_back(RtQueue *queue) {
    RtErrand *errand = take(&queue->back);
    if (errand != NULL) queue->count--;
    return errand;
}

RtErrand *rt_queue_withdraw(RtQueue *queue, unsigned line, uint64_t number) {
    RtErrand **link = &queue->lines[line].waiting;
    while (*link != NULL && (*link)->number < number) link = &(*link)->next;
    RtErrand *errand = take(link);
    if (errand != NULL) queue->count--;
    return errand;
}

uint64_t rt_queue_running(const RtQueue *queue, unsigned line) {
    return queue->lines[line].running;
}

const RtErrand *rt_queue_waiting(const RtQueue *queue, unsigned line) {
    return queue->lines[line].waiting;
}

static void least(uint64_t *first, uint64_t number) {
    if (number == RT_NO_ERRAND) return;
    if (*first == RT_NO_ERRAND || number < *first) *first = number;
}

uint64_t rt_queue_first(const RtQueue *queue) {
    uint64_t first = RT_NO_ERRAND;
    for (unsigned i = 0; i < queue->line_count; i++) {
        const Line *line = &queue->lines[i];
        least(&first, line->running);
        if (line->waiting != NULL) least(&first, line->waiting->number);
    }
    return first;
}

uint64_t rt_queue_waits(const RtQueue *queue) {
    return queue->waits;
}

uint32_t rt_queue_count(const RtQueue *queue) {
    return queue->count;
}

uint32_t rt_queue_busy(const RtQueue *queue) {
    uint32_t busy = 0;
    for (unsigned i = 0; i < queue->line_count; i++)
        busy += queue->lines[i].running != RT_NO_ERRAND;
    return busy;
}
