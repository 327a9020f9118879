// SPDX-License-Identifier: Apache-2.0
//
// What each operator asks of its statement: how many args, of which types, which bodies
// and attrs, and what comes out. The rows of ops.def, made precise.
#include "core/verify.h"

#define want core_verify_want

typedef struct Types {
    CoreType *data;
    uint32_t len, cap;
} Types;

static const CoreType BOOL = {SCALAR_BOOL, 0}, I64 = {SCALAR_I64, 0};

static bool same(CoreType a, CoreType b) {
    return a.elem == b.elem && a.rank == b.rank;
}

static CoreType with_rank(CoreType type, unsigned rank) {
    return (CoreType){type.elem, (uint8_t)rank};
}

static CoreType type_of(const Verifier *v, CoreRef ref) {
    return core_type(v->program, ref);
}

static bool counts(Verifier *v, const CoreStm *stm, uint32_t args, uint32_t outs,
                   uint32_t bodies, uint32_t attrs) {
    return want(v, stm->arg_count == args, "it has %u args, not %u", stm->arg_count,
                args) &&
           want(v, stm->out_count == outs, "it has %u results, not %u", stm->out_count,
                outs) &&
           want(v, stm->body_count == bodies, "it has %u bodies, not %u",
                stm->body_count, bodies) &&
           want(v, stm->attr_count == attrs, "it has %u attrs, not %u", stm->attr_count,
                attrs);
}

static bool arg_is(Verifier *v, const CoreStm *stm, uint32_t i, CoreType type) {
    return want(v, same(type_of(v, stm->args[i]), type), "arg %u has the wrong type",
                i);
}

static void args_are(Verifier *v, const CoreStm *stm, uint32_t first, uint32_t count,
                     CoreType type) {
    for (uint32_t i = first; i < first + count; i++) arg_is(v, stm, i, type);
}

static void out_is(Verifier *v, const CoreStm *stm, uint32_t i, CoreType type) {
    want(v, same(type_of(v, stm->outs[i]), type), "result %u has the wrong type", i);
}

static bool axis_is(Verifier *v, const CoreStm *stm, uint32_t attr, unsigned rank) {
    int32_t axis = stm->attrs[attr];
    return want(v, axis >= 0 && axis < (int32_t)rank, "there is no dimension %d", axis);
}

static bool array_is(Verifier *v, const CoreStm *stm, uint32_t i) {
    return want(v, type_of(v, stm->args[i]).rank > 0, "arg %u is no array", i);
}

// A number of args that an attr gives, between least and most.
static bool number_is(Verifier *v, const CoreStm *stm, uint32_t attr, uint32_t least,
                      uint32_t most) {
    int32_t number = stm->attrs[attr];
    return want(v, number >= (int32_t)least && (uint32_t)number <= most,
                "attr %u is out of range", attr);
}

static void body_is(Verifier *v, const CoreStm *stm, uint32_t index,
                    const Types *params, const Types *results) {
    const CoreBody *body = stm->bodies[index];
    if (want(v, body->param_count == params->len, "body %u has %u params, not %u",
             index, body->param_count, params->len))
        for (uint32_t i = 0; i < params->len; i++)
            want(v, same(type_of(v, body->params[i]), params->data[i]),
                 "param %u of body %u has the wrong type", i, index);
    if (want(v, body->result_count == results->len, "body %u has %u results, not %u",
             index, body->result_count, results->len))
        for (uint32_t i = 0; i < results->len; i++)
            want(v, same(type_of(v, body->results[i]), results->data[i]),
                 "result %u of body %u has the wrong type", i, index);
}

static void add_type(Verifier *v, Types *types, CoreType type) {
    vec_push(v->arena, types, type);
}

static void add_types(Verifier *v, Types *types, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) add_type(v, types, type_of(v, refs[i]));
}

// ---- scalars ------------------------------------------------------------------------

