// SPDX-License-Identifier: Apache-2.0
//
// Teams, and the parallel loops of kernels (team.h). Short loops, and those of a team
// of one, run in the thread of the call; the pool is entered at the first that has
// turned out to be long.
#include "rt/team.h"

#include <string.h>

#include "base/clock.h"
#include "base/floats.h"

// ---- teams --------------------------------------------------------------------------

static bool make_memory(RtTeam *team) {
    unsigned count = rt_pool_threads(team->pool);
    team->memory = mem_try_alloc(team->mem, count * sizeof *team->memory);
    team->envs = mem_try_alloc(team->mem, count * sizeof *team->envs);
    if (team->memory != NULL) memset(team->memory, 0, count * sizeof *team->memory);
    if (team->memory == NULL || team->envs == NULL) return false;
    memset(team->envs, 0, count * sizeof *team->envs);
    size_t kept = mem_spare_most();
    for (unsigned i = 0; i < count; i++)
        if (!rt_private_new(team->mem, kept / count, &team->memory[i])) return false;
    return rt_private_new(team->mem, kept, &team->root);
}

RtTeam *rt_team_new(Mem *mem, const RtPoolOptions *options) {
    RtTeam *team = mem_try_alloc(mem, sizeof *team);
    if (team == NULL) return NULL;
    memset(team, 0, sizeof *team);
    team->mem = mem;
    team->pool = rt_pool_new(mem, options);
    if (team->pool != NULL && make_memory(team)) return team;
    rt_team_free(team);
    return NULL;
}

void rt_team_free(RtTeam *team) {
    if (team == NULL) return;
    Mem *mem = team->mem;
    unsigned count = team->pool != NULL ? rt_pool_threads(team->pool) : 0;
    for (unsigned i = 0; i < count && team->memory != NULL; i++)
        rt_private_free(&team->memory[i]);
    rt_private_free(&team->root);
    mem_free(mem, team->memory, count * sizeof *team->memory);
    mem_free(mem, team->envs, count * sizeof *team->envs);
    rt_pool_free(team->pool);
    mem_free(mem, team, sizeof *team);
}

// ---- parallel loops -----------------------------------------------------------------

// Machine code reads the same flag as it is; another thread may set it meanwhile.
static bool is_cancelled(const KernelEnv *env) {
    return __atomic_load_n(env->cancel, __ATOMIC_RELAXED);
}

static bool poll_root(KernelEnv *env, int64_t done, int64_t total) {
    RtCall *call = env->host;
    if (call->progress != NULL) call->progress(call->data, done, total);
    return is_cancelled(env);
}

static bool poll_worker(KernelEnv *env, int64_t done, int64_t total) {
    (void)done, (void)total;
    return is_cancelled(env);
}

static void *make_result(KernelEnv *env, uint32_t number, uint32_t rank,
                         const int64_t *shape) {
    RtCall *call = env->host;
    return call->result(call->data, number, rank, shape);
}

static void *make_room(KernelEnv *env, uint32_t number, uint32_t rank,
                       const int64_t *shape) {
    RtCall *call = env->host;
    return call->room(call->data, number, rank, shape);
}

// What is wanted of a parallel loop (KernelEnv).
typedef struct Work {
    int64_t n, grain, lanes;
    KernelChunk *chunk;
    const void *frame;
} Work;

// Where a strip of so many turns ends: strips begin at multiples of their length, so
// that vectors do where cache lines do.
static int64_t end_of(int64_t begin, int64_t strip, int64_t n) {
    int64_t end = begin / strip * strip;
    return n - end > strip ? end + strip : n;
}

// How many times as long the next strip is to be, if this one took so long and none is
// to take longer than `most`.
static int64_t growth(uint64_t ns, uint64_t most) {
    enum { MUCH = 16 };
    if (ns >= most) return 1;
    return ns * 2 * MUCH < most ? MUCH : 2;
}

// Turns that went alone, to see how long they take.
typedef struct Trial {
    int64_t most_ns, worth_ns; // when it ends; what is worth other threads
    int64_t done, ns;          // turns, and how long they took
} Trial;

