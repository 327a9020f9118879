// SPDX-License-Identifier: Apache-2.0
//
// Whether an element of a generate can fail. Of what it does only an index is looked
// into: inside of an array are
//
// - an index of the generate, if the array is as long as the generate in that
// dimension,
// - neighbours as i - 1 and i + 2, where i is known not to be so near that end,
// - the first and the last place, since who asks is in a place of its own,
// - what is clamped to these, and a remainder by the length, if the generate has a
// dimension of that size, which is not 0 where an element is.
//
// An if that compares an index with what is near an end tells its arms where they are.
#include "opt/fuse.h"

typedef struct Safety {
    const Rewrite *defs;
    const FuseState *states;
    const CoreStm *generate;
    uint32_t left; // how many values may still be looked at for an index
} Safety;

enum { MOST_VALUES = 256 };

// How many places are known to be before an index of the generate, and behind it.
typedef struct Facts {
    int64_t before[CORE_MAX_RANK], behind[CORE_MAX_RANK];
} Facts;

typedef FuseForm Form;

typedef enum Side { LOW, HIGH } Side;

static FuseSize find_size(const Safety *s, FuseSize size) {
    return fuse_find_size(s->defs, s->states, size);
}

static bool is_const(const CoreProgram *p, CoreRef ref) {
    return p->values.data[ref].is_const;
}

FuseForm fuse_find_form(const Rewrite *defs, const FuseState *states,
                        const CoreStm *generate, CoreRef ref) {
    const CoreProgram *p = defs->program;
    const CoreBody *body = generate->bodies[0];
    Form form = {.base = 0};
    for (;;) {
        const CoreStm *def = rewrite_def(defs, ref);
        bool is_sum = def != NULL && (def->op == OP_ADD || def->op == OP_SUB);
        if (!is_sum || core_type(p, ref).elem != SCALAR_I64) break;
        uint32_t side = is_const(p, def->args[1]) ? 1 : 0;
        int64_t more = (int64_t)p->values.data[def->args[side]].bits;
        if (!is_const(p, def->args[side]) || (side == 0 && def->op == OP_SUB) ||
            (def->op == OP_ADD ? __builtin_add_overflow(form.base, more, &form.base)
                               : __builtin_sub_overflow(form.base, more, &form.base)))
            break;
        ref = def->args[1 - side];
    }
    for (uint32_t i = 0; i < body->param_count; i++)
        if (body->params[i] == ref) form.index = i + 1;
    bool is_far = form.base < -FUSE_FARTHEST || form.base > FUSE_FARTHEST;
    if (is_far) return (Form){.base = FUSE_FARTHEST};
    if (form.index > 0) return form;
    int64_t value = (int64_t)p->values.data[ref].bits;
    if (!is_const(p, ref) || __builtin_add_overflow(form.base, value, &form.base))
        form.size = fuse_find_size(defs, states, (FuseSize){.value = ref});
    return form;
}

static Form find_form(const Safety *s, CoreRef ref) {
    return fuse_find_form(s->defs, s->states, s->generate, ref);
}

static bool is_plain(const Form *form) {
    return fuse_is_equal(form->size, (FuseSize){0});
}

static FuseSize size_of_space(const Safety *s, uint32_t index) {
    return find_size(s, (FuseSize){.value = s->generate->args[index - 1]});
}

// ---- facts --------------------------------------------------------------------------

// A constant, of which no sum with others wraps around.
static bool is_small(const Form *form) {
    return form->index == 0 && is_plain(form) && form->base > -FUSE_FARTHEST &&
           form->base < FUSE_FARTHEST;
}

// So many places from the end of an index.
static bool is_of_end(const Safety *s, const Form *form, uint32_t index) {
    return form->index == 0 && fuse_is_equal(form->size, size_of_space(s, index));
}

static void raise(int64_t *known, int64_t to) {
    if (*known < to) *known = to;
}

// That x is less than y, or no more than it.
static void learn_less(const Safety *s, CoreRef x, CoreRef y, bool or_equal,
                       Facts *facts) {
    Form a = find_form(s, x), b = find_form(s, y);
    if (a.index > 0 && is_of_end(s, &b, a.index))
        raise(&facts->behind[a.index - 1], a.base - b.base - or_equal);
    if (b.index > 0 && is_small(&a))
        raise(&facts->before[b.index - 1], a.base - b.base + !or_equal);
}

// That x is not y.
static void learn_other(const Safety *s, CoreRef x, CoreRef y, Facts *facts) {
    Form a = find_form(s, x), b = find_form(s, y);
    if (a.index == 0) return;
    int64_t *before = &facts->before[a.index - 1],
            *behind = &facts->behind[a.index - 1];
    if (is_small(&b)) *before += b.base - a.base == *before;
    if (is_of_end(s, &b, a.index)) *behind += a.base - b.base - 1 == *behind;
}

