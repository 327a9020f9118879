// SPDX-License-Identifier: Apache-2.0
//
// What may run later than it stands. Of two things that may fail the first one's error
// is reported, so that they stay in order. And an array that is overwritten in place
// where it is last used must not be read after that, or it would be copied.
#include "opt/fuse.h"

static bool may_fail(const Rewrite *rw, const CoreStm *stm) {
    if ((stm->flags & STM_UNSAFE) != 0) return false;
    if (stm->op == OP_IOTA) {
        const CoreStm *size = rewrite_def(rw, stm->args[0]);
        if (size != NULL && size->op == OP_DIM) return false;
    }
    return opt_is_effect_itself(rw->program, stm);
}

bool fuse_may_fail(const Rewrite *rw, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (may_fail(rw, stm)) return true;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (fuse_may_fail(rw, stm->bodies[k])) return true;
    }
    return false;
}

static bool has_scalar_rows(const CoreProgram *p, const CoreStm *stm, unsigned outer) {
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (core_type(p, stm->outs[i]).rank != outer) return false;
    return true;
}

bool fuse_consumer_may_fail(const Rewrite *rw, const CoreStm *stm) {
    const CoreProgram *p = rw->program;
    for (uint32_t i = 0; i < stm->body_count; i++)
        if (fuse_may_fail(rw, stm->bodies[i])) return true;
    switch ((int)stm->op) {
    case OP_MAP:
    case OP_SCAN: return !has_scalar_rows(p, stm, 1);
    case OP_REDUCE: return !has_scalar_rows(p, stm, 0);
    case OP_HIST: // they must be of one shape, and so must rows and bins
        return stm->out_count > 1 ||
               core_type(p, stm->outs[0]).rank != (unsigned)stm->attrs[1];
    case OP_SCATTER: return core_type(p, stm->outs[0]).rank != (unsigned)stm->attrs[0];
    case OP_FILTER: return false;
    }
    return true;
}

// ---- overwriting in place -----------------------------------------------------------

// The array whose memory a view is of; 0 if it may be that of several.
static CoreRef root_of(const Rewrite *rw, CoreRef array) {
    for (;;) {
        const CoreStm *def = rewrite_def(rw, array);
        CoreRef rows = rewrite_rows(rw, array);
        if (rows != 0) {
            array = rows;
            continue;
        }
        if (def == NULL) return array;
        switch ((int)def->op) {
        case OP_INDEX:
        case OP_SLICE:
        case OP_RESHAPE:
        case OP_PERMUTE:
        case OP_REVERSE:
        case OP_SPLIT:
        case OP_GUARD: array = def->args[0]; continue;
        case OP_IF:
        case OP_CONCAT: return 0; // of empty parts, a join may be the one that is not
        }
        return array;
    }
}

// The args that the statement may overwrite: *count_out of them from *first_out on.
static void find_overwritten(const CoreStm *stm, uint32_t *first_out,
                             uint32_t *count_out) {
    *first_out = 0;
    switch ((int)stm->op) {
    case OP_UPDATE:
    case OP_SCATTER:
    case OP_COPY: *count_out = 1; return;
    case OP_HIST: *count_out = stm->out_count; return;
    case OP_FOR:
        *first_out = 1;
        *count_out = stm->out_count;
        return;
    case OP_WHILE:
    case OP_CALL: *count_out = stm->arg_count; return;
    }
    *count_out = 0;
}

// What a producer reads: arrays whose rows it takes, and those that its function uses.
// They are looked for when something overwrites arrays, since bodies may be long.
typedef struct Reads {
    const Rewrite *rw;
    const CoreStm *producer;
    CoreRefs roots;
    bool has_roots;
} Reads;

static void find_roots(Reads *reads) {
    CoreProgram *p = reads->rw->program;
    const CoreStm *producer = reads->producer;
    CoreRefs refs = {0};
    if (reads->has_roots) return;
    reads->has_roots = true;
    core_free(p, producer->bodies[0], p->arena, &refs);
    for (uint32_t i = 0; i < producer->arg_count; i++)
        vec_push(p->arena, &refs, producer->args[i]);
    for (uint32_t i = 0; i < refs.len; i++)
        if (core_type(p, refs.data[i]).rank > 0)
            vec_push(p->arena, &reads->roots, root_of(reads->rw, refs.data[i]));
}

