// SPDX-License-Identifier: Apache-2.0
//
// Execution: the loop over the steps of a body, the movement of values between slots,
// and the operators that steer (if, loops, calls, checks). Scalar operators and the
// loading of elements are done in the loop itself; nothing is allocated for them.

#include "interp/run.h"

// ---- slots --------------------------------------------------------------------------

void interp_drop(Run *run, uint32_t slot) {
    rt_release(run->heap, run->slots.data[slot].array);
    run->slots.data[slot].array = NULL;
}

void interp_drop_all(Run *run, uint32_t first, uint32_t count) {
    for (uint32_t slot = first; slot < first + count; slot++)
        if (run->is_array.data[slot]) interp_drop(run, slot);
}

void interp_lend(Run *run, uint32_t to, uint32_t from, uint32_t count) {
    Slot *slots = run->slots.data;
    for (uint32_t i = 0; i < count; i++) {
        slots[to + i] = slots[from + i];
        if (run->is_array.data[from + i]) rt_retain(slots[from + i].array);
    }
}

void interp_give(Run *run, uint32_t to, uint32_t from, uint32_t count) {
    Slot *slots = run->slots.data;
    for (uint32_t i = 0; i < count; i++) {
        slots[to + i] = slots[from + i];
        if (run->is_array.data[from + i]) slots[from + i].array = NULL;
    }
}

void interp_pass(Run *run, const Step *step, uint32_t arg, uint32_t to) {
    if (step->moves[arg])
        interp_give(run, to, step->args[arg], 1);
    else
        interp_lend(run, to, step->args[arg], 1);
}

void interp_take(Run *run, const Code *code, uint32_t to) {
    Slot *slots = run->slots.data;
    for (uint32_t i = 0; i < code->result_count; i++) {
        uint32_t from = code->results[i];
        Slot value = slots[from];
        if (code->moves[i])
            slots[from].array = NULL;
        else if (run->is_array.data[from])
            rt_retain(value.array);
        slots[to + i] = value;
    }
}

// ---- the loop over steps ------------------------------------------------------------

static void run_scalar(Run *run, const Step *step, const uint64_t *args) {
    CoreFault fault =
        core_eval(step->stm->op, (ScalarType)step->in, (ScalarType)step->to, args,
                  &run->slots.data[step->out].bits);
    if (fault != FAULT_NONE) interp_fault(run, step, fault, args);
}

void interp_await(Run *run, const RtArray *a) {
    const InterpOptions *options = run->options;
    if (a->maker == NULL) return;
    if (!options->beside->await(options->kernel_data, a)) interp_fail_beside(run);
}

void interp_await_scalars(Run *run, const uint32_t *slots, uint32_t count) {
    for (uint32_t i = 0; run->promised != NULL && i < count; i++) {
        RtArray **promised = &run->promised[slots[i]];
        if (*promised == NULL) continue;
        interp_await(run, *promised);
        run->slots.data[slots[i]].bits = (*promised)->bits;
        rt_release(run->heap, *promised);
        *promised = NULL;
    }
}

void interp_check_brought(Run *run, const Step *step, Status status, size_t bytes) {
    if (status == STATUS_MEMORY) interp_fail_memory(run, step, bytes);
    if (status == STATUS_OK) return;
    InterpError error = {.status = status, .loc = step->stm->loc}; // of a device
    interp_fail_as(run, &error);
}

void interp_fetch(Run *run, const Step *step, RtArray *a) {
    interp_await(run, a);
    interp_check_brought(run, step, rt_fetch(run->heap, a), a->memory_size);
}

// For the host to look at. A whole has memory with the first of its parts, while it is
// still promised.
static void reach(Run *run, const Step *step, RtArray *a) {
    if (a->is_away || a->maker != NULL) interp_fetch(run, step, a);
}

static void fetch_args(Run *run, const Step *step) {
    const Slot *slots = run->slots.data;
    for (uint32_t i = 0; i < step->stm->arg_count; i++) {
        if (!run->is_array.data[step->args[i]]) continue;
        reach(run, step, slots[step->args[i]].array);
    }
}

