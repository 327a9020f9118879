// SPDX-License-Identifier: Apache-2.0
//
// Intrinsics over scalars, the constants of the numeric types, and structural equality.
#include "core/rules.h"
#include "lower/internal.h"

static CoreRef emit(Lower *l, CoreOp op, const CoreRef *args, uint32_t count) {
    if (count == 1) return lower_emit_op1(l, op, args[0]);
    if (count == 2) return lower_emit_op2(l, op, args[0], args[1]);
    return lower_emit_one(l, op, args, count, lower_ref_type(l, args[0]));
}

// The same with what is known of the operands, or 0 if that does not help.
static CoreRef fold(Lower *l, CoreOp op, const CoreRef *args) {
    ScalarType type = (ScalarType)lower_ref_type(l, args[0]).elem;
    bool is_i64 = type == SCALAR_I64, is_bool = type == SCALAR_BOOL;
    switch ((int)op) {
    case OP_ADD: return is_i64 ? lower_emit_add(l, args[0], args[1]) : 0;
    case OP_SUB: return is_i64 ? lower_emit_sub(l, args[0], args[1]) : 0;
    case OP_MUL: return is_i64 ? lower_emit_mul(l, args[0], args[1]) : 0;
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
        return scalar_is_float(type) ? 0 : lower_emit_compare(l, op, args[0], args[1]);
    case OP_AND: return is_bool ? lower_emit_both(l, args[0], args[1]) : 0;
    case OP_OR: return is_bool ? lower_emit_either(l, args[0], args[1]) : 0;
    case OP_NOT: return is_bool ? lower_emit_not(l, args[0]) : 0;
    }
    return 0;
}

enum { MOST_STEPS = 6 }; // back to what an operand was made of

// Whether the value needs all that the operand needs, and so raises all its errors:
// x - x is 0, but no answer where x is an error; (x + 1) - 1 is x. A size that no check
// made needs nothing.
static bool is_needed(Lower *l, CoreRef operand, CoreRef value, int steps) {
    RefInfo of = *lower_ref_info(l, operand), made = *lower_ref_info(l, value);
    if (operand == value || operand == made.x || operand == made.y) return true;
    if (core_is_const(l->program, operand)) return true;
    if (of.is_size && of.origin == 0) return true;
    bool is_sure = of.op == OP_ADD || of.op == OP_SUB || of.op == OP_MUL;
    return steps > 0 && of.x != 0 && is_sure && is_needed(l, of.x, value, steps - 1) &&
           is_needed(l, of.y, value, steps - 1);
}

static CoreRef compute(Lower *l, CoreOp op, const CoreRef *args, uint32_t count) {
    CoreRef result = fold(l, op, args);
    for (uint32_t i = 0; i < count && result != 0; i++)
        if (!is_needed(l, args[i], result, MOST_STEPS)) result = 0;
    return result != 0 ? result : emit(l, op, args, count);
}

CoreRef lower_emit_scalar2(Lower *l, CoreOp op, CoreRef x, CoreRef y) {
    return compute(l, op, (CoreRef[]){x, y}, 2);
}

Value *lower_intrinsic_scalar(Lower *l, Call *call) {
    CoreRef args[3] = {0};
    for (uint32_t i = 0; i < call->arg_count; i++)
        args[i] = lower_value_ref(call->args[i]);
    CoreType type = lower_ref_type(l, args[0]);
    if (!core_op_takes(call->op, (ScalarType)type.elem))
        lower_fail(l, LOWER_UNSUPPORTED,
                   lower_format(l, "`%.*s` of %s",
                                STR_ARG(lower_name(l, call->binding->name)),
                                scalar_info[type.elem].name));
    return lower_value_scalar(l, compute(l, call->op, args, call->arg_count));
}

Value *lower_intrinsic_swapped(Lower *l, Call *call) {
    Value *first = call->args[0];
    call->args[0] = call->args[1];
    call->args[1] = first;
    return lower_intrinsic_scalar(l, call);
}

Value *lower_intrinsic_convert(Lower *l, Call *call) {
    LType to = lower_call_result(l, call);
    CoreRef arg = lower_value_ref(call->args[0]);
    if (call->op == OP_CONV && lower_ref_type(l, arg).elem == to.layout->scalar)
        return call->args[0];
    if (call->op == OP_CONV && to.layout->scalar == SCALAR_I64 &&
        scalar_is_int((ScalarType)lower_ref_type(l, arg).elem))
        return lower_value_scalar(l, lower_emit_to_i64(l, arg));
    return lower_value_scalar(l, lower_emit_conv(l, call->op, arg, to.layout->scalar));
}

