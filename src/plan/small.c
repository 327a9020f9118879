// SPDX-License-Identifier: Apache-2.0
//
// How much a loop makes inside (plan.h): the run asks this, and the plan of it.
#include "core/rules.h"
#include "plan/plan.h"

static double more(double a, double b) {
    return isnan(a) || a > b ? a : b;
}

// Elements of an array that the statement makes from sizes alone.
static double made_by(const CoreProgram *p, const CoreBody *body, const CoreStm *stm,
                      PlanSize *size_of, const void *data) {
    int32_t rank = stm->op == OP_IOTA ? 1 : stm->op == OP_GENERATE ? stm->attrs[0] : 0;
    double made = rank > 0;
    for (int32_t d = 0; d < rank; d++) {
        CoreRef size = core_unguarded(body, stm->args[d]);
        const CoreValue *value = &p->values.data[size];
        made *= value->is_const ? (double)(int64_t)value->bits : size_of(data, size);
    }
    return made;
}

double plan_made_inside(const CoreProgram *p, const CoreBody *body, PlanSize *size_of,
                        const void *data) {
    double most = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        most = more(most, made_by(p, body, stm, size_of, data));
        for (uint32_t k = 0; k < stm->body_count; k++)
            most = more(most, plan_made_inside(p, stm->bodies[k], size_of, data));
    }
    return most;
}
