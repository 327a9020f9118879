// SPDX-License-Identifier: Apache-2.0
//
// For tests alone: making the library run out of memory on purpose.
#ifndef WEFT_API_TESTING_H
#define WEFT_API_TESTING_H

#include "weft.h"

// Makes the k-th allocation from now on fail, once; 0 for none.
void weft_testing_fail_allocation(WeftContext *context, uint64_t k);
// How many allocations the context has asked for.
uint64_t weft_testing_allocations(const WeftContext *context);
// Frees the context; returns the bytes that were still held after everything it knows
// of had been given back (0 unless something leaked).
size_t weft_testing_context_free(WeftContext *context);

#endif