// Runs turns alone for a moment. Whether what is left is worth other threads.
static int32_t try_alone(KernelEnv *root, const Work *work, Trial *trial,
                         bool *is_worth_out) {
    uint64_t began = clock_ns();
    int64_t failed, strip = work->lanes;
    while (trial->done < work->n && trial->ns < trial->most_ns) {
        int64_t end = end_of(trial->done, strip, work->n);
        int32_t status = work->chunk(root, work->frame, trial->done, end, &failed);
        if (status != KERNEL_OK) return status;
        trial->done = end;
        trial->ns = (int64_t)(clock_ns() - began);
        strip *= growth((uint64_t)trial->ns, (uint64_t)trial->most_ns);
    }
    *is_worth_out = (double)trial->ns * (double)(work->n - trial->done) >
                    (double)trial->worth_ns * (double)trial->done;
    return is_cancelled(root) ? KERNEL_CANCELLED : KERNEL_OK;
}

// The rest of a loop, after a trial, in the thread of the call, in strips after each of
// which it polls. If nobody knows how long a turn takes, strips grow while they are
// short.
static int32_t run_alone(KernelEnv *root, const Work *work, const Trial *trial) {
    enum { SHORT_NS = 50000 };
    int64_t failed, strip = work->lanes, most = 64 * work->grain;
    while (strip < most && 2 * strip * trial->ns < SHORT_NS * trial->done) strip *= 2;
    for (int64_t begin = trial->done; begin < work->n;) {
        int64_t end = end_of(begin, strip, work->n);
        bool is_last = end == work->n; // after which no strip is chosen
        uint64_t began = is_last ? 0 : clock_ns();
        int32_t status = work->chunk(root, work->frame, begin, end, &failed);
        uint64_t ns = is_last ? 0 : clock_ns() - began;
        if (status != KERNEL_OK) return status;
        if (root->poll(root, end, work->n)) return KERNEL_CANCELLED;
        if (strip < most) strip *= growth(ns, SHORT_NS);
        if (ns > 2 * SHORT_NS && strip > work->lanes) strip /= 2;
        begin = end;
    }
    return KERNEL_OK;
}

// What is handed out at a time takes far longer than handing it out, which waits for
// all that was stored past the caches, and leaves what had been fetched ahead to
// others.
static int64_t coarser(int64_t grain, const Trial *trial) {
    enum { PIECE_NS = 50000 };
    if (trial->done == 0) return grain;
    int64_t least = PIECE_NS * trial->done / (trial->ns + 1);
    return grain < least ? least : grain;
}

typedef struct TeamLoop {
    RtCall *call;
    KernelChunk *chunk;
    const void *frame;
    int64_t first;       // turn of the kernel's loop that is turn 0 here
    int64_t done, total; // turns; done by worker 0
    uint64_t began;
} TeamLoop;

static int32_t run_chunk(void *data, RtWorker *self, int64_t begin, int64_t end,
                         int64_t *failed_out) {
    TeamLoop *loop = data;
    RtTeam *team = loop->call->team;
    unsigned number = rt_worker_number(self);
    if (number == 0) { // the thread of the call, which alone may tell people
        loop->done += end - begin;
        poll_root(&loop->call->env, loop->done * (int64_t)rt_pool_threads(team->pool),
                  loop->total);
    }
    uint64_t began = loop->call->ran != NULL ? clock_ns() : 0;
    int32_t status = loop->chunk(&team->envs[number], loop->frame, loop->first + begin,
                                 loop->first + end, failed_out);
    *failed_out -= loop->first;
    if (loop->call->ran != NULL)
        loop->call->ran(loop->call->data, number, loop->began, began, end - begin);
    return status;
}

static void keep_fault(void *data, RtWorker *self) {
    TeamLoop *loop = data;
    loop->call->env.fault = loop->call->team->envs[rt_worker_number(self)].fault;
}

// The grain is a guess that knows nothing of how often inner loops turn. Whatever it
// is, each worker gets enough pieces to even out what it got wrong, but, if there are
// turns enough for some pieces each, none so small that they share lines of memory, and
// none too small for lanes.
static int64_t finest(int64_t n, int64_t grain, int64_t lanes, unsigned workers) {
    enum { PIECES = 16, FEW = 2, SMALL = 16, LINE = 64 };
    int64_t even = n / (PIECES * (int64_t)workers), most = n / (FEW * (int64_t)workers);
    if (even < SMALL) even = most < SMALL ? most : SMALL;
    if (even < grain) grain = even;
    int64_t unit = LINE;
    while (unit > grain && unit > SMALL / 2) unit /= 2;
    if (grain > unit) grain -= grain % unit;
    return grain > lanes ? grain - grain % lanes : lanes;
}

