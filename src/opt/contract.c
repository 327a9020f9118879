// SPDX-License-Identifier: Apache-2.0
//
// Contraction: multiply-adds become fma, which rounds once. This is part of the meaning
// (stage 0): which products are contracted depends on the program alone, and no later
// pass makes or removes an fma. f32 and f64 only; products of f16 stay.
//
// 1. Statements. In `x + p`, `p + x`, `x - p`, `p - x`, an operand p is a product when
//    it is y*z or the negation of a product, each used once in the whole program and
//    bound in the same body as the sum (so that both run equally often). Of two
//    products the right operand is contracted and the other stays one. Signs move into
//    a factor, which is exact:
//        x + y*z = fma(y, z, x)      x - y*z = fma(-y, z, x)
//        y*z - x = fma(y, z, -x)     -(y*z) + x = fma(-y, z, x)
// 2. Reductions. A float reduction (stamp lanes) by + of a map in the same body, when
//    nothing else uses the map's results, takes over the map's arrays and function. It
//    does so if in some component the sum is + and the function's result is a product
//    used only there; a generate counts as a map over its indices, one of several
//    dimensions if it is short, as the window of a convolution is, and its elements are
//    taken in a row. A reduction that has a second body already is treated likewise.
//    The bodies then are
//        {op}   joins partial results, as before
//        {pre}  the map's function: the value of an element
//        {acc}  (a, row) -> op(a, pre(row)), where a + y*z is fma(y, z, a)
//    The first element of a run, row or lane is `pre`, each later one comes in by
//    `acc`; lanes that got no element are skipped when partial results are joined by
//    `op`, and the neutral element is the result only when there is no element at all.
//
// Uses are counted once, at the start: after dead code has gone and before common
// subexpressions are joined. Termination: one walk; each contraction removes a sum.
#include "opt/fuse.h"
#include "opt/passes.h"

enum { MOST_PARTS = 8 }; // further negations stay

typedef struct Product {
    CoreRef y, z;
    bool negative;
    CoreRef parts[MOST_PARTS]; // the results of the statements it consists of
    uint32_t part_count;
} Product;

static bool is_contracted_type(CoreType type) {
    return type.rank == 0 && (type.elem == SCALAR_F32 || type.elem == SCALAR_F64);
}

static CoreStm *def_in(const CoreBody *body, CoreRef ref) {
    for (uint32_t i = body->stms.len; i-- > 0;) {
        CoreStm *stm = body->stms.data[i];
        for (uint32_t j = 0; j < stm->out_count; j++)
            if (stm->outs[j] == ref) return stm;
    }
    return NULL;
}

static bool is_used_once(const Rewrite *rw, CoreRef ref) {
    return ref < rw->use_count && rw->uses[ref] == 1;
}

// Whether the value is a product that may be contracted into a sum in `body`; NULL is
// the open body.
static bool find_product(const Rewrite *rw, const CoreBody *body, CoreRef ref,
                         Product *product_out) {
    Product product = {0};
    if (!is_contracted_type(core_type(rw->program, ref))) return false;
    for (;;) {
        if (!is_used_once(rw, ref) || product.part_count == MOST_PARTS) return false;
        const CoreStm *stm =
            body != NULL ? def_in(body, ref) : rewrite_def_here(rw, ref);
        if (stm == NULL) return false;
        product.parts[product.part_count++] = ref;
        if (stm->op == OP_MUL) {
            product.y = stm->args[0];
            product.z = stm->args[1];
            *product_out = product;
            return true;
        }
        if (stm->op != OP_NEG) return false;
        product.negative = !product.negative;
        ref = stm->args[0];
    }
}

static CoreRef emit_neg(CoreBuilder *b, CoreRef x) {
    CoreProgram *p = b->program;
    const CoreValue *value = &p->values.data[x];
    if (!value->is_const) return core_op1(b, OP_NEG, x);
    ScalarType type = (ScalarType)value->type.elem;
    uint64_t sign = (uint64_t)1 << (scalar_info[type].bytes * 8u - 1);
    return core_const(p, type, value->bits ^ sign);
}

