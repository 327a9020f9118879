// SPDX-License-Identifier: Apache-2.0
//
// What an operator takes, by element, as far as that can be told without sizes.
#include "fission/strategy.h"

// Of so many sizes.
static double product_of(const CoreProgram *p, const CoreRef *sizes, uint32_t count) {
    double product = 1;
    for (uint32_t i = 0; i < count; i++) {
        const CoreValue *size = &p->values.data[sizes[i]];
        product *= size->is_const ? (double)(int64_t)size->bits : FISSION_SOME;
    }
    return product;
}

double fission_turns(const CoreProgram *p, const CoreStm *stm) {
    if (stm->op == OP_IF) return 1;
    if (stm->op == OP_FOR) return product_of(p, stm->args, 1);
    if (stm->op == OP_GENERATE)
        return product_of(p, stm->args, (uint32_t)stm->attrs[0]);
    return FISSION_SOME;
}

// Scalar operations for one element, about. Functions of many steps count as such.
static double work_of_stm(const CoreProgram *p, const CoreStm *stm) {
    double inner = 0;
    for (uint32_t k = 0; k < stm->body_count; k++)
        inner += fission_body_work(p, stm->bodies[k]);
    if (stm->op == OP_CALL)
        inner = fission_body_work(p, p->funs.data[stm->attrs[0]]->body);
    return stm->body_count > 0 ? inner * fission_turns(p, stm) : 1 + inner;
}

double fission_body_work(const CoreProgram *p, const CoreBody *body) {
    double work = 0;
    for (uint32_t i = 0; i < body->stms.len; i++)
        work += work_of_stm(p, body->stms.data[i]);
    return work;
}

double fission_bytes(CoreType row) {
    double bytes = scalar_info[row.elem].bytes;
    for (uint32_t d = 0; d < row.rank; d++) bytes *= FISSION_SOME;
    return bytes;
}

// Elements of a row that a generate makes.
static double rows_of(const CoreProgram *p, const CoreStm *generate) {
    return product_of(p, generate->args + 1, (uint32_t)generate->attrs[0] - 1);
}

double fission_work(const CoreProgram *p, const CoreStm *stm) {
    double work = 0;
    for (uint32_t i = 0; i < stm->body_count; i++)
        work += fission_body_work(p, stm->bodies[i]);
    return stm->op == OP_GENERATE ? work * rows_of(p, stm) : work;
}

// ---- uneven work --------------------------------------------------------------------

// What depends on the element, by value.
typedef struct Varying {
    const CoreProgram *program;
    bool *refs;
} Varying;

static bool any_varies(const Varying *v, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (v->refs[refs[i]]) return true;
    return false;
}

static void mark(const Varying *v, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) v->refs[refs[i]] = true;
}

static bool walk_body(const Varying *v, const CoreBody *body, uint32_t from);

// From which param of a body on they vary, if anything does. Turns have numbers, which
// do not, or how many there are would.
static uint32_t first_varying(const CoreStm *stm, bool params_vary) {
    if (!params_vary || stm->op == OP_GENERATE) return UINT32_MAX;
    return stm->op == OP_FOR ? 1 : 0;
}

// Whether a result does. What one turn hands to the next is seen in a second walk.
static bool walk_bodies(const Varying *v, const CoreStm *stm, bool params_vary) {
    uint32_t from = first_varying(stm, params_vary);
    bool results_vary = false;
    for (uint32_t i = 0; i < stm->body_count; i++)
        results_vary |= walk_body(v, stm->bodies[i], from);
    if (stm->op == OP_CALL)
        results_vary |= walk_body(v, v->program->funs.data[stm->attrs[0]]->body, from);
    if (results_vary && !params_vary) return walk_bodies(v, stm, true);
    return results_vary;
}

static bool is_loop(const CoreStm *stm) {
    return stm->body_count > 0 && stm->op != OP_IF;
}

static bool has_size(const CoreStm *stm) {
    return is_loop(stm) || stm->op == OP_IOTA || stm->op == OP_REPLICATE;
}

