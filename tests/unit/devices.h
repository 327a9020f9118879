// SPDX-License-Identifier: Apache-2.0
//
// Devices that a machine may lack.
#ifndef WEFT_TESTS_UNIT_DEVICES_H
#define WEFT_TESTS_UNIT_DEVICES_H

#include "api/places.h"
#include "test.h"

// Whether such devices can be had; if not, that is counted as skipped.
static inline bool can_open(const char *devices) {
    WeftOptions options = {.struct_size = sizeof options, .devices = devices};
    WeftContext *context;
    if (weft_context_new(&options, &context) != WEFT_STATUS_OK) abort();
    bool can = api_places_open(context) == WEFT_STATUS_OK;
    weft_context_free(context);
    if (!can) SKIP("there is no %s", devices);
    return can;
}

#endif
