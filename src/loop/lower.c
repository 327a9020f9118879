// SPDX-License-Identifier: Apache-2.0
//
// Core to loops: the driver, bodies, scalar operators and checks. What cannot be
// lowered leaves by a jump with its reason.
#include "loop/lower.h"

#include <assert.h>

#include "core/rules.h"

_Noreturn void loop_refuse(Lower *l, const char *why) {
    l->why = why;
    longjmp(l->exit, 1);
}

// ---- values -------------------------------------------------------------------------

// A kernel has few of the program's values.
Name *loop_name(const Lower *l, CoreRef ref) {
    Name **some = &l->names[ref / NAMES_AT_ONCE];
    if (*some == NULL) *some = arena_array(l->arena, Name, NAMES_AT_ONCE);
    return &(*some)[ref % NAMES_AT_ONCE];
}

Val loop_val(Lower *l, CoreRef ref) {
    const CoreValue *value = &l->core->values.data[ref];
    if (value->is_const)
        return val_scalar(loop_const(l->b, (ScalarType)value->type.elem, value->bits));
    return loop_name(l, ref)->val;
}

LoopRef loop_ref(Lower *l, CoreRef ref) {
    return loop_val(l, ref).scalar;
}

Array *loop_array(Lower *l, CoreRef ref) {
    return loop_name(l, ref)->val.array;
}

void loop_bind(Lower *l, CoreRef ref, Val val) {
    Name *name = loop_name(l, ref);
    name->val = val;
    name->depth = l->depth;
    if (val.array == NULL) {
        LoopValue *value = &l->kernel->values.data[val.scalar];
        if (value->name == 0 && !value->is_const)
            value->name = l->core->values.data[ref].name;
        return;
    }
    name->is_live = true;
    Block *block = loop_block_of(l, val.array);
    if (block != NULL) vec_push(l->arena, &block->names, ref);
}

static void end_name(Lower *l, CoreRef ref) {
    Name *name = loop_name(l, ref);
    if (!name->is_live) return;
    name->is_live = false;
    vec_push(l->arena, &l->ended, ref);
}

// ---- bodies -------------------------------------------------------------------------

void loop_enter(Lower *l) {
    if (stack_is_low(&l->stack)) loop_refuse(l, "nested too deeply");
    l->depth++;
}

void loop_leave(Lower *l) {
    l->depth--;
}

static void any_stm(Lower *l, const CoreStm *stm);

static void end_names(Lower *l, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (loop_core_type(l, refs[i]).rank > 0) end_name(l, refs[i]);
}

void loop_body(Lower *l, const CoreBody *body, const Val *args, Home **places,
               Val *results_out, bool *is_ours_out) {
    const Uses *uses = loop_uses(l, body);
    uint32_t known = l->sizes.len;
    loop_enter(l);
    for (uint32_t i = 0; i < body->param_count; i++)
        loop_bind(l, body->params[i], args[i]);
    for (uint32_t i = 0; i < body->stms.len; i++)
        for (uint32_t k = 0; k < body->stms.data[i]->out_count; k++)
            loop_name(l, body->stms.data[i]->outs[k])->place = NULL;
    for (uint32_t i = 0; i < body->result_count && places != NULL; i++)
        if (places[i] != NULL) loop_assign(l, body->results[i], places[i], uses->body);
    for (uint32_t i = 0; i < body->stms.len; i++) any_stm(l, body->stms.data[i]);
    for (uint32_t i = 0; i < body->result_count; i++) {
        CoreRef ref = body->results[i];
        results_out[i] = loop_val(l, ref);
        is_ours_out[i] = results_out[i].array != NULL && uses->moves[i] &&
                         loop_is_alone(l, results_out[i].array, ref);
    }
    for (uint32_t i = 0; i < body->stms.len; i++)
        end_names(l, body->stms.data[i]->outs, body->stms.data[i]->out_count);
    end_names(l, body->params, body->param_count);
    loop_leave(l);
    l->sizes.len = known;
}

// ---- scalar operators ---------------------------------------------------------------

static void check_operands(Lower *l, CoreOp op, ScalarType type, LoopRef y) {
    uint64_t bits;
    if (!scalar_is_int(type)) return;
    LoopRef zero = loop_const(l->b, type, 0);
    if (core_divides(op, type)) {
        if (loop_is_known(l->b, y, &bits) && bits != 0) return;
        loop_check(l, loop_not(l->b, loop_eq(l->b, y, zero)),
                   core_messages[MESSAGE_DIVISION], NULL, 0);
    }
    if (op == OP_POW && scalar_is_signed(type))
        LOWER_CHECK(l, loop_le(l->b, zero, y), MESSAGE_EXPONENT, show_scalar(y));
}