// fma(±y, z, x). The caller takes the product's own statements out of the body.
static CoreStm *emit_fma(CoreBuilder *b, Product product, CoreRef x) {
    CoreRef y = product.negative ? emit_neg(b, product.y) : product.y;
    CoreType type = core_type(b->program, x);
    return core_emit(b, OP_FMA, (CoreRef[]){y, product.z, x}, 3, &type, 1);
}

// Takes the product's statements out of a body that is built apart.
static void remove_parts(CoreBody *body, const Product *product) {
    for (uint32_t i = 0; i < product->part_count; i++) {
        const CoreStm *stm = def_in(body, product->parts[i]);
        uint32_t kept = 0;
        for (uint32_t j = 0; j < body->stms.len; j++)
            if (body->stms.data[j] != stm) body->stms.data[kept++] = body->stms.data[j];
        body->stms.len = kept;
    }
}

static bool visit_sum(Rewrite *rw, CoreStm *stm) {
    CoreBuilder *b = &rw->builder;
    CoreRef x = stm->args[0];
    Product product;
    if (!is_contracted_type(core_type(rw->program, stm->outs[0]))) return false;
    if (find_product(rw, NULL, stm->args[1], &product)) {
        if (stm->op == OP_SUB) product.negative = !product.negative;
    } else if (find_product(rw, NULL, stm->args[0], &product)) {
        x = stm->args[1];
        if (stm->op == OP_SUB) x = emit_neg(b, x);
    } else {
        return false;
    }
    for (uint32_t i = 0; i < product.part_count; i++)
        rewrite_drop(rw, rewrite_def(rw, product.parts[i]));
    CoreStm *fma = emit_fma(b, product, x);
    rewrite_set(rw, stm->outs[0], fma->outs[0]);
    rw->program->values.data[fma->outs[0]].name =
        rw->program->values.data[stm->outs[0]].name;
    return true;
}

// ---- reductions ---------------------------------------------------------------------

// Whether the component's operator is a float + on its own two params.
static bool is_sum(const CoreProgram *p, const CoreBody *op, uint32_t index) {
    const CoreStm *stm = def_in(op, op->results[index]);
    if (stm == NULL || stm->op != OP_ADD) return false;
    CoreRef x = op->params[index], y = op->params[op->result_count + index];
    return is_contracted_type(core_type(p, x)) &&
           ((stm->args[0] == x && stm->args[1] == y) ||
            (stm->args[0] == y && stm->args[1] == x));
}

// The map or generate whose results are the reduction's arrays and nothing else's;
// NULL if there is none in the open body.
static CoreStm *find_producer(const Rewrite *rw, const CoreStm *stm) {
    uint32_t arrays = (uint32_t)stm->attrs[0];
    CoreStm *map = rewrite_def_here(rw, stm->args[0]);
    if (map == NULL || map->out_count != arrays) return NULL;
    bool fits = map->op == OP_MAP || (map->op == OP_GENERATE && map->attrs[0] == 1);
    for (uint32_t i = 0; i < arrays; i++) {
        fits = fits && is_used_once(rw, stm->args[i]) &&
               rewrite_def_here(rw, stm->args[i]) == map;
        fits = fits && core_type(rw->program, stm->args[i]).rank == 1;
    }
    return fits ? map : NULL;
}

// The function from rows to the values that op takes: the map's results in the order in
// which the reduction names them.
static CoreBody *make_pre(Rewrite *rw, const CoreStm *stm, const CoreStm *map) {
    CoreBody *pre = arena_copy(rw->program->arena, map->bodies[0], sizeof *pre);
    pre->results = arena_array(rw->program->arena, CoreRef, pre->result_count);
    for (uint32_t i = 0; i < pre->result_count; i++)
        for (uint32_t j = 0; j < map->out_count; j++)
            if (map->outs[j] == stm->args[i])
                pre->results[i] = map->bodies[0]->results[j];
    return pre;
}

