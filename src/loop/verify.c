// SPDX-License-Identifier: Apache-2.0
//
// What must hold of a kernel: every value is bound once and used in its scope,
// operators get what they take, and parallel loops, results and private memory keep to
// where they belong. Every fault is collected.
#include <stdarg.h>

#include "core/rules.h"
#include "loop/build.h"

enum { MOST_FAULTS = 20 };

typedef enum Scope { UNBOUND, IN_SCOPE, ENDED } Scope;

typedef struct Verifier {
    const LoopKernel *kernel;
    StrBuf *out;
    uint8_t *scopes;   // by LoopRef
    uint32_t *threads; // by LoopRef, of marks: which thread's memory
    const LoopStm *stm;
    uint32_t fun;    // whose body this is; funs.len: the root's
    uint32_t thread; // 0: root code; else a function's, or that of a loop's turns
    uint32_t thread_count;
    uint32_t lanes;  // of the vector turn that this is in; 0: none
    bool has_stored; // that turn
    uint32_t faults;
} Verifier;

static bool want(Verifier *v, bool ok, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool want(Verifier *v, bool ok, const char *format, ...) {
    if (ok || v->faults++ >= MOST_FAULTS) return ok;
    va_list args;
    if (v->stm != NULL)
        strbuf_printf(v->out, "%s: ",
                      v->stm->op == LOOP_SCALAR ? "scalar"
                      : v->stm->op < LOOP_COUNT ? loop_op_names[v->stm->op]
                                                : "bad operator");
    va_start(args, format);
    strbuf_vprintf(v->out, format, args);
    va_end(args);
    strbuf_char(v->out, '\n');
    return ok;
}

// ---- types --------------------------------------------------------------------------

static LoopType type_of(const Verifier *v, LoopRef ref) {
    return v->kernel->values.data[ref].type;
}

static bool same(LoopType a, LoopType b) {
    return a.kind == b.kind && a.elem == b.elem && a.lanes == b.lanes;
}

static LoopType scalar(ScalarType elem) {
    return (LoopType){.kind = LOOP_IS_SCALAR, .elem = (uint8_t)elem};
}

static bool counts(Verifier *v, const LoopStm *stm, uint32_t args, uint32_t outs,
                   uint32_t bodies) {
    return want(v, stm->arg_count == args, "it has %u args, not %u", stm->arg_count,
                args) &&
           want(v, stm->out_count == outs, "it has %u results, not %u", stm->out_count,
                outs) &&
           want(v, stm->body_count == bodies, "it has %u bodies, not %u",
                stm->body_count, bodies);
}

static void arg_is(Verifier *v, const LoopStm *stm, uint32_t i, LoopType type) {
    want(v, same(type_of(v, stm->args[i]), type), "arg %u has the wrong type", i);
}

// One, or in lanes.
static void lane_is(Verifier *v, const LoopStm *stm, uint32_t i, ScalarType elem) {
    LoopType type = type_of(v, stm->args[i]);
    want(v, type.kind == LOOP_IS_SCALAR && type.elem == elem,
         "arg %u has the wrong type", i);
}

static void lanes_are(Verifier *v, const LoopStm *stm, uint32_t first,
                      ScalarType elem) {
    for (uint32_t i = first; i < stm->arg_count; i++) lane_is(v, stm, i, elem);
}

static void args_are(Verifier *v, const LoopStm *stm, uint32_t first, ScalarType elem) {
    for (uint32_t i = first; i < stm->arg_count; i++) arg_is(v, stm, i, scalar(elem));
}

static LoopType in_lanes(const Verifier *v, ScalarType elem) {
    LoopType type = scalar(elem);
    type.lanes = (uint8_t)v->lanes;
    return type;
}

static bool has_lanes(const Verifier *v, const LoopStm *stm) {
    for (uint32_t i = 0; i < stm->arg_count; i++)
        if (type_of(v, stm->args[i]).lanes > 0) return true;
    return false;
}

static bool buffer_is(Verifier *v, LoopRef ref) {
    return want(v, type_of(v, ref).kind == LOOP_IS_BUFFER, "a buffer is wanted");
}

// Refs that must be of the types of others.
static void alike(Verifier *v, const char *what, const LoopRef *refs, uint32_t count,
                  const LoopRef *like, uint32_t like_count) {
    if (!want(v, count == like_count, "%u %s, not %u", count, what, like_count)) return;
    for (uint32_t i = 0; i < count; i++)
        want(v, same(type_of(v, refs[i]), type_of(v, like[i])),
             "%s %u has the wrong type", what, i);
}

// ---- operators ----------------------------------------------------------------------

static void verify_scalar(Verifier *v, const LoopStm *stm) {
    uint32_t operands = stm->scalar < OP_COUNT ? core_op_operands(stm->scalar) : 0;
    if (!want(v, operands > 0, "it is no scalar operator") ||
        !counts(v, stm, operands, 1, 0))
        return;
    LoopType type = type_of(v, stm->args[0]);
    ScalarType in = (ScalarType)type.elem;
    if (!want(v, type.kind == LOOP_IS_SCALAR, "arg 0 is no scalar")) return;
    lanes_are(v, stm, 1, in);
    if (!want(v, core_op_takes(stm->scalar, in), "it does not take %s",
              scalar_info[in].name))
        return;
    ScalarType to = (ScalarType)type_of(v, stm->outs[0]).elem;
    core_op_gives(stm->scalar, in, &to);
    want(v,
         same(type_of(v, stm->outs[0]),
              has_lanes(v, stm) ? in_lanes(v, to) : scalar(to)),
         "its result has the wrong type");
}

bool loop_is_atomic(CoreOp op, ScalarType elem) {
    uint8_t bytes = scalar_info[elem].bytes;
    if (bytes != 4 && bytes != 8) return false;
    if (op == OP_MIN || op == OP_MAX) return true;
    return scalar_is_int(elem) && (op == OP_ADD || op == OP_MUL || op == OP_AND ||
                                   op == OP_OR || op == OP_XOR);
}

static void verify_access(Verifier *v, const LoopStm *stm) {
    bool is_masked = stm->op == LOOP_LOADIF || stm->op == LOOP_STOREIF;
    bool loads = stm->op == LOOP_LOAD || stm->op == LOOP_LOADIF;
    uint32_t buffer = is_masked, first = buffer + (loads ? 1 : 2); // the offset
    if (!want(v, stm->arg_count > first && (stm->arg_count - first) % 2 == 1,
              "it has %u args", stm->arg_count) ||
        !counts(v, stm, stm->arg_count, loads, 0) || !buffer_is(v, stm->args[buffer]))
        return;
    if (!loads) v->has_stored = true;
    if (is_masked) arg_is(v, stm, 0, in_lanes(v, SCALAR_BOOL));
    LoopType elem = type_of(v, stm->args[buffer]);
    LoopRef element = loads ? stm->outs[0] : stm->args[buffer + 1];
    LoopType type = type_of(v, element);
    want(v, type.kind == LOOP_IS_SCALAR && type.elem == elem.elem,
         "the element has the wrong type");
    if (stm->op == LOOP_ATOMIC) want(v, !has_lanes(v, stm), "all lanes do it at once");
    else
        want(v,
             type.lanes > 0 || !(loads ? is_masked || has_lanes(v, stm) : v->lanes > 0),
             "the element has no lanes");
    want(v,
         stm->op != LOOP_ATOMIC || loop_is_atomic(stm->scalar, (ScalarType)elem.elem),
         "no device does that at once");
    lanes_are(v, stm, first, SCALAR_I64);
}

static void verify_sift(Verifier *v, const LoopStm *stm) {
    if (!counts(v, stm, 8, 1, 0) || !buffer_is(v, stm->args[0]) ||
        !buffer_is(v, stm->args[3]) || !buffer_is(v, stm->args[5]))
        return;
    v->has_stored = true;
    want(v, same(type_of(v, stm->args[0]), type_of(v, stm->args[3])),
         "its buffers have elements of two types");
    want(v, type_of(v, stm->args[5]).elem == SCALAR_BOOL, "its flags are none");
    for (uint32_t i = 0; i < 8; i++)
        if (i != 0 && i != 3 && i != 5) arg_is(v, stm, i, scalar(SCALAR_I64));
    want(v, same(type_of(v, stm->outs[0]), scalar(SCALAR_I64)),
         "its result is no place");
}

static void verify_lookup(Verifier *v, const LoopStm *stm) {
    if (!counts(v, stm, 3, 1, 0) || !buffer_is(v, stm->args[0])) return;
    LoopType elem = scalar((ScalarType)type_of(v, stm->args[0]).elem);
    LoopType place = scalar(SCALAR_I64);
    arg_is(v, stm, 2, place);
    elem.lanes = place.lanes = v->lanes;
    arg_is(v, stm, 1, place);
    want(v, same(type_of(v, stm->outs[0]), elem), "its result has the wrong type");
}

static void verify_below(Verifier *v, const LoopStm *stm) {
    enum { BYTES = 32 };
    if (!counts(v, stm, 4, 1, 0) || !buffer_is(v, stm->args[0])) return;
    ScalarType elem = (ScalarType)type_of(v, stm->args[0]).elem;
    const LoopValue *count = &v->kernel->values.data[stm->args[2]];
    want(v, scalar_is_int(elem) && scalar_info[elem].bytes >= 4,
         "its elements have the wrong type");
    arg_is(v, stm, 1, scalar(SCALAR_I64));
    arg_is(v, stm, 2, scalar(SCALAR_I64));
    arg_is(v, stm, 3, scalar(SCALAR_U64));
    want(v, count->is_const && count->bits == BYTES / scalar_info[elem].bytes,
         "it has a wrong number of elements");
    want(v, same(type_of(v, stm->outs[0]), scalar(SCALAR_BOOL)),
         "its result has the wrong type");
}

static void verify_take(Verifier *v, const LoopStm *stm, ScalarType elem) {
    arg_is(v, stm, 0, in_lanes(v, elem));
    arg_is(v, stm, 1, in_lanes(v, elem));
    args_are(v, stm, 2, SCALAR_I64);
    for (uint32_t i = 2; i < stm->arg_count; i++) {
        const LoopValue *lane = &v->kernel->values.data[stm->args[i]];
        want(v, lane->is_const && lane->bits < 2 * (uint64_t)v->lanes,
             "arg %u is no lane", i);
    }
}

static void verify_lanes(Verifier *v, const LoopStm *stm) {
    static const uint8_t operands[LOOP_COUNT] = {
        [LOOP_SPLAT] = 1, [LOOP_SELECT] = 3, [LOOP_ANY] = 1,
        [LOOP_TALLY] = 1, [LOOP_SURE] = 1,   [LOOP_TAKE] = 2};
    bool has_steps = stm->op == LOOP_LANES && stm->arg_count > 0;
    bool is_each = stm->op == LOOP_PACK || stm->op == LOOP_TAKE;
    uint32_t count = operands[stm->op] + (has_steps ? 2 : is_each ? v->lanes : 0);
    if (!want(v, v->lanes > 0, "it is in no vector turn") ||
        !counts(v, stm, count, stm->op != LOOP_SURE, 0))
        return;
    if (stm->op == LOOP_SURE) {
        lane_is(v, stm, 0, SCALAR_BOOL);
        want(v, !v->has_stored, "it comes after a store");
        return;
    }
    LoopType out = type_of(v, stm->outs[0]);
    ScalarType elem = (ScalarType)out.elem;
    if (stm->op == LOOP_ANY || stm->op == LOOP_TALLY || stm->op == LOOP_SELECT)
        arg_is(v, stm, 0, in_lanes(v, SCALAR_BOOL));
    if (stm->op == LOOP_SELECT) lanes_are(v, stm, 1, elem);
    if (stm->op == LOOP_SPLAT || stm->op == LOOP_PACK) args_are(v, stm, 0, elem);
    if (stm->op == LOOP_TAKE) verify_take(v, stm, elem);
    if (has_steps) args_are(v, stm, 0, SCALAR_I64);
    if (stm->op == LOOP_LANES)
        want(v, has_steps ? scalar_is_float(elem) : scalar_is_int(elem),
             has_steps ? "its result is no float" : "its result is no integer");
    LoopType wanted = stm->op == LOOP_ANY     ? scalar(SCALAR_BOOL)
                      : stm->op == LOOP_TALLY ? scalar(SCALAR_I64)
                                              : in_lanes(v, elem);
    want(v, same(out, wanted), "its result has the wrong type");
}

static void verify_threads(Verifier *v, const LoopStm *stm) {
    want(v, v->thread == 0, "it is not in root code");
    if (!counts(v, stm, 0, 1, 0)) return;
    want(v, same(type_of(v, stm->outs[0]), scalar(SCALAR_I64)),
         "its result has the wrong type");
}

static void verify_check(Verifier *v, const LoopStm *stm) {
    if (!want(v, stm->arg_count > 0, "it has no condition") ||
        !counts(v, stm, stm->arg_count, 0, 0))
        return;
    arg_is(v, stm, 0, scalar(SCALAR_BOOL));
    for (uint32_t i = 1; i < stm->arg_count; i++)
        want(v, type_of(v, stm->args[i]).kind == LOOP_IS_SCALAR, "arg %u is no scalar",
             i);
    for (size_t i = 0; i + 1 < stm->text.len; i++) {
        char digit = stm->text.ptr[i + 1];
        if (stm->text.ptr[i] != '%' || digit < '0' || digit > '9') continue;
        want(v, (uint32_t)(digit - '0') + 1 < stm->arg_count,
             "its text mentions %%%c, which is not there", digit);
    }
}

static void verify_mark(Verifier *v, const LoopStm *stm) {
    if (!counts(v, stm, 0, 1, 0)) return;
    want(v, type_of(v, stm->outs[0]).kind == LOOP_IS_MARK, "its result is no mark");
    v->threads[stm->outs[0]] = v->thread;
}

static void verify_keep(Verifier *v, const LoopStm *stm) {
    if (!want(v, stm->arg_count > 0, "it has no mark") ||
        !counts(v, stm, stm->arg_count, stm->arg_count - 1, 0) ||
        !want(v, type_of(v, stm->args[0]).kind == LOOP_IS_MARK, "arg 0 is no mark"))
        return;
    want(v, v->threads[stm->args[0]] == v->thread,
         "the mark is another thread's or turn's");
    for (uint32_t i = 1; i < stm->arg_count; i++) {
        if (!buffer_is(v, stm->args[i])) return;
        for (uint32_t k = 1; k < i; k++)
            want(v, stm->args[i] != stm->args[k], "it keeps a buffer twice");
    }
    alike(v, "results", stm->outs, stm->out_count, stm->args + 1, stm->arg_count - 1);
}

static void verify_result(Verifier *v, const LoopStm *stm) {
    const LoopKernel *kernel = v->kernel;
    want(v, v->thread == 0, "it is not in root code");
    if (!want(v, stm->number < 2 * kernel->result_count, "there is no result %u",
              stm->number))
        return;
    uint32_t number = stm->number % kernel->result_count;
    CoreType type = kernel->results[number].type;
    if (!want(v, type.rank > 0, "result %u is a scalar", number) ||
        !counts(v, stm, type.rank, stm->out_count == 2 ? 2 : 1, 0))
        return;
    if (stm->out_count == 2)
        want(v, same(type_of(v, stm->outs[1]), (LoopType){.elem = SCALAR_BOOL}),
             "it does not say whether there is room");
    args_are(v, stm, 0, SCALAR_I64);
    want(v,
         same(type_of(v, stm->outs[0]),
              (LoopType){.kind = LOOP_IS_BUFFER, .elem = type.elem}),
         "its result has the wrong type");
}

// The function's body, or NULL.
static const LoopBody *callee_of(Verifier *v, const LoopStm *stm) {
    if (!want(v, stm->number < v->fun, "function %u does not come before",
              stm->number) ||
        !want(v, stm->body_count == 0, "it has bodies"))
        return NULL;
    const LoopFun *fun = &v->kernel->funs.data[stm->number];
    if (!want(v, fun->is_plain == (stm->op == LOOP_APPLY), "function %u is %s",
              stm->number, fun->is_plain ? "plain" : "not plain"))
        return NULL;
    return fun->body;
}

static void verify_call(Verifier *v, const LoopStm *stm) {
    const LoopBody *body = callee_of(v, stm);
    if (body == NULL) return;
    alike(v, "args", stm->args, stm->arg_count, body->params, body->param_count);
    alike(v, "results", stm->outs, stm->out_count, body->results, body->result_count);
}

// In lanes operands may have them or not, all results do.
static void verify_apply(Verifier *v, const LoopStm *stm) {
    const LoopBody *body = callee_of(v, stm);
    if (body == NULL) return;
    uint32_t lanes = stm->out_count > 0 ? type_of(v, stm->outs[0]).lanes : 0;
    uint32_t first = lanes > 0;
    if (!want(v, stm->arg_count == first + body->param_count, "it has %u args",
              stm->arg_count) ||
        !want(v, stm->out_count == body->result_count, "it has %u results",
              stm->out_count))
        return;
    LoopType mask = scalar(SCALAR_BOOL);
    mask.lanes = (uint8_t)lanes;
    if (first > 0) arg_is(v, stm, 0, mask);
    for (uint32_t i = 0; i < body->param_count; i++) {
        LoopType type = type_of(v, stm->args[first + i]);
        want(v, type.lanes == 0 || type.lanes == lanes, "arg %u has %u lanes",
             first + i, type.lanes);
        type.lanes = 0;
        want(v, same(type, type_of(v, body->params[i])), "arg %u has the wrong type",
             first + i);
    }
    for (uint32_t i = 0; i < body->result_count; i++) {
        LoopType type = type_of(v, body->results[i]);
        type.lanes = (uint8_t)lanes;
        want(v, same(type_of(v, stm->outs[i]), type), "result %u has the wrong type",
             i);
    }
}

static void verify_plain(Verifier *v, const LoopBody *body) {
    for (uint32_t i = 0; i < body->param_count; i++)
        want(v, type_of(v, body->params[i]).kind == LOOP_IS_SCALAR,
             "param %u of a plain function is no scalar", i);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = v->stm = body->stms.data[i];
        want(v, stm->op == LOOP_SCALAR || stm->op == LOOP_IF || stm->op == LOOP_APPLY,
             "it is in a plain function");
        for (uint32_t k = 0; k < stm->body_count; k++) verify_plain(v, stm->bodies[k]);
    }
}

