// SPDX-License-Identifier: Apache-2.0
//
// Outlining: what an engine may run as one piece becomes a function of its own, a
// kernel. What is left runs on the host, where the interpreter walks it and offers each
// call of a kernel to an engine; a call that no engine takes is interpreted, so that
// every program runs and means the same.
//
// - A second-order statement, a filter or a scatter at host level becomes a parallel
//   kernel, together with those arguments that need no memory of their own. Every
//   kernel has the small tables that it uses. What makes arrays of which another
//   alone reads rows is in one kernel with that (outline_rows.c).
// - A kernel finds the sizes of its arrays itself, so that it knows them to be these,
//   and what is computed from them and its params. Where the host has checked that two
//   such sizes are equal, it checks that again, to know it; and so where an array is
//   known to have such a size, as one has that a loop carries if each turn keeps it.
// - A loop, or a branch that holds one, becomes a sequential kernel, for it may be
//   small, unless it is said to be large. If there is parallel work inside, the
//   function that stands for it otherwise is outlined in its turn, or calls one
//   parallel kernel: of a loop whose arrays keep their sizes. Where operators are in
//   parts for devices, branches stay on the host, which choose between the parts and
//   the whole.
// - A function kept out of line is outlined for the host, and stays as it is for the
//   kernels that call it.
// - Traces stay on the host.
#include "opt/outline.h"
#include "opt/outline_next.h"
#include "opt/outline_rows.h"
#include "opt/outline_share.h"
#include "opt/passes.h"

// A loop may be a kernel in so many that are around it, so that code grows by no more.
enum { MOST_LEVELS = 8 };

static CoreBody *outline_body(Outliner *o, const CoreBody *body);

// ---- what is what -------------------------------------------------------------------

typedef struct TraceSearch {
    const bool *traces;
    bool is_found;
} TraceSearch;

static void note_trace(void *data, const CoreStm *stm) {
    TraceSearch *search = data;
    if (stm->op == OP_TRACE || (stm->op == OP_CALL && search->traces[stm->attrs[0]]))
        search->is_found = true;
}

// Whether something in the body, which has not been outlined, is traced.
static bool has_trace(const Outliner *o, const CoreBody *body) {
    TraceSearch search = {.traces = o->traces};
    core_walk(body, note_trace, &search);
    return search.is_found;
}

static bool traces_inside(const Outliner *o, const CoreStm *stm) {
    for (uint32_t i = 0; i < stm->body_count; i++)
        if (has_trace(o, stm->bodies[i])) return true;
    return false;
}

static bool is_parallel(const CoreStm *stm) {
    switch ((int)stm->op) {
    case OP_GENERATE:
    case OP_MAP:
    case OP_REDUCE:
    case OP_SCAN:
    case OP_HIST:
    case OP_FILTER:
    case OP_SORT:
    case OP_SCATTER: return true;
    }
    return false;
}

static void note_work(void *data, const CoreStm *stm) {
    if (is_parallel(stm) || stm->op == OP_FOR || stm->op == OP_WHILE)
        *(bool *)data = true;
}

static bool is_sequential(const CoreStm *stm) {
    bool found = false;
    note_work(&found, stm);
    if (stm->op == OP_IF)
        for (uint32_t i = 0; i < 2; i++) core_walk(stm->bodies[i], note_work, &found);
    return found && !is_parallel(stm);
}

// Whether it is a table that is small enough to be part of each kernel that uses it.
static bool is_table(const CoreStm *stm) {
    enum { MOST_BYTES = 1 << 12 };
    return stm != NULL && stm->op == OP_LITERAL && stm->text.len <= MOST_BYTES;
}

// Whether an array takes no memory, whoever looks at parts of it.
static bool is_virtual(const Outliner *o, CoreRef array) {
    const CoreStm *def = rewrite_def(&o->defs, array);
    return def != NULL && (def->op == OP_IOTA || def->op == OP_REPLICATE);
}

