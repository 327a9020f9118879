// SPDX-License-Identifier: Apache-2.0
//
// Dead code. First mark what is needed, from the results of functions backwards, then
// rebuild with only that. Marking follows single values, so that of statements with
// several results (if, loops, maps, folds, histograms) only the needed components stay,
// with their part of the bodies: a loop's state is needed if its result is or if what
// is needed in the body uses it. An array that a map or fold reads for a value nobody
// needs goes, too, unless the number of iterations hangs on it alone.
//
// In stage 0 this is part of the meaning: an unneeded binding raises no error, so
// statements that fail go like any other. After stage 0 (keep_effects) no error may
// vanish: statements that may fail are needed, with all their args.
//
// Termination: each value and statement is marked at most once.
#include <string.h>

#include "core/rules.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

typedef struct Binder {
    CoreStm *stm;
    const CoreBody *body; // NULL: a result of stm; else a param of this body of it
    uint32_t index;
} Binder;

typedef struct Marker {
    CoreProgram *program;
    bool keep_effects;
    bool changed;
    Binder *binders; // by CoreRef
    bool *is_needed; // by CoreRef
    bool *is_kept;   // by first result: the statement must stay
    Map others;      // CoreStm address -> 1: so must this one, which has no results
    struct {
        CoreRef *data;
        uint32_t len, cap;
    } work;
    struct {
        CoreStm **data;
        uint32_t len, cap;
    } folds; // kept; may lack an array
} Marker;

// ---- who binds what -----------------------------------------------------------------

static void note_params(Marker *m, CoreStm *stm, const CoreBody *body) {
    for (uint32_t i = 0; i < body->param_count; i++)
        m->binders[body->params[i]] = (Binder){stm, body, i};
}

static void note_binders(Marker *m, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *stm = body->stms.data[i];
        for (uint32_t j = 0; j < stm->out_count; j++)
            m->binders[stm->outs[j]] = (Binder){stm, NULL, j};
        for (uint32_t j = 0; j < stm->body_count; j++) {
            note_params(m, stm, stm->bodies[j]);
            note_binders(m, stm->bodies[j]);
        }
    }
}

// ---- marking ------------------------------------------------------------------------

static void need(Marker *m, CoreRef ref) {
    if (ref == 0 || m->is_needed[ref]) return;
    m->is_needed[ref] = true;
    vec_push(core_notes(m->program), &m->work, ref);
}

static bool is_kept(const Marker *m, const CoreStm *stm) {
    uint64_t known;
    if (stm->out_count > 0) return m->is_kept[stm->outs[0]];
    return map_get(&m->others, (uint64_t)(uintptr_t)stm, &known);
}

static void note_kept(Marker *m, const CoreStm *stm) {
    if (stm->out_count > 0) m->is_kept[stm->outs[0]] = true;
    else map_set(&m->others, (uint64_t)(uintptr_t)stm, 1);
}

static bool is_fold(const CoreStm *stm) {
    return stm->op == OP_REDUCE || stm->op == OP_SCAN;
}

// Whether the statement's results can be taken apart into components. A filter or a
// histogram that has a producer stays whole.
static bool has_components(const CoreStm *stm) {
    if (stm->op == OP_SCATTER) return false;
    if (stm->body_count == 0 && stm->op != OP_FILTER) return false;
    if (stm->op == OP_FILTER || stm->op == OP_HIST)
        return core_feeds(stm).producer == NULL;
    return stm->op == OP_IF || stm->op == OP_FOR || stm->op == OP_WHILE ||
           core_op_info[stm->op].kind == KIND_ORDER2;
}

static void need_args(Marker *m, const CoreStm *stm, uint32_t first, uint32_t count) {
    for (uint32_t i = first; i < first + count; i++) need(m, stm->args[i]);
}

