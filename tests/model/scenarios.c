// SPDX-License-Identifier: Apache-2.0
//
// What the model checker runs: short programs over the real deque, scheduler and pool,
// with deques of two slots, and over turns and lines of errands. Usage: scenarios
// [NAME...]; without names it lists them.
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "explore.h"
#include "rt/deque.h"
#include "rt/pool.h"
#include "rt/queue.h"

// ---- what the pool stands on --------------------------------------------------------

void *mem_try_alloc(Mem *mem, size_t size) {
    (void)mem;
    return model_alloc(size);
}

void mem_free(Mem *mem, void *block, size_t size) {
    (void)mem;
    memset(block, 0xee, size); // whoever still uses it is found
}

bool thread_start(pthread_t *thread_out, void *(*run)(void *arg), void *arg) {
    *thread_out = model_spawn(run, arg);
    return true;
}

unsigned thread_cores(void) {
    return 1;
}

void thread_pin(unsigned number, ThreadPlace *before_out) {
    (void)number, (void)before_out;
}

void thread_unpin(const ThreadPlace *before) {
    (void)before;
}

double clock_seconds(void) {
    return 0;
}

// Goes on with each look at it where it is of the world, else stands still.
static uint64_t *ticks;

uint64_t clock_ns(void) {
    return ticks != NULL ? ++*ticks : 0;
}

// ---- the deque alone ----------------------------------------------------------------

typedef struct Deque {
    RtDeque deque;
    int64_t thief_depth;
    int steals;             // that each thief tries
    unsigned char taken[8]; // how often each item was
} Deque;

static RtItem item(int64_t depth, int64_t number) {
    return (RtItem){(RtJob *)1, depth, number, -number};
}

static void note(Deque *d, const RtItem *found) {
    MODEL_CHECK(found->begin > 0 && found->begin < 8);
    MODEL_CHECK(found->job == (RtJob *)1 && found->end == -found->begin);
    MODEL_CHECK(d->taken[found->begin]++ == 0);
}

static void *rob(void *arg) {
    Deque *d = arg;
    RtItem found;
    for (int i = 0; i < d->steals; i++)
        if (rt_deque_steal(&d->deque, d->thief_depth, &found)) {
            MODEL_CHECK(found.depth >= d->thief_depth);
            note(d, &found);
        }
    return NULL;
}

static void take_back(Deque *d) {
    RtItem found;
    if (rt_deque_pop(&d->deque, 1, &found)) note(d, &found);
}

// Every item is taken once: by a thief, or by the owner at last.
static void empty(Deque *d, int items, int thief, int other) {
    for (int i = 0; i < items; i++) take_back(d);
    MODEL_CHECK(rt_deque_size(&d->deque) == 0);
    model_join(thief, "the end");
    if (other >= 0) model_join(other, "the end");
    for (int i = 1; i <= items; i++) MODEL_CHECK(d->taken[i] == 1);
}

static void run_last(void) {
    Deque *d = model_alloc(sizeof *d);
    d->steals = 2;
    int thief = model_spawn(rob, d), other = model_spawn(rob, d);
    rt_deque_push(&d->deque, item(1, 1));
    take_back(d);
    rt_deque_push(&d->deque, item(1, 2));
    empty(d, 2, thief, other);
}

static void run_wrap(void) {
    Deque *d = model_alloc(sizeof *d);
    d->steals = 3;
    int thief = model_spawn(rob, d);
    int pushed = 0;
    for (int i = 0; i < 4; i++) pushed += rt_deque_push(&d->deque, item(1, pushed + 1));
    take_back(d);
    pushed += rt_deque_push(&d->deque, item(1, pushed + 1));
    empty(d, pushed, thief, -1);
}