static void load_element(Run *run, const Step *step) {
    const Slot *slots = run->slots.data;
    RtArray *a = slots[step->args[0]].array;
    reach(run, step, a);
    int64_t offset = 0;
    for (uint32_t d = 0; d < a->rank; d++) {
        int64_t index = (int64_t)slots[step->args[1 + d]].bits;
        if ((uint64_t)index >= (uint64_t)a->shape[d])
            interp_check_index(run, step, a, d, index);
        offset += index * a->strides[d];
    }
    size_t bytes = scalar_info[step->to].bytes;
    run->slots.data[step->out].bits =
        interp_load(bytes, a->data + offset * (int64_t)bytes);
}

void interp_end_recorded(Run *run) {
    const CoreStm *stm = run->recorded->step->stm;
    rt_span_close(run->options->events, run->recorded->span,
                  &(RtEvent){.kind = RT_EVENT_INTERPRET,
                             .name = core_op_info[stm->op].name,
                             .place = stm->loc});
    run->recorded = run->recorded->outer;
}

// Runs a statement and records it. A call is what the statements in it are; an engine
// that takes it records it itself. Checks and guards take no time to speak of.
static void run_recorded(Run *run, const Step *step) {
    CoreOp op = step->stm->op;
    if (op == OP_CALL || op == OP_CHECK || op == OP_GUARD) {
        step->run(run, step);
        return;
    }
    RtEvents *events = run->events;
    Recorded own = {step, run->recorded, rt_span_open(events)};
    run->recorded = &own;
    if (core_op_info[op].kind == KIND_ORDER2) run->events = NULL;
    step->run(run, step);
    run->events = events;
    interp_end_recorded(run);
}

void interp_code(Run *run, const Code *code) {
    for (uint32_t i = 0; i < code->unused_count; i++) interp_drop(run, code->unused[i]);
    const Slot *slots = run->slots.data;
    for (uint32_t i = 0; i < code->step_count; i++) {
        const Step *step = &code->steps[i];
        const uint32_t *args = step->args;
        StepForm form = (StepForm)step->form;
        if (form == FORM_AWAITS) {
            interp_await_scalars(run, args, step->stm->arg_count);
            form = (StepForm)step->then;
        }
        switch (form) {
        case FORM_AWAITS: break;
        case FORM_SCALAR1: run_scalar(run, step, &slots[args[0]].bits); break;
        case FORM_SCALAR2:
            run_scalar(run, step,
                       (uint64_t[]){slots[args[0]].bits, slots[args[1]].bits});
            break;
        case FORM_SCALAR3:
            run_scalar(run, step, (uint64_t[]){slots[args[0]].bits, slots[args[1]].bits,
                                               slots[args[2]].bits});
            break;
        case FORM_ELEMENT: load_element(run, step); break;
        case FORM_OTHER:
            if (stack_is_low(&run->program->cx->stack)) interp_fail_deep(run, step);
            if (step->looks) fetch_args(run, step);
            if (run->events != NULL) run_recorded(run, step);
            else step->run(run, step);
            break;
        }
        for (uint32_t k = 0; k < step->dead_count; k++) interp_drop(run, step->dead[k]);
    }
    interp_await_scalars(run, code->awaits, code->await_count);
}

// ---- control ------------------------------------------------------------------------

void interp_if(Run *run, const Step *step) {
    const Code *branch = step->bodies[run->slots.data[step->args[0]].bits != 0 ? 0 : 1];
    interp_code(run, branch);
    interp_take(run, branch, step->out);
}

// Moves the results of a loop's body into the slots of its state.
static void take_state(Run *run, const Code *body, uint32_t state) {
    if (body->spare == 0) {
        interp_take(run, body, state);
        return;
    }
    interp_take(run, body, body->spare);
    interp_give(run, state, body->spare, body->result_count);
}