static bool is_view(const Outliner *o, const CoreStm *stm) {
    const CoreProgram *p = o->program;
    switch ((int)stm->op) {
    case OP_LITERAL: return is_table(stm);
    case OP_RESHAPE: return is_table(rewrite_def(&o->defs, stm->args[0]));
    case OP_INDEX: return core_type(p, stm->outs[0]).rank > 0;
    case OP_REPLICATE: return core_type(p, stm->args[1]).rank == 0;
    case OP_IOTA:
    case OP_SCRATCH: // which is best made where it is overwritten
    case OP_SLICE:
    case OP_PERMUTE:
    case OP_REVERSE: return true;
    case OP_SPLIT: return !p->is_divided || is_virtual(o, stm->args[0]);
    }
    return false;
}

static void note_view(Outliner *o, CoreStm *stm) {
    for (uint32_t i = 0; is_view(o, stm) && i < stm->out_count; i++)
        map_set(&o->views, stm->outs[i], (uint64_t)(uintptr_t)stm);
}

// ---- functions ----------------------------------------------------------------------

// A function from a body with free values, which become its params; *frees gets them.
static CoreFun *close_function(Outliner *o, const CoreBody *body, CoreRefs *frees) {
    CoreProgram *p = o->program;
    ArenaMark mark = arena_mark(core_notes(p));
    core_free(p, body, p->arena, frees);
    Map map;
    map_init(&map, core_notes(p));
    CoreFun *fun = arena_new(p->arena, CoreFun);
    CoreRef *params = arena_array(p->arena, CoreRef, frees->len);
    for (uint32_t i = 0; i < frees->len; i++) {
        CoreValue value = p->values.data[frees->data[i]];
        params[i] = core_value(p, value.type, value.name);
        map_set(&map, frees->data[i], params[i]);
    }
    fun->body = core_clone(p, body, &map, 0);
    if (p->notes != NULL) arena_back(p->notes, mark);
    fun->body->params = params;
    fun->body->param_count = frees->len;
    fun->result_types = arena_array(p->arena, CoreType, body->result_count);
    for (uint32_t i = 0; i < body->result_count; i++)
        fun->result_types[i] = core_type(p, body->results[i]);
    fun->name = o->name;
    fun->no_inline = true;
    return fun;
}

static uint32_t add_function(Outliner *o, CoreFun *fun) {
    vec_push(o->program->arena, &o->program->funs, fun);
    return o->program->funs.len - 1;
}

// The views that the values in `refs` are, each after the ones that it looks at; or
// only those of tables.
static void append_views(Outliner *o, const CoreRef *refs, uint32_t count, bool tables,
                         Map *done) {
    uint64_t known;
    for (uint32_t i = 0; i < count; i++) {
        if (!map_get(&o->views, refs[i], &known)) continue;
        CoreStm *view = (CoreStm *)(uintptr_t)known;
        if (map_get(done, view->outs[0], &known) ||
            (tables && view->op != OP_LITERAL && view->op != OP_RESHAPE))
            continue;
        map_set(done, view->outs[0], 1);
        append_views(o, view->args, view->arg_count, tables, done);
        core_append(&o->builder, view);
    }
}

// ---- loops --------------------------------------------------------------------------

static void note_parallel(void *data, const CoreStm *stm) {
    if (is_parallel(stm)) *(bool *)data = true;
}

// A branch by which the host may choose between parts for devices and the whole.
static void note_choice(void *data, const CoreStm *stm) {
    for (uint32_t i = 0; i < stm->body_count && stm->op == OP_IF; i++)
        core_walk(stm->bodies[i], note_parallel, data);
}

static bool keeps_sizes_inside(Outliner *o, const CoreBody *body);

// Whether each array that the loop carries, and each that loops in its turns carry, has
// the size of what it starts with, and no turn calls what may have kernels of its own.
static bool keeps_sizes(Outliner *o, const CoreStm *stm) {
    const FuseState *outer = o->states;
    bool ok = stm->op != OP_CALL;
    if (stm->op == OP_FOR || stm->op == OP_WHILE) {
        for (uint32_t k = 0; ok && k < stm->out_count; k++) {
            int32_t rank = core_type(o->program, stm->outs[k]).rank;
            for (int32_t axis = 0; ok && axis < rank; axis++)
                ok = fuse_keeps_size(&o->defs, o->states, stm, k, axis);
            outline_note_state(o, stm, k);
        }
    }
    for (uint32_t i = 0; ok && i < stm->body_count && !is_parallel(stm); i++)
        ok = keeps_sizes_inside(o, stm->bodies[i]);
    o->states = outer;
    return ok;
}

