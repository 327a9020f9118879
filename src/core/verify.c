// SPDX-License-Identifier: Apache-2.0
//
// The verifier: a passed program cannot make a pass or the interpreter go wrong. It
// collects every fault, each with its function and statement, and never stops at one.
// A fault found here is a bug of ours, or of whoever wrote a .core file by hand.
#include "core/verify.h"

#include <string.h>

#include "core/text.h"

enum { UNBOUND, IN_SCOPE, ENDED };
enum { MOST_FAULTS = 100 }; // further ones are counted, not shown

bool core_verify_want(Verifier *v, bool ok, const char *format, ...) {
    if (ok) return true;
    if (++v->fault_count > MOST_FAULTS) return false;
    if (v->fun != NULL) {
        strbuf_cstr(v->out, "in ");
        strbuf_str(v->out, sym_str(&v->program->cx->syms, v->fun->name));
        strbuf_cstr(v->out, ": ");
    }
    va_list args;
    va_start(args, format);
    strbuf_vprintf(v->out, format, args);
    va_end(args);
    if (v->stm != NULL) {
        strbuf_cstr(v->out, "\n    ");
        core_print_stm_in(v->program, v->fun, v->stm, v->out);
    }
    strbuf_char(v->out, '\n');
    return false;
}

#define want core_verify_want

static bool is_value(const Verifier *v, CoreRef ref) {
    return ref != 0 && ref < v->program->values.len;
}

static bool check_use(Verifier *v, CoreRef ref) {
    if (!want(v, is_value(v, ref), "value %u does not exist", ref)) return false;
    if (core_is_const(v->program, ref)) return true;
    return want(v, v->scopes[ref] != UNBOUND, "a value is used before it is bound") &&
           want(v, v->scopes[ref] != ENDED, "a value is used outside its body");
}

static bool check_binding(Verifier *v, CoreRef ref) {
    if (!want(v, is_value(v, ref), "value %u does not exist", ref) ||
        !want(v, !core_is_const(v->program, ref), "a constant is bound"))
        return false;
    bool ok = want(v, v->scopes[ref] == UNBOUND, "a value is bound twice");
    v->scopes[ref] = IN_SCOPE;
    return ok;
}

static void end_scope(Verifier *v, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (is_value(v, refs[i])) v->scopes[refs[i]] = ENDED;
}

static bool refs_are_values(const Verifier *v, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!is_value(v, refs[i])) return false;
    return true;
}

static void check_stm(Verifier *v, const CoreStm *stm);

static void check_body(Verifier *v, const CoreBody *body) {
    const CoreStm *around = v->stm;
    for (uint32_t i = 0; i < body->param_count; i++) check_binding(v, body->params[i]);
    for (uint32_t i = 0; i < body->stms.len; i++) check_stm(v, body->stms.data[i]);
    v->stm = around;
    for (uint32_t i = 0; i < body->result_count; i++) check_use(v, body->results[i]);
    for (uint32_t i = 0; i < body->stms.len; i++)
        end_scope(v, body->stms.data[i]->outs, body->stms.data[i]->out_count);
    end_scope(v, body->params, body->param_count);
}

static bool bodies_are_typed(Verifier *v, const CoreStm *stm) {
    for (uint32_t i = 0; i < stm->body_count; i++) {
        const CoreBody *body = stm->bodies[i];
        if (!refs_are_values(v, body->params, body->param_count) ||
            !refs_are_values(v, body->results, body->result_count))
            return false;
    }
    return true;
}

static void check_stm(Verifier *v, const CoreStm *stm) {
    v->stm = stm;
    if (!want(v, stm->op < OP_COUNT, "there is no operator %d", (int)stm->op)) return;
    bool typed = true;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        if (!check_use(v, stm->args[i])) typed = is_value(v, stm->args[i]) && typed;
    for (uint32_t i = 0; i < stm->body_count; i++) check_body(v, stm->bodies[i]);
    v->stm = stm;
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (!check_binding(v, stm->outs[i])) typed = is_value(v, stm->outs[i]) && typed;
    want(v, stm->loc < v->program->places.len, "place %u does not exist", stm->loc);
    if (typed && bodies_are_typed(v, stm)) core_verify_op(v, stm);
    v->stm = NULL;
}