// x to a power that is known and above 0, by squares.
static LoopRef power_of(Lower *l, ScalarType type, LoopRef x, uint64_t exponent) {
    LoopRef power = 0;
    for (;;) {
        LoopRef both[] = {power, x};
        if ((exponent & 1) != 0)
            power = power == 0 ? x : loop_scalar(l->b, OP_MUL, type, both, 2);
        exponent >>= 1;
        if (exponent == 0) return power;
        both[0] = x;
        x = loop_scalar(l->b, OP_MUL, type, both, 2);
    }
}

static void scalar_stm(Lower *l, const CoreStm *stm) {
    uint64_t exponent;
    LoopRef args[3], out;
    for (uint32_t i = 0; i < stm->arg_count; i++) args[i] = loop_arg(l, stm, i);
    ScalarType in = (ScalarType)loop_core_type(l, stm->args[0]).elem;
    ScalarType to = (ScalarType)loop_core_type(l, stm->outs[0]).elem;
    if (stm->arg_count == 2) check_operands(l, stm->op, in, args[1]);
    if (stm->op == OP_POW && loop_is_known(l->b, args[1], &exponent) && exponent != 0 &&
        !(scalar_is_signed(in) && (int64_t)exponent < 0)) {
        out = power_of(l, to, args[0], exponent);
    } else {
        out = loop_scalar(l->b, stm->op, to, args, stm->arg_count);
    }
    loop_bind(l, stm->outs[0], val_scalar(out));
}

// ---- checks -------------------------------------------------------------------------

enum { MOST_SHOWN = 10 }; // values that a text can name

typedef struct Shown {
    StrBuf text;
    LoopRef args[1 + MOST_SHOWN];
    uint32_t count;
} Shown;

static void show_value(Lower *l, Shown *shown, LoopRef ref) {
    if (shown->count == MOST_SHOWN) loop_refuse(l, "a message with too many values");
    strbuf_printf(&shown->text, "%%%u", shown->count);
    shown->args[1 + shown->count++] = ref;
}

static void show_arg(Lower *l, Shown *shown, const CheckArg *arg) {
    if (arg->scalar != 0) {
        show_value(l, shown, arg->scalar);
        return;
    }
    for (uint32_t d = 0; d < arg->rank; d++) {
        strbuf_char(&shown->text, '[');
        show_value(l, shown, arg->shape[d]);
        strbuf_char(&shown->text, ']');
    }
}

void loop_check(Lower *l, LoopRef c, Str text, const CheckArg *args, uint32_t count) {
    uint64_t bits;
    if (loop_is_known(l->b, c, &bits) && bits != 0) return;
    Shown shown = {.text = strbuf(l->arena), .args = {c}};
    for (size_t i = 0; i < text.len; i++) {
        uint32_t arg = UINT32_MAX;
        if (text.ptr[i] == '%' && i + 1 < text.len)
            arg = (uint32_t)(unsigned char)text.ptr[i + 1] - '0';
        if (arg < count) {
            show_arg(l, &shown, &args[arg]);
            i++;
        } else {
            strbuf_char(&shown.text, text.ptr[i]);
        }
    }
    LoopStm *stm = loop_emit(l->b, LOOP_CHECK, shown.args, 1 + shown.count, NULL, 0);
    stm->text = strbuf_done(&shown.text);
    stm->number = l->is_unsafe;
    if (!l->is_unsafe) l->checks++;
}

