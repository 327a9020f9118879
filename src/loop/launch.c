// SPDX-License-Identifier: Apache-2.0
//
// What of a kernel is launched (launch.h). Statements that touch elements are gathered
// into runs as long as they go, with the scalars and checks between them, but not those
// around them: a host is as good at these.
#include "loop/launch.h"

// ---- captures -----------------------------------------------------------------------

typedef struct Captures {
    const LoopKernel *kernel;
    Arena *arena;
    LoopRefs *refs;
    Map seen; // bound inside, or in refs
} Captures;

static void bind(Captures *c, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) map_set(&c->seen, refs[i], 1);
}

static void capture(Captures *c, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint64_t unused;
        if (c->kernel->values.data[refs[i]].is_const ||
            map_get(&c->seen, refs[i], &unused))
            continue;
        map_set(&c->seen, refs[i], 1);
        vec_push(c->arena, c->refs, refs[i]);
    }
}

static void capture_body(Captures *c, const LoopBody *body) {
    bind(c, body->params, body->param_count);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        capture(c, stm->args, stm->arg_count);
        bind(c, stm->outs, stm->out_count);
        for (uint32_t k = 0; k < stm->body_count; k++) capture_body(c, stm->bodies[k]);
    }
    capture(c, body->results, body->result_count);
}

void loop_captures(const LoopKernel *kernel, const LoopBody *body, Arena *arena,
                   LoopRefs *refs_out) {
    Captures c = {.kernel = kernel, .arena = arena, .refs = refs_out};
    *refs_out = (LoopRefs){0};
    map_init(&c.seen, arena);
    capture_body(&c, body);
}

// ---- effects ------------------------------------------------------------------------

// What some code does to buffers. Those that may be the same share a leader, at which
// the uses of all of them are kept.
typedef struct Effects {
    Map leaders; // LoopRef -> LoopRef; itself if it is not there
    Map uses;    // leader -> LAUNCH_LOADS, ...
    bool allocates;
} Effects;

typedef struct Planner {
    const LoopKernel *kernel;
    Arena *arena;
    struct {
        LoopLaunch *data;
        uint32_t len, cap;
    } launches;
    LoopPlan *plan;
    uint64_t most;    // elements of a local buffer of a parallel turn
    Effects *funs;    // by function
    bool *is_planned; // by function: the host walks it
    uint32_t *last;   // by LoopRef: the last statement of its body that uses it
} Planner;

static LoopType type_of(const Planner *p, LoopRef ref) {
    return p->kernel->values.data[ref].type;
}

static void effects_init(Effects *e, Arena *arena) {
    map_init(&e->leaders, arena);
    map_init(&e->uses, arena);
}

static LoopRef leader_of(Effects *e, LoopRef ref) {
    uint64_t leader = ref, next = ref;
    while (map_get(&e->leaders, leader, &next)) leader = next;
    if (leader != ref) map_set(&e->leaders, ref, leader);
    return (LoopRef)leader;
}

static uint8_t uses_of(Effects *e, LoopRef ref) {
    uint64_t uses = 0;
    map_get(&e->uses, leader_of(e, ref), &uses);
    return (uint8_t)uses;
}

static void use(Effects *e, LoopRef ref, uint8_t how) {
    map_set(&e->uses, leader_of(e, ref), uses_of(e, ref) | how);
}

// These values may be those, one by one.
static void unify(const Planner *p, Effects *e, const LoopRef *refs,
                  const LoopRef *others, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (type_of(p, refs[i]).kind != LOOP_IS_BUFFER) continue;
        LoopRef from = leader_of(e, refs[i]), to = leader_of(e, others[i]);
        if (from == to) continue;
        uint8_t uses = uses_of(e, from);
        map_set(&e->leaders, from, to);
        use(e, to, uses);
    }
}