// The args with the row sizes of result `index` of a map or generate.
static void row_sizes_at(const CoreProgram *p, const CoreStm *stm, uint32_t index,
                         uint32_t *first_out, uint32_t *count_out) {
    uint32_t outer = stm->op == OP_GENERATE ? (uint32_t)stm->attrs[0] : 1;
    uint32_t at = (uint32_t)stm->attrs[0];
    for (uint32_t i = 0; i < index; i++) at += core_type(p, stm->outs[i]).rank - outer;
    *first_out = at;
    *count_out = core_type(p, stm->outs[index]).rank - outer;
}

static void need_component(Marker *m, const CoreStm *stm, uint32_t index);

// What a statement needs whichever of its results is needed.
static void keep(Marker *m, CoreStm *stm) {
    if (is_kept(m, stm)) return;
    note_kept(m, stm);
    if (!has_components(stm)) {
        need_args(m, stm, 0, stm->arg_count);
        for (uint32_t i = 0; i < stm->body_count; i++)
            for (uint32_t k = 0; k < stm->bodies[i]->result_count; k++)
                need(m, stm->bodies[i]->results[k]);
        return;
    }
    switch ((int)stm->op) {
    case OP_IF:
    case OP_FOR:
    case OP_FILTER: need(m, stm->args[0]); break;
    case OP_WHILE: need(m, stm->bodies[0]->results[0]); break;
    case OP_GENERATE: need_args(m, stm, 0, (uint32_t)stm->attrs[0]); break;
    case OP_HIST: need_args(m, stm, 2 * stm->out_count, (uint32_t)stm->attrs[1]); break;
    case OP_MAP:
    case OP_REDUCE:
    case OP_SCAN:
        vec_push(core_notes(m->program), &m->folds, stm);
        if (m->keep_effects) need_args(m, stm, 0, (uint32_t)stm->attrs[0]);
        break;
    }
    if (!m->keep_effects) return;
    // Rows of different shapes are an error, and so are arrays of different lengths: a
    // component that brings an array of its own stays. One has to stay anyway.
    bool brings_arrays = stm->op == OP_FILTER || stm->op == OP_HIST ||
                         (is_fold(stm) && stm->body_count == 1);
    bool is_order2 = core_op_info[stm->op].kind == KIND_ORDER2;
    for (uint32_t i = 0; i < stm->out_count; i++) {
        bool has_rows = is_order2 && core_type(m->program, stm->outs[i]).rank > 1;
        if (brings_arrays || has_rows || (is_order2 && i == 0))
            need_component(m, stm, i);
    }
}

static void need_results(Marker *m, const CoreStm *stm, uint32_t index) {
    for (uint32_t i = 0; i < stm->body_count; i++)
        if (stm->op != OP_WHILE || i == 1) need(m, stm->bodies[i]->results[index]);
}

// Component `index` of a statement that is kept.
static void need_component(Marker *m, const CoreStm *stm, uint32_t index) {
    uint32_t first, count;
    need(m, stm->outs[index]);
    switch ((int)stm->op) {
    case OP_IF: break;
    case OP_FOR:
    case OP_FILTER: need(m, stm->args[1 + index]); break;
    case OP_WHILE: need(m, stm->args[index]); break;
    case OP_GENERATE:
    case OP_MAP:
        row_sizes_at(m->program, stm, index, &first, &count);
        need_args(m, stm, first, count);
        break;
    case OP_REDUCE:
    case OP_SCAN:
        need(m, stm->args[(uint32_t)stm->attrs[0] + index]);
        if (stm->body_count == 1) need(m, stm->args[index]);
        break;
    case OP_HIST:
        need(m, stm->args[index]);
        need(m, stm->args[stm->out_count + index]);
        need(m, stm->args[2 * stm->out_count + (uint32_t)stm->attrs[1] + index]);
        break;
    }
    need_results(m, stm, index);
}