// What a test tells that holds, or does not; of no more comparisons than that.
static void learn(const Safety *s, CoreRef ref, bool holds, uint32_t *most,
                  Facts *facts) {
    const CoreStm *test = rewrite_def(s->defs, ref);
    if (test == NULL || *most == 0) return;
    --*most;
    if (test->op == (holds ? OP_AND : OP_OR)) {
        for (uint32_t i = 0; i < 2; i++) learn(s, test->args[i], holds, most, facts);
        return;
    }
    if (test->op == OP_NOT) learn(s, test->args[0], !holds, most, facts);
    if (test->arg_count != 2 ||
        core_type(s->defs->program, test->args[0]).elem != SCALAR_I64)
        return;
    CoreRef x = test->args[0], y = test->args[1];
    if (test->op == (holds ? OP_NE : OP_EQ)) {
        learn_other(s, x, y, facts);
        learn_other(s, y, x, facts);
    } else if (test->op == OP_LT || test->op == OP_LE) {
        bool or_equal = (test->op == OP_LE) == holds;
        learn_less(s, holds ? x : y, holds ? y : x, or_equal, facts);
    }
}

// What holds in arm `arm` of the branch beside what is known already.
static Facts facts_in(const Safety *s, const CoreStm *branch, uint32_t arm,
                      const Facts *known) {
    Facts facts = *known;
    uint32_t most = 32;
    learn(s, branch->args[0], arm == 0, &most, &facts);
    return facts;
}

// ---- indices ------------------------------------------------------------------------

// Whether it is at least the first index, or at most the last one.
static bool is_near(const Form *form, Side side, const Facts *facts) {
    return side == LOW ? -form->base <= facts->before[form->index - 1]
                       : form->base <= facts->behind[form->index - 1];
}

// Whether some dimension of the generate has that size, so that it is not 0.
static bool is_of_space(const Safety *s, FuseSize size) {
    for (uint32_t i = 1; i <= (uint32_t)s->generate->attrs[0]; i++)
        if (fuse_is_equal(size, size_of_space(s, i))) return true;
    return false;
}

FuseSize fuse_find_modulus(const Rewrite *defs, const FuseState *states,
                           const CoreStm *generate, const CoreStm *stm) {
    Safety s = {.defs = defs, .states = states, .generate = generate};
    FuseSize none = {0};
    if (stm == NULL || stm->op != OP_MOD ||
        core_type(defs->program, stm->outs[0]).elem != SCALAR_I64)
        return none;
    Form by = find_form(&s, stm->args[1]);
    bool is_size = by.base == 0 && !is_plain(&by) && is_of_space(&s, by.size);
    return is_size ? by.size : none;
}

static FuseSize find_modulus(const Safety *s, const CoreStm *stm) {
    return fuse_find_modulus(s->defs, s->states, s->generate, stm);
}

static bool is_form_inside(const Safety *s, CoreRef ref, FuseSize length, Side side,
                           const Facts *facts) {
    Form form = find_form(s, ref);
    if (form.index > 0)
        return fuse_is_equal(size_of_space(s, form.index), length) &&
               is_near(&form, side, facts);
    if (!is_of_space(s, length)) return false;
    if (is_plain(&form)) return form.base == 0;
    return fuse_is_equal(form.size, length) && form.base == -1;
}

// Whether the value is at least 0, or less than the length.
static bool is_inside(Safety *s, CoreRef ref, FuseSize length, Side side,
                      const Facts *facts) {
    const CoreStm *def = rewrite_def(s->defs, ref);
    if (s->left == 0) return false;
    s->left--;
    FuseSize modulus = find_modulus(s, def), none = {0};
    if (!fuse_is_equal(modulus, none)) return fuse_is_equal(modulus, length);
    if (def != NULL && def->op == OP_IF && def->out_count == 1) {
        for (uint32_t arm = 0; arm < 2; arm++) {
            Facts there = facts_in(s, def, arm, facts);
            if (!is_inside(s, def->bodies[arm]->results[0], length, side, &there))
                return false;
        }
        return true;
    }
    if (def == NULL || (def->op != OP_MIN && def->op != OP_MAX))
        return is_form_inside(s, ref, length, side, facts);
    bool x = is_inside(s, def->args[0], length, side, facts);
    bool y = is_inside(s, def->args[1], length, side, facts);
    return (def->op == OP_MAX) == (side == LOW) ? x || y : x && y;
}

static bool is_index_safe(Safety *s, const CoreStm *index, const Facts *facts) {
    s->left = MOST_VALUES;
    for (uint32_t i = 1; i < index->arg_count; i++) {
        FuseSize length = {.array = index->args[0], .axis = (int32_t)i - 1};
        length = find_size(s, length);
        if (!is_inside(s, index->args[i], length, LOW, facts) ||
            !is_inside(s, index->args[i], length, HIGH, facts))
            return false;
    }
    return true;
}

// ---- the whole ----------------------------------------------------------------------

static bool is_effect(const Safety *s, const CoreStm *stm) {
    FuseSize none = {0};
    return opt_is_effect(s->defs->program, stm) &&
           fuse_is_equal(find_modulus(s, stm), none);
}

static bool is_body_safe(Safety *s, const CoreBody *body, const Facts *facts) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (stm->op == OP_IF) {
            for (uint32_t arm = 0; arm < 2; arm++) {
                Facts there = facts_in(s, stm, arm, facts);
                if (!is_body_safe(s, stm->bodies[arm], &there)) return false;
            }
        } else if (stm->op == OP_INDEX) {
            if (!is_index_safe(s, stm, facts)) return false;
        } else if (is_effect(s, stm)) {
            return false;
        }
    }
    return true;
}

bool fuse_is_safe(const Rewrite *defs, const FuseState *states,
                  const CoreStm *generate) {
    Safety s = {.defs = defs, .states = states, .generate = generate};
    return is_body_safe(&s, generate->bodies[0], &(Facts){0});
}
