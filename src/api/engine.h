// SPDX-License-Identifier: Apache-2.0
//
// The native engine of a program: its kernels (opt/outline.c) as C, built while the
// interpreter already runs, and called by it once they are there.
#ifndef WEFT_API_ENGINE_H
#define WEFT_API_ENGINE_H

#include "abi/kernel.h"
#include "api/api.h"
#include "rt/pool.h"
#include "rt/private.h"

// The threads of a context, and what kernels see of each.
struct ApiWorkers {
    RtPool *pool;
    RtPrivate root;    // of root code
    RtPrivate *memory; // by worker
    KernelEnv *envs;   // by worker
};

// Made when first asked for; NULL when memory is short.
ApiWorkers *api_workers(WeftContext *context);

// Makes kernels of a program's core and begins to build them. With `must`, what cannot
// be built fails, with the context's message set; else it is interpreted, and *out may
// be NULL. To be run by api_guard.
WeftStatus api_engine_new(WeftProgram *program, bool must, ApiEngine **out);
// Waits until kernels can run: WEFT_STATUS_OK. Else it was cancelled, or the context's
// message says why they cannot.
WeftStatus api_engine_wait(ApiEngine *engine);
// InterpOptions.run_kernel; data is the engine.
bool api_engine_run(void *data, const InterpOffer *offer, InterpError *error_out);
// The C text of the kernels, for people.
void api_engine_print(WeftProgram *program, StrBuf *out);

#endif