void loop_user_check(Lower *l, const CoreStm *stm) {
    loop_bind(l, stm->outs[0], val_scalar(loop_const(l->b, SCALAR_BOOL, 1)));
    if ((stm->flags & STM_UNSAFE) != 0) return;
    CheckArg args[MOST_SHOWN];
    // The text of an array names its type, too.
    StrBuf text = strbuf(l->arena);
    for (size_t i = 0; i < stm->text.len; i++) {
        char c = stm->text.ptr[i];
        strbuf_char(&text, c);
        if (c != '%' || i + 1 == stm->text.len) continue;
        uint32_t arg = (uint32_t)(unsigned char)stm->text.ptr[i + 1] - '0';
        if (arg >= MOST_SHOWN || 1 + arg >= stm->arg_count) continue;
        strbuf_char(&text, stm->text.ptr[++i]);
        CoreType type = loop_core_type(l, stm->args[1 + arg]);
        if (type.rank > 0) strbuf_cstr(&text, scalar_info[type.elem].name);
    }
    uint32_t count = stm->arg_count - 1 < MOST_SHOWN ? stm->arg_count - 1 : MOST_SHOWN;
    for (uint32_t i = 0; i < count; i++) {
        Val v = loop_val(l, stm->args[1 + i]);
        args[i] = v.array != NULL ? show_shape(v.array->rank, v.array->shape)
                                  : show_scalar(v.scalar);
    }
    loop_check(l, loop_arg(l, stm, 0), strbuf_done(&text), args, count);
}

// ---- checks of sizes ----------------------------------------------------------------

static void know_sizes(Lower *l, uint32_t bytes, uint32_t rank, const LoopRef *shape) {
    LoopRef *data = arena_copy(l->arena, shape, rank * sizeof *shape);
    for (uint32_t d = 0; d < rank && rank > 1; d++)
        vec_push(l->arena, &l->sizes, (Sizes){&data[d], 1, bytes});
    vec_push(l->arena, &l->sizes, (Sizes){data, rank, bytes});
}

void loop_know_shape(Lower *l, const Array *a) {
    bool is_memory = a->kind == ARRAY_MEMORY && !a->repeats;
    know_sizes(l, is_memory ? 8 : scalar_info[a->elem].bytes, a->rank, a->shape);
}

void loop_know_size(Lower *l, LoopRef size) {
    know_sizes(l, 0, 1, &size);
}

static bool is_shape_known(const Lower *l, uint32_t bytes, uint32_t rank,
                           const LoopRef *shape) {
    uint64_t bits;
    if (rank == 1 && loop_is_known(l->b, shape[0], &bits) && bits < 1u << 30)
        return true;
    for (uint32_t i = l->sizes.len; i-- > 0;) {
        const Sizes *known = &l->sizes.data[i];
        bool same = known->rank == rank && known->bytes >= bytes;
        for (uint32_t d = 0; d < rank && same; d++)
            same = loop_same(l->b, known->data[d], shape[d]);
        if (same) return true;
    }
    return false;
}

bool loop_is_size(Lower *l, LoopRef ref) {
    return is_shape_known(l, 0, 1, &ref);
}

void loop_check_size(Lower *l, LoopRef size) {
    if (loop_is_size(l, size)) return;
    LOWER_CHECK(l, loop_le(l->b, loop_int(l->b, 0), size), MESSAGE_NEGATIVE_SIZE,
                show_scalar(size));
    loop_know_size(l, size);
}

// Whether the product of sizes, none negative, is at most `most`, or one of them is 0.
static LoopRef product_fits(Lower *l, uint32_t rank, const LoopRef *shape,
                            int64_t most) {
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), product = shape[0];
    LoopRef fits = loop_const(b, SCALAR_BOOL, 1),
            is_empty = loop_const(b, SCALAR_BOOL, 0);
    for (uint32_t d = 0; d < rank; d++)
        is_empty = loop_or(b, is_empty, loop_eq(b, shape[d], zero));
    for (uint32_t d = 1; d < rank; d++) {
        LoopRef pair[2] = {product, shape[d]};
        LoopRef high = loop_scalar(b, OP_MULHI, SCALAR_I64, pair, 2);
        product = loop_mul(b, product, shape[d]);
        LoopRef is_size = loop_le(b, zero, product);
        fits = loop_and(b, fits, loop_and(b, loop_eq(b, high, zero), is_size));
    }
    fits = loop_and(b, fits, loop_le(b, product, loop_int(b, most)));
    return loop_or(b, is_empty, fits);
}

void loop_check_shape(Lower *l, ScalarType elem, uint32_t rank, const LoopRef *shape) {
    unsigned bytes = scalar_info[elem].bytes;
    if (is_shape_known(l, bytes, rank, shape)) return;
    CheckArg args[CORE_MAX_RANK];
    StrBuf text = strbuf(l->arena);
    strbuf_cstr(&text, "an array of ");
    for (uint32_t d = 0; d < rank; d++) {
        loop_check_size(l, shape[d]);
        args[d] = show_scalar(shape[d]);
        strbuf_printf(&text, "%%%c × ", '0' + (char)d);
    }
    strbuf_printf(&text, "%u bytes cannot be represented", bytes);
    loop_check(l, product_fits(l, rank, shape, PTRDIFF_MAX / bytes), strbuf_done(&text),
               args, rank);
    know_sizes(l, bytes, rank, shape);
}