// A needed param needs the component it hands on, or the array it is a row of.
static void need_param(Marker *m, const Binder *binder) {
    const CoreStm *stm = binder->stm;
    uint32_t index = binder->index;
    if (!has_components(stm)) return; // it needs all its args
    switch ((int)stm->op) {
    case OP_FOR:
        if (index > 0) need_component(m, stm, index - 1);
        return;
    case OP_WHILE: need_component(m, stm, index); return;
    case OP_MAP: need(m, stm->args[index]); return;
    case OP_HIST: need_component(m, stm, index % stm->out_count); return;
    case OP_REDUCE:
    case OP_SCAN:
        if (binder->body == stm->bodies[0])
            need_component(m, stm, index % stm->out_count);
        else if (binder->body == stm->bodies[1]) need(m, stm->args[index]);
        else if (index < stm->out_count) need_component(m, stm, index);
        else need(m, stm->args[index - stm->out_count]);
        return;
    }
}

static bool has_needed_array(const Marker *m, const CoreStm *stm) {
    for (int32_t i = 0; i < stm->attrs[0]; i++)
        if (m->is_needed[stm->args[i]]) return true;
    return false;
}

static void propagate(Marker *m) {
    for (;;) {
        while (m->work.len > 0) {
            const Binder *binder = &m->binders[m->work.data[--m->work.len]];
            if (binder->stm == NULL) continue; // a function's param or a constant
            if (binder->body != NULL) {
                need_param(m, binder);
                continue;
            }
            keep(m, binder->stm);
            if (has_components(binder->stm))
                need_component(m, binder->stm, binder->index);
        }
        // Only now it is clear which folds lack an array to take their length from.
        while (m->folds.len > 0 && m->work.len == 0) {
            const CoreStm *stm = m->folds.data[--m->folds.len];
            if (!has_needed_array(m, stm)) need(m, stm->args[0]);
        }
        if (m->work.len == 0) return;
    }
}

static const CoreStm *definition(const void *marker, CoreRef ref) {
    const Binder *binder = &((const Marker *)marker)->binders[ref];
    return binder->body == NULL ? binder->stm : NULL;
}

// With keep_effects: keeps what may fail, here and in the bodies. Whether anything may.
static bool keep_effects(Marker *m, const CoreBody *body) {
    bool any = false;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *stm = body->stms.data[i];
        bool is_effect = false;
        for (uint32_t j = 0; j < stm->body_count; j++)
            is_effect = keep_effects(m, stm->bodies[j]) || is_effect;
        is_effect = is_effect || opt_is_effect_itself(m->program, stm);
        if (is_effect && !opt_wants_only_memory(m->program, stm, definition, m))
            keep(m, stm);
        any = any || is_effect;
    }
    return any;
}

// ---- rebuilding ---------------------------------------------------------------------

// The refs whose flag is set.
static CoreRef *select_refs(Marker *m, const CoreRef *refs, const bool *flags,
                            uint32_t count, uint32_t *kept_out) {
    CoreRef *kept = arena_array(m->program->arena, CoreRef, count);
    *kept_out = 0;
    for (uint32_t i = 0; i < count; i++)
        if (flags[i]) kept[(*kept_out)++] = refs[i];
    return kept;
}

// Which components, and for maps and folds which arrays, stay.
typedef struct Choice {
    bool *outs;
    bool *args;
    bool *arrays; // MAP, REDUCE, SCAN
    uint32_t array_count;
} Choice;