static bool keeps_sizes_inside(Outliner *o, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (!keeps_sizes(o, body->stms.data[i])) return false;
    return true;
}

// Whether it is a loop with parallel work inside that is one parallel kernel, whose
// turns cost no calls and go round with two buffers (loop/memory.c).
static bool is_whole(Outliner *o, const CoreStm *stm) {
    bool works = false, chooses = false;
    if (stm->op != OP_FOR && stm->op != OP_WHILE) return false;
    if ((stm->flags & STM_APART) != 0) return false;
    for (uint32_t i = 0; i < stm->body_count; i++) {
        core_walk(stm->bodies[i], note_parallel, &works);
        if (o->program->is_divided) core_walk(stm->bodies[i], note_choice, &chooses);
    }
    return works && !chooses && keeps_sizes(o, stm);
}

// Outlines the bodies of what stays on the host.
static void outline_bodies(Outliner *o, CoreStm *stm) {
    const FuseState *outer = o->states;
    if (stm->op == OP_FOR || stm->op == OP_WHILE)
        for (uint32_t k = 0; k < stm->out_count; k++) outline_note_state(o, stm, k);
    for (uint32_t i = 0; i < stm->body_count; i++)
        stm->bodies[i] = outline_body(o, stm->bodies[i]);
    o->states = outer;
}

// ---- kernels ------------------------------------------------------------------------

// The statements, after the tables that they use, and the other views if they are to
// run in parallel.
static const CoreBody *with_views(Outliner *o, CoreStm **stms, uint32_t count,
                                  CoreKernel kernel) {
    CoreProgram *p = o->program;
    CoreBody alone = {.stms = {stms, count, count}};
    CoreRefs used = {0};
    Map done;
    map_init(&done, core_notes(p));
    core_free(p, &alone, p->arena, &used);
    core_open(&o->builder, NULL, 0);
    append_views(o, used.data, used.len, kernel != CORE_PARALLEL_KERNEL, &done);
    for (uint32_t i = 0; i < count; i++) core_append(&o->builder, stms[i]);
    return core_close(&o->builder, NULL, 0);
}

static void outline_stms(Outliner *o, CoreStm **stms, uint32_t count,
                         CoreKernel kernel);

// Outlines the last statement of a function of the host, a loop or a branch.
static void outline_last(Outliner *o, CoreBody *body, bool is_whole) {
    CoreStm *last = body->stms.data[body->stms.len - 1];
    if (!is_whole) {
        outline_bodies(o, last);
        return;
    }
    core_open(&o->builder, NULL, 0);
    outline_stms(o, &last, 1, CORE_PARALLEL_KERNEL);
    body->stms.data[body->stms.len - 1] =
        core_close(&o->builder, NULL, 0)->stms.data[0];
}

// The function that stands for a sequential kernel where its parallel work is worth
// more, if there is some.
static void outline_otherwise(Outliner *o, CoreFun *kernel, const CoreBody *body,
                              bool is_whole) {
    uint32_t checked = o->checks.len;
    bool works = false;
    CoreRefs unused = {0};
    core_walk(body, note_parallel, &works);
    if (!works) return;
    CoreFun *host = close_function(o, body, &unused);
    o->levels++;
    rewrite_define_all(&o->defs, host->body);
    for (uint32_t i = 0; i < host->body->stms.len; i++) {
        note_view(o, host->body->stms.data[i]);
        outline_note_scalar(o, host->body->stms.data[i]);
    }
    outline_last(o, host->body, is_whole);
    o->levels--;
    o->checks.len = checked;
    kernel->otherwise = 1 + add_function(o, host);
}