// ---- functions ----------------------------------------------------------------------

static void check_ports(Verifier *v, const CorePort *ports, uint32_t port_count,
                        uint32_t value_count) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < port_count; i++) {
        if (!want(v, ports[i].first == next && ports[i].count <= value_count - next,
                  "port %u does not follow the one before it", i))
            return;
        next += ports[i].count;
    }
    want(v, port_count == 0 || next == value_count, "the ports carry %u values of %u",
         next, value_count);
}

static bool same_types(const CoreProgram *p, const CoreRef *a, const CoreRef *b,
                       uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        CoreType x = core_type(p, a[i]), y = core_type(p, b[i]);
        if (x.elem != y.elem || x.rank != y.rank) return false;
    }
    return true;
}

// What is interpreted in a kernel's place must look like it from outside.
static void check_kernel(Verifier *v, const CoreFun *fun) {
    want(v, fun->kernel == CORE_NO_KERNEL || !fun->is_entry, "an entry is no kernel");
    if (fun->otherwise == 0) return;
    if (!want(v, fun->kernel != CORE_NO_KERNEL && fun->otherwise <= v->fun_index,
              "what stands for a kernel must be a function before it"))
        return;
    const CoreBody *body = fun->body;
    const CoreBody *other = v->program->funs.data[fun->otherwise - 1]->body;
    want(v,
         body->param_count == other->param_count &&
             body->result_count == other->result_count &&
             same_types(v->program, body->params, other->params, body->param_count) &&
             same_types(v->program, body->results, other->results, body->result_count),
         "what stands for a kernel has another type");
}

static void check_fun(Verifier *v, const CoreFun *fun) {
    const CoreProgram *p = v->program;
    const CoreBody *body = fun->body;
    v->fun = fun;
    v->stm = NULL;
    check_body(v, body);
    for (uint32_t i = 0; i < body->result_count; i++) {
        if (!is_value(v, body->results[i])) continue;
        CoreType is = core_type(p, body->results[i]), said = fun->result_types[i];
        want(v, is.elem == said.elem && is.rank == said.rank,
             "result %u has another type than declared", i);
    }
    check_ports(v, fun->params.data, fun->params.len, body->param_count);
    check_ports(v, fun->results.data, fun->results.len, body->result_count);
    check_kernel(v, fun);
    want(v, fun->is_entry || fun->params.len + fun->results.len == 0,
         "a function that is no entry has ports");
    v->fun = NULL;
}

static void check_tables(Verifier *v) {
    const CoreProgram *p = v->program;
    for (CoreRef ref = 1; ref < p->values.len; ref++) {
        CoreType type = core_type(p, ref);
        want(v, type.elem < SCALAR_COUNT, "value %u has no element type", ref);
        want(v, type.rank <= CORE_MAX_RANK, "value %u has rank %u", ref, type.rank);
        want(v, !core_is_const(p, ref) || type.rank == 0, "constant %u is an array",
             ref);
    }
    for (CoreLoc loc = 1; loc < p->places.len; loc++)
        want(v, p->places.data[loc].caller < loc, "place %u comes before its caller",
             loc);
}

bool core_verify(const CoreProgram *p, StrBuf *out) {
    Verifier v = {.program = p, .out = out, .arena = out->arena};
    v.scopes = arena_array(v.arena, uint8_t, p->values.len);
    check_tables(&v);
    if (v.fault_count > 0) return false; // the rest relies on the tables
    for (uint32_t i = 0; i < p->funs.len; i++) {
        v.fun_index = i;
        check_fun(&v, p->funs.data[i]);
    }
    if (v.fault_count > MOST_FAULTS)
        strbuf_printf(out, "and %u more\n", v.fault_count - MOST_FAULTS);
    return v.fault_count == 0;
}
