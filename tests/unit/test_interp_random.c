// SPDX-License-Identifier: Apache-2.0
//
// Random programs over vectors of 4 and matrices of 3 rows, run by the oracle, which
// shares and overwrites memory, and by a model here that copies every value. What it
// finds is a last use that was none.
#include <stdlib.h>
#include <string.h>

#include "interp/interp.h"
#include "test.h"

enum { LENGTH = 4, ROWS = 3, CELLS = LENGTH * ROWS };

// ---- the model: a value is its elements ---------------------------------------------

typedef struct Copy {
    uint64_t e[CELLS];
} Copy;

typedef struct Model {
    const CoreProgram *program;
    Copy *values; // by CoreRef
} Model;

static const Copy *get(const Model *m, CoreRef ref) {
    static Copy constants[64];
    static unsigned next;
    const CoreValue *value = &m->program->values.data[ref];
    if (!value->is_const) return &m->values[ref];
    Copy *copy = &constants[next++ % 64];
    copy->e[0] = value->bits;
    return copy;
}

static uint64_t number(const Model *m, CoreRef ref) {
    return get(m, ref)->e[0];
}

static void run_model(Model *m, const CoreBody *body);

static void bind(Model *m, const CoreRef *to, const CoreRef *from, uint32_t count) {
    Copy held[8];
    for (uint32_t i = 0; i < count; i++) held[i] = *get(m, from[i]);
    for (uint32_t i = 0; i < count; i++) m->values[to[i]] = held[i];
}

static void model_loop(Model *m, const CoreStm *stm) {
    const CoreBody *body = stm->bodies[0];
    bind(m, body->params + 1, stm->args + 1, stm->out_count);
    for (uint64_t i = 0; i < number(m, stm->args[0]); i++) {
        m->values[body->params[0]].e[0] = i;
        run_model(m, body);
        bind(m, body->params + 1, body->results, stm->out_count);
    }
    bind(m, stm->outs, body->params + 1, stm->out_count);
}

// map over the rows of a matrix or the elements of two vectors; reduce over rows
static void model_rows(Model *m, const CoreStm *stm, Copy *out) {
    const CoreBody *body = stm->bodies[0];
    const Copy a = *get(m, stm->args[0]);
    if (stm->op == OP_REDUCE) {
        memcpy(out->e, a.e, LENGTH * sizeof *a.e);
        for (int r = 1; r < ROWS; r++) {
            m->values[body->params[0]] = *out;
            memcpy(m->values[body->params[1]].e, a.e + r * LENGTH,
                   LENGTH * sizeof *a.e);
            run_model(m, body);
            *out = *get(m, body->results[0]);
        }
    } else if (stm->attrs[0] == 2) {
        const Copy b = *get(m, stm->args[1]);
        for (int i = 0; i < LENGTH; i++) {
            m->values[body->params[0]].e[0] = a.e[i];
            m->values[body->params[1]].e[0] = b.e[i];
            run_model(m, body);
            out->e[i] = number(m, body->results[0]);
        }
    } else {
        for (int r = 0; r < ROWS; r++) {
            memcpy(m->values[body->params[0]].e, a.e + r * LENGTH,
                   LENGTH * sizeof *a.e);
            run_model(m, body);
            memcpy(out->e + r * LENGTH, get(m, body->results[0])->e,
                   LENGTH * sizeof *a.e);
        }
    }
}