static void verify_scalar(Verifier *v, const CoreStm *stm) {
    uint32_t operands = core_op_operands(stm->op);
    if (!counts(v, stm, operands, 1, 0, 0)) return;
    CoreType type = type_of(v, stm->args[0]);
    if (!want(v, type.rank == 0, "arg 0 is no scalar")) return;
    args_are(v, stm, 1, operands - 1, type);
    if (!want(v, core_op_takes(stm->op, (ScalarType)type.elem), "it does not take %s",
              scalar_info[type.elem].name))
        return;
    ScalarType to = (ScalarType)type_of(v, stm->outs[0]).elem;
    core_op_gives(stm->op, (ScalarType)type.elem, &to);
    out_is(v, stm, 0, (CoreType){(uint8_t)to, 0});
}

// ---- control ------------------------------------------------------------------------

static void verify_check(Verifier *v, const CoreStm *stm) {
    if (!want(v, stm->arg_count > 0, "it has no condition") ||
        !counts(v, stm, stm->arg_count, 1, 0, 0))
        return;
    arg_is(v, stm, 0, BOOL);
    out_is(v, stm, 0, BOOL);
    for (size_t i = 0; i + 1 < stm->text.len; i++) {
        char digit = stm->text.ptr[i + 1];
        if (stm->text.ptr[i] != '%' || digit < '0' || digit > '9') continue;
        want(v, (uint32_t)(digit - '0') + 1 < stm->arg_count,
             "its text mentions %%%c, which is not there", digit);
    }
}

static void verify_guard(Verifier *v, const CoreStm *stm) {
    if (!want(v, stm->arg_count > 0, "it guards nothing") ||
        !counts(v, stm, stm->arg_count, 1, 0, 0))
        return;
    args_are(v, stm, 1, stm->arg_count - 1, BOOL);
    out_is(v, stm, 0, type_of(v, stm->args[0]));
}

static void verify_if(Verifier *v, const CoreStm *stm) {
    if (!counts(v, stm, 1, stm->out_count, 2, 0)) return;
    Types none = {0}, results = {0};
    arg_is(v, stm, 0, BOOL);
    add_types(v, &results, stm->outs, stm->out_count);
    body_is(v, stm, 0, &none, &results);
    body_is(v, stm, 1, &none, &results);
}

static void verify_for(Verifier *v, const CoreStm *stm) {
    if (!counts(v, stm, stm->out_count + 1, stm->out_count, 1, 0)) return;
    CoreType bound = type_of(v, stm->args[0]);
    want(v, bound.rank == 0 && scalar_is_int((ScalarType)bound.elem),
         "arg 0 is no integer");
    Types params = {0}, state = {0};
    add_types(v, &state, stm->outs, stm->out_count);
    add_type(v, &params, bound);
    add_types(v, &params, stm->outs, stm->out_count);
    for (uint32_t i = 0; i < state.len; i++) arg_is(v, stm, i + 1, state.data[i]);
    body_is(v, stm, 0, &params, &state);
}

static void verify_while(Verifier *v, const CoreStm *stm) {
    if (!counts(v, stm, stm->out_count, stm->out_count, 2, 0)) return;
    Types state = {0}, cond = {0};
    add_types(v, &state, stm->outs, stm->out_count);
    add_type(v, &cond, BOOL);
    for (uint32_t i = 0; i < state.len; i++) arg_is(v, stm, i, state.data[i]);
    body_is(v, stm, 0, &state, &cond);
    body_is(v, stm, 1, &state, &state);
}

static void verify_call(Verifier *v, const CoreStm *stm) {
    if (!want(v, stm->attr_count == 1, "it has %u attrs, not 1", stm->attr_count))
        return;
    int32_t index = stm->attrs[0];
    if (!want(v, index >= 0 && (uint32_t)index < v->fun_index,
              "function %d does not come before this one", index))
        return;
    const CoreFun *callee = v->program->funs.data[index];
    if (!counts(v, stm, callee->body->param_count, callee->body->result_count, 0, 1))
        return;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        arg_is(v, stm, i, type_of(v, callee->body->params[i]));
    for (uint32_t i = 0; i < stm->out_count; i++)
        out_is(v, stm, i, callee->result_types[i]);
}

// ---- arrays -------------------------------------------------------------------------