LoopRef loop_shape_holds(Lower *l, ScalarType elem, uint32_t rank, const LoopRef *shape,
                         LoopRef count) {
    LoopRef fits = product_fits(l, rank, shape, PTRDIFF_MAX / scalar_info[elem].bytes);
    return loop_and(l->b, fits, loop_eq(l->b, loop_count(l, rank, shape), count));
}

LoopRef loop_same_shape(Lower *l, uint32_t rank, const LoopRef *x, const LoopRef *y) {
    LoopRef same = loop_const(l->b, SCALAR_BOOL, 1);
    for (uint32_t d = 0; d < rank; d++)
        same = loop_and(l->b, same, loop_eq(l->b, x[d], y[d]));
    return same;
}

void loop_check_rows(Lower *l, uint32_t rank, const LoopRef *x, const LoopRef *y) {
    LOWER_CHECK(l, loop_same_shape(l, rank, x, y), MESSAGE_ROWS, show_shape(rank, x),
                show_shape(rank, y));
}

// ---- checks of indices --------------------------------------------------------------

// Whether the index lies in [0, size).
static LoopRef is_inside(Lower *l, LoopRef index, LoopRef size) {
    LoopRef low = loop_le(l->b, loop_int(l->b, 0), index);
    return loop_and(l->b, low, loop_lt(l->b, index, size));
}

static void check_inside(Lower *l, const Array *a, uint32_t d, LoopRef inside,
                         LoopRef index) {
    if (a->rank == 1)
        LOWER_CHECK(l, inside, MESSAGE_INDEX, show_scalar(index),
                    show_scalar(a->shape[d]));
    else
        LOWER_CHECK(l, inside, MESSAGE_INDEX_OF, show_scalar(index),
                    show_scalar(a->shape[d]), show_const(l, d + 1));
}

void loop_check_index(Lower *l, const Array *a, uint32_t d, LoopRef index) {
    check_inside(l, a, d, is_inside(l, index, a->shape[d]), index);
}

// The last index of a range of at least one; beyond i64 the nearest bound.
static LoopRef last_of_range(Lower *l, LoopRef start, LoopRef count, LoopRef stride) {
    LoopBuilder *b = l->b;
    LoopRef zero = loop_int(b, 0), steps = loop_sub(b, count, loop_int(b, 1));
    LoopRef reach = loop_mul(b, steps, stride), last = loop_add(b, start, reach);
    // start is not negative, so a sum overflows upwards only.
    if (loop_is_int(b, stride, 0) || loop_is_int(b, stride, -1)) return last;
    if (loop_is_int(b, stride, 1))
        return loop_select(b, loop_lt(b, last, zero), loop_int(b, INT64_MAX), last);
    LoopRef high = loop_scalar(b, OP_MULHI, SCALAR_I64, (LoopRef[]){steps, stride}, 2);
    LoopRef sign =
        loop_scalar(b, OP_SHR, SCALAR_I64, (LoopRef[]){reach, loop_int(b, 63)}, 2);
    LoopRef is_negative = loop_lt(b, stride, zero);
    LoopRef is_below = loop_lt(b, last, zero);
    LoopRef wraps = loop_and(b, loop_le(b, zero, reach), is_below);
    LoopRef stays = loop_not(b, wraps);
    LoopRef fits = loop_and(b, loop_eq(b, high, sign), stays);
    LoopRef bound =
        loop_select(b, is_negative, loop_int(b, INT64_MIN), loop_int(b, INT64_MAX));
    return loop_select(b, fits, last, bound);
}

void loop_check_range(Lower *l, const Array *a, uint32_t d, LoopRef start,
                      LoopRef count, LoopRef stride) {
    LoopBuilder *b = l->b;
    loop_check_size(l, count);
    LoopRef is_empty = loop_eq(b, count, loop_int(b, 0));
    LoopRef inside = is_inside(l, start, a->shape[d]);
    check_inside(l, a, d, loop_or(b, is_empty, inside), start);
    LoopRef last = last_of_range(l, start, count, stride);
    inside = is_inside(l, last, a->shape[d]);
    check_inside(l, a, d, loop_or(b, is_empty, inside), last);
}