static void add_call(const Planner *p, Effects *e, const LoopStm *stm) {
    const LoopBody *body = p->kernel->funs.data[stm->number].body;
    Effects *callee = &p->funs[stm->number];
    e->allocates = e->allocates || callee->allocates;
    for (uint32_t i = 0; i < stm->arg_count; i++) {
        LoopRef param = body->params[i];
        if (type_of(p, param).kind != LOOP_IS_BUFFER) continue;
        use(e, stm->args[i], uses_of(callee, param));
        for (uint32_t k = 0; k < stm->out_count; k++)
            if (leader_of(callee, param) == leader_of(callee, body->results[k]))
                unify(p, e, &stm->outs[k], &stm->args[i], 1);
    }
}

static void add_body(const Planner *p, Effects *e, const LoopBody *body);

static void add_stm(const Planner *p, Effects *e, const LoopStm *stm) {
    for (uint32_t i = 0; i < stm->body_count; i++) add_body(p, e, stm->bodies[i]);
    uint32_t count = stm->out_count;
    switch (stm->op) {
    case LOOP_LOAD:
    case LOOP_LOOKUP:
    case LOOP_BELOW: use(e, stm->args[0], LAUNCH_LOADS); return;
    case LOOP_STORE: use(e, stm->args[0], LAUNCH_STORES); return;
    case LOOP_SIFT:
        use(e, stm->args[0], LAUNCH_STORES);
        use(e, stm->args[3], LAUNCH_LOADS);
        use(e, stm->args[5], LAUNCH_LOADS);
        return;
    case LOOP_ATOMIC: use(e, stm->args[0], LAUNCH_JOINS); return;
    case LOOP_ALLOC:
        if (!p->plan->is_local[stm->outs[0]]) e->allocates = true;
        return;
    case LOOP_KEEP: unify(p, e, stm->outs, stm->args + 1, count); return;
    case LOOP_CALL: add_call(p, e, stm); return;
    case LOOP_IF:
        unify(p, e, stm->outs, stm->bodies[0]->results, count);
        unify(p, e, stm->outs, stm->bodies[1]->results, count);
        return;
    case LOOP_FOR:
        unify(p, e, stm->outs, stm->args + 1, count);
        unify(p, e, stm->outs, stm->bodies[0]->params + 1, count);
        unify(p, e, stm->outs, stm->bodies[0]->results, count);
        return;
    case LOOP_WHILE:
        unify(p, e, stm->outs, stm->args, count);
        unify(p, e, stm->outs, stm->bodies[0]->params, count);
        unify(p, e, stm->outs, stm->bodies[1]->params, count);
        unify(p, e, stm->outs, stm->bodies[1]->results, count);
        return;
    case LOOP_SCALAR:
    case LOOP_APPLY:
    case LOOP_DATA:
    case LOOP_MARK:
    case LOOP_RESULT:
    case LOOP_THREADS:
    case LOOP_CHECK:
    case LOOP_SPLAT:
    case LOOP_LANES:
    case LOOP_SELECT:
    case LOOP_PACK:
    case LOOP_TAKE:
    case LOOP_ANY:
    case LOOP_TALLY:
    case LOOP_SURE:
    case LOOP_LOADIF:
    case LOOP_STOREIF:
    case LOOP_COUNT: return;
    }
}

static void add_body(const Planner *p, Effects *e, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) add_stm(p, e, body->stms.data[i]);
}

static bool is_parallel(const LoopStm *stm) {
    return stm->op == LOOP_FOR && stm->order == ORDER_PARALLEL;
}

// ---- local buffers ------------------------------------------------------------------

// Of at most `most` elements. What a parallel turn has outside of its loops may be a
// team's, and larger.
static void find_small(const Planner *p, const LoopBody *body, uint64_t most,
                       uint32_t *room) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        uint32_t own = LAUNCH_LOCAL_BYTES;
        for (uint32_t k = 0; k < stm->body_count; k++)
            find_small(p, stm->bodies[k],
                       is_parallel(stm) ? p->most : LAUNCH_MOST_LOCAL,
                       is_parallel(stm) ? &own : room);
        if (stm->op != LOOP_ALLOC) continue;
        const LoopValue *count = &p->kernel->values.data[stm->args[0]];
        if (!count->is_const || count->bits - 1 >= most) continue;
        uint32_t bytes =
            (uint32_t)count->bits * scalar_info[type_of(p, stm->outs[0]).elem].bytes;
        if (bytes > *room) continue;
        *room -= bytes;
        p->plan->is_local[stm->outs[0]] = true;
    }
}