static void verify_if(Verifier *v, const LoopStm *stm) {
    if (!counts(v, stm, 1, stm->out_count, 2)) return;
    arg_is(v, stm, 0, scalar(SCALAR_BOOL));
    for (uint32_t i = 0; i < 2; i++) {
        const LoopBody *body = stm->bodies[i];
        want(v, body->param_count == 0, "body %u has params", i);
        alike(v, "results", body->results, body->result_count, stm->outs,
              stm->out_count);
    }
}

static bool stores(const LoopStm *stm, int unused) {
    (void)unused;
    return stm->op == LOOP_STORE || stm->op == LOOP_STOREIF || stm->op == LOOP_ATOMIC;
}

static void verify_for(Verifier *v, const LoopStm *stm) {
    bool is_partial = stm->number > 0 && stm->body_count == 1;
    uint32_t bodies = stm->number > 0 && !is_partial ? 2 : 1;
    if (!counts(v, stm, stm->out_count + 1, stm->out_count, bodies)) return;
    const LoopBody *body = stm->bodies[0];
    LoopType times = type_of(v, stm->args[0]);
    want(v, times.kind == LOOP_IS_SCALAR && scalar_is_int((ScalarType)times.elem),
         "arg 0 is no integer");
    if (!want(v, body->param_count > 0, "its body has no index")) return;
    want(v, same(type_of(v, body->params[0]), times), "the index has the wrong type");
    alike(v, "args", stm->args + 1, stm->arg_count - 1, stm->outs, stm->out_count);
    alike(v, "params", body->params + 1, body->param_count - 1, stm->outs,
          stm->out_count);
    alike(v, "results", body->results, body->result_count, stm->outs, stm->out_count);
    bool looks = stm->out_count == 0 && !loop_has(body, stores, 0);
    if (stm->number > 0 &&
        want(v,
             (stm->order != ORDER_SEQUENTIAL || looks) && stm->number % 4 == 0 &&
                 stm->number <= LOOP_MOST_LANES,
             "it cannot have %u lanes", stm->number) &&
        bodies > 1)
        alike(v, "params", stm->bodies[1]->params, stm->bodies[1]->param_count,
              body->params, body->param_count);
    want(v,
         !is_partial ||
             (stm->order != ORDER_SEQUENTIAL && !loop_has_op(body, LOOP_SURE)),
         "it has no turns for those that are left over");
    if (!want(v, stm->order < ORDER_COUNT, "it has no order") ||
        stm->order == ORDER_SEQUENTIAL)
        return;
    want(v, stm->out_count == 0, "%s turns carry state",
         loop_order_names[stm->order] + 1);
    if (stm->order != ORDER_PARALLEL) return;
    want(v, v->thread == 0, "a parallel loop is not in root code");
}