static Choice choose(Marker *m, const CoreStm *stm) {
    Arena *arena = core_notes(m->program);
    Choice c = {.outs = arena_array(arena, bool, stm->out_count),
                .args = arena_array(arena, bool, stm->arg_count)};
    for (uint32_t i = 0; i < stm->out_count; i++)
        c.outs[i] = m->is_needed[stm->outs[i]];
    memset(c.args, true, stm->arg_count);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        uint32_t first, count;
        switch ((int)stm->op) {
        case OP_FOR:
        case OP_FILTER: c.args[1 + i] = c.outs[i]; break;
        case OP_WHILE: c.args[i] = c.outs[i]; break;
        case OP_GENERATE:
        case OP_MAP:
            row_sizes_at(m->program, stm, i, &first, &count);
            for (uint32_t j = first; j < first + count; j++) c.args[j] = c.outs[i];
            break;
        case OP_REDUCE:
        case OP_SCAN: c.args[(uint32_t)stm->attrs[0] + i] = c.outs[i]; break;
        case OP_HIST:
            c.args[i] = c.args[stm->out_count + i] = c.outs[i];
            c.args[2 * stm->out_count + (uint32_t)stm->attrs[1] + i] = c.outs[i];
            break;
        }
    }
    if (stm->op != OP_MAP && !is_fold(stm)) return c;
    uint32_t arrays = (uint32_t)stm->attrs[0];
    c.arrays = arena_array(arena, bool, arrays);
    bool some_row = false;
    for (uint32_t i = 0; i < arrays; i++) {
        if (is_fold(stm) && stm->body_count == 1) {
            c.arrays[i] = c.outs[i];
        } else {
            // An array may be needed elsewhere, yet no row of it here.
            const CoreBody *rows = stm->bodies[stm->op == OP_MAP ? 0 : 1];
            c.arrays[i] = m->is_needed[rows->params[i]] || m->keep_effects;
            if (stm->body_count == 3)
                c.arrays[i] = c.arrays[i] ||
                              m->is_needed[stm->bodies[2]->params[stm->out_count + i]];
        }
        some_row = some_row || c.arrays[i];
    }
    for (uint32_t i = 0; i < arrays && !some_row; i++)
        some_row = c.arrays[i] = m->is_needed[stm->args[i]];
    for (uint32_t i = 0; i < arrays; i++) {
        c.args[i] = c.arrays[i];
        c.array_count += c.arrays[i];
    }
    return c;
}

// Whether param `index` of the body stays.
static bool keeps_param(const CoreStm *stm, const Choice *c, uint32_t body,
                        uint32_t index) {
    switch ((int)stm->op) {
    case OP_FOR: return index == 0 || c->outs[index - 1];
    case OP_WHILE: return c->outs[index];
    case OP_MAP: return c->arrays[index];
    case OP_HIST: return c->outs[index % stm->out_count];
    case OP_REDUCE:
    case OP_SCAN:
        if (body == 0) return c->outs[index % stm->out_count];
        if (body == 1) return c->arrays[index];
        return index < stm->out_count ? c->outs[index]
                                      : c->arrays[index - stm->out_count];
    }
    return true;
}

static CoreBody *rebuild_body(Marker *m, CoreBody *body);

// The body with the params and results that stay.
static CoreBody *trim_body(Marker *m, const CoreStm *stm, const Choice *c,
                           uint32_t index) {
    CoreBody *body =
        arena_copy(m->program->arena, stm->bodies[index], sizeof(CoreBody));
    bool *params = arena_array(core_notes(m->program), bool, body->param_count);
    for (uint32_t i = 0; i < body->param_count; i++)
        params[i] = keeps_param(stm, c, index, i);
    body->params =
        select_refs(m, body->params, params, body->param_count, &body->param_count);
    if (stm->op != OP_WHILE || index == 1)
        body->results = select_refs(m, body->results, c->outs, body->result_count,
                                    &body->result_count);
    return body;
}

// A copy of the statement to change, with an array of its own for its bodies.
static CoreStm *copy_stm(Marker *m, const CoreStm *stm) {
    Arena *arena = m->program->arena;
    CoreStm *made = arena_copy(arena, stm, sizeof *stm);
    made->bodies =
        arena_copy(arena, stm->bodies, stm->body_count * sizeof *stm->bodies);
    return made;
}

static uint32_t count_of(const bool *flags, uint32_t count) {
    uint32_t set = 0;
    for (uint32_t i = 0; i < count; i++) set += flags[i];
    return set;
}