// What is passed on might meet other buffers.
static void drop_passed(const LoopBody *body, bool *is_local) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool is_masked = stm->op == LOOP_LOADIF || stm->op == LOOP_STOREIF;
        bool is_access = is_masked || stm->op == LOOP_LOAD || stm->op == LOOP_STORE ||
                         stm->op == LOOP_ATOMIC;
        for (uint32_t k = 0; k < stm->arg_count; k++)
            if (!is_access || k != is_masked) is_local[stm->args[k]] = false;
        for (uint32_t k = 0; k < stm->body_count; k++)
            drop_passed(stm->bodies[k], is_local);
    }
    for (uint32_t i = 0; i < body->result_count; i++)
        is_local[body->results[i]] = false;
}

static void find_local(const Planner *p) {
    const LoopKernel *kernel = p->kernel;
    for (uint32_t i = 0; i <= kernel->funs.len; i++) {
        const LoopBody *body =
            i < kernel->funs.len ? kernel->funs.data[i].body : kernel->root;
        uint32_t room = LAUNCH_LOCAL_BYTES;
        find_small(p, body, LAUNCH_MOST_LOCAL, &room);
        drop_passed(body, p->plan->is_local);
    }
}

bool *loop_local_buffers(const LoopKernel *kernel, Arena *arena) {
    LoopPlan plan = {.is_local = arena_array(arena, bool, kernel->values.len)};
    find_local(&(Planner){.kernel = kernel, .plan = &plan, .most = LAUNCH_MOST_LOCAL});
    return plan.is_local;
}

// ---- who runs a statement -----------------------------------------------------------

// Whether there are results or parallel loops in it.
static bool has_host_work(const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_RESULT || is_parallel(stm)) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (has_host_work(stm->bodies[k])) return true;
    }
    return false;
}

// Whether it frees memory of the code around it.
static bool uses_mark(const Planner *p, const LoopStm *stm) {
    LoopRefs refs;
    for (uint32_t i = 0; i < stm->body_count; i++) {
        loop_captures(p->kernel, stm->bodies[i], p->arena, &refs);
        for (uint32_t k = 0; k < refs.len; k++)
            if (type_of(p, refs.data[k]).kind == LOOP_IS_MARK) return true;
    }
    return false;
}

// Whether it can be no part of a run of statements.
static bool is_for_host(const Planner *p, const LoopStm *stm) {
    if (is_parallel(stm)) return true;
    switch (stm->op) {
    case LOOP_DATA:
    case LOOP_ALLOC:
    case LOOP_MARK:
    case LOOP_KEEP:
    case LOOP_RESULT:
    case LOOP_THREADS: return true;
    case LOOP_SCALAR:
    case LOOP_LOAD:
    case LOOP_STORE:
    case LOOP_SIFT:
    case LOOP_BELOW:
    case LOOP_ATOMIC:
    case LOOP_CHECK:
    case LOOP_CALL:
    case LOOP_APPLY:
    case LOOP_IF:
    case LOOP_FOR:
    case LOOP_WHILE:
    case LOOP_SPLAT:
    case LOOP_LANES:
    case LOOP_SELECT:
    case LOOP_PACK:
    case LOOP_TAKE:
    case LOOP_ANY:
    case LOOP_TALLY:
    case LOOP_SURE:
    case LOOP_LOADIF:
    case LOOP_LOOKUP:
    case LOOP_STOREIF:
    case LOOP_COUNT: break;
    }
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (type_of(p, stm->outs[i]).kind != LOOP_IS_SCALAR) return true;
    for (uint32_t i = 0; i < stm->body_count; i++)
        if (has_host_work(stm->bodies[i])) return true;
    return uses_mark(p, stm);
}