// ---- statements ---------------------------------------------------------------------

static LowerStm *const stm_functions[OP_COUNT] = {
    [OP_CHECK] = loop_user_check,
    [OP_GUARD] = loop_guard,
    [OP_IF] = loop_if,
    [OP_FOR] = loop_for,
    [OP_WHILE] = loop_while,
    [OP_CALL] = loop_call,
    [OP_LITERAL] = loop_literal,
    [OP_ARRAY] = loop_list,
    [OP_IOTA] = loop_iota,
    [OP_REPLICATE] = loop_replicate,
    [OP_SCRATCH] = loop_scratch,
    [OP_DIM] = loop_dim,
    [OP_INDEX] = loop_index,
    [OP_SLICE] = loop_slice,
    [OP_RESHAPE] = loop_reshape,
    [OP_PERMUTE] = loop_permute,
    [OP_REVERSE] = loop_reverse,
    [OP_CONCAT] = loop_concat,
    [OP_SPLIT] = loop_split,
    [OP_COPY] = loop_duplicate,
    [OP_UPDATE] = loop_update,
    [OP_SCATTER] = loop_scatter,
    [OP_FILTER] = loop_filter,
    [OP_GENERATE] = loop_generate,
    [OP_MAP] = loop_map,
    [OP_REDUCE] = loop_reduce,
    [OP_SCAN] = loop_scan,
    [OP_HIST] = loop_hist,
    [OP_SORT] = loop_sort,
};

static void any_stm(Lower *l, const CoreStm *stm) {
    CoreLoc outer = l->b->loc;
    l->b->loc = stm->loc;
    if (core_is_scalar_op(stm->op)) scalar_stm(l, stm);
    else if (stm_functions[stm->op] != NULL) stm_functions[stm->op](l, stm);
    else loop_refuse(l, "values are traced");
    const Uses *uses = loop_uses(l, stm);
    for (uint32_t i = 0; i < stm->arg_count; i++)
        if (uses->moves[i]) end_name(l, stm->args[i]);
    end_names(l, uses->dead, uses->dead_count);
    l->b->loc = outer;
}

// ---- kernels ------------------------------------------------------------------------

static void open_root(Lower *l, const CoreBody *body, Val *args) {
    struct {
        LoopRef *data;
        uint32_t len, cap;
    } params = {0};
    LoopKernel *kernel = l->kernel;
    kernel->params = arena_array(l->arena, LoopPort, body->param_count);
    kernel->param_count = body->param_count;
    for (uint32_t i = 0; i < body->param_count; i++) {
        CoreType type = loop_core_type(l, body->params[i]);
        ScalarType elem = (ScalarType)type.elem;
        Sym name = l->core->values.data[body->params[i]].name;
        LoopPort *port = &kernel->params[i];
        port->type = type;
        bool is_scalar = type.rank == 0;
        LoopRef ref = loop_value(
            l->b, is_scalar ? loop_scalar_type(elem) : loop_buffer_type(elem), name);
        vec_push(l->arena, &params, ref);
        args[i] = val_scalar(ref);
        if (is_scalar) continue;
        LoopRef shape[CORE_MAX_RANK];
        for (uint32_t d = 0; d < type.rank; d++) {
            shape[d] = loop_value(l->b, loop_scalar_type(SCALAR_I64), 0);
            vec_push(l->arena, &params, shape[d]);
        }
    }
    loop_open(l->b, params.data, params.len);
    uint32_t at = 0;
    for (uint32_t i = 0; i < body->param_count; i++) {
        CoreType type = kernel->params[i].type;
        LoopRef ref = params.data[at++];
        if (type.rank == 0) continue;
        Array *a = loop_dense(l, (ScalarType)type.elem, ref, loop_int(l->b, 0),
                              type.rank, params.data + at);
        loop_know_shape(l, a);
        a->block = loop_block(l);
        loop_block_of(l, a)->is_owned = &kernel->params[i].is_owned;
        loop_block_of(l, a)->is_lent = true;
        args[i] = val_array(a);
        at += type.rank;
    }
}

// Whether the array is the whole of an owned parameter.
static bool is_owned_param(Lower *l, const Array *a) {
    const LoopBody *root = l->b->open.data[0];
    uint32_t at = 0;
    for (uint32_t i = 0; i < l->kernel->param_count; i++) {
        const LoopPort *port = &l->kernel->params[i];
        if (port->is_owned && port->type.rank == a->rank &&
            loop_same(l->b, root->params[at], a->buf)) {
            bool is_whole = true;
            for (uint32_t d = 0; d < a->rank; d++)
                is_whole =
                    is_whole && loop_same(l->b, root->params[at + 1 + d], a->shape[d]);
            return is_whole;
        }
        at += 1u + port->type.rank;
    }
    return false;
}