static void verify_while(Verifier *v, const LoopStm *stm) {
    if (!counts(v, stm, stm->out_count, stm->out_count, 2)) return;
    const LoopBody *guard = stm->bodies[0], *body = stm->bodies[1];
    alike(v, "args", stm->args, stm->arg_count, stm->outs, stm->out_count);
    alike(v, "params", guard->params, guard->param_count, stm->outs, stm->out_count);
    alike(v, "params", body->params, body->param_count, stm->outs, stm->out_count);
    alike(v, "results", body->results, body->result_count, stm->outs, stm->out_count);
    if (want(v, guard->result_count == 1, "its guard has %u results",
             guard->result_count))
        want(v, same(type_of(v, guard->results[0]), scalar(SCALAR_BOOL)),
             "its guard gives no bool");
}

// What of a vector turn cannot be in lanes, or taken back.
static bool suits_lanes(const LoopStm *stm) {
    return stm->op != LOOP_ALLOC && stm->op != LOOP_MARK && stm->op != LOOP_KEEP &&
           stm->op != LOOP_RESULT && stm->op != LOOP_THREADS && stm->op != LOOP_CHECK &&
           stm->op != LOOP_CALL && stm->op != LOOP_SIFT && stm->op != LOOP_BELOW &&
           !(stm->op == LOOP_FOR && stm->number > 0);
}

