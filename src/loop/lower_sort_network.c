// SPDX-License-Identifier: Apache-2.0
//
// Few elements, and known how many, by a network of comparisons (K. E. Batcher: Sorting
// networks and their applications, AFIPS 1968): merges of odd and even places. There
// are no branches, so that turns around it are lanes, and what nobody looks at, all but
// the middle for a median, is not computed.
#include "loop/lower_sort.h"

typedef struct Network {
    const Sort *s;
    ScalarType elem, word; // word: an integer in the order of the elements
    LoopRef *at;
} Network;

// Floats as signed numbers: of negative ones all bits but the sign are turned round,
// which is the way back, too.
static LoopRef turn_round(const Network *net, LoopRef bits) {
    LoopBuilder *b = net->s->l->b;
    LoopRef shift[] = {bits, loop_const(b, net->word, net->s->width - 1)};
    LoopRef signs = loop_scalar(b, OP_SHR, net->word, shift, 2);
    LoopRef others = loop_const(b, net->word, UINT64_MAX >> (65 - net->s->width));
    LoopRef mask = loop_scalar(b, OP_AND, net->word, (LoopRef[]){signs, others}, 2);
    return loop_scalar(b, OP_XOR, net->word, (LoopRef[]){bits, mask}, 2);
}

static LoopRef to_word(const Network *net, LoopRef x) {
    LoopBuilder *b = net->s->l->b;
    if (net->word == net->elem) return x;
    LoopRef bits = loop_scalar(b, OP_TO_BITS, net->s->word, &x, 1);
    return turn_round(net, loop_scalar(b, OP_CONV, net->word, &bits, 1));
}

static LoopRef from_word(const Network *net, LoopRef x) {
    LoopBuilder *b = net->s->l->b;
    if (net->word == net->elem) return x;
    LoopRef signed_bits = turn_round(net, x);
    LoopRef bits = loop_scalar(b, OP_CONV, net->s->word, &signed_bits, 1);
    return loop_scalar(b, OP_FROM_BITS, net->elem, &bits, 1);
}

static void compare(const Network *net, uint64_t low, uint64_t high) {
    LoopBuilder *b = net->s->l->b;
    LoopRef both[] = {net->at[low], net->at[high]};
    net->at[low] = loop_scalar(b, OP_MIN, net->word, both, 2);
    net->at[high] = loop_scalar(b, OP_MAX, net->word, both, 2);
}

// Merges runs of `run` elements to those of twice as many: those that are `step` apart
// are compared, if they belong to one run then.
static void merge_step(const Network *net, uint64_t count, uint64_t run,
                       uint64_t step) {
    for (uint64_t from = step % run; from + step < count; from += 2 * step)
        for (uint64_t i = from; i < from + step && i + step < count; i++)
            if (i / (2 * run) == (i + step) / (2 * run)) compare(net, i, i + step);
}

bool sort_by_network(const Sort *s, const Array *from, const Array *to) {
    enum { MOST = 27 }; // a cube of neighbours
    static const ScalarType signed_words[] = {[32] = SCALAR_I32, [64] = SCALAR_I64};
    Lower *l = s->l;
    uint64_t count;
    ScalarType elem = (ScalarType)from->elem;
    if (s->columns > 1 || elem == SCALAR_BOOL || elem == SCALAR_F16 ||
        !loop_is_known(l->b, s->n, &count) || count > MOST)
        return false;
    LoopRef at[MOST];
    ScalarType word = scalar_is_float(elem) ? signed_words[s->width] : elem;
    Network net = {.s = s, .elem = elem, .word = word, .at = at};
    for (uint64_t i = 0; i < count; i++) {
        LoopRef place = loop_int(l->b, (int64_t)i);
        at[i] = to_word(&net, loop_load(l, from, &place));
    }
    for (uint64_t run = 1; run < count; run *= 2)
        for (uint64_t step = run; step > 0; step /= 2)
            merge_step(&net, count, run, step);
    for (uint64_t i = 0; i < count; i++) {
        LoopRef place = loop_int(l->b, (int64_t)i);
        loop_store(l, to, &place, from_word(&net, at[i]));
    }
    return true;
}