static void model_array(Model *m, const CoreStm *stm, Copy *out) {
    const Copy a = *get(m, stm->args[0]);
    bool is_matrix = core_type(m->program, stm->args[0]).rank == 2;
    switch ((int)stm->op) {
    case OP_INDEX: {
        uint64_t i = number(m, stm->args[1]);
        if (is_matrix) memcpy(out->e, a.e + i * LENGTH, LENGTH * sizeof *a.e);
        else out->e[0] = a.e[i];
        return;
    }
    case OP_UPDATE: {
        uint64_t at = number(m, stm->args[2]) * (is_matrix ? LENGTH : 1);
        const Copy v = *get(m, stm->args[1]);
        *out = a;
        size_t count = is_matrix || stm->attrs[0] == 1 ? LENGTH : 1;
        memcpy(out->e + at, v.e, count * sizeof *v.e);
        return;
    }
    case OP_REVERSE:
        for (int r = 0; r < ROWS; r++)
            for (int i = 0; i < LENGTH; i++) {
                int row = is_matrix && stm->attrs[0] == 0 ? ROWS - 1 - r : r;
                bool flips = stm->attrs[0] == (is_matrix ? 1 : 0);
                out->e[r * LENGTH + i] =
                    a.e[row * LENGTH + (flips ? LENGTH - 1 - i : i)];
            }
        return;
    case OP_SLICE: {
        int64_t start = (int64_t)number(m, stm->args[1]);
        int64_t stride = (int64_t)number(m, stm->args[3]);
        for (int64_t i = 0; i < LENGTH; i++) out->e[i] = a.e[start + i * stride];
        return;
    }
    case OP_ARRAY:
        for (int r = 0; r < ROWS; r++)
            memcpy(out->e + r * LENGTH, get(m, stm->args[r])->e, LENGTH * sizeof *a.e);
        return;
    case OP_SCATTER: {
        const Copy index = *get(m, stm->args[1]), v = *get(m, stm->args[2]);
        *out = a;
        for (int i = 0; i < LENGTH; i++)
            if (index.e[i] < LENGTH) out->e[index.e[i]] = v.e[i];
        return;
    }
    case OP_HIST: {
        const Copy index = *get(m, stm->args[2]), v = *get(m, stm->args[3]);
        *out = a;
        for (int i = 0; i < LENGTH; i++)
            if (index.e[i] < LENGTH) out->e[index.e[i]] += v.e[i];
        return;
    }
    case OP_MAP:
    case OP_REDUCE: model_rows(m, stm, out); return;
    case OP_COPY:
    case OP_GUARD: *out = a; return;
    case OP_ADD: out->e[0] = a.e[0] + number(m, stm->args[1]); return;
    case OP_AND: out->e[0] = a.e[0] & number(m, stm->args[1]); return;
    case OP_EQ: out->e[0] = a.e[0] == number(m, stm->args[1]); return;
    }
    abort();
}

static void run_model(Model *m, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (stm->op == OP_FOR) {
            model_loop(m, stm);
        } else if (stm->op == OP_IF) {
            const CoreBody *branch = stm->bodies[number(m, stm->args[0]) != 0 ? 0 : 1];
            run_model(m, branch);
            bind(m, stm->outs, branch->results, stm->out_count);
        } else if (stm->op == OP_CALL) {
            const CoreBody *callee = m->program->funs.data[stm->attrs[0]]->body;
            bind(m, callee->params, stm->args, stm->arg_count);
            run_model(m, callee);
            bind(m, stm->outs, callee->results, stm->out_count);
        } else {
            Copy out = {0};
            model_array(m, stm, &out);
            m->values[stm->outs[0]] = out;
        }
    }
}

// ---- random programs ----------------------------------------------------------------

typedef struct Maker {
    CoreBuilder builder;
    CoreProgram *program;
    uint64_t seed;
    CoreRef vectors[256], matrices[256]; // in scope
    uint32_t vector_count, matrix_count;
    int depth;
} Maker;

static const CoreType NUMBER = {SCALAR_I64, 0}, VECTOR = {SCALAR_I64, 1},
                      MATRIX = {SCALAR_I64, 2};

static uint32_t pick(Maker *k, uint32_t below) {
    k->seed = k->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(k->seed >> 33) % below;
}

// Recent values more often: their last use is near.
static uint32_t recent(Maker *k, uint32_t count) {
    uint32_t back = pick(k, 2) ? pick(k, count < 3 ? count : 3) : pick(k, count);
    return count - 1 - back;
}
static CoreRef vector(Maker *k) {
    return k->vectors[recent(k, k->vector_count)];
}
static CoreRef matrix(Maker *k) {
    return k->matrices[recent(k, k->matrix_count)];
}
static CoreRef constant(Maker *k, uint32_t below) {
    return core_i64(k->program, (int64_t)pick(k, below));
}

static void keep(Maker *k, CoreRef ref) {
    bool is_matrix = core_type(k->program, ref).rank == 2;
    if (is_matrix && k->matrix_count < 256) k->matrices[k->matrix_count++] = ref;
    if (!is_matrix && k->vector_count < 256) k->vectors[k->vector_count++] = ref;
}