static void verify_op(Verifier *v, const LoopStm *stm) {
    for (uint32_t i = 0; i < stm->out_count; i++) {
        uint32_t lanes = type_of(v, stm->outs[i]).lanes;
        want(v, lanes == 0 || lanes == v->lanes, "result %u has %u lanes", i, lanes);
    }
    want(v, v->lanes == 0 || suits_lanes(stm), "it is in a vector turn");
    switch (stm->op) {
    case LOOP_SCALAR: verify_scalar(v, stm); return;
    case LOOP_LOAD:
    case LOOP_STORE:
    case LOOP_ATOMIC: verify_access(v, stm); return;
    case LOOP_SIFT: verify_sift(v, stm); return;
    case LOOP_BELOW: verify_below(v, stm); return;
    case LOOP_LOOKUP: verify_lookup(v, stm); return;
    case LOOP_DATA:
        if (counts(v, stm, 0, 1, 0) && buffer_is(v, stm->outs[0]))
            want(v,
                 stm->text.len % scalar_info[type_of(v, stm->outs[0]).elem].bytes == 0,
                 "its data end within an element");
        return;
    case LOOP_ALLOC:
        if (!counts(v, stm, 1, 1, 0)) return;
        args_are(v, stm, 0, SCALAR_I64);
        buffer_is(v, stm->outs[0]);
        return;
    case LOOP_MARK: verify_mark(v, stm); return;
    case LOOP_KEEP: verify_keep(v, stm); return;
    case LOOP_RESULT: verify_result(v, stm); return;
    case LOOP_THREADS: verify_threads(v, stm); return;
    case LOOP_CHECK: verify_check(v, stm); return;
    case LOOP_CALL: verify_call(v, stm); return;
    case LOOP_APPLY: verify_apply(v, stm); return;
    case LOOP_IF: verify_if(v, stm); return;
    case LOOP_FOR: verify_for(v, stm); return;
    case LOOP_WHILE: verify_while(v, stm); return;
    case LOOP_LOADIF:
    case LOOP_STOREIF: verify_access(v, stm); return;
    case LOOP_SPLAT:
    case LOOP_LANES:
    case LOOP_SELECT:
    case LOOP_PACK:
    case LOOP_TAKE:
    case LOOP_ANY:
    case LOOP_TALLY:
    case LOOP_SURE: verify_lanes(v, stm); return;
    case LOOP_COUNT: want(v, false, "there is no such operator"); return;
    }
}