void interp_for(Run *run, const Step *step) {
    const Code *body = step->bodies[0];
    uint32_t state = body->param + 1, width = body->result_count;
    for (uint32_t i = 0; i < width; i++) interp_pass(run, step, 1 + i, state + i);
    unsigned unused = 64 - 8u * scalar_info[step->in].bytes;
    uint64_t count = run->slots.data[step->args[0]].bits;
    if (scalar_is_signed((ScalarType)step->in) && (int64_t)(count << unused) <= 0)
        count = 0;
    Loop loop;
    interp_enter(run, &loop, step, count > INT64_MAX ? -1 : (int64_t)count);
    for (uint64_t i = 0; i < count; i++) {
        interp_turn(run, step, (int64_t)i);
        run->slots.data[body->param].bits = i;
        interp_code(run, body);
        take_state(run, body, state);
    }
    interp_leave(run);
    interp_give(run, step->out, state, width);
}

void interp_while(Run *run, const Step *step) {
    const Code *guard = step->bodies[0], *body = step->bodies[1];
    uint32_t width = body->result_count;
    for (uint32_t i = 0; i < width; i++) interp_pass(run, step, i, body->param + i);
    Loop loop;
    interp_enter(run, &loop, step, -1);
    for (;;) {
        interp_poll(run, step);
        interp_lend(run, guard->param, body->param, width);
        interp_code(run, guard);
        if (run->slots.data[guard->results[0]].bits == 0) break;
        interp_code(run, body);
        take_state(run, body, body->param);
    }
    interp_leave(run);
    interp_give(run, step->out, body->param, width);
}

void interp_note_place(Run *run, InterpOffer *offer) {
    if (run->options->beside == NULL) return;
    run->calls.len = 0;
    for (const Call *call = run->call; call != NULL; call = call->outer)
        vec_push(run->arena, &run->calls, call->step->stm->loc);
    offer->calls = run->calls.data;
    offer->call_count = run->calls.len;
}

static void take_result(Run *run, uint32_t slot, const RtValue *result) {
    if (result->rank > 0) {
        run->slots.data[slot].array = result->array;
        return;
    }
    run->slots.data[slot].bits = result->bits;
    if (run->promised == NULL) return;
    rt_release(run->heap, run->promised[slot]); // which nobody has looked at
    run->promised[slot] = result->array;
}

// Where that part of what the step joins belongs.
static RtLay find_lay(Run *run, const Step *join, uint32_t part) {
    const uint32_t *lengths = join->args + core_parts(join->stm);
    RtArray **whole = &run->slots.data[join->spare].array;
    CoreType type = core_type(run->program, join->stm->outs[0]);
    if (*whole == NULL)
        *whole = rt_promise(run->heap, (ScalarType)type.elem, type.rank, NULL);
    RtLay lay = {.whole = *whole, .count = interp_int(run, lengths[part])};
    for (uint32_t p = 0; p < core_parts(join->stm); p++) {
        if (p < part) lay.first += interp_int(run, lengths[p]);
        lay.size += interp_int(run, lengths[p]);
    }
    return lay;
}

static const RtLay *find_lays(Run *run, const Step *step) {
    for (uint32_t k = 0; step->joined != NULL && k < step->stm->out_count; k++)
        if (step->joined[k].by != NULL)
            step->lays[k] = find_lay(run, step->joined[k].by, step->joined[k].part);
    return step->lays;
}

