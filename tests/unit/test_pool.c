// SPDX-License-Identifier: Apache-2.0
//
// The worker pool: chunks, nesting, irregular work, failures and cancellation, graphs
// of tasks, sleeping workers, many pools at once.
#define _GNU_SOURCE
#include "rt/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

// How pools are made: every test that spreads work runs with each of these.
static const RtPoolOptions kinds[] = {{.threads = 1},
                                      {.threads = 2},
                                      {.threads = 2, .spin_us = -1},
                                      {.threads = 7},
                                      {.threads = 7, .spin_us = 200}};
enum { KINDS = sizeof kinds / sizeof *kinds, THREADS = 7, DEPTHS = 5 };

static uint64_t random_state = 88172645463325252u;

static uint64_t random_below(uint64_t bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % bound;
}

static _Thread_local volatile uint64_t sink;

static void work_for(uint64_t turns) {
    uint64_t x = turns;
    for (uint64_t i = 0; i < turns; i++) x = x * 6364136223846793005u + 1;
    sink = x;
}

// ---- loops --------------------------------------------------------------------------

typedef struct Chunks {
    int64_t count, grain;
    unsigned threads;
    unsigned char *runs;       // of each index; written without atomics on purpose
    atomic_bool busy[THREADS]; // workers
    atomic_int wrong;
} Chunks;

static int32_t mark_chunk(void *env, RtWorker *self, int64_t begin, int64_t end,
                          int64_t *failed_out) {
    Chunks *c = env;
    (void)failed_out;
    unsigned number = rt_worker_number(self);
    bool is_right = number < c->threads && begin % c->grain == 0 && begin < end &&
                    (end == c->count || end == begin + c->grain);
    if (number < THREADS) is_right &= !atomic_exchange(&c->busy[number], true);
    if (!is_right) atomic_fetch_add(&c->wrong, 1);
    for (int64_t i = begin; i < end; i++) c->runs[i]++;
    if (number < THREADS) atomic_store(&c->busy[number], false);
    return 0;
}

static void test_chunks(RtWorker *self, unsigned threads) {
    static const int64_t counts[] = {0, 1, 2, 7, 8, 9, 1000, 4099};
    static const int64_t grains[] = {1, 8, 1000, INT64_MAX};
    for (unsigned k = 0; k < sizeof counts / sizeof *counts; k++)
        for (unsigned g = 0; g < sizeof grains / sizeof *grains; g++) {
            Chunks c = {.count = counts[k], .grain = grains[g], .threads = threads};
            c.runs = calloc((size_t)c.count + 1, 1);
            RtLoop loop = {
                .count = c.count, .grain = c.grain, .body = mark_chunk, .env = &c};
            CHECK(rt_for(self, &loop) == RT_DONE && atomic_load(&c.wrong) == 0);
            bool is_once = true;
            for (int64_t i = 0; i < c.count; i++) is_once &= c.runs[i] == 1;
            CHECK(is_once);
            free(c.runs);
        }
}

// As many chunks as workers, each waiting for all: nobody may keep two.
typedef struct Meeting {
    atomic_int present;
    int expected;
} Meeting;

static int32_t meet(void *env, RtWorker *self, int64_t begin, int64_t end,
                    int64_t *failed_out) {
    Meeting *m = env;
    (void)self, (void)begin, (void)end, (void)failed_out;
    atomic_fetch_add(&m->present, 1);
    while (atomic_load(&m->present) < m->expected) sched_yield();
    return 0;
}

static void test_meeting(RtWorker *self, int threads) {
    for (int round = 0; round < 50; round++) {
        Meeting m = {.expected = threads};
        RtLoop loop = {.count = threads, .grain = 1, .body = meet, .env = &m};
        CHECK(rt_for(self, &loop) == RT_DONE && atomic_load(&m.present) == threads);
    }
}

// ---- nesting ------------------------------------------------------------------------

typedef struct Nest {
    int64_t depth;
    struct Nests *all;
    atomic_int_least64_t sum;
} Nest;

typedef struct Nests {
    atomic_bool inside[DEPTHS][THREADS]; // bodies that run or wait
    atomic_int reentered;
} Nests;