// ---- scopes -------------------------------------------------------------------------

static bool check_use(Verifier *v, LoopRef ref) {
    if (!want(v, ref != 0 && ref < v->kernel->values.len, "value %u does not exist",
              ref))
        return false;
    if (v->kernel->values.data[ref].is_const) return true;
    return want(v, v->scopes[ref] == IN_SCOPE, "value %u is used out of scope", ref);
}

static bool check_uses(Verifier *v, const LoopRef *refs, uint32_t count) {
    bool ok = true;
    for (uint32_t i = 0; i < count; i++) ok = check_use(v, refs[i]) && ok;
    return ok;
}

static bool bind(Verifier *v, const LoopRef *refs, uint32_t count) {
    bool ok = true;
    for (uint32_t i = 0; i < count; i++) {
        ok = want(v,
                  refs[i] != 0 && refs[i] < v->kernel->values.len &&
                      !v->kernel->values.data[refs[i]].is_const,
                  "value %u cannot be bound", refs[i]) &&
             ok;
        if (!ok) continue;
        ok = want(v, v->scopes[refs[i]] == UNBOUND, "value %u is bound twice", refs[i]);
        v->scopes[refs[i]] = IN_SCOPE;
    }
    return ok;
}

static void end(Verifier *v, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (refs[i] < v->kernel->values.len) v->scopes[refs[i]] = ENDED;
}