static void run_depths(void) {
    Deque *d = model_alloc(sizeof *d);
    d->steals = 3;
    d->thief_depth = 2;
    int thief = model_spawn(rob, d);
    rt_deque_push(&d->deque, item(2, 1));
    rt_deque_push(&d->deque, item(2, 2));
    take_back(d);
    rt_deque_push(&d->deque, item(1, 3));
    int items = 3 + rt_deque_push(&d->deque, item(3, 4)); // if 1 has been stolen
    empty(d, items, thief, -1);
}

// ---- pools --------------------------------------------------------------------------

typedef struct Loop {
    unsigned char runs[8];
    atomic_int seen[8]; // stored relaxed: the end of the loop must publish it
    int64_t fails_from;
    int kept;
    atomic_bool cancel;
    struct Loop *inner;
} Loop;

static void run_inner(RtWorker *self, Loop *loop, int64_t count);

static int32_t body(void *env, RtWorker *self, int64_t begin, int64_t end,
                    int64_t *failed_out) {
    Loop *loop = env;
    MODEL_CHECK(end == begin + 1);
    MODEL_CHECK(loop->runs[begin]++ == 0);
    if (loop->inner != NULL) run_inner(self, &loop->inner[begin], 2);
    atomic_store_explicit(&loop->seen[begin], 1, memory_order_relaxed);
    if (loop->fails_from == 0 || begin < loop->fails_from) return 0;
    *failed_out = begin;
    return (int32_t)(begin + 10);
}

static void keep(void *env, RtWorker *self) {
    (void)self;
    ((Loop *)env)->kept++;
}

static void check_seen(Loop *loop, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        MODEL_CHECK(loop->runs[i] == 1 &&
                    atomic_load_explicit(&loop->seen[i], memory_order_relaxed) == 1);
}

static void run_inner(RtWorker *self, Loop *loop, int64_t count) {
    RtLoop it = {.count = count, .grain = 1, .body = body, .env = loop, .keep = keep};
    RtEnd end = rt_for(self, &it);
    if (loop->fails_from == 0) {
        MODEL_CHECK(end == RT_DONE);
        check_seen(loop, count);
    } else {
        MODEL_CHECK(end == RT_FAILED && it.failed == loop->fails_from);
        MODEL_CHECK(it.status == loop->fails_from + 10 && loop->kept > 0);
        check_seen(loop, loop->fails_from);
    }
}

// Two chunks that wait for each other: nobody may sleep on, or keep both.
typedef struct Meeting {
    ModelMutex lock;
    ModelCond cond;
    int present;
} Meeting;

static int32_t meet(void *env, RtWorker *self, int64_t begin, int64_t end,
                    int64_t *failed_out) {
    Meeting *m = env;
    (void)self, (void)begin, (void)end, (void)failed_out;
    model_lock(&m->lock, "the meeting");
    if (++m->present == 2) model_signal(&m->cond);
    else model_wait(&m->cond, &m->lock, "the meeting");
    model_unlock(&m->lock);
    return 0;
}

static RtPool *enter(unsigned threads, RtWorker **self_out) {
    RtPool *pool =
        rt_pool_new(NULL, &(RtPoolOptions){.threads = threads, .spin_us = -1});
    *self_out = rt_pool_enter(pool);
    return pool;
}

static void leave(RtPool *pool) {
    rt_pool_leave(pool);
    rt_pool_free(pool);
}

static void run_loops(unsigned threads, int64_t count, int loops, int64_t fails_from) {
    RtWorker *self;
    RtPool *pool = enter(threads, &self);
    Loop *loop = model_alloc((size_t)loops * sizeof *loop);
    for (int i = 0; i < loops; i++) {
        loop[i].fails_from = fails_from;
        run_inner(self, &loop[i], count);
    }
    leave(pool);
}

static void run_sleep(void) {
    run_loops(2, 2, 1, 0);
}

static void run_twice(void) {
    run_loops(2, 2, 2, 0);
}

// Pieces that are given away are split, and parts come back.
static void run_back(void) {
    run_loops(2, 4, 1, 0);
}

static void run_three(void) {
    run_loops(3, 2, 1, 0);
}