// Depth d has d + 2 iterations, each with a loop inside, and work of uneven length.
static int32_t nest(void *env, RtWorker *self, int64_t begin, int64_t end,
                    int64_t *failed_out) {
    Nest *it = env;
    (void)failed_out;
    atomic_bool *inside = &it->all->inside[it->depth][rt_worker_number(self)];
    if (atomic_exchange(inside, true)) atomic_fetch_add(&it->all->reentered, 1);
    for (int64_t i = begin; i < end; i++) {
        work_for((uint64_t)(i * i * 40));
        int64_t sum = 1;
        if (it->depth + 1 < DEPTHS) {
            Nest inner = {.depth = it->depth + 1, .all = it->all};
            RtLoop loop = {
                .count = inner.depth + 2, .grain = 1, .body = nest, .env = &inner};
            if (rt_for(self, &loop) != RT_DONE) return 1;
            sum = atomic_load(&inner.sum);
        }
        atomic_fetch_add(&it->sum, sum);
    }
    atomic_store(inside, false);
    return 0;
}

static void test_nesting(RtWorker *self) {
    for (int round = 0; round < 5; round++) {
        Nests all = {.reentered = 0};
        Nest outer = {.all = &all};
        RtLoop loop = {.count = 2, .grain = 1, .body = nest, .env = &outer};
        CHECK(rt_for(self, &loop) == RT_DONE);
        CHECK(atomic_load(&outer.sum) == 2 * 3 * 4 * 5 * 6);
        CHECK(atomic_load(&all.reentered) == 0);
    }
}

// ---- failures and cancellation ------------------------------------------------------

typedef struct Failing {
    int64_t count, stride; // fails where index % stride == stride - 1
    unsigned char *runs;
    int64_t left[THREADS];     // what each worker's last failure left
    int64_t kept, kept_before; // the last one kept, and whether they went down
    bool is_descending;
    atomic_bool cancel;
    int64_t cancel_at;
} Failing;

static int32_t fail_some(void *env, RtWorker *self, int64_t begin, int64_t end,
                         int64_t *failed_out) {
    Failing *f = env;
    for (int64_t i = begin; i < end; i++) {
        f->runs[i]++;
        work_for((uint64_t)(i % 7 * 30));
        if (i == f->cancel_at) atomic_store(&f->cancel, true);
        if (i % f->stride != f->stride - 1) continue;
        f->left[rt_worker_number(self)] = i;
        *failed_out = i;
        return (int32_t)(i % 1000 + 1);
    }
    return 0;
}

static void keep_failure(void *env, RtWorker *self) {
    Failing *f = env;
    f->is_descending &= f->left[rt_worker_number(self)] < f->kept;
    f->kept = f->left[rt_worker_number(self)];
}

static void test_failures(RtWorker *self) {
    for (int round = 0; round < 60; round++) {
        int64_t stride = 1 + (int64_t)random_below(1500);
        Failing f = {.count = 2000,
                     .stride = stride,
                     .runs = calloc(2000, 1),
                     .kept = INT64_MAX,
                     .is_descending = true,
                     .cancel_at = -1};
        RtLoop loop = {.count = f.count,
                       .grain = 1 + (int64_t)random_below(9),
                       .body = fail_some,
                       .env = &f,
                       .cancel = &f.cancel,
                       .keep = keep_failure};
        CHECK(rt_for(self, &loop) == RT_FAILED && loop.failed == stride - 1);
        CHECK(loop.status == (stride - 1) % 1000 + 1);
        CHECK(f.kept == loop.failed && f.is_descending);
        bool is_once = true, is_most_once = true;
        for (int64_t i = 0; i < f.count; i++) {
            is_once &= i > loop.failed || f.runs[i] == 1;
            is_most_once &= f.runs[i] <= 1;
        }
        CHECK(is_once && is_most_once);
        free(f.runs);
    }
}