// ---- constants --------------------------------------------------------------------

typedef enum Number {
    NUMBER_ZERO,
    NUMBER_ONE,
    NUMBER_INF,
    NUMBER_MINUS_INF,
    NUMBER_NAN,
    NUMBER_PI,
    NUMBER_E,
    NUMBER_EPSILON,
    NUMBER_SMALLEST,
    NUMBER_COUNT
} Number;

static const uint64_t float_bits[NUMBER_COUNT][3] = {
    // f16, f32, f64
    [NUMBER_ZERO] = {0, 0, 0},
    [NUMBER_ONE] = {0x3c00, 0x3f800000, 0x3ff0000000000000},
    [NUMBER_INF] = {0x7c00, 0x7f800000, 0x7ff0000000000000},
    [NUMBER_MINUS_INF] = {0xfc00, 0xff800000, 0xfff0000000000000},
    [NUMBER_NAN] = {0x7e00, 0x7fc00000, 0x7ff8000000000000},
    [NUMBER_PI] = {0x4248, 0x40490fdb, 0x400921fb54442d18},
    [NUMBER_E] = {0x4170, 0x402df854, 0x4005bf0a8b145769},
    [NUMBER_EPSILON] = {0x1400, 0x34000000, 0x3cb0000000000000},
    [NUMBER_SMALLEST] = {0x0400, 0x00800000, 0x0010000000000000},
};

static uint64_t number_bits(Number number, ScalarType type) {
    unsigned width = 8u * scalar_info[type].bytes;
    uint64_t all = type == SCALAR_BOOL ? 1 : ~(uint64_t)0 >> (64 - width);
    bool is_signed = scalar_is_signed(type);
    if (scalar_is_float(type))
        return float_bits[number][type == SCALAR_F16 ? 0 : type == SCALAR_F32 ? 1 : 2];
    if (number == NUMBER_ONE) return 1;
    if (number == NUMBER_INF) return is_signed ? all >> 1 : all;
    if (number == NUMBER_MINUS_INF) return is_signed ? (all >> 1) + 1 : 0;
    return 0;
}

static Value *constant(Lower *l, const Call *call, Number number) {
    LType type = lower_call_result(l, call);
    ScalarType scalar = type.layout->scalar;
    return lower_value_scalar(
        l, core_const(l->program, scalar, number_bits(number, scalar)));
}

Value *lower_intrinsic_zero(Lower *l, Call *call) {
    return constant(l, call, NUMBER_ZERO);
}

Value *lower_intrinsic_one(Lower *l, Call *call) {
    return constant(l, call, NUMBER_ONE);
}

Value *lower_intrinsic_highest(Lower *l, Call *call) {
    return constant(l, call, NUMBER_INF);
}

Value *lower_intrinsic_lowest(Lower *l, Call *call) {
    return constant(l, call, NUMBER_MINUS_INF);
}

Value *lower_intrinsic_inf(Lower *l, Call *call) {
    return constant(l, call, NUMBER_INF);
}

Value *lower_intrinsic_nan(Lower *l, Call *call) {
    return constant(l, call, NUMBER_NAN);
}

Value *lower_intrinsic_pi(Lower *l, Call *call) {
    return constant(l, call, NUMBER_PI);
}

Value *lower_intrinsic_euler(Lower *l, Call *call) {
    return constant(l, call, NUMBER_E);
}

Value *lower_intrinsic_epsilon(Lower *l, Call *call) {
    return constant(l, call, NUMBER_EPSILON);
}

Value *lower_intrinsic_smallest(Lower *l, Call *call) {
    return constant(l, call, NUMBER_SMALLEST);
}

Value *lower_intrinsic_num_bits(Lower *l, Call *call) {
    CoreType type = lower_ref_type(l, lower_value_ref(call->args[0]));
    uint64_t bits = 8u * scalar_info[type.elem].bytes;
    return lower_value_scalar(l, core_const(l->program, SCALAR_I32, bits));
}

// ---- equality ---------------------------------------------------------------------

static CoreRef shapes_equal(Lower *l, CoreRef x, CoreRef y) {
    CoreRef result = core_bool(l->program, true);
    for (uint32_t i = 0; i < lower_ref_type(l, x).rank; i++) {
        CoreRef other = lower_ref_dim(l, y, i);
        CoreRef same = lower_emit_compare(l, OP_EQ, lower_ref_dim(l, x, i), other);
        result = lower_emit_both(l, result, same);
    }
    return result;
}