static void verify_literal(Verifier *v, const CoreStm *stm) {
    if (!counts(v, stm, 0, 1, 0, 0)) return;
    CoreType type = type_of(v, stm->outs[0]);
    want(v, type.rank == 1, "result 0 has the wrong type");
    want(v, stm->text.len % scalar_info[type.elem].bytes == 0,
         "its data end within an element");
}

static void verify_array(Verifier *v, const CoreStm *stm) {
    if (!want(v, stm->arg_count > 0, "it has no elements") ||
        !counts(v, stm, stm->arg_count, 1, 0, 0))
        return;
    CoreType type = type_of(v, stm->args[0]);
    args_are(v, stm, 1, stm->arg_count - 1, type);
    out_is(v, stm, 0, with_rank(type, type.rank + 1u));
}

static void verify_iota(Verifier *v, const CoreStm *stm) {
    if (!counts(v, stm, 3, 1, 0, 0)) return;
    CoreType type = type_of(v, stm->args[1]);
    arg_is(v, stm, 0, I64);
    want(v, type.rank == 0 && type.elem != SCALAR_BOOL, "arg 1 has the wrong type");
    arg_is(v, stm, 2, type);
    out_is(v, stm, 0, with_rank(type, 1));
}

static void verify_replicate(Verifier *v, const CoreStm *stm) {
    if (!counts(v, stm, 2, 1, 0, 0)) return;
    CoreType type = type_of(v, stm->args[1]);
    arg_is(v, stm, 0, I64);
    out_is(v, stm, 0, with_rank(type, type.rank + 1u));
}

static void verify_scratch(Verifier *v, const CoreStm *stm) {
    if (!want(v, stm->arg_count > 0, "it has no sizes") ||
        !counts(v, stm, stm->arg_count, 1, 0, 0))
        return;
    args_are(v, stm, 0, stm->arg_count, I64);
    want(v, type_of(v, stm->outs[0]).rank == stm->arg_count,
         "result 0 has the wrong type");
}

static void verify_dim(Verifier *v, const CoreStm *stm) {
    if (!counts(v, stm, 1, 1, 0, 1)) return;
    axis_is(v, stm, 0, type_of(v, stm->args[0]).rank);
    out_is(v, stm, 0, I64);
}

static void verify_index(Verifier *v, const CoreStm *stm) {
    if (!want(v, stm->arg_count > 1, "it has no index") ||
        !counts(v, stm, stm->arg_count, 1, 0, 0))
        return;
    CoreType type = type_of(v, stm->args[0]);
    uint32_t indices = stm->arg_count - 1;
    if (!want(v, indices <= type.rank, "it has more indices than dimensions")) return;
    args_are(v, stm, 1, indices, I64);
    out_is(v, stm, 0, with_rank(type, type.rank - indices));
}

static void verify_slice(Verifier *v, const CoreStm *stm) {
    if (!counts(v, stm, 4, 1, 0, 1)) return;
    axis_is(v, stm, 0, type_of(v, stm->args[0]).rank);
    args_are(v, stm, 1, 3, I64);
    out_is(v, stm, 0, type_of(v, stm->args[0]));
}

static void verify_reshape(Verifier *v, const CoreStm *stm) {
    if (!want(v, stm->arg_count > 1, "it has no sizes") ||
        !counts(v, stm, stm->arg_count, 1, 0, 0) || !array_is(v, stm, 0))
        return;
    args_are(v, stm, 1, stm->arg_count - 1, I64);
    CoreType type = type_of(v, stm->args[0]);
    if (want(v, stm->arg_count - 1 <= CORE_MAX_RANK, "it has too many sizes"))
        out_is(v, stm, 0, with_rank(type, stm->arg_count - 1));
}

static void verify_permute(Verifier *v, const CoreStm *stm) {
    CoreType type = {0, 0};
    if (stm->arg_count == 1) type = type_of(v, stm->args[0]);
    if (!counts(v, stm, 1, 1, 0, type.rank)) return;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < stm->attr_count; i++)
        if (axis_is(v, stm, i, type.rank)) seen |= (uint64_t)1 << stm->attrs[i];
    want(v, seen == ((uint64_t)1 << type.rank) - 1, "its attrs are no permutation");
    out_is(v, stm, 0, type);
}