// Whether the statement is such a one, or something in it.
static bool has(const CoreProgram *p, const CoreStm *stm, bool is(const CoreStm *stm)) {
    bool found = is(stm);
    const CoreBody *called =
        stm->op == OP_CALL ? p->funs.data[stm->attrs[0]]->body : NULL;
    for (uint32_t i = 0; called != NULL && i < called->stms.len && !found; i++)
        found = has(p, called->stms.data[i], is);
    for (uint32_t k = 0; k < stm->body_count && !found; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len && !found; i++)
            found = has(p, stm->bodies[k]->stms.data[i], is);
    return found;
}

// How many arguments say how often bodies run, or how long arrays are.
static uint32_t count_sizes(const CoreStm *stm) {
    if (stm->op == OP_GENERATE) return (uint32_t)stm->attrs[0];
    return stm->op == OP_FOR || stm->op == OP_IOTA || stm->op == OP_REPLICATE ? 1 : 0;
}

static void walk_stm(const Varying *v, const CoreStm *stm) {
    bool any = any_varies(v, stm->args, stm->arg_count);
    bool is_known = any_varies(v, stm->outs, stm->out_count); // of an earlier walk
    bool results_vary = walk_bodies(v, stm, any || is_known);
    // Rows of one array are equally long.
    if (stm->op != OP_DIM && (any || results_vary)) mark(v, stm->outs, stm->out_count);
}

// Whether a result varies, where its params do from that one on.
static bool walk_body(const Varying *v, const CoreBody *body, uint32_t from) {
    if (from < body->param_count)
        mark(v, body->params + from, body->param_count - from);
    for (uint32_t i = 0; i < body->stms.len; i++) walk_stm(v, body->stms.data[i]);
    return any_varies(v, body->results, body->result_count);
}

// Whether it does more for some elements than for others, now that all is marked.
static bool is_uneven(const Varying *v, const CoreStm *stm) {
    bool any = any_varies(v, stm->args, stm->arg_count);
    for (uint32_t i = 0; i < stm->body_count && stm->op == OP_WHILE; i++)
        any |= any_varies(v, stm->bodies[i]->results, stm->bodies[i]->result_count);
    if (stm->op == OP_WHILE) return any;
    if (stm->op == OP_IF) return any && has(v->program, stm, is_loop);
    return any_varies(v, stm->args, count_sizes(stm));
}

// All that such a loop or branch takes; all of a body that makes arrays of such
// lengths, which others go over; of others, what is in them.
static double uneven_of(const Varying *v, const CoreBody *body) {
    const CoreProgram *p = v->program;
    double work = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        double inner = 0;
        bool is_uneven_here = is_uneven(v, stm);
        if (is_uneven_here && stm->body_count == 0) return fission_body_work(p, body);
        for (uint32_t k = 0; k < stm->body_count; k++)
            inner += uneven_of(v, stm->bodies[k]);
        if (stm->op == OP_CALL)
            inner += uneven_of(v, p->funs.data[stm->attrs[0]]->body);
        if (is_uneven_here) inner = work_of_stm(p, stm);
        else if (stm->body_count > 0) inner *= fission_turns(p, stm);
        work += inner;
    }
    return work;
}

double fission_uneven(const CoreProgram *p, const CoreStm *stm) {
    Varying v = {.program = p};
    double work = 0;
    bool may_be = false;
    for (uint32_t k = 0; k < stm->body_count; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++)
            may_be = may_be || has(p, stm->bodies[k]->stms.data[i], has_size);
    if (!may_be) return 0;
    Arena *arena = core_notes(p);
    ArenaMark before = arena_mark(arena);
    v.refs = arena_array(arena, bool, p->values.len);
    for (uint32_t i = 0; i < stm->body_count; i++) walk_body(&v, stm->bodies[i], 0);
    for (uint32_t i = 0; i < stm->body_count; i++)
        work += uneven_of(&v, stm->bodies[i]);
    arena_back(arena, before);
    return stm->op == OP_GENERATE ? work * rows_of(p, stm) : work;
}