// Makes a kernel of the statements, of which what the last one gives is wanted, and
// emits a call of it in their place.
static void outline_stms(Outliner *o, CoreStm **stms, uint32_t count,
                         CoreKernel kernel) {
    CoreProgram *p = o->program;
    const CoreStm *stm = stms[count - 1];
    const CoreBody *work = with_views(o, stms, count, kernel);
    bool whole = kernel == CORE_SEQUENTIAL_KERNEL && is_whole(o, stm);
    core_open(&o->builder, NULL, 0);
    outline_append_scalars(o, work);
    for (uint32_t i = 0; i < work->stms.len; i++)
        core_append(&o->builder, work->stms.data[i]);
    CoreBody *body = core_close(&o->builder, stm->outs, stm->out_count);
    CoreRefs frees = {0};
    CoreFun *fun = close_function(o, body, &frees);
    fun->kernel = (uint8_t)kernel;

    if (kernel == CORE_SEQUENTIAL_KERNEL) outline_otherwise(o, fun, body, whole);
    CoreStm *call = arena_new(p->arena, CoreStm);
    call->op = OP_CALL;
    call->loc = stm->loc;
    call->outs = stm->outs;
    call->out_count = stm->out_count;
    call->args = frees.data;
    call->arg_count = frees.len;
    core_set_attrs(&o->builder, call, &(int32_t){(int32_t)add_function(o, fun)}, 1);
    core_append(&o->builder, call);
}

// ---- bodies -------------------------------------------------------------------------

static void outline_host_stm(Outliner *o, CoreStm *stm) {
    if (stm->op == OP_CALL && (uint32_t)stm->attrs[0] < o->old_count &&
        o->hosts[stm->attrs[0]] != 0) {
        stm = arena_copy(o->program->arena, stm, sizeof *stm);
        core_set_attrs(&o->builder, stm, &(int32_t){(int32_t)o->hosts[stm->attrs[0]]},
                       1);
    }
    note_view(o, stm);
    outline_note_scalar(o, stm);
    for (uint32_t i = 0; i < stm->out_count; i++)
        for (int32_t axis = 0; axis < core_type(o->program, stm->outs[i]).rank; axis++)
            outline_note_size(o, stm->outs[i], axis);
    bool stays = traces_inside(o, stm), is_large = (stm->flags & STM_LARGE) != 0;
    if (!stays && (is_parallel(stm) || (is_large && is_whole(o, stm)))) {
        outline_stms(o, &stm, 1, CORE_PARALLEL_KERNEL);
        return;
    }
    bool chooses = o->program->is_divided && stm->op == OP_IF;
    bool is_apart = (stm->flags & STM_APART) != 0;
    bool is_deep = o->levels == MOST_LEVELS;
    if (!stays && !chooses && !is_apart && !is_large && !is_deep &&
        is_sequential(stm)) {
        outline_stms(o, &stm, 1, CORE_SEQUENTIAL_KERNEL);
        return;
    }
    bool is_control = stm->op == OP_IF || stm->op == OP_FOR || stm->op == OP_WHILE;
    if (is_control) {
        CoreStm *copy = arena_copy(o->program->arena, stm, sizeof *stm);
        copy->bodies = arena_array(o->program->arena, CoreBody *, stm->body_count);
        for (uint32_t i = 0; i < stm->body_count; i++) copy->bodies[i] = stm->bodies[i];
        outline_bodies(o, copy);
        stm = copy;
    }
    core_append(&o->builder, stm);
}

// What reads rows that statement `at` makes, if both are to be one kernel; or 0.
static uint32_t find_reader(const Outliner *o, const CoreBody *body, uint32_t at) {
    uint32_t reader = outline_find_reader(o->program, body, at);
    bool stays = reader > 0 && (traces_inside(o, body->stms.data[at]) ||
                                traces_inside(o, body->stms.data[reader]));
    return stays ? 0 : reader;
}