// The results as the kernel hands them out. An array that lies in an owned parameter's
// memory is that parameter, once.
static void close_root(Lower *l, Home **places, Val *vals, const bool *is_ours,
                       uint32_t count) {
    struct {
        LoopRef *data;
        uint32_t len, cap;
    } refs = {0};
    for (uint32_t i = 0; i < count; i++) {
        const Array *a = vals[i].array;
        if (a == NULL || !is_ours[i] || !a->is_dense || places[i]->is_taken ||
            !loop_is_int(l->b, a->off, 0) || !is_owned_param(l, a))
            continue;
        places[i]->is_taken = true;
        places[i]->buf = a->buf;
        places[i]->off = a->off;
        places[i]->shape = a->shape;
        places[i]->block = a->block;
    }
    loop_deliver(l, places, vals, count);
    for (uint32_t i = 0; i < count; i++) {
        if (vals[i].array == NULL) {
            vec_push(l->arena, &refs, vals[i].scalar);
            continue;
        }
        vec_push(l->arena, &refs, vals[i].array->buf);
        for (uint32_t d = 0; d < vals[i].array->rank; d++)
            vec_push(l->arena, &refs, vals[i].array->shape[d]);
    }
    l->kernel->root = loop_close(l->b, refs.data, refs.len);
}

static void lower_fun(Lower *l, const CoreFun *fun) {
    const CoreBody *body = fun->body;
    uint32_t count = body->result_count;
    LoopKernel *kernel = l->kernel;
    Val *args = arena_array(l->arena, Val, body->param_count);
    Val *vals = arena_array(l->arena, Val, count);
    bool *is_ours = arena_array(l->arena, bool, count);
    Home **places = arena_array(l->arena, Home *, count);
    loop_find_uses(l, body);
    open_root(l, body, args);
    kernel->results = arena_array(l->arena, LoopPort, count);
    kernel->result_count = count;
    for (uint32_t i = 0; i < count; i++) {
        kernel->results[i].type = fun->result_types[i];
        if (fun->result_types[i].rank == 0) continue;
        places[i] = arena_new(l->arena, Home);
        *places[i] = (Home){.kind = PLACE_RESULT, .number = i, .origin = places[i]};
    }
    loop_body(l, body, args, places, vals, is_ours);
    close_root(l, places, vals, is_ours, count);
}

// Apart, so that no variable of a caller lives across the jump.
static bool try_lower(Lower *l, const CoreFun *fun) {
    if (setjmp(l->exit) != 0) return false;
    lower_fun(l, fun);
    loop_tidy(l->b);
    l->kernel->is_parallel = loop_has_parallel(l->kernel->root);
    return true;
}

LoopKernel *loop_lower(const CoreProgram *core, const CoreFun *fun, LoopShape shape,
                       Arena *arena, const char **why_out) {
    assert(core->is_stage0);
    Lower l = {.core = core,
               .arena = arena,
               .is_parallel =
                   shape != LOOP_SEQUENTIAL && shape != LOOP_SEQUENTIAL_FOR_GPUS,
               .is_for_gpus = shape == LOOP_FOR_GPUS || shape == LOOP_FOR_GPUS_64,
               .can_sift = shape == LOOP_SEQUENTIAL || shape == LOOP_PARALLEL,
               .has_atomics_64 = shape == LOOP_FOR_GPUS_64};
    stack_measure(&l.stack);
    l.kernel = loop_kernel(arena, core, fun->name);
    l.kernel->is_for_gpus = l.is_for_gpus;
    l.kernel->is_read_next = fun->is_read_next;
    LoopBuilder builder = loop_builder(l.kernel);
    l.b = &builder;
    l.names = arena_array(arena, Name *, core->values.len / NAMES_AT_ONCE + 1);
    l.funs = arena_array(arena, uint32_t, core->funs.len);
    l.fun_owns = arena_array(arena, bool *, core->funs.len);
    map_init(&l.uses, arena);
    vec_push(arena, &l.blocks, (Block){0});
    if (try_lower(&l, fun)) return l.kernel;
    *why_out = l.why;
    return NULL;
}
