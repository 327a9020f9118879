// SPDX-License-Identifier: Apache-2.0
//
// What is known to fail, with the values that are given: as the run would say it.
#include "core/messages.h"
#include "plan/walk.h"

static void fail(Walk *w, CoreLoc loc, Str message) {
    if (w->plan->fault.message.len == 0) w->plan->fault = (PlanFault){loc, message};
}

// The text with the args behind the condition; false: one of them is not known.
static bool fill_in(const Walk *w, const CoreStm *stm, StrBuf *out) {
    enum { MOST = 10 };
    ScalarType types[MOST];
    uint64_t values[MOST];
    uint32_t count = stm->arg_count - 1;
    for (uint32_t i = 0; i < count && i < MOST; i++) {
        WalkValue v = visit_value(w, stm->args[1 + i]);
        if (!v.is_known) return false;
        types[i] = (ScalarType)v.type.elem;
        values[i] = v.bits;
    }
    core_fill_in(out, stm->text, count < MOST ? count : MOST, types, values);
    return true;
}

void visit_check(Walk *w, const CoreStm *stm) {
    WalkValue holds = visit_value(w, stm->args[0]);
    bool fails = holds.is_known && holds.bits == 0 && (stm->flags & STM_UNSAFE) == 0;
    StrBuf text = strbuf(w->arena);
    if (fails && visit_is_sure(w) && fill_in(w, stm, &text))
        fail(w, stm->loc, strbuf_done(&text));
}

void visit_size(Walk *w, const WalkValue *v, CoreLoc loc) {
    StrBuf text = strbuf(w->arena);
    if (!visit_is_sure(w) || !(visit_bytes(v) >= 0x1p63)) return;
    strbuf_cstr(&text, "an array of ");
    for (uint32_t d = 0; d < v->type.rank; d++)
        strbuf_printf(&text, "%lld × ", (long long)v->dims[d]);
    strbuf_printf(&text, "%d bytes cannot be represented",
                  scalar_info[v->type.elem].bytes);
    fail(w, loc, strbuf_done(&text));
}

void visit_result(Walk *w, const CoreBody *body, CoreRef ref) {
    WalkValue v = visit_value(w, ref);
    for (uint32_t i = 0; i < body->stms.len && v.type.rank > 0; i++)
        for (uint32_t k = 0; k < body->stms.data[i]->out_count; k++)
            if (body->stms.data[i]->outs[k] == ref)
                visit_size(w, &v, body->stms.data[i]->loc);
}