static void run_failure(void) {
    run_loops(2, 3, 1, 1);
}

static void run_meetings(void) {
    RtWorker *self;
    RtPool *pool = enter(2, &self);
    for (int i = 0; i < 2; i++) {
        Meeting *m = model_alloc(sizeof *m);
        RtLoop loop = {.count = 2, .grain = 1, .body = meet, .env = m};
        MODEL_CHECK(rt_for(self, &loop) == RT_DONE && m->present == 2);
    }
    leave(pool);
}

static void run_nested(void) {
    RtWorker *self;
    RtPool *pool = enter(2, &self);
    Loop *loop = model_alloc(3 * sizeof *loop);
    loop->inner = loop + 1;
    run_inner(self, loop, 2);
    leave(pool);
}

typedef struct Task {
    RtTask task; // first
    struct Task *after[3];
    unsigned runs;
    atomic_int seen;
} Task;

static void run_task(RtWorker *self, RtTask *task) {
    Task *it = (Task *)task;
    MODEL_CHECK(it->runs++ == 0);
    atomic_store_explicit(&it->seen, 1, memory_order_relaxed);
    for (int i = 0; i < 3 && it->after[i] != NULL; i++)
        rt_task_release(self, &it->after[i]->task);
}

static void run_last_task(RtWorker *self, RtTask *task) {
    Task *it = (Task *)task;
    for (int i = 1; i <= 3; i++)
        MODEL_CHECK(atomic_load_explicit(&it[-i].seen, memory_order_relaxed) == 1);
    run_task(self, task);
}

// One task, then three, more than a deque holds, then one.
static void run_tasks(void) {
    RtWorker *self;
    RtPool *pool = enter(2, &self);
    Task *tasks = model_alloc(5 * sizeof *tasks);
    RtGroup group;
    rt_group_open(self, &group);
    rt_task_add(&group, &tasks[0].task, run_task, 1);
    for (int i = 1; i <= 3; i++) {
        rt_task_add(&group, &tasks[i].task, run_task, 1);
        tasks[0].after[i - 1] = &tasks[i];
        tasks[i].after[0] = &tasks[4];
    }
    rt_task_add(&group, &tasks[4].task, run_last_task, 3);
    rt_task_release(self, &tasks[0].task);
    rt_group_wait(self, &group);
    for (int i = 0; i < 5; i++) MODEL_CHECK(tasks[i].runs == 1 && tasks[i].seen == 1);
    leave(pool);
}

// A task of an outer group is released where an inner one is waited for: it must
// neither run there nor keep what runs there from its worker.
typedef struct Outer {
    Task task; // first
    Task later, inner[2];
    bool is_waiting;
    unsigned worker;
} Outer;

static void run_outer(RtWorker *self, RtTask *task) {
    Outer *outer = (Outer *)task;
    RtGroup group;
    rt_group_open(self, &group);
    outer->inner[1].after[0] = &outer->later; // runs first
    for (int i = 0; i < 2; i++) {
        rt_task_add(&group, &outer->inner[i].task, run_task, 1);
        rt_task_release(self, &outer->inner[i].task);
    }
    outer->worker = rt_worker_number(self);
    outer->is_waiting = true;
    rt_group_wait(self, &group);
    outer->is_waiting = false;
    MODEL_CHECK(outer->inner[0].runs == 1 && outer->inner[1].runs == 1);
}

static void run_later(RtWorker *self, RtTask *task) {
    Outer *outer = (Outer *)((char *)task - offsetof(Outer, later));
    MODEL_CHECK(!outer->is_waiting || rt_worker_number(self) != outer->worker);
    run_task(self, task);
}