static bool check_body(Verifier *v, const LoopBody *body);

static void check_stm(Verifier *v, const LoopStm *stm) {
    v->stm = stm;
    bool ok = check_uses(v, stm->args, stm->arg_count);
    uint32_t outer = v->thread;
    if (stm->op == LOOP_FOR && stm->order != ORDER_SEQUENTIAL)
        v->thread = ++v->thread_count;
    bool is_vector = stm->op == LOOP_FOR && stm->number > 0 && v->lanes == 0;
    bool before = v->has_stored, has_stored = before;
    for (uint32_t i = 0; i < stm->body_count; i++) {
        if (is_vector) v->lanes = i == 0 ? stm->number : 0;
        if (is_vector || stm->op == LOOP_IF) v->has_stored = before && !is_vector;
        ok = check_body(v, stm->bodies[i]) && ok;
        has_stored = has_stored || v->has_stored;
    }
    if (is_vector) v->lanes = 0;
    v->has_stored = has_stored;
    v->thread = outer;
    v->stm = stm;
    ok = bind(v, stm->outs, stm->out_count) && ok;
    want(v, stm->loc < v->kernel->core->places.len, "place %u does not exist",
         stm->loc);
    if (ok) verify_op(v, stm);
    v->stm = NULL;
}

static bool check_body(Verifier *v, const LoopBody *body) {
    bool ok = bind(v, body->params, body->param_count);
    for (uint32_t i = 0; i < body->stms.len; i++) check_stm(v, body->stms.data[i]);
    ok = check_uses(v, body->results, body->result_count) && ok;
    end(v, body->params, body->param_count);
    for (uint32_t i = 0; i < body->stms.len; i++)
        end(v, body->stms.data[i]->outs, body->stms.data[i]->out_count);
    return ok;
}