static void verify_reverse(Verifier *v, const CoreStm *stm) {
    if (!counts(v, stm, 1, 1, 0, 1)) return;
    axis_is(v, stm, 0, type_of(v, stm->args[0]).rank);
    out_is(v, stm, 0, type_of(v, stm->args[0]));
}

static void verify_concat(Verifier *v, const CoreStm *stm) {
    uint32_t parts = core_parts(stm), sizes = stm->attr_count > 1 ? parts : 0;
    if (!want(v, parts > 0, "it has no args") ||
        !counts(v, stm, parts + sizes, 1, 0, sizes > 0 ? 2 : 1))
        return;
    CoreType type = type_of(v, stm->args[0]);
    axis_is(v, stm, 0, type.rank);
    args_are(v, stm, 1, parts - 1, type);
    args_are(v, stm, parts, sizes, I64);
    out_is(v, stm, 0, type);
}

static void verify_split(Verifier *v, const CoreStm *stm) {
    if (!want(v, stm->out_count > 0, "it has no parts") ||
        !counts(v, stm, stm->out_count + 1, stm->out_count, 0, 1))
        return;
    CoreType type = type_of(v, stm->args[0]);
    axis_is(v, stm, 0, type.rank);
    args_are(v, stm, 1, stm->out_count, I64);
    for (uint32_t i = 0; i < stm->out_count; i++) out_is(v, stm, i, type);
}

static void verify_same(Verifier *v, const CoreStm *stm) { // COPY, TRACE
    if (!counts(v, stm, 1, 1, 0, 0)) return;
    if (stm->op == OP_COPY) array_is(v, stm, 0);
    out_is(v, stm, 0, type_of(v, stm->args[0]));
}

static void verify_update(Verifier *v, const CoreStm *stm) {
    uint32_t dims = stm->attr_count;
    if (!want(v, dims > 0, "it has no region") ||
        !counts(v, stm, 2 + 3 * dims, 1, 0, dims))
        return;
    CoreType type = type_of(v, stm->args[0]);
    if (!want(v, dims <= type.rank, "its region has more dimensions than the array"))
        return;
    unsigned rank = type.rank;
    for (uint32_t i = 0; i < dims; i++)
        if (number_is(v, stm, i, 0, 1) && stm->attrs[i] == 0) rank--;
    arg_is(v, stm, 1, with_rank(type, rank));
    args_are(v, stm, 2, 3 * dims, I64);
    out_is(v, stm, 0, type);
}

static void verify_sort(Verifier *v, const CoreStm *stm) {
    bool has_places = stm->out_count == 2;
    if (!counts(v, stm, 1, has_places ? 2 : 1, 0, 0)) return;
    CoreType type = type_of(v, stm->args[0]);
    want(v, type.rank == 1, "arg 0 is no array of scalars");
    out_is(v, stm, 0, type);
    if (has_places) out_is(v, stm, 1, (CoreType){SCALAR_I64, 1});
}

// ---- second order -------------------------------------------------------------------

// Results of `outer` dimensions around those of the body's results, whose sizes are the
// last args.
static void verify_rows(Verifier *v, const CoreStm *stm, uint32_t leading,
                        unsigned outer, const Types *params) {
    if (!want(v, stm->body_count == 1, "it has %u bodies, not 1", stm->body_count))
        return;
    Types rows = {0};
    uint32_t sizes = 0;
    for (uint32_t i = 0; i < stm->out_count; i++) {
        CoreType type = type_of(v, stm->outs[i]);
        if (!want(v, type.rank >= outer, "result %u has the wrong type", i)) return;
        add_type(v, &rows, with_rank(type, type.rank - outer));
        sizes += type.rank - outer;
    }
    if (!want(v, stm->out_count > 0, "it has no results") ||
        !counts(v, stm, leading + sizes, stm->out_count, 1, 1))
        return;
    args_are(v, stm, leading, sizes, I64);
    body_is(v, stm, 0, params, &rows);
}

