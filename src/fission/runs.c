// SPDX-License-Identifier: Apache-2.0
//
// Which operators in a row are a run, cut together or not at all. Where one takes the
// parts of another both belong to one. So do neighbours, as long as there is about as
// much to do in each: what is cut by the same shares meets in the caches, and more of
// it tells more about shares. But little beside much is a run of its own, for its
// length may be another, and with few elements it takes less time than its parts would
// to meet.
#include "fission/strategy.h"

// Behind the operators that take each other's parts, from the first one on.
static uint32_t find_chain(const FissionOperator *ops, uint32_t first) {
    uint32_t end = first + 1, last = ops[first].last;
    for (; end <= last; end++)
        if (ops[end].last > last) last = ops[end].last;
    return end;
}

static double work_of(const FissionOperator *ops, uint32_t first, uint32_t end) {
    double work = 0;
    for (uint32_t i = first; i < end; i++) work += ops[i].work;
    return work;
}

uint32_t fission_run(const FissionOperator *ops, uint32_t first, uint32_t count) {
    static const double far = 16; // times as much
    uint32_t end = find_chain(ops, first);
    double work = work_of(ops, first, end);
    while (end < count) {
        uint32_t next = find_chain(ops, end);
        double more = work_of(ops, end, next);
        if (more > far * work || work > far * more) break;
        work += more;
        end = next;
    }
    return end;
}