// ---- kernels ------------------------------------------------------------------------

// Values as the ports say: a scalar, or a buffer and sizes.
static void check_ports(Verifier *v, const char *what, const LoopPort *ports,
                        uint32_t port_count, const LoopRef *refs, uint32_t count) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < port_count; i++) {
        CoreType type = ports[i].type;
        uint32_t width = type.rank == 0 ? 1 : 1u + type.rank;
        if (!want(v, count - at >= width, "%s %u is not there", what, i)) return;
        LoopType first = {.kind = type.rank == 0 ? LOOP_IS_SCALAR : LOOP_IS_BUFFER,
                          .elem = type.elem};
        bool ok = same(type_of(v, refs[at]), first);
        for (uint32_t d = 1; d < width; d++)
            ok = ok && same(type_of(v, refs[at + d]), scalar(SCALAR_I64));
        want(v, ok, "%s %u has the wrong type", what, i);
        at += width;
    }
    want(v, at == count, "there are more values than %ss", what);
}

static bool check_tables(Verifier *v) {
    for (LoopRef ref = 1; ref < v->kernel->values.len; ref++) {
        LoopType type = type_of(v, ref);
        want(v,
             type.kind <= LOOP_IS_MARK && type.elem < SCALAR_COUNT &&
                 (type.lanes == 0 || (type.kind == LOOP_IS_SCALAR && type.lanes > 1 &&
                                      type.lanes <= LOOP_MOST_LANES)),
             "value %u has no type", ref);
    }
    return v->faults == 0;
}

bool loop_verify(const LoopKernel *kernel, StrBuf *out) {
    Verifier v = {.kernel = kernel, .out = out};
    v.scopes = arena_array(out->arena, uint8_t, kernel->values.len);
    v.threads = arena_array(out->arena, uint32_t, kernel->values.len);
    if (!check_tables(&v)) return false;
    for (v.fun = 0; v.fun < kernel->funs.len; v.fun++) {
        v.thread = ++v.thread_count;
        const LoopFun *fun = &kernel->funs.data[v.fun];
        if (check_body(&v, fun->body) && fun->is_plain) verify_plain(&v, fun->body);
        v.stm = NULL;
    }
    v.thread = 0;
    const LoopBody *root = kernel->root;
    if (check_body(&v, root)) {
        check_ports(&v, "param", kernel->params, kernel->param_count, root->params,
                    root->param_count);
        check_ports(&v, "result", kernel->results, kernel->result_count, root->results,
                    root->result_count);
    }
    if (v.faults > MOST_FAULTS)
        strbuf_printf(out, "and %u more\n", v.faults - MOST_FAULTS);
    return v.faults == 0;
}