static CoreRef flat(Lower *l, CoreRef x) {
    uint32_t rank = lower_ref_type(l, x).rank;
    if (rank == 1) return x;
    CoreRef size = lower_ref_dim(l, x, 0);
    for (uint32_t i = 1; i < rank; i++)
        size = lower_emit_mul(l, size, lower_ref_dim(l, x, i));
    return lower_emit_reshape(l, x, &size, 1);
}

CoreRef lower_emit_all(Lower *l, CoreRef flags) {
    CoreType flag = {SCALAR_BOOL, 0};
    CoreRef params[2], args[2] = {flat(l, flags), core_bool(l->program, true)};
    for (int i = 0; i < 2; i++) params[i] = core_value(l->program, flag, 0);
    Mark mark = lower_body_open(l, params, 2);
    CoreRef both = lower_emit_op2(l, OP_AND, params[0], params[1]);
    CoreBody *body = lower_body_close(l, mark, &both, 1);
    CoreStm *reduce = lower_emit(l, OP_REDUCE, args, 2, &flag, 1);
    core_set_attrs(&l->now.b, reduce, (int32_t[]){1, 1}, 2);
    core_set_bodies(&l->now.b, reduce, &body, 1);
    return reduce->outs[0];
}

// All elements of two arrays of one shape: map (==), then reduce (&&).
static CoreRef elements_equal(Lower *l, CoreRef x, CoreRef y) {
    CoreRef arrays[2] = {flat(l, x), flat(l, y)}, params[2];
    CoreType elem = {lower_ref_type(l, x).elem, 0}, flags = {SCALAR_BOOL, 1};
    for (int i = 0; i < 2; i++) params[i] = core_value(l->program, elem, 0);
    Mark mark = lower_body_open(l, params, 2);
    CoreRef same = lower_emit_op2(l, OP_EQ, params[0], params[1]);
    CoreBody *body = lower_body_close(l, mark, &same, 1);
    CoreStm *map = lower_emit(l, OP_MAP, arrays, 2, &flags, 1);
    core_set_attrs(&l->now.b, map, (int32_t[]){2}, 1);
    core_set_bodies(&l->now.b, map, &body, 1);
    return lower_emit_all(l, map->outs[0]);
}

static CoreRef arrays_equal(Lower *l, CoreRef x, CoreRef y) {
    CoreRef shape = shapes_equal(l, x, y);
    int64_t known = 0;
    if (lower_ref_is_const(l, shape, &known))
        return known != 0 ? elements_equal(l, x, y) : shape;
    CoreBody *bodies[2];
    CoreRef no = core_bool(l->program, false);
    Mark mark = lower_body_open(l, NULL, 0);
    CoreRef elements = elements_equal(l, x, y);
    bodies[0] = lower_body_close(l, mark, &elements, 1);
    mark = lower_body_open(l, NULL, 0);
    bodies[1] = lower_body_close(l, mark, &no, 1);
    CoreType type = {SCALAR_BOOL, 0};
    CoreStm *stm = lower_emit(l, OP_IF, &shape, 1, &type, 1);
    core_set_bodies(&l->now.b, stm, bodies, 2);
    return stm->outs[0];
}

// Slots of a sum that its constructor does not use are zero, so leaves may be compared
// one by one whatever the type.
Value *lower_intrinsic_equal(Lower *l, Call *call) {
    CoreRefs x = lower_value_refs(l, call->args[0]),
             y = lower_value_refs(l, call->args[1]);
    bool is_number = x.len == 1 && lower_ref_type(l, x.data[0]).rank == 0;
    if (is_number)
        return lower_value_scalar(
            l, lower_emit_scalar2(l, call->op, x.data[0], y.data[0]));
    CoreRef result = core_bool(l->program, true);
    for (uint32_t i = 0; i < x.len; i++) {
        bool is_array = lower_ref_type(l, x.data[i]).rank > 0;
        CoreRef same = is_array ? arrays_equal(l, x.data[i], y.data[i])
                                : lower_emit_scalar2(l, OP_EQ, x.data[i], y.data[i]);
        result = lower_emit_both(l, result, same);
    }
    if (call->op == OP_NE) result = lower_emit_not(l, result);
    return lower_value_scalar(l, result);
}