static void verify_generate(Verifier *v, const CoreStm *stm) {
    if (!want(v, stm->attr_count == 1, "it has %u attrs, not 1", stm->attr_count) ||
        !number_is(v, stm, 0, 1, CORE_MAX_RANK) ||
        !want(v, stm->arg_count >= (uint32_t)stm->attrs[0], "it has too few args"))
        return;
    Types params = {0};
    uint32_t rank = (uint32_t)stm->attrs[0];
    for (uint32_t i = 0; i < rank; i++) add_type(v, &params, I64);
    args_are(v, stm, 0, rank, I64);
    verify_rows(v, stm, rank, rank, &params);
}

// The types of the rows of the first `count` args; false if one is no array.
static bool add_row_types(Verifier *v, const CoreStm *stm, uint32_t first,
                          uint32_t count, Types *types) {
    for (uint32_t i = first; i < first + count; i++) {
        if (!array_is(v, stm, i)) return false;
        CoreType type = type_of(v, stm->args[i]);
        add_type(v, types, with_rank(type, type.rank - 1u));
    }
    return true;
}

static void verify_map(Verifier *v, const CoreStm *stm) {
    Types params = {0};
    if (!want(v, stm->attr_count == 1, "it has %u attrs, not 1", stm->attr_count) ||
        !number_is(v, stm, 0, 1, stm->arg_count) ||
        !add_row_types(v, stm, 0, (uint32_t)stm->attrs[0], &params))
        return;
    verify_rows(v, stm, (uint32_t)stm->attrs[0], 1, &params);
}

static void verify_fold(Verifier *v, const CoreStm *stm) { // REDUCE, SCAN
    unsigned outer = stm->op == OP_SCAN;
    uint32_t most_attrs = stm->op == OP_SCAN ? 1 : 2;
    uint32_t outs = stm->out_count, bodies = stm->body_count;
    if (!want(v, stm->attr_count >= 1 && stm->attr_count <= most_attrs,
              "it has %u attrs", stm->attr_count) ||
        !want(v, bodies >= 1 && bodies <= 3, "it has %u bodies", bodies) ||
        !want(v, outs > 0, "it has no results") ||
        !number_is(v, stm, 0, 1, stm->arg_count) ||
        (stm->attr_count == 2 && !number_is(v, stm, 1, 0, 1)))
        return;
    uint32_t arrays = (uint32_t)stm->attrs[0];
    Types rows = {0}, state = {0}, twice = {0}, acc = {0};
    if (!counts(v, stm, arrays + outs, outs, bodies, stm->attr_count) ||
        !add_row_types(v, stm, 0, arrays, &rows))
        return;
    add_types(v, &state, stm->args + arrays, outs);
    for (uint32_t i = 0; i < 2 * outs; i++) add_type(v, &twice, state.data[i % outs]);
    for (uint32_t i = 0; i < outs; i++) {
        add_type(v, &acc, state.data[i]);
        out_is(v, stm, i, with_rank(state.data[i], state.data[i].rank + outer));
    }
    for (uint32_t i = 0; i < arrays; i++) add_type(v, &acc, rows.data[i]);
    body_is(v, stm, 0, &twice, &state);
    if (bodies > 1) body_is(v, stm, 1, &rows, &state);
    if (bodies > 2) body_is(v, stm, 2, &acc, &state);
    if (bodies > 1 || !want(v, arrays == outs,
                            "without a second body it needs one array "
                            "per result"))
        return;
    for (uint32_t i = 0; i < arrays; i++)
        want(v, same(rows.data[i], state.data[i]), "arg %u has the wrong type", i);
}

// ---- producers ----------------------------------------------------------------------

