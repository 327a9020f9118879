// SPDX-License-Identifier: Apache-2.0
//
// What an operator takes, by element, as far as that can be told without sizes.
#include "fission/strategy.h"

enum { SOME = 32 }; // turns of a loop, as long as nobody knows

static double work_of(const CoreProgram *p, const CoreBody *body);

// Of so many sizes.
static double product_of(const CoreProgram *p, const CoreRef *sizes, uint32_t count) {
    double product = 1;
    for (uint32_t i = 0; i < count; i++) {
        const CoreValue *size = &p->values.data[sizes[i]];
        product *= size->is_const ? (double)(int64_t)size->bits : SOME;
    }
    return product;
}

static double turns_of(const CoreProgram *p, const CoreStm *stm) {
    if (stm->op == OP_IF) return 1;
    if (stm->op == OP_FOR) return product_of(p, stm->args, 1);
    if (stm->op == OP_GENERATE)
        return product_of(p, stm->args, (uint32_t)stm->attrs[0]);
    return SOME;
}

// Scalar operations for one element, about. Functions of many steps count as such.
static double work_of(const CoreProgram *p, const CoreBody *body) {
    double work = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        double inner = 0;
        for (uint32_t k = 0; k < stm->body_count; k++)
            inner += work_of(p, stm->bodies[k]);
        if (stm->op == OP_CALL) inner = work_of(p, p->funs.data[stm->attrs[0]]->body);
        work += stm->body_count > 0 ? inner * turns_of(p, stm) : 1 + inner;
    }
    return work;
}

double fission_bytes(CoreType row) {
    double bytes = scalar_info[row.elem].bytes;
    for (uint32_t d = 0; d < row.rank; d++) bytes *= SOME;
    return bytes;
}

double fission_work(const CoreProgram *p, const CoreStm *stm) {
    double work = 0;
    for (uint32_t i = 0; i < stm->body_count; i++) work += work_of(p, stm->bodies[i]);
    if (stm->op == OP_GENERATE)
        work *= product_of(p, stm->args + 1, (uint32_t)stm->attrs[0] - 1);
    return work;
}
