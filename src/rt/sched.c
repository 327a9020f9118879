// SPDX-License-Identifier: Apache-2.0
//
// The scheduler: workers take items from their own deque or steal them, run them, and
// sleep when there are none. An item is a piece of a loop or a task. There is one way
// to wait, sched_help; an idle worker is one that waits for the pool's life to end.
//
// Going to sleep and giving work meet in `sleepers`: a sleeper first counts itself,
// then looks once more; a giver first gives, then looks at the count. All four steps
// are sequentially consistent, so at least one of the two sees the other. tests/model
// tries every order.
#include "rt/sched.h"

#include <stddef.h>

#include "base/clock.h"

unsigned rt_worker_number(const RtWorker *self) {
    return self->number;
}

// ---- sleeping -----------------------------------------------------------------------

// Under the lock.
static void rouse(RtWorker *worker) {
    worker->is_asleep = false;
    atomic_fetch_sub(&worker->pool->sleepers, 1);
    pthread_cond_signal(&worker->wake);
}

// Wakes a worker that would take an item of that depth. Under the lock.
static void rouse_for(RtPool *pool, int64_t depth) {
    for (unsigned i = 0; i < pool->thread_count; i++) {
        RtWorker *worker = &pool->workers[i];
        if (!worker->is_asleep || worker->least_depth > depth) continue;
        rouse(worker);
        return;
    }
}

// The same, after an item was pushed.
static void wake_for(RtPool *pool, int64_t depth) {
    if (atomic_load(&pool->sleepers) == 0) return;
    pthread_mutex_lock(&pool->lock);
    rouse_for(pool, depth);
    pthread_mutex_unlock(&pool->lock);
}

// One item or task of the job is finished; the job may be gone afterwards.
static void finish(RtJob *job) {
    RtWorker *owner = job->owner; // once nothing is pending the job may be gone
    RtPool *pool = owner->pool;
    if (atomic_fetch_sub(&job->pending, 1) != 1) return;
    if (atomic_load(&pool->sleepers) == 0) return;
    pthread_mutex_lock(&pool->lock);
    if (owner->is_asleep) rouse(owner);
    pthread_mutex_unlock(&pool->lock);
}

void sched_end(RtPool *pool) {
    atomic_store(&pool->life.pending, 0);
    pthread_mutex_lock(&pool->lock);
    for (unsigned i = 0; i < pool->thread_count; i++)
        if (pool->workers[i].is_asleep) rouse(&pool->workers[i]);
    pthread_mutex_unlock(&pool->lock);
}

// Where the first task at least that deep is in a list, or its end.
static RtTask **find_task(RtTask **list, int64_t depth) {
    while (*list != NULL && (*list)->group->job.depth < depth) list = &(*list)->next;
    return list;
}

// Under the lock.
static bool is_work(RtPool *pool, int64_t depth) {
    if (*find_task(&pool->signalled, depth) != NULL) return true;
    for (unsigned i = 0; i < pool->thread_count; i++)
        if (rt_deque_offers(&pool->workers[i].deque, depth)) return true;
    return false;
}