static void test_cancellation(RtWorker *self) {
    for (int64_t at = -1; at < 2000; at += 37) {
        Failing f = {
            .count = 2000, .stride = 1 << 20, .runs = calloc(2000, 1), .cancel_at = at};
        atomic_store(&f.cancel, at == -1);
        RtLoop loop = {.count = f.count,
                       .grain = 3,
                       .body = fail_some,
                       .env = &f,
                       .cancel = &f.cancel};
        RtEnd end = rt_for(self, &loop);
        int64_t runs = 0;
        for (int64_t i = 0; i < f.count; i++) runs += f.runs[i];
        CHECK(end == (runs == f.count ? RT_DONE : RT_CANCELLED));
        CHECK(at != -1 || runs == 0);
        free(f.runs);
    }
}

static int32_t fail_all(void *env, RtWorker *self, int64_t begin, int64_t end,
                        int64_t *failed_out) {
    (void)env, (void)self, (void)end;
    *failed_out = begin;
    return (int32_t)(begin + 7);
}

static int32_t fail_inside(void *env, RtWorker *self, int64_t begin, int64_t end,
                           int64_t *failed_out) {
    RtLoop inner = {.count = 30, .grain = 2, .body = fail_all};
    (void)env, (void)end;
    if (begin < 5) return 0;
    *failed_out = begin;
    return rt_for(self, &inner) == RT_FAILED && inner.failed == 0 ? inner.status : -1;
}

static void test_nested_failure(RtWorker *self) {
    RtLoop outer = {.count = 40, .grain = 1, .body = fail_inside};
    CHECK(rt_for(self, &outer) == RT_FAILED);
    CHECK(outer.failed == 5 && outer.status == 7);
}

// ---- tasks --------------------------------------------------------------------------

enum { MAX_TASKS = 1500, MAX_EDGES = 6 };

typedef struct Node {
    RtTask task; // first
    struct Graph *graph;
    unsigned predecessors, successors;
    struct Node *after[MAX_EDGES];
    struct Node *before[MAX_EDGES];
    bool is_done; // without atomics: the release must publish it
    bool has_loop, has_group;
    atomic_int inner;
} Node;

typedef struct Graph {
    RtGroup group;
    Node nodes[MAX_TASKS];
    atomic_int done, wrong;
} Graph;

static int32_t count_inner(void *env, RtWorker *self, int64_t begin, int64_t end,
                           int64_t *failed_out) {
    Node *node = env;
    (void)self, (void)failed_out;
    atomic_fetch_add(&node->inner, (int)(end - begin));
    return 0;
}

typedef struct SubTask {
    RtTask task;
    Node *node;
} SubTask;

static void run_sub(RtWorker *self, RtTask *task) {
    (void)self;
    atomic_fetch_add(&((SubTask *)task)->node->inner, 1);
}

static void run_node(RtWorker *self, RtTask *task) {
    Node *node = (Node *)task;
    for (unsigned i = 0; i < node->predecessors; i++)
        if (!node->before[i]->is_done) atomic_fetch_add(&node->graph->wrong, 1);
    if (node->has_loop) {
        RtLoop loop = {.count = 20, .grain = 1, .body = count_inner, .env = node};
        rt_for(self, &loop);
    }
    if (node->has_group) {
        RtGroup group;
        SubTask subs[20];
        rt_group_open(self, &group);
        for (int i = 0; i < 20; i++) {
            subs[i].node = node;
            rt_task_add(&group, &subs[i].task, run_sub, 1);
            rt_task_release(self, &subs[i].task);
        }
        rt_group_wait(self, &group);
    }
    int inner = (node->has_loop ? 20 : 0) + (node->has_group ? 20 : 0);
    if (atomic_load(&node->inner) != inner) atomic_fetch_add(&node->graph->wrong, 1);
    node->is_done = true;
    atomic_fetch_add(&node->graph->done, 1);
    for (unsigned i = 0; i < node->successors; i++)
        rt_task_release(self, &node->after[i]->task);
}

static void link_nodes(Node *from, Node *to) {
    if (from->successors == MAX_EDGES || to->predecessors == MAX_EDGES) return;
    from->after[from->successors++] = to;
    to->before[to->predecessors++] = from;
}