// `made` is the statement with its bodies rebuilt; itself if nothing in them changed.
static CoreStm *drop_components(Marker *m, CoreStm *stm, CoreStm *made) {
    Arena *arena = m->program->arena;
    Choice c = choose(m, stm);
    if (count_of(c.outs, stm->out_count) == stm->out_count &&
        count_of(c.args, stm->arg_count) == stm->arg_count)
        return made;
    m->changed = true;
    if (made == stm) made = copy_stm(m, stm);
    for (uint32_t i = 0; i < stm->body_count; i++) {
        // keeps_param asks the statement for its old shape
        CoreStm old = *stm;
        old.bodies = made->bodies;
        made->bodies[i] = trim_body(m, &old, &c, i);
    }
    made->outs = select_refs(m, stm->outs, c.outs, stm->out_count, &made->out_count);
    made->args = select_refs(m, stm->args, c.args, stm->arg_count, &made->arg_count);
    if (stm->attr_count == 0) return made;
    made->attrs = arena_copy(arena, stm->attrs, stm->attr_count * sizeof *stm->attrs);
    if (c.arrays != NULL) made->attrs[0] = (int32_t)c.array_count;
    if (stm->op == OP_HIST) made->attrs[0] = (int32_t)made->out_count;
    return made;
}

// A copy of the body with its first `count` statements, and room for all.
static CoreBody *begin_copy(Marker *m, const CoreBody *body, uint32_t count) {
    CoreBody *made = arena_copy(m->program->arena, body, sizeof *body);
    vec_reserve(m->program->arena, &made->stms, body->stms.len);
    memcpy(made->stms.data, body->stms.data, count * sizeof *body->stms.data);
    made->stms.len = count;
    return made;
}

// The statement itself if nothing in it changes.
static CoreStm *rebuild_stm(Marker *m, CoreStm *stm) {
    CoreStm *made = stm;
    for (uint32_t i = 0; i < stm->body_count; i++) {
        CoreBody *body = rebuild_body(m, stm->bodies[i]);
        if (body == stm->bodies[i]) continue;
        if (made == stm) made = copy_stm(m, stm);
        made->bodies[i] = body;
    }
    return has_components(stm) ? drop_components(m, stm, made) : made;
}

// The body itself if nothing in it changes.
static CoreBody *rebuild_body(Marker *m, CoreBody *body) {
    CoreBody *made = NULL;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *old = body->stms.data[i];
        CoreStm *stm = is_kept(m, old) ? rebuild_stm(m, old) : NULL;
        if (stm == old && made == NULL) continue;
        if (made == NULL) made = begin_copy(m, body, i);
        if (stm == NULL) m->changed = true;
        else made->stms.data[made->stms.len++] = stm;
    }
    return made == NULL ? body : made;
}

bool opt_drop_dead(CoreProgram *p, bool keep) {
    Marker m = {.program = p, .keep_effects = keep};
    m.binders = arena_array(core_notes(p), Binder, p->values.len);
    m.is_needed = arena_array(core_notes(p), bool, p->values.len);
    m.is_kept = arena_array(core_notes(p), bool, p->values.len);
    map_init(&m.others, core_notes(p));
    for (uint32_t i = 0; i < p->funs.len; i++) note_binders(&m, p->funs.data[i]->body);
    for (uint32_t i = 0; i < p->funs.len; i++) {
        const CoreBody *body = p->funs.data[i]->body;
        for (uint32_t j = 0; j < body->result_count; j++) need(&m, body->results[j]);
        if (keep) keep_effects(&m, body);
    }
    propagate(&m);
    for (uint32_t i = 0; i < p->funs.len; i++)
        p->funs.data[i]->body = rebuild_body(&m, p->funs.data[i]->body);
    return m.changed;
}

bool opt_dce(CoreProgram *program) {
    return opt_drop_dead(program, false);
}