static CoreStm *emit(Maker *k, CoreOp op, const CoreRef *args, uint32_t count,
                     CoreType type) {
    CoreStm *stm = core_emit(&k->builder, op, args, count, &type, 1);
    if (op == OP_HIST || op == OP_REDUCE)
        stm->stamp = op == OP_HIST ? STAMP_FREE : STAMP_OUTER_ROWS;
    return stm;
}

static void attrs(Maker *k, CoreStm *stm, int32_t a, int32_t b, uint32_t count) {
    core_set_attrs(&k->builder, stm, (int32_t[]){a, b}, count);
}

static CoreBody *sum_body(Maker *k) {
    CoreRef p[2] = {core_value(k->program, NUMBER, 0),
                    core_value(k->program, NUMBER, 0)};
    core_open(&k->builder, p, 2);
    CoreRef sum = core_op2(&k->builder, OP_ADD, p[0], p[1]);
    return core_close(&k->builder, &sum, 1);
}

static void make_statements(Maker *k, uint32_t count);

// A body with these array params and a result of each of the types.
static CoreBody *make_body(Maker *k, const CoreType *params, uint32_t param_count,
                           const CoreType *types, uint32_t count) {
    uint32_t vectors = k->vector_count, matrices = k->matrix_count;
    CoreRef refs[8] = {0}, results[8];
    for (uint32_t i = 0; i < param_count; i++)
        refs[i] = core_value(k->program, params[i], 0);
    core_open(&k->builder, refs, param_count);
    for (uint32_t i = 0; i < param_count; i++)
        if (params[i].rank > 0) keep(k, refs[i]);
    k->depth++;
    make_statements(k, 1 + pick(k, 4));
    k->depth--;
    for (uint32_t i = 0; i < count; i++)
        results[i] = types[i].rank == 2 ? matrix(k) : vector(k);
    k->vector_count = vectors;
    k->matrix_count = matrices;
    return core_close(&k->builder, results, count);
}

static void make_if(Maker *k) {
    CoreRef args[2] = {vector(k), constant(k, LENGTH)};
    CoreRef e = emit(k, OP_INDEX, args, 2, NUMBER)->outs[0];
    CoreRef bit = core_op2(&k->builder, OP_AND, e, core_i64(k->program, 1));
    CoreRef c = core_op2(&k->builder, OP_EQ, bit, core_i64(k->program, 0));
    CoreType types[3] = {pick(k, 2) ? VECTOR : MATRIX, VECTOR, MATRIX};
    uint32_t count = 1 + pick(k, 3);
    CoreBody *then = make_body(k, NULL, 0, types, count);
    CoreBody *other = make_body(k, NULL, 0, types, count);
    CoreStm *stm = core_emit(&k->builder, OP_IF, &c, 1, types, count);
    core_set_bodies(&k->builder, stm, (CoreBody *[]){then, other}, 2);
    for (uint32_t i = 0; i < count; i++) keep(k, stm->outs[i]);
}

static void make_for(Maker *k) {
    CoreType params[4] = {NUMBER, VECTOR, MATRIX, VECTOR};
    uint32_t count = 1 + pick(k, 3);
    CoreRef args[4] = {constant(k, 4), vector(k), matrix(k), vector(k)};
    CoreBody *body = make_body(k, params, count + 1, params + 1, count);
    CoreStm *stm = core_emit(&k->builder, OP_FOR, args, count + 1, params + 1, count);
    core_set_bodies(&k->builder, stm, &body, 1);
    for (uint32_t i = 0; i < count; i++) keep(k, stm->outs[i]);
}

static CoreRef make_rows(Maker *k, CoreOp op) {
    CoreType rows[2] = {VECTOR, VECTOR};
    CoreBody *body = make_body(k, rows, op == OP_MAP ? 1 : 2, rows, 1);
    CoreRef args[2] = {matrix(k),
                       op == OP_MAP ? core_i64(k->program, LENGTH) : vector(k)};
    CoreStm *stm = emit(k, op, args, 2, op == OP_MAP ? MATRIX : VECTOR);
    attrs(k, stm, 1, 0, 1);
    core_set_bodies(&k->builder, stm, &body, 1);
    return stm->outs[0];
}

