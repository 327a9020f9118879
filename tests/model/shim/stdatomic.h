// SPDX-License-Identifier: Apache-2.0
//
// Stands in for <stdatomic.h> in the code under the model checker: every operation is a
// point where another thread may go on, and goes through a store buffer (explore.h).
#ifndef WEFT_MODEL_STDATOMIC_H
#define WEFT_MODEL_STDATOMIC_H

#include "explore.h"

typedef _Bool atomic_bool;
typedef int atomic_int;
typedef int64_t atomic_int_least64_t;
typedef unsigned atomic_uint;
typedef uintptr_t atomic_uintptr_t;

#define atomic_init(at, value) ((void)(*(at) = (value)))
#define atomic_load_explicit(at, order)                                                \
    ((__typeof__(*(at)))model_load((at), sizeof *(at), MODEL_HERE))
#define atomic_store_explicit(at, value, order)                                        \
    model_store((at), sizeof *(at), (uint64_t)(value), order, MODEL_HERE)
#define atomic_fetch_add_explicit(at, value, order)                                    \
    ((__typeof__(*(at)))model_add((at), sizeof *(at), (uint64_t)(value), order,        \
                                  MODEL_HERE))
#define atomic_fetch_sub_explicit(at, value, order)                                    \
    atomic_fetch_add_explicit(at, -(int64_t)(value), order)
#define atomic_compare_exchange_strong_explicit(at, expected, value, order, failing)   \
    model_exchange((at), sizeof *(at), (expected), (uint64_t)(value), order, MODEL_HERE)
#define atomic_load(at)         atomic_load_explicit(at, memory_order_seq_cst)
#define atomic_store(at, value) atomic_store_explicit(at, value, memory_order_seq_cst)
#define atomic_fetch_add(at, value)                                                    \
    atomic_fetch_add_explicit(at, value, memory_order_seq_cst)
#define atomic_fetch_sub(at, value)                                                    \
    atomic_fetch_sub_explicit(at, value, memory_order_seq_cst)

#endif