// (a..., row...) -> op(a, pre(row)) with products contracted. `pre` itself is left be.
static CoreBody *make_acc(Rewrite *rw, const CoreBody *op, const CoreBody *pre) {
    CoreProgram *p = rw->program;
    CoreBuilder b = core_builder(p);
    uint32_t count = op->result_count;
    CoreRefs params = {0};
    Map map;
    map_init(&map, core_notes(p));
    for (uint32_t i = 0; i < count + pre->param_count; i++) {
        CoreRef old = i < count ? op->params[i] : pre->params[i - count];
        CoreRef fresh = core_value(p, core_type(p, old), p->values.data[old].name);
        map_set(&map, old, fresh);
        vec_push(p->arena, &params, fresh);
    }
    core_open(&b, params.data, params.len);
    CoreBody *body = b.open.data[0];
    CoreBody rows = *pre;
    rows.param_count = 0;
    CoreBody *copy = core_clone(p, &rows, &map, 0);
    for (uint32_t i = 0; i < copy->stms.len; i++) core_append(&b, copy->stms.data[i]);
    CoreRef *results = arena_array(p->arena, CoreRef, count);
    for (uint32_t i = 0; i < count; i++) {
        const CoreStm *joined = def_in(op, op->results[i]);
        Product product;
        b.loc = joined->loc;
        b.flags = joined->flags;
        if (is_sum(p, op, i) && find_product(rw, pre, pre->results[i], &product)) {
            uint64_t to;
            for (uint32_t j = 0; j < product.part_count; j++)
                if (map_get(&map, product.parts[j], &to))
                    product.parts[j] = (CoreRef)to;
            if (map_get(&map, product.y, &to)) product.y = (CoreRef)to;
            if (map_get(&map, product.z, &to)) product.z = (CoreRef)to;
            remove_parts(body, &product);
            results[i] = emit_fma(&b, product, params.data[i])->outs[0];
            continue;
        }
        // op as it is, on the element's value: its statement for this component
        map_set(&map, op->params[count + i], copy->results[i]);
        CoreBody one = {.results = &op->results[i], .result_count = 1};
        CoreStm *only[1] = {(CoreStm *)joined};
        one.stms.data = only;
        one.stms.len = 1;
        CoreBody *cloned = core_clone(p, &one, &map, 0);
        core_append(&b, cloned->stms.data[0]);
        results[i] = cloned->results[0];
    }
    return core_close(&b, results, count);
}

static bool has_product(const Rewrite *rw, const CoreBody *op, const CoreBody *pre) {
    Product product;
    for (uint32_t i = 0; i < op->result_count; i++)
        if (is_sum(rw->program, op, i) &&
            find_product(rw, pre, pre->results[i], &product))
            return true;
    return false;
}

// The reduction's statement with other arrays and bodies.
static void emit_reduction(Rewrite *rw, const CoreStm *stm, const CoreRef *arrays,
                           uint32_t array_count, CoreBody *pre) {
    CoreProgram *p = rw->program;
    CoreStm *made = rewrite_copy(rw, stm);
    CoreRefs args = {0};
    for (uint32_t i = 0; i < array_count; i++) vec_push(p->arena, &args, arrays[i]);
    for (uint32_t i = (uint32_t)stm->attrs[0]; i < stm->arg_count; i++)
        vec_push(p->arena, &args, stm->args[i]);
    made->args = args.data;
    made->arg_count = args.len;
    made->attrs =
        arena_copy(p->arena, stm->attrs, stm->attr_count * sizeof *stm->attrs);
    made->attrs[0] = (int32_t)array_count;
    CoreBody *bodies[3] = {stm->bodies[0], pre, make_acc(rw, stm->bodies[0], pre)};
    core_set_bodies(&rw->builder, made, bodies, 3);
    core_append(&rw->builder, made);
}

// The space whose elements, in a row, the reduction folds, and nothing else does; NULL:
// there is none.
static const CoreStm *find_space(const Rewrite *rw, const CoreStm *stm) {
    const CoreStm *view = rewrite_def_here(rw, stm->args[0]);
    if (stm->attrs[0] != 1 || view == NULL || !is_used_once(rw, stm->args[0]))
        return NULL;
    return fuse_find_space(rw, view);
}

static CoreRef emit_digit(CoreBuilder *b, CoreOp op, CoreRef x, CoreRef base) {
    return core_emit(b, op, (CoreRef[]){x, base}, 2, &(CoreType){SCALAR_I64, 0}, 1)
        ->outs[0];
}