// The statement's last args: arrays of such rows, or, with a producer, any arrays, of
// whose rows body `index` makes such. A row that is an array is then one of those as it
// is, so that its shape is known.
static bool feeds_are(Verifier *v, const CoreStm *stm, uint32_t first, uint32_t attr,
                      uint32_t index, const Types *rows) {
    if (stm->body_count == index) {
        if (!counts(v, stm, first + rows->len, stm->out_count, index, attr))
            return false;
        for (uint32_t i = 0; i < rows->len; i++)
            arg_is(v, stm, first + i,
                   with_rank(rows->data[i], rows->data[i].rank + 1u));
        return true;
    }
    if (!want(v, stm->attr_count == attr + 1, "it has %u attrs, not %u",
              stm->attr_count, attr + 1) ||
        !number_is(v, stm, attr, 1, stm->arg_count) ||
        !counts(v, stm, first + (uint32_t)stm->attrs[attr], stm->out_count, index + 1,
                attr + 1))
        return false;
    Types params = {0};
    if (!add_row_types(v, stm, first, (uint32_t)stm->attrs[attr], &params))
        return false;
    body_is(v, stm, index, &params, rows);
    const CoreBody *body = stm->bodies[index];
    for (uint32_t i = 0; i < body->result_count; i++) {
        bool is_param = type_of(v, body->results[i]).rank == 0;
        for (uint32_t k = 0; k < body->param_count; k++)
            is_param = is_param || body->params[k] == body->results[i];
        want(v, is_param, "result %u of body %u is a row of its own", i, index);
    }
    return true;
}

static void verify_scatter(Verifier *v, const CoreStm *stm) {
    if (!want(v, stm->attr_count >= 1, "it has no attrs") ||
        !number_is(v, stm, 0, 1, CORE_MAX_RANK) ||
        !want(v, stm->arg_count > 0 && stm->out_count == 1, "it has no array"))
        return;
    uint32_t indices = (uint32_t)stm->attrs[0];
    CoreType type = type_of(v, stm->args[0]);
    if (!want(v, indices <= type.rank, "it has more indices than dimensions")) return;
    Types rows = {0};
    for (uint32_t i = 0; i < indices; i++) add_type(v, &rows, I64);
    add_type(v, &rows, with_rank(type, type.rank - indices));
    if (feeds_are(v, stm, 1, 1, 0, &rows)) out_is(v, stm, 0, type);
}

static void verify_filter(Verifier *v, const CoreStm *stm) {
    if (!want(v, stm->out_count > 0, "it has no results")) return;
    Types rows = {0};
    add_type(v, &rows, BOOL);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        CoreType type = type_of(v, stm->outs[i]);
        if (!want(v, type.rank > 0, "result %u is no array", i)) return;
        add_type(v, &rows, with_rank(type, type.rank - 1u));
    }
    feeds_are(v, stm, 0, 0, 0, &rows);
}

static void verify_hist(Verifier *v, const CoreStm *stm) {
    uint32_t outs = stm->out_count;
    if (!want(v, stm->attr_count >= 2, "it has %u attrs, not 2", stm->attr_count) ||
        !want(v, outs > 0, "it has no results") ||
        !number_is(v, stm, 0, outs, outs) || !number_is(v, stm, 1, 1, CORE_MAX_RANK) ||
        !want(v, stm->arg_count > 2 * outs, "it has too few args") ||
        !want(v, stm->body_count > 0, "it has no bodies"))
        return;
    uint32_t indices = (uint32_t)stm->attrs[1];
    Types rows = {0}, state = {0}, twice = {0};
    for (uint32_t i = 0; i < indices; i++) add_type(v, &rows, I64);
    for (uint32_t i = 0; i < outs; i++) {
        CoreType dest = type_of(v, stm->args[i]);
        if (!want(v, dest.rank >= indices, "it has more indices than dimensions"))
            return;
        CoreType row = with_rank(dest, dest.rank - indices);
        add_type(v, &state, row);
        add_type(v, &rows, row);
        out_is(v, stm, i, dest);
        arg_is(v, stm, outs + i, row);
    }
    for (uint32_t i = 0; i < 2 * outs; i++) add_type(v, &twice, state.data[i % outs]);
    body_is(v, stm, 0, &twice, &state);
    feeds_are(v, stm, 2 * outs, 2, 1, &rows);
}

// ---- stamps -------------------------------------------------------------------------