static CoreRef make_update(Maker *k, bool is_matrix, bool is_range) {
    CoreRef zero = core_i64(k->program, 0), one = core_i64(k->program, 1);
    CoreRef args[5] = {is_matrix ? matrix(k) : vector(k), vector(k), zero, zero, one};
    if (!is_range) args[2] = constant(k, is_matrix ? ROWS : LENGTH);
    if (is_range) args[3] = core_i64(k->program, LENGTH);
    if (!is_matrix && !is_range) args[1] = constant(k, 100);
    CoreStm *stm = emit(k, OP_UPDATE, args, 5, is_matrix ? MATRIX : VECTOR);
    attrs(k, stm, is_range, 0, 1);
    return stm->outs[0];
}

static CoreRef make_slice(Maker *k) {
    static const int64_t starts[3] = {0, 3, 2}, strides[3] = {1, -1, 0};
    uint32_t way = pick(k, 3);
    CoreRef args[4] = {vector(k), core_i64(k->program, starts[way]),
                       core_i64(k->program, LENGTH),
                       core_i64(k->program, strides[way])};
    CoreStm *stm = emit(k, OP_SLICE, args, 4, VECTOR);
    attrs(k, stm, 0, 0, 1);
    return stm->outs[0];
}

static CoreRef make_binned(Maker *k, CoreOp op) {
    CoreRef scatter[3] = {vector(k), vector(k), vector(k)};
    CoreRef hist[4] = {vector(k), core_i64(k->program, 0), vector(k), vector(k)};
    CoreBody *body = op == OP_HIST ? sum_body(k) : NULL;
    CoreStm *stm =
        op == OP_HIST ? emit(k, op, hist, 4, VECTOR) : emit(k, op, scatter, 3, VECTOR);
    attrs(k, stm, 1, 1, op == OP_HIST ? 2 : 1);
    if (op == OP_HIST) core_set_bodies(&k->builder, stm, &body, 1);
    return stm->outs[0];
}

static CoreRef make_sum(Maker *k) {
    CoreBody *body = sum_body(k);
    CoreStm *stm = emit(k, OP_MAP, (CoreRef[]){vector(k), vector(k)}, 2, VECTOR);
    attrs(k, stm, 2, 0, 1);
    core_set_bodies(&k->builder, stm, &body, 1);
    return stm->outs[0];
}

static void make_call(Maker *k) {
    if (k->program->funs.len == 0) return;
    CoreStm *stm = core_emit(&k->builder, OP_CALL, (CoreRef[]){vector(k), matrix(k)}, 2,
                             (CoreType[]){VECTOR, MATRIX}, 2);
    attrs(k, stm, (int32_t)pick(k, k->program->funs.len), 0, 1);
    keep(k, stm->outs[0]);
    keep(k, stm->outs[1]);
}

static CoreRef make_view(Maker *k, CoreOp op) {
    CoreRef args[3] = {matrix(k), constant(k, ROWS), core_bool(k->program, true)};
    if (op == OP_INDEX) return emit(k, op, args, 2, VECTOR)->outs[0];
    bool is_matrix = pick(k, 2);
    if (!is_matrix) args[0] = vector(k);
    if (op == OP_GUARD) args[1] = args[2];
    CoreStm *stm =
        emit(k, op, args, op == OP_GUARD ? 2 : 1, is_matrix ? MATRIX : VECTOR);
    if (op == OP_REVERSE) attrs(k, stm, is_matrix && pick(k, 2), 0, 1);
    return stm->outs[0];
}

static void make_statements(Maker *k, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) switch (pick(k, k->depth < 4 ? 18 : 13)) {
        case 0:
        case 1:
        case 2: keep(k, make_update(k, false, false)); break;
        case 3:
        case 4: keep(k, make_update(k, true, false)); break;
        case 5: keep(k, make_update(k, false, true)); break;
        case 6: keep(k, make_slice(k)); break;
        case 7: keep(k, make_view(k, OP_INDEX)); break;
        case 8: keep(k, make_view(k, OP_REVERSE)); break;
        case 9: keep(k, make_view(k, pick(k, 2) ? OP_GUARD : OP_COPY)); break;
        case 10: keep(k, make_binned(k, pick(k, 2) ? OP_HIST : OP_SCATTER)); break;
        case 11: keep(k, make_sum(k)); break;
        case 12:
            keep(k, emit(k, OP_ARRAY, (CoreRef[]){vector(k), vector(k), vector(k)}, 3,
                         MATRIX)
                        ->outs[0]);
            break;
        case 13: make_if(k); break;
        case 14: make_for(k); break;
        case 15: keep(k, make_rows(k, OP_MAP)); break;
        case 16: keep(k, make_rows(k, OP_REDUCE)); break;
        case 17: make_call(k); break;
        }
}

