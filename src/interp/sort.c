// SPDX-License-Identifier: Apache-2.0
//
// Sorting: a merge sort of places from the bottom up. What it compares are keys,
// unsigned numbers in the order of the scalars: -0 comes before +0, and NaN, of which
// all are equal, at the end.
#include "interp/run.h"

typedef struct Sort {
    Run *run;
    const Step *step;
    const RtArray *from;
    ScalarType elem;
    size_t bytes;
    int64_t turn;
} Sort;

static const char *element(const Sort *s, int64_t i) {
    return s->from->data + i * s->from->strides[0] * (int64_t)s->bytes;
}

static uint64_t key(const Sort *s, int64_t i) {
    uint64_t bits = interp_load(s->bytes, element(s, i));
    uint64_t sign = (uint64_t)1 << (8 * s->bytes - 1);
    if (scalar_is_int(s->elem)) return scalar_is_signed(s->elem) ? bits ^ sign : bits;
    if (s->elem == SCALAR_BOOL) return bits;
    static const ScalarType words[] = {
        [2] = SCALAR_U16, [4] = SCALAR_U32, [8] = SCALAR_U64};
    core_eval(OP_TO_BITS, s->elem, words[s->bytes], &bits, &bits);
    return (bits & sign) != 0 ? ~bits & (sign | (sign - 1)) : bits | sign;
}

// Places [low, middle) and [middle, high), each in order, as one.
static void merge(Sort *s, const int64_t *from, int64_t *to, int64_t low,
                  int64_t middle, int64_t high) {
    int64_t left = low, right = middle;
    for (int64_t at = low; at < high; at++) {
        interp_turn(s->run, s->step, s->turn++);
        bool takes_left = right == high ||
                          (left < middle && key(s, from[left]) <= key(s, from[right]));
        to[at] = from[takes_left ? left++ : right++];
    }
}

static int64_t least(int64_t x, int64_t y) {
    return x < y ? x : y;
}

// What all merges of n places take.
static int64_t count_turns(int64_t n) {
    int64_t turns = 0;
    for (int64_t width = 1; width < n; width *= 2) turns += n;
    return turns;
}

// Returns which of the two the places end in.
static int64_t *sort_places(Sort *s, int64_t *places, int64_t *other) {
    int64_t n = s->from->shape[0];
    for (int64_t i = 0; i < n; i++) places[i] = i;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t low = 0; low < n; low += 2 * width)
            merge(s, places, other, low, least(low + width, n),
                  least(low + 2 * width, n));
        int64_t *done = other;
        other = places;
        places = done;
    }
    return places;
}

void interp_sort(Run *run, const Step *step) {
    const RtArray *from = interp_array(run, step->args[0]);
    Sort s = {run, step, from, from->elem, scalar_info[from->elem].bytes, 0};
    int64_t n = from->shape[0];
    uint32_t spare = step->spare, sorted = spare;
    RtArray *pair[2];
    for (uint32_t i = 0; i < 2; i++)
        pair[i] = interp_new(run, step, spare + i, SCALAR_I64, 1, &n);
    RtArray *to = interp_new(run, step, step->out, s.elem, 1, &n);
    if (n > 0) {
        int64_t *first = (int64_t *)(void *)pair[0]->data;
        int64_t *second = (int64_t *)(void *)pair[1]->data;
        Loop loop;
        interp_enter(run, &loop, step, count_turns(n));
        int64_t *places = sort_places(&s, first, second);
        interp_leave(run);
        for (int64_t i = 0; i < n; i++)
            memcpy(to->data + (size_t)i * s.bytes, element(&s, places[i]), s.bytes);
        if (places == second) sorted = spare + 1;
    }
    if (step->stm->out_count == 2) interp_give(run, step->out + 1, sorted, 1);
    interp_drop_all(run, spare, 2);
}