static void verify_stamp(Verifier *v, const CoreStm *stm) {
    CoreStamp stamp = (CoreStamp)stm->stamp;
    bool folds = stm->op == OP_REDUCE || stm->op == OP_SCAN;
    if (!folds && stm->op != OP_HIST) {
        want(v, stamp == STAMP_NONE, "it bears a stamp");
        return;
    }
    if (stamp == STAMP_NONE) {
        want(v, !v->program->is_stage0, "it bears no stamp after stage 0");
        return;
    }
    if (stm->op == OP_HIST) {
        want(v, stamp == STAMP_FREE || stamp == STAMP_PARTS, "its stamp is for folds");
        return;
    }
    bool arrays = false, floats = false;
    for (uint32_t i = 0; i < stm->out_count; i++) {
        CoreType type = type_of(v, stm->outs[i]);
        arrays = arrays || type.rank > (stm->op == OP_SCAN);
        floats = floats || scalar_is_float((ScalarType)type.elem);
    }
    bool rows = stamp == STAMP_NESTED_ROWS || stamp == STAMP_OUTER_ROWS;
    bool lanes = stamp == STAMP_NESTED_LANES || stamp == STAMP_OUTER_LANES;
    want(v, stamp < STAMP_PARTS, "its stamp is for histograms");
    want(v, rows == arrays || stamp >= STAMP_PARTS,
         "its stamp does not suit the rank of its results");
    want(v, !lanes || floats, "its stamp is for floats");
}

static void verify_args(Verifier *v, const CoreStm *stm) {
    switch (stm->op) {
    case OP_CHECK: verify_check(v, stm); return;
    case OP_GUARD: verify_guard(v, stm); return;
    case OP_IF: verify_if(v, stm); return;
    case OP_FOR: verify_for(v, stm); return;
    case OP_WHILE: verify_while(v, stm); return;
    case OP_CALL: verify_call(v, stm); return;
    case OP_LITERAL: verify_literal(v, stm); return;
    case OP_ARRAY: verify_array(v, stm); return;
    case OP_IOTA: verify_iota(v, stm); return;
    case OP_REPLICATE: verify_replicate(v, stm); return;
    case OP_SCRATCH: verify_scratch(v, stm); return;
    case OP_DIM: verify_dim(v, stm); return;
    case OP_INDEX: verify_index(v, stm); return;
    case OP_SLICE: verify_slice(v, stm); return;
    case OP_RESHAPE: verify_reshape(v, stm); return;
    case OP_PERMUTE: verify_permute(v, stm); return;
    case OP_REVERSE: verify_reverse(v, stm); return;
    case OP_CONCAT: verify_concat(v, stm); return;
    case OP_SPLIT: verify_split(v, stm); return;
    case OP_COPY:
    case OP_TRACE: verify_same(v, stm); return;
    case OP_UPDATE: verify_update(v, stm); return;
    case OP_SCATTER: verify_scatter(v, stm); return;
    case OP_FILTER: verify_filter(v, stm); return;
    case OP_SORT: verify_sort(v, stm); return;
    case OP_GENERATE: verify_generate(v, stm); return;
    case OP_MAP: verify_map(v, stm); return;
    case OP_REDUCE:
    case OP_SCAN: verify_fold(v, stm); return;
    case OP_HIST: verify_hist(v, stm); return;
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_MOD:
    case OP_QUOT:
    case OP_REM:
    case OP_POW:
    case OP_MIN:
    case OP_MAX:
    case OP_MULHI:
    case OP_FMA:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_SHL:
    case OP_SHR:
    case OP_LSHR:
    case OP_NOT:
    case OP_POPC:
    case OP_CLZ:
    case OP_CTZ:
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_NEG:
    case OP_ABS:
    case OP_SGN:
    case OP_SQRT:
    case OP_FLOOR:
    case OP_CEIL:
    case OP_TRUNC:
    case OP_ROUND:
    case OP_ISNAN:
    case OP_ISINF:
    case OP_NEXT:
    case OP_TO_BITS:
    case OP_FROM_BITS:
    case OP_CONV: verify_scalar(v, stm); return;
    case OP_COUNT: return;
    }
}

void core_verify_op(Verifier *v, const CoreStm *stm) {
    verify_args(v, stm);
    verify_stamp(v, stm);
}