// Functions of a vector and a matrix to the same; the last one is run.
static void make_program(Maker *k) {
    static const CoreType types[2] = {{SCALAR_I64, 1}, {SCALAR_I64, 2}};
    for (uint32_t i = 0; i < 3; i++) {
        k->vector_count = k->matrix_count = 0;
        CoreRef params[2] = {core_value(k->program, VECTOR, 0),
                             core_value(k->program, MATRIX, 0)};
        core_open(&k->builder, params, 2);
        keep(k, params[0]);
        keep(k, params[1]);
        make_statements(k, 4 + pick(k, 8));
        CoreRef results[2] = {vector(k), matrix(k)};
        CoreFun *fun = arena_new(k->program->arena, CoreFun);
        fun->name = sym_cstr(&k->program->cx->syms, "f");
        fun->no_inline = true;
        fun->result_types = arena_copy(k->program->arena, types, sizeof types);
        fun->body = core_close(&k->builder, results, 2);
        vec_push(k->program->arena, &k->program->funs, fun);
    }
}

// ---- the comparison -----------------------------------------------------------------

static bool agrees(const RtArray *a, const Copy *want) {
    for (int64_t r = 0; r < (a->rank == 2 ? a->shape[0] : 1); r++)
        for (int64_t i = 0; i < LENGTH; i++) {
            int64_t offset = a->rank == 2 ? r * a->strides[0] + i * a->strides[1]
                                          : i * a->strides[0];
            if (rt_load(SCALAR_I64, a->data + 8 * offset) != want->e[r * LENGTH + i])
                return false;
        }
    return true;
}

static bool try_program(uint64_t seed) {
    static jmp_buf recover;
    Mem mem = {.recover = &recover};
    if (setjmp(recover) != 0) abort();
    Arena arena;
    Cx cx;
    RtHeap heap;
    arena_init(&arena, &mem);
    cx_init(&cx, &arena);
    stack_measure(&cx.stack);
    rt_heap_init(&heap, &mem);
    Maker k = {.program = core_program(&cx, &arena), .seed = seed};
    k.builder = core_builder(k.program);
    make_program(&k);
    const CoreFun *fun = k.program->funs.data[2];

    Model model = {.program = k.program,
                   .values = arena_array(&arena, Copy, k.program->values.len)};
    int64_t shape[2] = {ROWS, LENGTH};
    RtValue args[2] = {{.elem = SCALAR_I64, .rank = 1},
                       {.elem = SCALAR_I64, .rank = 2}};
    RtValue results[2] = {0};
    args[0].array = rt_new(&heap, SCALAR_I64, 1, shape + 1);
    args[1].array = rt_new(&heap, SCALAR_I64, 2, shape);
    for (int i = 0; i < CELLS; i++) {
        uint64_t value = (uint64_t)(i * i % 7);
        rt_store(SCALAR_I64, args[1].array->data + 8 * i, value);
        model.values[fun->body->params[1]].e[i] = value;
        if (i >= LENGTH) continue;
        rt_store(SCALAR_I64, args[0].array->data + 8 * i, (uint64_t)i);
        model.values[fun->body->params[0]].e[i] = (uint64_t)i;
    }
    StrBuf text = strbuf(&arena);
    bool ok = core_verify(k.program, &text);
    run_model(&model, fun->body);
    InterpOptions options = {.heap = &heap, .arena = &arena};
    InterpError error;
    ok = ok &&
         interp_run(k.program, fun, &options, args, results, &error) == STATUS_OK &&
         agrees(results[0].array, get(&model, fun->body->results[0])) &&
         agrees(results[1].array, get(&model, fun->body->results[1]));
    rt_release_value(&heap, &results[0]);
    rt_release_value(&heap, &results[1]);
    if (!ok) {
        core_print(k.program, &text);
        printf("seed %llu\n%.*s\n", (unsigned long long)seed,
               STR_ARG(strbuf_done(&text)));
    }
    ok = ok && heap.live == NULL;
    arena_free(&arena);
    return ok;
}

int main(int argc, char **argv) {
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
    for (uint64_t seed = 1; seed <= count && test_failed < 3; seed++)
        CHECK(try_program(seed));
    return test_done();
}
