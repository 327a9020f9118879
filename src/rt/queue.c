// SPDX-License-Identifier: Apache-2.0
//
// Lines of errands and their threads (queue.h). Everything is guarded by the turn.
// Lists are sorted by number; they are as long as the host runs ahead.
#include "rt/queue.h"

#include <string.h>

#include "base/thread.h"

typedef struct Line {
    RtQueue *queue;
    unsigned number;
    RtErrand *waiting;
    uint64_t running; // number of the errand, or RT_NO_ERRAND
    pthread_t thread;
    bool has_thread;
} Line;

struct RtQueue {
    Mem *mem;
    RtTurn turn;
    RtErrand *back;
    uint64_t made; // errands so far
    uint64_t hold; // nothing from this number on is started
    uint32_t count;
    bool is_over;
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

// Where the errand is that the line is to run now; NULL: there is none.
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

static bool has_work(const void *data) {
    Line *line = (Line *)(uintptr_t)data;
    return line->queue->is_over || find_next(line) != NULL;
}

static void *serve(void *arg) {
    Line *line = arg;
    RtQueue *queue = line->queue;
    rt_turn_take(&queue->turn);
    while (!queue->is_over) {
        RtErrand **next = find_next(line);
        if (next != NULL) run(line, take(next));
        else rt_turn_wait(&queue->turn, has_work, line, -1);
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

void rt_queue_add(RtQueue *queue, RtErrand *errand, unsigned line) {
    if (errand->number == RT_NO_ERRAND) errand->number = ++queue->made;
    errand->line = line;
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

uint32_t rt_queue_count(const RtQueue *queue) {
    return queue->count;
}

uint32_t rt_queue_busy(const RtQueue *queue) {
    uint32_t busy = 0;
    for (unsigned i = 0; i < queue->line_count; i++)
        busy += queue->lines[i].running != RT_NO_ERRAND;
    return busy;
}