// Whether it is worth a launch: it touches elements, or turns.
static bool is_work(const LoopStm *stm) {
    if (stm->op != LOOP_IF)
        return stm->op == LOOP_LOAD || stm->op == LOOP_STORE || stm->op == LOOP_SIFT ||
               stm->op == LOOP_BELOW || stm->op == LOOP_ATOMIC ||
               stm->op == LOOP_CALL || stm->op == LOOP_FOR || stm->op == LOOP_WHILE;
    for (uint32_t i = 0; i < stm->body_count; i++)
        for (uint32_t k = 0; k < stm->bodies[i]->stms.len; k++)
            if (is_work(stm->bodies[i]->stms.data[k])) return true;
    return false;
}

// ---- launches -----------------------------------------------------------------------

// Scalars, choices between these, and loads of what nobody stores.
static bool is_cheap(Effects *effects, const LoopStm *stm) {
    if (stm->op == LOOP_LOAD) return uses_of(effects, stm->args[0]) == LAUNCH_LOADS;
    for (uint32_t k = 0; k < stm->body_count; k++)
        if (stm->bodies[k]->stms.len > 0) return false;
    return stm->op == LOOP_SCALAR || stm->op == LOOP_IF;
}

// How often the loop turns that is all of a parallel loop's body, or 0. What comes
// before it is done again for each of its turns, so it must be cheap and not see them.
static LoopRef inner_of(const Planner *p, const LoopBody *body, Effects *effects,
                        const LoopRefs *ins) {
    uint32_t before = body->stms.len - 1;
    if (body->stms.len == 0) return 0;
    const LoopStm *loop = body->stms.data[before];
    if (loop->op != LOOP_FOR || loop->order != ORDER_INDEPENDENT) return 0;
    for (uint32_t i = 0; i < before; i++)
        if (!is_cheap(effects, body->stms.data[i])) return 0;
    LoopRef times = loop->args[0];
    if (type_of(p, times).elem != SCALAR_I64) return 0;
    bool is_outer = p->kernel->values.data[times].is_const;
    for (uint32_t i = 0; i < ins->len; i++) is_outer |= ins->data[i] == times;
    return is_outer ? times : 0;
}

LoopBody loop_launch_body(const LoopLaunch *launch) {
    LoopStm **stms = launch->body->stms.data + launch->first;
    if (launch->is_parallel) return *stms[0]->bodies[0];
    return (LoopBody){.stms = {stms, launch->count, launch->count}};
}

// The scalars bound by the launch that statements after it use.
static void find_outs(const Planner *p, LoopLaunch *launch) {
    LoopRefs outs = {0};
    uint32_t end = launch->first + launch->count;
    for (uint32_t i = launch->first; i < end; i++) {
        const LoopStm *stm = launch->body->stms.data[i];
        for (uint32_t k = 0; k < stm->out_count; k++)
            if (p->last[stm->outs[k]] >= end) vec_push(p->arena, &outs, stm->outs[k]);
    }
    launch->outs = outs.data;
    launch->out_count = outs.len;
}

static void add_launch(Planner *p, const LoopBody *body, uint32_t first,
                       uint32_t count) {
    LoopLaunch launch = {.number = p->launches.len,
                         .body = body,
                         .first = first,
                         .count = count,
                         .is_parallel = is_parallel(body->stms.data[first])};
    LoopBody code = loop_launch_body(&launch);
    LoopRefs ins;
    loop_captures(p->kernel, &code, p->arena, &ins);
    Effects effects = {0};
    effects_init(&effects, p->arena);
    add_body(p, &effects, &code);
    launch.ins = ins.data;
    launch.in_count = ins.len;
    launch.uses = arena_array(p->arena, uint8_t, ins.len);
    for (uint32_t i = 0; i < ins.len; i++)
        if (type_of(p, ins.data[i]).kind == LOOP_IS_BUFFER)
            launch.uses[i] = uses_of(&effects, ins.data[i]);
    launch.has_private = effects.allocates;
    if (launch.is_parallel) launch.inner = inner_of(p, &code, &effects, &ins);
    else find_outs(p, &launch);
    if (launch.is_parallel && launch.inner == 0)
        loop_plan_team(p->kernel, p->arena, p->plan, &launch);
    map_set(&p->plan->by_stm, (uint64_t)(uintptr_t)body->stms.data[first],
            launch.number + 1);
    vec_push(p->arena, &p->launches, launch);
}