static void test_graphs(RtWorker *self) {
    static Graph graph;
    for (int round = 0; round < 12; round++) {
        memset(&graph, 0, sizeof graph);
        unsigned count = 1 + (unsigned)random_below(round < 6 ? 40 : MAX_TASKS);
        rt_group_open(self, &graph.group);
        for (unsigned i = 0; i < count; i++) {
            Node *node = &graph.nodes[i];
            node->graph = &graph;
            node->has_loop = random_below(20) == 0;
            node->has_group = random_below(20) == 0;
            for (unsigned e = (unsigned)random_below(4); i > 0 && e > 0; e--)
                link_nodes(&graph.nodes[random_below(i)], node);
        }
        for (unsigned i = 0; i < count; i++)
            rt_task_add(&graph.group, &graph.nodes[i].task, run_node,
                        graph.nodes[i].predecessors + 1);
        for (unsigned i = 0; i < count; i++)
            rt_task_release(self, &graph.nodes[i].task);
        rt_group_wait(self, &graph.group);
        CHECK(atomic_load(&graph.done) == (int)count && atomic_load(&graph.wrong) == 0);
    }
}

// Two tasks release a third, and the earlier one stays in its body until that has run:
// so the third runs after the later release, and only the releases tell it what the
// earlier task wrote.
typedef struct Join {
    RtTask first, last, joined;
    int written; // without atomics, by `first`
    atomic_bool is_released, has_run;
    bool is_right;
} Join;

static void await_flag(atomic_bool *flag) {
    while (!atomic_load_explicit(flag, memory_order_relaxed)) sched_yield();
}

static void raise_flag(atomic_bool *flag) {
    atomic_store_explicit(flag, true, memory_order_relaxed);
}

static void release_first(RtWorker *self, RtTask *task) {
    Join *join = (Join *)((char *)task - offsetof(Join, first));
    join->written = 5;
    rt_task_release(self, &join->joined);
    raise_flag(&join->is_released);
    await_flag(&join->has_run);
}

static void release_last(RtWorker *self, RtTask *task) {
    Join *join = (Join *)((char *)task - offsetof(Join, last));
    await_flag(&join->is_released);
    rt_task_release(self, &join->joined);
}

static void run_joined(RtWorker *self, RtTask *task) {
    Join *join = (Join *)((char *)task - offsetof(Join, joined));
    (void)self;
    join->is_right = join->written == 5;
    raise_flag(&join->has_run);
}

static void test_release(RtWorker *self, unsigned threads) {
    if (threads < 2) return; // both wait in their bodies
    Join join = {.written = 0};
    RtGroup group;
    rt_group_open(self, &group);
    rt_task_add(&group, &join.first, release_first, 1);
    rt_task_add(&group, &join.last, release_last, 1);
    rt_task_add(&group, &join.joined, run_joined, 2);
    rt_task_release(self, &join.first);
    rt_task_release(self, &join.last);
    rt_group_wait(self, &group);
    CHECK(join.is_right);
}

// More ready tasks than a deque holds, released by a task, by a group inside it and by
// the bodies of a loop inside it, while each leaf waits for a group of its own: so
// deques are full, and tasks of different depths have to be put aside.
enum { FAN = 900 };

typedef struct Leaf {
    RtTask task; // first
    atomic_int *count;
} Leaf;

typedef struct Fan {
    RtTask task; // first
    Leaf leaves[FAN];
    atomic_int count;
} Fan;

typedef struct Release {
    RtTask task; // first
    Leaf *leaves;
} Release;

static void count_leaf(RtWorker *self, RtTask *task) {
    (void)self;
    atomic_fetch_add(((Leaf *)task)->count, 1);
}

static void run_leaf(RtWorker *self, RtTask *task) {
    Leaf twigs[4];
    RtGroup group;
    rt_group_open(self, &group);
    for (int i = 0; i < 4; i++) {
        twigs[i].count = ((Leaf *)task)->count;
        rt_task_add(&group, &twigs[i].task, count_leaf, 1);
        rt_task_release(self, &twigs[i].task);
    }
    rt_group_wait(self, &group);
}