static CoreBody *outline_body(Outliner *o, const CoreBody *body) {
    uint32_t checked = o->checks.len;
    core_open(&o->builder, body->params, body->param_count);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        uint32_t reader = find_reader(o, body, i);
        if (reader == 0) {
            outline_host_stm(o, body->stms.data[i]);
            continue;
        }
        CoreStm *both[] = {body->stms.data[i], body->stms.data[reader]};
        while (++i < reader) outline_host_stm(o, body->stms.data[i]);
        outline_stms(o, both, 2, CORE_PARALLEL_KERNEL);
    }
    o->checks.len = checked;
    return core_close(&o->builder, body->results, body->result_count);
}

// ---- the program --------------------------------------------------------------------

// Callees must come before callers: entries, which nobody calls, move to the end. Of
// kernels that are the same one stays.
static bool rename_call(Rewrite *rw, CoreStm *stm) {
    const int32_t *renamed = rw->data;
    if (stm->op != OP_CALL || renamed[stm->attrs[0]] == stm->attrs[0]) return false;
    CoreStm *copy = rewrite_copy(rw, stm);
    core_set_attrs(&rw->builder, copy, &renamed[stm->attrs[0]], 1);
    core_append(&rw->builder, copy);
    return true;
}

static void move_entries(CoreProgram *p) {
    uint32_t count = p->funs.len, next = 0;
    int32_t *renamed = arena_array(p->arena, int32_t, count);
    CoreFun **funs = arena_array(p->arena, CoreFun *, count);
    KernelKinds kinds = outline_kinds(p);
    for (int entries = 0; entries < 2; entries++)
        for (uint32_t i = 0; i < count; i++) {
            if (p->funs.data[i]->is_entry != (entries == 1)) continue;
            uint32_t same = p->is_divided ? outline_first_same(&kinds, i) : i;
            renamed[i] = same < i ? renamed[same] : (int32_t)next;
            if (same == i) funs[next++] = p->funs.data[i];
        }
    p->funs.len = next;
    for (uint32_t i = 0; i < next; i++) {
        p->funs.data[i] = funs[i];
        if (funs[i]->otherwise != 0)
            funs[i]->otherwise = 1 + (uint32_t)renamed[funs[i]->otherwise - 1];
    }
    Rewrite rw = rewrite_new(p);
    rw.visit = rename_call;
    rw.data = renamed;
    rewrite_all(&rw);
}

bool opt_outline(CoreProgram *p) {
    for (uint32_t i = 0; i < p->funs.len; i++)
        if (p->funs.data[i]->kernel != CORE_NO_KERNEL) return false; // it has been done
    opt_forget_notes(p);
    Outliner o = {.program = p, .builder = core_builder(p), .old_count = p->funs.len};
    o.defs = rewrite_new(p);
    for (uint32_t i = 0; i < p->funs.len; i++)
        rewrite_define_all(&o.defs, p->funs.data[i]->body);
    o.name = sym_cstr(&p->cx->syms, "kernel");
    o.hosts = arena_array(p->arena, uint32_t, p->funs.len);
    o.traces = arena_array(p->arena, bool, p->funs.len);
    for (uint32_t i = 0; i < o.old_count; i++)
        o.traces[i] = has_trace(&o, p->funs.data[i]->body);
    map_init(&o.dims, core_notes(p));
    map_init(&o.sizes, core_notes(p));
    map_init(&o.views, core_notes(p));
    map_init(&o.scalars, core_notes(p));
    map_init(&o.guarded, core_notes(p));
    for (uint32_t i = 0; i < o.old_count; i++) {
        CoreFun *fun = p->funs.data[i];
        if (fun->is_entry) {
            fun->body = outline_body(&o, fun->body);
            continue;
        }
        CoreFun *host = arena_copy(p->arena, fun, sizeof *fun);
        CoreBody *body = core_copy(p, fun->body);
        rewrite_define_all(&o.defs, body);
        host->body = outline_body(&o, body);
        o.hosts[i] = add_function(&o, host);
    }
    if (p->funs.len == o.old_count) return false;
    opt_forget_notes(p);
    move_entries(p);
    opt_forget_notes(p);
    opt_drop_dead(p, true); // views that only kernels looked at
    outline_note_next(p);
    return true;
}