// Turns from `first` on, by all workers.
static int32_t run_together(KernelEnv *root, const Work *work, const Trial *trial,
                            uint64_t began) {
    RtCall *call = root->host;
    RtTeam *team = call->team;
    unsigned count = rt_pool_threads(team->pool);
    if (call->self == NULL) call->self = rt_pool_enter(team->pool);
    for (unsigned i = 0; i < count; i++) {
        rt_private_open(&team->memory[i], team->mem, &team->envs[i]);
        team->envs[i].cancel = root->cancel;
        team->envs[i].poll = poll_worker;
    }
    TeamLoop own = {.call = call,
                    .chunk = work->chunk,
                    .frame = work->frame,
                    .first = trial->done,
                    .total = work->n - trial->done,
                    .began = began};
    RtLoop loop = {
        .count = own.total,
        .grain = finest(own.total, coarser(work->grain, trial), work->lanes, count),
        .body = run_chunk,
        .env = &own,
        .cancel = call->cancel,
        .keep = keep_fault};
    RtEnd end = rt_for(call->self, &loop);
    for (unsigned i = 0; i < count; i++)
        rt_private_close(&team->memory[i], team->mem, &team->envs[i]);
    return end == RT_DONE     ? KERNEL_OK
           : end == RT_FAILED ? loop.status
                              : KERNEL_CANCELLED;
}

// A loop whose turns are thought to be short is tried, and is worth waking others if it
// takes longer than that does. One of long turns goes to all at once, after a look at
// how long they are if one of them is next to nothing.
static int32_t run_parallel(KernelEnv *root, int64_t n, int64_t grain, int64_t lanes,
                            KernelChunk *chunk, const void *frame) {
    enum { SHORT = 16, MANY = 32 }; // turns: a grain of short ones; for each thread
    Work work = {.n = n,
                 .grain = grain < lanes ? lanes : grain,
                 .lanes = lanes,
                 .chunk = chunk,
                 .frame = frame};
    RtCall *call = root->host;
    uint64_t began = call->ran != NULL ? clock_ns() : 0;
    int64_t threads = rt_pool_threads(call->team->pool);
    bool is_worth = n > 1 && threads > 1;
    bool is_short = work.grain >= SHORT || n <= work.grain;
    Trial trial = {.most_ns = is_short ? 10000 : 1000,
                   .worth_ns = is_short ? 30000 : 3000};
    if (is_worth && (is_short || n / threads >= MANY)) {
        int32_t status = try_alone(root, &work, &trial, &is_worth);
        if (status != KERNEL_OK) return status;
        if (call->ran != NULL && is_worth)
            call->ran(call->data, 0, began, began, trial.done);
    }
    if (is_worth) return run_together(root, &work, &trial, began);
    int32_t status = run_alone(root, &work, &trial);
    if (call->ran != NULL) call->ran(call->data, 0, began, began, n);
    return status;
}

// What a fault holds is not cleared: that takes longer than all else does here.
static void open_env(RtCall *call) {
    KernelEnv *env = &call->env;
    env->fault.check = env->fault.call_count = 0;
    env->fault.wanted = 0;
    env->cancel = (const volatile bool *)call->cancel;
    env->host = call;
    env->poll = poll_root;
    env->result = make_result;
    env->room = make_room;
    env->parallel = run_parallel;
    env->threads = (int32_t)rt_pool_threads(call->team->pool);
    call->self = NULL;
}

int32_t rt_call(RtCall *call, Kernel *kernel, const uint64_t *in, uint64_t *out) {
    FloatState floats = floats_enter();
    open_env(call);
    rt_private_open(&call->team->root, call->team->mem, &call->env);
    int32_t status = kernel(&call->env, in, out);
    if (call->self != NULL) rt_pool_leave(call->team->pool);
    size_t used = (size_t)(call->env.high - call->team->root.base);
    if (used > call->team->root_most) call->team->root_most = used;
    rt_private_close(&call->team->root, call->team->mem, &call->env);
    floats_leave(&floats);
    return status;
}