static int32_t release_chunk(void *env, RtWorker *self, int64_t begin, int64_t end,
                             int64_t *failed_out) {
    Leaf *leaves = env;
    (void)failed_out;
    for (int64_t i = begin; i < end; i++) rt_task_release(self, &leaves[i].task);
    return 0;
}

static void release_third(RtWorker *self, RtTask *task) {
    release_chunk(((Release *)task)->leaves, self, 0, FAN / 3, NULL);
}

static void run_fan(RtWorker *self, RtTask *task) {
    Fan *fan = (Fan *)task;
    release_chunk(fan->leaves, self, 0, FAN / 3, NULL);
    Release release = {.leaves = fan->leaves + FAN / 3};
    RtGroup group;
    rt_group_open(self, &group);
    rt_task_add(&group, &release.task, release_third, 1);
    rt_task_release(self, &release.task);
    rt_group_wait(self, &group);
    RtLoop loop = {.count = FAN / 3,
                   .grain = 5,
                   .body = release_chunk,
                   .env = fan->leaves + 2 * (FAN / 3)};
    rt_for(self, &loop);
}

static void test_fan(RtWorker *self) {
    static Fan fans[2];
    RtGroup group;
    rt_group_open(self, &group);
    for (int f = 0; f < 2; f++) {
        atomic_store(&fans[f].count, 0);
        for (int i = 0; i < FAN; i++) {
            fans[f].leaves[i].count = &fans[f].count;
            rt_task_add(&group, &fans[f].leaves[i].task, run_leaf, 1);
        }
        rt_task_add(&group, &fans[f].task, run_fan, 1);
        rt_task_release(self, &fans[f].task);
    }
    rt_group_wait(self, &group);
    for (int f = 0; f < 2; f++) CHECK(atomic_load(&fans[f].count) == 4 * FAN);
}

// Threads outside the pool end what tasks wait for, like the transfers of a device:
// each step starts a transfer and goes on when that has ended, which another thread
// says.
enum { TRANSFERS = 200, DRIVERS = 3, STEPS = 20 };

typedef struct Transfer {
    RtTask task; // first
    struct Transfers *all;
    int step;     // without atomics: signal and release must publish it
    int from, to; // the copy: a driver's part
} Transfer;

typedef struct Transfers {
    RtGroup group;
    Transfer steps[TRANSFERS][STEPS + 1];
    pthread_mutex_t lock;
    pthread_cond_t some;
    Transfer *queue[TRANSFERS];
    int count;
    bool is_over;
    atomic_int done, wrong;
} Transfers;

static void *drive(void *arg) {
    Transfers *all = arg;
    for (;;) {
        pthread_mutex_lock(&all->lock);
        while (all->count == 0 && !all->is_over)
            pthread_cond_wait(&all->some, &all->lock);
        Transfer *it = all->count > 0 ? all->queue[--all->count] : NULL;
        pthread_mutex_unlock(&all->lock);
        if (it == NULL) return NULL;
        it->to = it->from + 1;
        rt_task_signal(&it->task);
    }
}

// Runs when the transfer of its step has ended, and begins the next one.
static void run_step(RtWorker *self, RtTask *task) {
    Transfer *it = (Transfer *)task, *next = it + 1;
    Transfers *all = it->all;
    if (it->to != it->step + 1) atomic_fetch_add(&all->wrong, 1);
    if (it->step == STEPS) {
        atomic_fetch_add(&all->done, 1);
        return;
    }
    next->from = it->to;
    rt_task_release(self, &next->task);
    pthread_mutex_lock(&all->lock);
    all->queue[all->count++] = next;
    pthread_cond_signal(&all->some);
    pthread_mutex_unlock(&all->lock);
}