static void run_depths_of_tasks(unsigned threads) {
    RtWorker *self;
    RtPool *pool = enter(threads, &self);
    Outer *outer = model_alloc(sizeof *outer);
    RtGroup group;
    rt_group_open(self, &group);
    rt_task_add(&group, &outer->task.task, run_outer, 1);
    rt_task_add(&group, &outer->later.task, run_later, 1);
    rt_task_release(self, &outer->task.task);
    rt_group_wait(self, &group);
    MODEL_CHECK(outer->later.runs == 1);
    leave(pool);
}

static void run_alone(void) {
    run_depths_of_tasks(1);
}

static void run_outer_tasks(void) {
    run_depths_of_tasks(2);
}

// Threads outside release tasks; the pool may be gone before they are through.
typedef struct Signals {
    Task tasks[3];
    atomic_int written; // stored relaxed: the signal must publish it
} Signals;

static void run_signalled(RtWorker *self, RtTask *task) {
    Signals *s = (Signals *)((char *)task - offsetof(Signals, tasks[2]));
    MODEL_CHECK(atomic_load_explicit(&s->written, memory_order_relaxed) == 1);
    MODEL_CHECK(s->tasks[0].runs == 1);
    run_task(self, task);
}

static void *signal_all(void *arg) {
    Signals *s = arg;
    atomic_store_explicit(&s->written, 1, memory_order_relaxed);
    rt_task_signal(&s->tasks[2].task);
    rt_task_signal(&s->tasks[1].task);
    return NULL;
}

static void run_signals(unsigned threads) {
    RtWorker *self;
    RtPool *pool = enter(threads, &self);
    Signals *s = model_alloc(sizeof *s);
    RtGroup group;
    rt_group_open(self, &group);
    for (int i = 0; i < 2; i++) rt_task_add(&group, &s->tasks[i].task, run_task, 1);
    rt_task_add(&group, &s->tasks[2].task, run_signalled, 2);
    s->tasks[0].after[0] = &s->tasks[2];
    int outside = model_spawn(signal_all, s);
    rt_task_release(self, &s->tasks[0].task);
    rt_group_wait(self, &group);
    for (int i = 0; i < 3; i++) MODEL_CHECK(s->tasks[i].runs == 1);
    leave(pool);
    model_join(outside, "the end");
}

static void run_signals_alone(void) {
    run_signals(1);
}

static void run_signals_shared(void) {
    run_signals(2);
}

// ---- turns and news -----------------------------------------------------------------

typedef struct Turns {
    RtTurn turn;
    atomic_int inside; // who has the turn; other threads may go on where it changes
    int count, told;
} Turns;

static void be_inside(Turns *t) {
    MODEL_CHECK(atomic_fetch_add(&t->inside, 1) == 0);
    t->count++;
    atomic_fetch_sub(&t->inside, 1);
}

static void *take_turns(void *arg) {
    Turns *t = arg;
    rt_turn_take(&t->turn);
    be_inside(t);
    rt_turn_yield(&t->turn);
    be_inside(t);
    rt_turn_give(&t->turn);
    return NULL;
}

static Turns *new_turns(void) {
    Turns *t = model_alloc(sizeof *t);
    MODEL_CHECK(rt_turn_init(&t->turn));
    return t;
}

static void run_turns(void) {
    Turns *t = new_turns();
    int other = model_spawn(take_turns, t), third = model_spawn(take_turns, t);
    take_turns(t);
    model_join(other, "the end");
    model_join(third, "the end");
    MODEL_CHECK(t->count == 6 && !t->turn.is_taken && t->turn.first == NULL);
}

// What somebody waits for: so many news.
typedef struct Need {
    const Turns *turns;
    int told;
} Need;

static bool is_told(const void *data) {
    const Need *need = data;
    return need->turns->told >= need->told;
}

static void wait_for_news(Turns *t, int told) {
    Need need = {t, told};
    rt_turn_take(&t->turn);
    while (!is_told(&need)) {
        rt_turn_wait(&t->turn, is_told, &need, -1);
        be_inside(t);
        MODEL_CHECK(is_told(&need)); // nobody is woken for other news
    }
    rt_turn_give(&t->turn);
}