static bool overwrites(Reads *reads, const CoreStm *stm);

static bool body_overwrites(Reads *reads, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (overwrites(reads, body->stms.data[i])) return true;
    return false;
}

// Of what was bound outside them, only the bodies of IF overwrite anything.
static bool overwrites(Reads *reads, const CoreStm *stm) {
    uint32_t first, count;
    find_overwritten(stm, &first, &count);
    for (uint32_t i = first; i < first + count; i++) {
        if (core_type(reads->rw->program, stm->args[i]).rank == 0) continue;
        CoreRef root = root_of(reads->rw, stm->args[i]);
        find_roots(reads);
        for (uint32_t k = 0; k < reads->roots.len; k++)
            if (root == 0 || reads->roots.data[k] == 0 || reads->roots.data[k] == root)
                return true;
    }
    return stm->op == OP_IF && (body_overwrites(reads, stm->bodies[0]) ||
                                body_overwrites(reads, stm->bodies[1]));
}

bool fuse_may_move(const Rewrite *rw, const CoreStm *producer,
                   const CoreStm *consumer) {
    const CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    Reads reads = {.rw = rw, .producer = producer};
    bool is_next = here->stms.data[here->stms.len - 1] == producer;
    bool fails = !is_next && fuse_may_fail(rw, producer->bodies[0]);
    for (uint32_t i = here->stms.len; i-- > 0 && here->stms.data[i] != producer;) {
        const CoreStm *between = here->stms.data[i];
        if (fails && opt_is_effect(rw->program, between)) return false;
        if (overwrites(&reads, between)) return false;
    }
    return !overwrites(&reads, consumer);
}

// ---- weight -------------------------------------------------------------------------

// Compilers multiply instead.
static bool has_constant_divisor(const CoreProgram *p, const CoreStm *stm) {
    ScalarType type = (ScalarType)core_type(p, stm->outs[0]).elem;
    return scalar_is_int(type) && core_is_const(p, stm->args[1]);
}

// Of all turns of a loop, if it is short.
static uint32_t weight_of_loop(const CoreProgram *p, const CoreStm *loop) {
    enum { MOST_TURNS = 32, MOST = 1 << 16 };
    uint32_t turn = fuse_weight(p, loop->bodies[0]);
    uint64_t times = p->values.data[loop->args[0]].bits;
    bool is_short =
        core_is_const(p, loop->args[0]) && times <= MOST_TURNS && turn <= MOST;
    return is_short ? (uint32_t)times * (turn + 1) : UINT32_MAX;
}

uint32_t fuse_weight(const CoreProgram *p, const CoreBody *body) {
    enum { SLOW = 15 };
    uint32_t weight = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        weight++;
        switch ((int)stm->op) {
        case OP_DIV:
        case OP_MOD:
        case OP_QUOT:
        case OP_REM:
            if (!has_constant_divisor(p, stm)) weight += SLOW;
            break;
        case OP_POW:
        case OP_SQRT: weight += SLOW; break;
        case OP_CALL: // a plain one is for what happens rarely
            if (!core_is_plain_call(p, stm)) return UINT32_MAX;
            weight += SLOW;
            break;
        case OP_IF:
            for (uint32_t k = 0; k < 2; k++) {
                uint32_t branch = fuse_weight(p, stm->bodies[k]);
                if (branch == UINT32_MAX) return branch;
                weight += branch;
            }
            break;
        case OP_FOR: {
            uint32_t turns = weight_of_loop(p, stm);
            if (turns == UINT32_MAX) return turns;
            weight += turns;
            break;
        }
        case OP_CHECK:
        case OP_GUARD:
        case OP_DIM:
        case OP_INDEX: break;
        default:
            if (core_op_operands(stm->op) == 0) return UINT32_MAX;
        }
    }
    return weight;
}