static void test_signals(RtWorker *self) {
    static Transfers all;
    pthread_t drivers[DRIVERS];
    memset(&all, 0, sizeof all);
    pthread_mutex_init(&all.lock, NULL);
    pthread_cond_init(&all.some, NULL);
    for (int i = 0; i < DRIVERS; i++)
        CHECK(pthread_create(&drivers[i], NULL, drive, &all) == 0);
    rt_group_open(self, &all.group);
    for (int i = 0; i < TRANSFERS; i++)
        for (int step = 0; step <= STEPS; step++) {
            Transfer *it = &all.steps[i][step];
            it->all = &all;
            it->step = step;
            rt_task_add(&all.group, &it->task, run_step, step == 0 ? 1 : 2);
        }
    for (int i = 0; i < TRANSFERS; i++) {
        all.steps[i][0].to = 1;
        rt_task_signal(&all.steps[i][0].task);
    }
    rt_group_wait(self, &all.group);
    CHECK(atomic_load(&all.done) == TRANSFERS && atomic_load(&all.wrong) == 0);
    pthread_mutex_lock(&all.lock);
    all.is_over = true;
    pthread_cond_broadcast(&all.some);
    pthread_mutex_unlock(&all.lock);
    for (int i = 0; i < DRIVERS; i++) pthread_join(drivers[i], NULL);
}

// ---- pools --------------------------------------------------------------------------

static void test_kind(const RtPoolOptions *options) {
    Mem mem = {0};
    RtPool *pool = rt_pool_new(&mem, options);
    CHECK(pool != NULL && rt_pool_threads(pool) == options->threads);
    RtWorker *self = rt_pool_enter(pool);
    CHECK(rt_worker_number(self) == 0);
    test_meeting(self, (int)options->threads);
    test_chunks(self, options->threads);
    test_nesting(self);
    test_failures(self);
    test_cancellation(self);
    test_nested_failure(self);
    test_release(self, options->threads);
    test_graphs(self);
    test_fan(self);
    test_signals(self);
    rt_pool_leave(pool);
    rt_pool_free(pool);
    CHECK(mem.used == 0);
}

// Loops of a few chunks, with and without pauses long enough to fall asleep in.
static void test_sleep(void) {
    Mem mem = {0};
    RtPool *pool = rt_pool_new(&mem, &(RtPoolOptions){.threads = 3, .spin_us = -1});
    RtWorker *self = rt_pool_enter(pool);
    static unsigned char runs[8];
    bool is_right = true;
    for (int round = 0; round < 4000; round++) {
        memset(runs, 0, sizeof runs);
        Chunks c = {.count = 1 + round % 8, .grain = 1, .threads = 3, .runs = runs};
        RtLoop loop = {.count = c.count, .grain = 1, .body = mark_chunk, .env = &c};
        is_right &= rt_for(self, &loop) == RT_DONE && atomic_load(&c.wrong) == 0;
        for (int i = 0; i < 8; i++) is_right &= runs[i] == (i < c.count);
        if (round % 100 == 0) usleep(200);
    }
    CHECK(is_right);
    rt_pool_leave(pool);
    rt_pool_free(pool);
}

static void *use_pools(void *failures) {
    for (int round = 0; round < 10; round++) {
        Mem mem = {0};
        RtPool *pools[3];
        for (unsigned i = 0; i < 3; i++) {
            pools[i] = rt_pool_new(&mem, &(RtPoolOptions){.threads = 1 + i});
            RtWorker *self = rt_pool_enter(pools[i]);
            static _Thread_local unsigned char runs[100];
            memset(runs, 0, sizeof runs);
            Chunks c = {.count = 100, .grain = 3, .threads = 1 + i, .runs = runs};
            RtLoop loop = {.count = 100, .grain = 3, .body = mark_chunk, .env = &c};
            bool is_right =
                rt_for(self, &loop) == RT_DONE && atomic_load(&c.wrong) == 0;
            for (int k = 0; k < 100; k++) is_right &= runs[k] == 1;
            if (!is_right) atomic_fetch_add((atomic_int *)failures, 1);
            rt_pool_leave(pools[i]);
        }
        for (int i = 0; i < 3; i++) rt_pool_free(pools[i]);
    }
    return NULL;
}

static void test_many_pools(void) {
    pthread_t threads[4];
    atomic_int failures = 0;
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, use_pools, &failures) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CHECK(atomic_load(&failures) == 0);
}

int main(void) {
    for (int i = 0; i < KINDS; i++) test_kind(&kinds[i]);
    test_sleep();
    test_many_pools();
    return test_done();
}