// The function from the number of an element to the element. It takes the space's own
// statements, since it takes its place; its params are bound to digits.
static CoreBody *make_space_pre(Rewrite *rw, const CoreStm *space) {
    CoreProgram *p = rw->program;
    CoreBuilder b = core_builder(p);
    const CoreBody *body = space->bodies[0];
    CoreRef rest = core_value(p, (CoreType){SCALAR_I64, 0}, 0);
    b.loc = space->loc;
    core_open(&b, &rest, 1);
    for (uint32_t d = (uint32_t)space->attrs[0]; d-- > 1;) {
        CoreBody *open = b.open.data[0];
        emit_digit(&b, OP_REM, rest, space->args[d]);
        open->stms.data[open->stms.len - 1]->outs[0] = body->params[d];
        rest = emit_digit(&b, OP_QUOT, rest, space->args[d]);
        if (d == 1) open->stms.data[open->stms.len - 1]->outs[0] = body->params[0];
    }
    for (uint32_t i = 0; i < body->stms.len; i++) core_append(&b, body->stms.data[i]);
    return core_close(&b, body->results, body->result_count);
}

// Elements 0 to n - 1 as what a reduction goes over.
static CoreRef emit_indices(Rewrite *rw, const CoreStm *made, CoreRef n) {
    CoreProgram *p = rw->program;
    CoreRef args[3] = {n, core_i64(p, 0), core_i64(p, 1)};
    CoreType type = {SCALAR_I64, 1};
    rw->builder.loc = made->loc;
    rw->builder.flags = made->flags;
    return core_emit(&rw->builder, OP_IOTA, args, 3, &type, 1)->outs[0];
}

static bool visit_space(Rewrite *rw, CoreStm *stm, const CoreStm *space) {
    if (!has_product(rw, stm->bodies[0], space->bodies[0])) return false;
    const CoreStm *step = rewrite_def_here(rw, stm->args[0]);
    CoreRef indices = emit_indices(rw, space, step->args[1]);
    for (; step != space; step = rewrite_def_here(rw, step->args[0]))
        rewrite_drop(rw, step);
    rewrite_drop(rw, space);
    emit_reduction(rw, stm, &indices, 1, make_space_pre(rw, space));
    return true;
}

static bool visit_reduce(Rewrite *rw, CoreStm *stm) {
    if (stm->stamp != STAMP_OUTER_LANES && stm->stamp != STAMP_NESTED_LANES)
        return false;
    if (stm->body_count == 2) {
        if (!has_product(rw, stm->bodies[0], stm->bodies[1])) return false;
        emit_reduction(rw, stm, stm->args, (uint32_t)stm->attrs[0], stm->bodies[1]);
        return true;
    }
    if (stm->body_count > 1) return false;
    CoreStm *map = find_producer(rw, stm);
    const CoreStm *space = map == NULL ? find_space(rw, stm) : NULL;
    if (space != NULL) return visit_space(rw, stm, space);
    if (map == NULL) return false;
    CoreBody *pre = make_pre(rw, stm, map);
    if (!has_product(rw, stm->bodies[0], pre)) return false;
    rewrite_drop(rw, map);
    CoreRef *arrays = map->args;
    uint32_t array_count = (uint32_t)map->attrs[0];
    CoreRef indices;
    if (map->op == OP_GENERATE) {
        indices = emit_indices(rw, map, map->args[0]);
        arrays = &indices;
    }
    emit_reduction(rw, stm, arrays, array_count, pre);
    return true;
}

static bool visit(Rewrite *rw, CoreStm *stm) {
    switch ((int)stm->op) {
    case OP_ADD:
    case OP_SUB: return visit_sum(rw, stm);
    case OP_REDUCE: return visit_reduce(rw, stm);
    }
    return false;
}

bool opt_contract(CoreProgram *program) {
    Rewrite rw = rewrite_new(program);
    rw.visit = visit;
    rw.use_count = program->values.len;
    rw.uses = opt_count_uses(program);
    rewrite_all(&rw);
    return rw.changed;
}