// Whether an engine has taken the call of a kernel; then the results are there, or
// promised.
static bool offer_kernel(Run *run, const Step *step) {
    const CoreStm *stm = step->stm;
    if (step->offer == NULL || run->options->run_kernel == NULL) return false;
    RtValue *args = step->offer, *results = args + stm->arg_count;
    for (uint32_t i = 0; i < stm->arg_count; i++) {
        CoreType type = core_type(run->program, stm->args[i]);
        Slot slot = run->slots.data[step->args[i]];
        args[i] = (RtValue){.elem = (ScalarType)type.elem, .rank = type.rank};
        if (type.rank > 0) args[i].array = slot.array;
        else args[i].bits = slot.bits;
        if (type.rank == 0 && run->promised != NULL)
            args[i].array = run->promised[step->args[i]];
    }
    InterpOffer offer = {.kernel = run->program->funs.data[stm->attrs[0]],
                         .loc = stm->loc,
                         .args = args,
                         .may_take = step->moves,
                         .results = results,
                         .lays = find_lays(run, step)};
    interp_note_place(run, &offer);
    InterpError error = {0};
    if (!run->options->run_kernel(run->options->kernel_data, &offer, &error)) return false;
    if (error.status != STATUS_OK) interp_fail_as(run, &error);
    for (uint32_t i = 0; i < stm->arg_count; i++)
        if (step->moves[i] && args[i].rank > 0) interp_drop(run, step->args[i]);
    for (uint32_t i = 0; i < stm->out_count; i++)
        take_result(run, step->out + i, &results[i]);
    return true;
}

void interp_call(Run *run, const Step *step) {
    const Code *body = step->bodies[0];
    if (offer_kernel(run, step)) return;
    interp_await_scalars(run, step->args, step->stm->arg_count);
    for (uint32_t i = 0; i < body->param_count; i++)
        interp_pass(run, step, i, body->param + i);
    if (step->offer != NULL) {  // a kernel: what it was made of is no call
        interp_code(run, body);
    } else {
        Call call = {.step = step, .outer = run->call};
        run->call = &call;
        interp_code(run, body);
        run->call = call.outer;
    }
    interp_take(run, body, step->out);
}

void interp_guard(Run *run, const Step *step) {
    interp_pass(run, step, 0, step->out);
}

void interp_trace(Run *run, const Step *step) {
    CoreType type = core_type(run->program, step->stm->args[0]);
    Slot slot = run->slots.data[step->args[0]];
    RtValue value = {.elem = (ScalarType)type.elem, .rank = type.rank};
    if (type.rank > 0)
        value.array = slot.array;
    else
        value.bits = slot.bits;
    if (run->options->beside != NULL &&
        !run->options->beside->await(run->options->kernel_data, NULL))
        interp_fail_beside(run); // what failed before comes before
    if (run->options->trace != NULL)
        run->options->trace(run->options->trace_data, step->stm->loc, &value);
    interp_pass(run, step, 0, step->out);
}

// ---- checks -------------------------------------------------------------------------

static void show_arg(Run *run, const Step *step, uint32_t arg, StrBuf *text) {
    CoreType type = core_type(run->program, step->stm->args[arg]);
    Slot slot = run->slots.data[step->args[arg]];
    if (type.rank == 0) core_show_scalar(text, (ScalarType)type.elem, slot.bits);
    else
        strbuf_printf(text, "%s%s",
                      interp_shape_text(run, type.rank, slot.array->shape),
                      scalar_info[type.elem].name);
}

// The text with %0 ... %9 replaced by the args behind the condition.
static Str fill_in(Run *run, const Step *step) {
    StrBuf text = strbuf(run->arena);
    Str from = step->stm->text;
    for (size_t i = 0; i < from.len; i++) {
        uint32_t arg = UINT32_MAX;
        if (from.ptr[i] == '%' && i + 1 < from.len && from.ptr[i + 1] >= '0' &&
            from.ptr[i + 1] <= '9')
            arg = 1 + (uint32_t)(from.ptr[i + 1] - '0');
        if (arg < step->stm->arg_count) {
            show_arg(run, step, arg, &text);
            i++;
        } else {
            strbuf_char(&text, from.ptr[i]);
        }
    }
    return strbuf_done(&text);
}

void interp_check(Run *run, const Step *step) {
    bool holds = run->slots.data[step->args[0]].bits != 0;
    if (!holds && (step->stm->flags & STM_UNSAFE) == 0) {
        Str text = fill_in(run, step);
        interp_fail(run, step, "%.*s", STR_ARG(text));
    }
    run->slots.data[step->out].bits = 1;
}