static void *wait_for_one(void *arg) {
    wait_for_news(arg, 1);
    return NULL;
}

static void *wait_for_two(void *arg) {
    wait_for_news(arg, 2);
    return NULL;
}

static void tell(Turns *t) {
    rt_turn_take(&t->turn);
    be_inside(t);
    t->told++;
    rt_turn_tell(&t->turn);
    rt_turn_give(&t->turn);
}

static void run_news(void) {
    Turns *t = new_turns();
    int one = model_spawn(wait_for_one, t), two = model_spawn(wait_for_two, t);
    tell(t);
    tell(t);
    model_join(one, "the end");
    model_join(two, "the end");
    MODEL_CHECK(t->turn.idle == NULL && t->turn.first == NULL && !t->turn.is_taken);
}

// Time may be over whenever it likes, and meanwhile news may come.
static void *wait_a_moment(void *arg) {
    Turns *t = arg;
    Need never = {t, 9}, once = {t, 1};
    rt_turn_take(&t->turn);
    rt_turn_wait(&t->turn, is_told, &never, 1);
    be_inside(t);
    rt_turn_wait(&t->turn, is_told, &once, 1);
    be_inside(t);
    rt_turn_give(&t->turn);
    return NULL;
}

static void run_late(void) {
    Turns *t = new_turns();
    int one = model_spawn(wait_for_one, t), moment = model_spawn(wait_a_moment, t);
    tell(t);
    model_join(one, "the end");
    model_join(moment, "the end");
    MODEL_CHECK(t->turn.idle == NULL && t->turn.first == NULL && !t->turn.is_taken);
}

// Who waits looks once before it sleeps, and then is woken by news.
static Turns *new_looks(void) {
    Turns *t = new_turns();
    ticks = model_alloc(sizeof *ticks);
    t->turn.spin_ns = 1;
    return t;
}

static void *wait_for_one_looking(void *arg) {
    Turns *t = arg;
    Need once = {t, 1};
    rt_turn_take(&t->turn);
    rt_turn_watch(&t->turn, is_told, &once);
    be_inside(t);
    rt_turn_give(&t->turn);
    return NULL;
}

static void run_looks(void) {
    Turns *t = new_looks();
    int one = model_spawn(wait_for_one, t);
    tell(t);
    model_join(one, "the end");
    MODEL_CHECK(t->turn.idle == NULL && t->turn.first == NULL && !t->turn.is_taken);
    ticks = NULL;
}

static void run_watch(void) {
    Turns *t = new_looks();
    int one = model_spawn(wait_for_one_looking, t),
        moment = model_spawn(wait_for_one, t);
    tell(t);
    model_join(one, "the end");
    model_join(moment, "the end");
    MODEL_CHECK(t->turn.idle == NULL && t->turn.first == NULL && !t->turn.is_taken);
    ticks = NULL;
}

// ---- lines --------------------------------------------------------------------------

typedef struct Errand {
    RtErrand errand; // first
    RtQueue *queue;
    const struct Errand *needs; // NULL: nothing
    bool is_done, has_begun, is_hosted;
    unsigned line; // that ran it
} Errand;

static bool is_ready(const RtErrand *errand) {
    const Errand *it = (const Errand *)errand;
    return it->needs == NULL || it->needs->is_done;
}

static bool run_errand(RtErrand *errand) {
    Errand *it = (Errand *)errand;
    MODEL_CHECK(!it->has_begun && is_ready(errand));
    it->has_begun = true;
    it->line = errand->line;
    rt_turn_give(rt_queue_turn(it->queue)); // as a kernel would
    rt_turn_take(rt_queue_turn(it->queue));
    it->is_done = true;
    return true;
}

static bool is_always_ready(const RtErrand *errand) {
    (void)errand;
    return true;
}

static bool is_news(const void *data) {
    (void)data;
    return true;
}

static bool is_empty(const void *queue) {
    return rt_queue_count(queue) == 0;
}

