
#define WEFT_LINE    16 // bytes to which blocks of private memory are rounded
#define WEFT_STAGGER 0

enum { KERNEL_OK, KERNEL_FAULT, KERNEL_MEMORY };

// One work item.
typedef struct KernelEnv {
    WEFT_GLOBAL GpuControl *control;
    WEFT_GLOBAL uint64_t *frame;
    WEFT_GLOBAL char *tables;
    WEFT_GLOBAL char *base, *top, *limit; // private memory: all of it, what is free
    int64_t begin;
    uint32_t turn, count;       // of `count` turns, counted from `begin`
    uint32_t inner;             // of a team's item: its turn of the loop that is spread
    WEFT_LOCAL int32_t *status; // of a team: how its turn ends
    WEFT_GLOBAL GpuFault *fault; // the record of its fault; 0: there is none
} KernelEnv;

WEFT_FUN KernelEnv weft_start(WEFT_GLOBAL char *heap, uint64_t address) {
    WEFT_GLOBAL GpuControl *control = (WEFT_GLOBAL GpuControl *)(heap + address);
    KernelEnv env;
    env.control = control;
    env.frame = (WEFT_GLOBAL uint64_t *)(heap + control->frame);
    env.tables = heap + control->tables;
    env.base = heap + control->arena + weft_item() * control->arena_bytes;
    env.top = env.base;
    env.limit = env.base + control->arena_bytes;
    env.begin = control->begin;
    env.inner = 0;
    env.status = 0;
    env.turn = weft_item();
    env.count = (uint32_t)(control->end - control->begin);
    env.fault = 0;
    return env;
}

// After a turn. None follows if this one, or one that is known to be before the next,
// did not end well.
WEFT_FUN void weft_next(KernelEnv *env, int32_t status) {
    volatile WEFT_GLOBAL GpuControl *control = env->control;
    env->turn += weft_items();
    env->top = env->base;
    if (status == KERNEL_MEMORY) control->is_short = 1;
    if (status != KERNEL_OK) env->turn = env->count;
    if (env->turn >= env->count) return;
    if (control->least < env->turn || control->is_short != 0) env->turn = env->count;
}

// A group of work items is a team, which runs the turns together.
WEFT_FUN KernelEnv weft_start_team(WEFT_GLOBAL char *heap, uint64_t address,
                                   WEFT_LOCAL int32_t *status) {
    KernelEnv env = weft_start(heap, address);
    env.turn = weft_team();
    env.status = status;
    if (weft_lane() == 0) *status = KERNEL_OK;
    weft_wait();
    return env;
}

// The worst of how it went for each item.
WEFT_FUN int32_t weft_agree(KernelEnv *env, int32_t status) {
    if (status != KERNEL_OK) weft_atomic_max(env->status, status);
    weft_wait();
    status = *env->status;
    weft_wait();
    return status;
}

// After a turn, which ended the same for all. Others go on: if each looked whether one
// before has failed, not all might see the same.
WEFT_FUN void weft_next_team(KernelEnv *env, int32_t status) {
    env->top = env->base;
    if (status == KERNEL_MEMORY) env->control->is_short = 1;
    env->turn = status == KERNEL_OK ? env->turn + weft_teams() : env->count;
    weft_wait();
}

// Turns that fail after one that is known to have failed leave no record. Of a team
// several items may.
WEFT_FUN int32_t weft_fail(KernelEnv *env, int32_t check, int32_t count,
                           const uint64_t *values) {
    WEFT_GLOBAL GpuControl *control = env->control;
    if (env->turn > weft_atomic_min(&control->least, env->turn)) return KERNEL_FAULT;
    uint32_t place = weft_atomic_add(&control->fault_count, 1);
    if (place >= GPU_FAULTS) return KERNEL_FAULT;
    WEFT_GLOBAL GpuFault *fault = &control->faults[place];
    env->fault = fault;
    fault->turn = env->turn;
    fault->inner = env->inner;
    fault->check = check;
    fault->call_count = 0;
    for (int32_t i = 0; i < count; i++) fault->values[i] = values[i];
    return KERNEL_FAULT;
}

// A call did not return well.
WEFT_FUN void weft_called(KernelEnv *env, int32_t call) {
    WEFT_GLOBAL GpuFault *fault = env->fault;
    if (fault != 0 && fault->call_count < GPU_FAULT_CALLS)
        fault->calls[fault->call_count++] = call;
}

// Private memory runs out: the host may know of more.
WEFT_FUN void weft_short(KernelEnv *env, uint64_t count, uint64_t size) {
    (void)env, (void)count, (void)size;
}

WEFT_FUN void weft_grow(KernelEnv *env, WEFT_GLOBAL char *top) {
    env->top = top;
}

// Blocks are multiples of WEFT_LINE bytes; `to` is below `from`.
WEFT_FUN void weft_move(WEFT_GLOBAL char *to, WEFT_GLOBAL const char *from,
                        uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i += 8)
        *(WEFT_GLOBAL uint64_t *)(to + i) = *(WEFT_GLOBAL const uint64_t *)(from + i);
}

// turn / inner, of numbers that are seldom large.
WEFT_FUN int64_t weft_row(int64_t turn, int64_t inner) {
    if (((turn | inner) >> 32) == 0) return (uint32_t)turn / (uint32_t)inner;
    return turn / inner;
}