// Sleeps until there may be work for this worker or the job is finished.
static void sleep_for(RtWorker *self, RtJob *job) {
    RtPool *pool = self->pool;
    pthread_mutex_lock(&pool->lock);
    self->is_asleep = true;
    self->least_depth = job->depth;
    atomic_fetch_add(&pool->sleepers, 1);
    if (is_work(pool, job->depth) || atomic_load(&job->pending) == 0) {
        self->is_asleep = false;
        atomic_fetch_sub(&pool->sleepers, 1);
    }
    while (self->is_asleep) pthread_cond_wait(&self->wake, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

// ---- finding work -------------------------------------------------------------------

static bool push(RtWorker *self, RtItem item) {
    if (!rt_deque_push(&self->deque, item)) return false;
    wake_for(self->pool, item.depth);
    return true;
}

static RtItem item_of(RtTask *task) {
    RtJob *job = &task->group->job;
    return (RtItem){job, job->depth, (intptr_t)task, 0};
}

static bool steal(RtWorker *self, int64_t depth, RtItem *item_out) {
    RtPool *pool = self->pool;
    for (unsigned i = 0; i < pool->thread_count; i++) {
        unsigned victim = (self->victim + i) % pool->thread_count;
        if (victim == self->number) continue;
        if (rt_deque_steal(&pool->workers[victim].deque, depth, item_out)) {
            self->victim = victim;
            return true;
        }
    }
    return false;
}

// Takes a spilled task, and puts what is as deep or deeper where others can steal it.
static bool take_spilled(RtWorker *self, int64_t depth, RtItem *item_out) {
    RtTask **at = find_task(&self->spilled, depth);
    if (*at == NULL) return false;
    *item_out = item_of(*at);
    *at = (*at)->next;
    while (*at != NULL) {
        RtTask *next = (*at)->next; // a task pushed may be gone
        if (!push(self, item_of(*at))) break;
        *at = next;
    }
    return true;
}

static bool take_signalled(RtPool *pool, int64_t depth, RtItem *item_out) {
    if (atomic_load_explicit(&pool->signalled_count, memory_order_relaxed) == 0)
        return false;
    pthread_mutex_lock(&pool->lock);
    RtTask **at = find_task(&pool->signalled, depth), *task = *at;
    if (task != NULL) {
        *at = task->next;
        atomic_fetch_sub_explicit(&pool->signalled_count, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&pool->lock);
    if (task != NULL) *item_out = item_of(task);
    return task != NULL;
}

static bool take(RtWorker *self, int64_t depth, RtItem *item_out) {
    return rt_deque_pop(&self->deque, depth, item_out) ||
           take_spilled(self, depth, item_out) ||
           take_signalled(self->pool, depth, item_out) || steal(self, depth, item_out);
}

static void work_on(RtWorker *self, RtItem item) {
    int64_t outer = self->depth;
    self->depth = item.depth;
    item.job->run(self, item.job, item.begin, item.end);
    self->depth = outer;
}

static bool is_pending(RtJob *job) {
    return atomic_load_explicit(&job->pending, memory_order_acquire) != 0;
}

// Looks for an item until there is one or the job is finished.
static bool search(RtWorker *self, RtJob *job, RtItem *item_out) {
    RtPool *pool = self->pool;
    double since = 0;
    while (is_pending(job)) {
        if (take(self, job->depth, item_out)) return true;
        if (pool->spin > 0) {
            double now = clock_seconds();
            if (since == 0) since = now;
            thread_pause();
            if (now - since < pool->spin) continue;
        }
        sleep_for(self, job);
        since = 0;
    }
    return false;
}

void sched_help(RtWorker *self, RtJob *job) {
    RtPool *pool = self->pool;
    RtItem item;
    while (search(self, job, &item)) {
        atomic_fetch_sub_explicit(&pool->hungry, 1, memory_order_release);
        work_on(self, item);
        // Before the job can be finished: who begins the next one shall see it.
        atomic_fetch_add_explicit(&pool->hungry, 1, memory_order_relaxed);
        finish(item.job);
    }
}

static void wait_for(RtWorker *self, RtJob *job) {
    if (!is_pending(job)) return;
    atomic_fetch_add_explicit(&self->pool->hungry, 1, memory_order_relaxed);
    sched_help(self, job);
    atomic_fetch_sub_explicit(&self->pool->hungry, 1, memory_order_release);
}

// ---- loops --------------------------------------------------------------------------

typedef struct LoopJob {
    RtJob job; // first
    RtLoop *loop;
    atomic_int_least64_t least; // index that failed; INT64_MAX: none
    atomic_bool is_cancelled;
} LoopJob;

// Whether to leave work for others: more of them are idle than there are items here.
// Who just stole one of these stopped being hungry after that, so is not seen as fed
// with the item still there.
static bool is_wanted(RtWorker *self) {
    int64_t hungry = atomic_load_explicit(&self->pool->hungry, memory_order_acquire);
    return hungry > 0 && rt_deque_size(&self->deque) < hungry;
}

// Gives away the later half of begin to below end; returns where it begins, or end if
// there is no room for it. Pieces begin at multiples of the grain.
static int64_t split(RtWorker *self, LoopJob *it, int64_t begin, int64_t end) {
    int64_t grain = it->loop->grain;
    int64_t chunks = (end - begin) / grain + ((end - begin) % grain != 0);
    int64_t middle = begin + (chunks + 1) / 2 * grain;
    atomic_fetch_add_explicit(&it->job.pending, 1, memory_order_relaxed);
    if (push(self, (RtItem){&it->job, it->job.depth, middle, end})) return middle;
    atomic_fetch_sub_explicit(&it->job.pending, 1, memory_order_relaxed);
    return end;
}

static void note_failure(RtWorker *self, LoopJob *it, int32_t status, int64_t failed) {
    pthread_mutex_lock(&self->pool->failing);
    if (failed < atomic_load_explicit(&it->least, memory_order_relaxed)) {
        atomic_store_explicit(&it->least, failed, memory_order_relaxed);
        it->loop->status = status;
        it->loop->failed = failed;
        if (it->loop->keep != NULL) it->loop->keep(it->loop->env, self);
    }
    pthread_mutex_unlock(&self->pool->failing);
}

static bool is_cancelled(LoopJob *it) {
    const atomic_bool *cancel = it->loop->cancel;
    if (cancel == NULL || !atomic_load_explicit(cancel, memory_order_relaxed))
        return false;
    atomic_store_explicit(&it->is_cancelled, true, memory_order_relaxed);
    return true;
}

static void run_piece(RtWorker *self, RtJob *job, int64_t begin, int64_t end) {
    LoopJob *it = (LoopJob *)job;
    const RtLoop *loop = it->loop;
    while (begin < end) {
        if (begin > atomic_load_explicit(&it->least, memory_order_relaxed)) return;
        if (is_cancelled(it)) return;
        while (end - begin > loop->grain && is_wanted(self)) {
            int64_t middle = split(self, it, begin, end);
            if (middle == end) break;
            end = middle;
        }
        int64_t next = end - begin > loop->grain ? begin + loop->grain : end,
                failed = 0;
        int32_t status = loop->body(loop->env, self, begin, next, &failed);
        if (status != 0) {
            note_failure(self, it, status, failed);
            return;
        }
        begin = next;
    }
}

RtEnd rt_for(RtWorker *self, RtLoop *loop) {
    LoopJob it = {.job = {.run = run_piece, .owner = self, .depth = self->depth + 1},
                  .loop = loop};
    atomic_init(&it.job.pending, 0);
    atomic_init(&it.least, INT64_MAX);
    atomic_init(&it.is_cancelled, false);
    work_on(self, (RtItem){&it.job, it.job.depth, 0, loop->count});
    wait_for(self, &it.job);
    if (atomic_load_explicit(&it.is_cancelled, memory_order_relaxed))
        return RT_CANCELLED;
    return atomic_load_explicit(&it.least, memory_order_relaxed) == INT64_MAX
               ? RT_DONE
               : RT_FAILED;
}

// ---- tasks --------------------------------------------------------------------------

static void run_task(RtWorker *self, RtJob *job, int64_t task, int64_t unused) {
    (void)job, (void)unused;
    RtTask *it = (RtTask *)(intptr_t)task;
    it->run(self, it);
}

void rt_group_open(RtWorker *self, RtGroup *group) {
    group->job = (RtJob){.run = run_task, .owner = self, .depth = self->depth + 1};
    atomic_init(&group->job.pending, 0);
}

void rt_task_add(RtGroup *group, RtTask *task, RtTaskRun *run, unsigned waits) {
    *task = (RtTask){.run = run, .group = group};
    atomic_init(&task->waits, waits);
    atomic_fetch_add_explicit(&group->job.pending, 1, memory_order_relaxed);
}

// A task may not lie above deeper items of the deque: it would keep a worker that waits
// for those from them.
void rt_task_release(RtWorker *self, RtTask *task) {
    if (atomic_fetch_sub_explicit(&task->waits, 1, memory_order_acq_rel) != 1) return;
    RtItem item = item_of(task);
    if (item.depth >= self->depth && push(self, item)) return;
    RtTask **at = find_task(&self->spilled, item.depth);
    task->next = *at;
    *at = task;
}

// All under the lock: who takes the task has waited for it, so until then the pool is
// there; and who goes to sleep meanwhile sees the task, or is seen asleep.
void rt_task_signal(RtTask *task) {
    RtPool *pool = task->group->job.owner->pool; // a task not yet ready is there
    if (atomic_fetch_sub_explicit(&task->waits, 1, memory_order_acq_rel) != 1) return;
    pthread_mutex_lock(&pool->lock);
    task->next = pool->signalled;
    pool->signalled = task;
    atomic_fetch_add_explicit(&pool->signalled_count, 1, memory_order_relaxed);
    rouse_for(pool, task->group->job.depth);
    pthread_mutex_unlock(&pool->lock);
}

void rt_group_wait(RtWorker *self, RtGroup *group) {
    wait_for(self, &group->job);
}