// An errand in each line, and a last one in the first, each after the one before.
static void run_lines(void) {
    RtQueue *queue = rt_queue_new(NULL, 2);
    Errand *errands = model_alloc(3 * sizeof *errands);
    RtTurn *turn = rt_queue_turn(queue);
    rt_turn_take(turn);
    for (int i = 0; i < 3; i++) {
        errands[i].errand = (RtErrand){.is_ready = is_ready, .run = run_errand};
        errands[i].queue = queue;
        errands[i].needs = i == 0 ? NULL : &errands[i - 1];
        rt_queue_add(queue, &errands[i].errand, (unsigned)i % 2);
    }
    while (!is_empty(queue)) rt_turn_wait(turn, is_empty, queue, -1);
    for (int i = 0; i < 3; i++) MODEL_CHECK(errands[i].is_done);
    rt_turn_give(turn);
    rt_queue_free(queue);
}

static double gain(const RtErrand *errand, unsigned line) {
    MODEL_CHECK(line != errand->line);
    return 1;
}

static bool has_one_left(const void *queue) {
    return rt_queue_count(queue) <= 1;
}

// Three errands in the first line, of which the second stays there and the last needs
// the first: the other line may take over either of those, and each runs once. Once all
// but one are done the host holds the rest for a while.
static void run_taking(void) {
    RtQueue *queue = rt_queue_new(NULL, 2);
    Errand *errands = model_alloc(3 * sizeof *errands);
    RtTurn *turn = rt_queue_turn(queue);
    rt_turn_take(turn);
    for (int i = 0; i < 3; i++) {
        errands[i].errand = (RtErrand){.is_ready = is_ready, .run = run_errand};
        if (i != 1) errands[i].errand.gain = gain;
        errands[i].queue = queue;
        if (i == 2) errands[i].needs = &errands[0];
        rt_queue_add(queue, &errands[i].errand, 0);
    }
    while (!has_one_left(queue)) rt_turn_wait(turn, has_one_left, queue, -1);
    rt_queue_hold(queue, 1);
    rt_queue_hold(queue, RT_NO_ERRAND);
    while (!is_empty(queue)) rt_turn_wait(turn, is_empty, queue, -1);
    for (int i = 0; i < 3; i++) MODEL_CHECK(errands[i].is_done);
    MODEL_CHECK(errands[1].line == 0);
    rt_turn_give(turn);
    rt_queue_free(queue);
}

// What waits behind an errand that does not end is taken over, or nobody would run it.
static bool run_until_taken(RtErrand *errand) {
    Errand *it = (Errand *)errand;
    while (!it->needs->is_done)
        rt_turn_wait(rt_queue_turn(it->queue), is_news, NULL, -1);
    it->is_done = true;
    return true;
}

static void run_behind(bool is_common) {
    RtQueue *queue = rt_queue_new(NULL, 2);
    Errand *errands = model_alloc(2 * sizeof *errands);
    RtTurn *turn = rt_queue_turn(queue);
    rt_turn_take(turn);
    for (int i = 0; i < 2; i++) {
        errands[i] = (Errand){.queue = queue};
        errands[i].errand = (RtErrand){.is_ready = is_always_ready, .run = run_errand};
    }
    errands[0].errand.run = run_until_taken;
    errands[0].needs = &errands[1];
    if (is_common) errands[1].errand.is_common = true;
    else errands[1].errand.gain = gain;
    for (int i = 0; i < 2; i++) rt_queue_add(queue, &errands[i].errand, 0);
    while (!is_empty(queue)) rt_turn_wait(turn, is_empty, queue, -1);
    MODEL_CHECK(errands[0].is_done && errands[1].is_done);
    MODEL_CHECK(is_common || errands[1].line == 1);
    rt_turn_give(turn);
    rt_queue_free(queue);
}

static void run_relief(void) {
    run_behind(false);
}

static void run_common(void) {
    run_behind(true);
}