// ---- bodies that the host walks -----------------------------------------------------

static void note_uses(Planner *p, const LoopBody *body, uint32_t at) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++) p->last[stm->args[k]] = at;
        for (uint32_t k = 0; k < stm->body_count; k++) note_uses(p, stm->bodies[k], at);
    }
    for (uint32_t i = 0; i < body->result_count; i++) p->last[body->results[i]] = at;
}

// Where each value that the body binds is used last. An inner body may say so of a
// value of an outer one, whose launch has then been made.
static void find_last_uses(Planner *p, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++) p->last[stm->args[k]] = i;
        for (uint32_t k = 0; k < stm->body_count; k++) note_uses(p, stm->bodies[k], i);
    }
    for (uint32_t i = 0; i < body->result_count; i++)
        p->last[body->results[i]] = body->stms.len;
}

static void plan_body(Planner *p, const LoopBody *body);

static void plan_for_host(Planner *p, const LoopStm *stm) {
    for (uint32_t i = 0; i < stm->body_count; i++) plan_body(p, stm->bodies[i]);
    if (stm->op != LOOP_CALL || p->is_planned[stm->number]) return;
    p->is_planned[stm->number] = true;
    plan_body(p, p->kernel->funs.data[stm->number].body);
}

// How many statements from here on are one launch: up to the last work before something
// for the host.
static uint32_t run_at(const Planner *p, const LoopBody *body, uint32_t first) {
    uint32_t count = 0;
    for (uint32_t i = first; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (is_for_host(p, stm)) break;
        if (is_work(stm)) count = i + 1 - first;
    }
    return count;
}

static void plan_body(Planner *p, const LoopBody *body) {
    find_last_uses(p, body);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        uint32_t count = 1;
        if (is_parallel(stm)) add_launch(p, body, i, 1);
        else if (is_for_host(p, stm)) plan_for_host(p, stm);
        else if (is_work(stm)) add_launch(p, body, i, count = run_at(p, body, i));
        i += count - 1;
    }
}

static bool is_sure(const LoopPlan *plan, const LoopLaunch *launch) {
    LoopBody body = loop_launch_body(launch);
    return launch->out_count == 0 && !launch->has_private &&
           !loop_spread_fails(plan, &body);
}

void loop_plan(const LoopKernel *kernel, Arena *arena, LoopPlan *plan_out) {
    Planner p = {.kernel = kernel,
                 .arena = arena,
                 .plan = plan_out,
                 .most = LAUNCH_MOST_TILE,
                 .funs = arena_array(arena, Effects, kernel->funs.len),
                 .is_planned = arena_array(arena, bool, kernel->funs.len),
                 .last = arena_array(arena, uint32_t, kernel->values.len)};
    *plan_out = (LoopPlan){0};
    map_init(&plan_out->by_stm, arena);
    map_init(&plan_out->waits, arena);
    plan_out->is_local = arena_array(arena, bool, kernel->values.len);
    plan_out->is_shared = arena_array(arena, bool, kernel->values.len);
    find_local(&p);
    for (uint32_t i = 0; i < kernel->funs.len; i++) {
        effects_init(&p.funs[i], arena);
        add_body(&p, &p.funs[i], kernel->funs.data[i].body);
    }
    plan_body(&p, kernel->root);
    plan_out->launches = p.launches.data;
    plan_out->count = p.launches.len;
    for (uint32_t i = 0; i < plan_out->count; i++)
        plan_out->launches[i].is_sure = is_sure(plan_out, &plan_out->launches[i]);
}

const LoopLaunch *loop_launch_at(const LoopPlan *plan, const LoopStm *stm) {
    uint64_t launch;
    if (!map_get(&plan->by_stm, (uint64_t)(uintptr_t)stm, &launch)) return NULL;
    return &plan->launches[launch - 1];
}