// A line that is shared with the host, which waits until all is done. The first errand
// is short, and nobody is woken for it; the second needs it and is for a thread.
static bool run_noting(RtErrand *errand) {
    Errand *it = (Errand *)errand;
    it->is_hosted = rt_queue_hosted(it->queue) == errand->line;
    run_errand(errand);
    MODEL_CHECK(rt_queue_running(it->queue, errand->line) == errand->number);
    return true;
}

static void run_sharing(void) {
    RtQueue *queue = rt_queue_new(NULL, 1);
    Errand *errands = model_alloc(2 * sizeof *errands);
    RtTurn *turn = rt_queue_turn(queue);
    rt_turn_take(turn);
    rt_queue_share(queue, 0);
    for (int i = 0; i < 2; i++) {
        errands[i] = (Errand){.queue = queue};
        errands[i].errand = (RtErrand){
            .is_ready = is_ready, .run = run_noting, .seconds = i == 0 ? 1e-6 : 1};
    }
    errands[1].needs = &errands[0];
    for (int i = 0; i < 2; i++) rt_queue_add(queue, &errands[i].errand, 0);
    while (!is_empty(queue)) rt_queue_wait(queue, is_empty, queue, -1, NULL);
    MODEL_CHECK(errands[0].is_done && errands[1].is_done && !errands[1].is_hosted);
    rt_turn_give(turn);
    rt_queue_free(queue);
}

// Two shared lines, with short errands that are worth a second thread together.
static void run_helping(void) {
    RtQueue *queue = rt_queue_new(NULL, 2);
    Errand *errands = model_alloc(3 * sizeof *errands);
    RtTurn *turn = rt_queue_turn(queue);
    rt_turn_take(turn);
    for (unsigned i = 0; i < 2; i++) rt_queue_share(queue, i);
    for (int i = 0; i < 3; i++) {
        errands[i] = (Errand){.queue = queue};
        errands[i].errand =
            (RtErrand){.is_ready = is_ready, .run = run_noting, .seconds = 4e-5};
    }
    errands[2].needs = &errands[1];
    for (int i = 0; i < 3; i++)
        rt_queue_add(queue, &errands[i].errand, (unsigned)i % 2);
    while (!is_empty(queue)) rt_queue_wait(queue, is_empty, queue, -1, NULL);
    for (int i = 0; i < 3; i++) MODEL_CHECK(errands[i].is_done);
    rt_turn_give(turn);
    rt_queue_free(queue);
}

static const struct Scenario {
    const char *name;
    void (*run)(void);
    bool is_long;
} scenarios[] = {
    {"last", run_last, false},
    {"wrap", run_wrap, false},
    {"depths", run_depths, false},
    {"sleep", run_sleep, false},
    {"twice", run_twice, false},
    {"failure", run_failure, false},
    {"back", run_back, false},
    {"meet", run_meetings, false},
    {"nested", run_nested, false},
    {"tasks", run_tasks, false},
    {"alone", run_alone, false},
    {"outer", run_outer_tasks, false},
    {"signals", run_signals_alone, false},
    {"signals2", run_signals_shared, false},
    {"turns", run_turns, false},
    {"news", run_news, false},
    {"late", run_late, false},
    {"lines", run_lines, false},
    {"taking", run_taking, false},
    {"relief", run_relief, false},
    {"common", run_common, false},
    {"looks", run_looks, false},
    {"watch", run_watch, false},
    {"sharing", run_sharing, false},
    {"helping", run_helping, false},
    {"three", run_three, true},
};

static bool is_asked(const char *name, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0) return true;
    return false;
}

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        const struct Scenario *it = &scenarios[i];
        if (argc == 1) printf("%s%s\n", it->name, it->is_long ? " long" : "");
        if (!is_asked(it->name, argc, argv)) continue;
        printf("%s: %llu worlds\n", it->name,
               (unsigned long long)model_explore(it->run));
    }
    return 0;
}
