// SPDX-License-Identifier: Apache-2.0
//
// The native engine of a program: its kernels (opt/outline.c) as C, built by the
// system's compiler while the interpreter already runs, and called by it from then on.
//
// States: an engine that may run kernels (WEFT_ENGINE_AUTO) is idle until some work is
// worth it; one that must (WEFT_ENGINE_NATIVE) starts when the program is compiled, and
// entries wait for it.
#ifndef WEFT_API_ENGINE_H
#define WEFT_API_ENGINE_H

#include "abi/kernel.h"
#include "api/api.h"
#include "dev/native.h"
#include "emit/emit.h"
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

typedef struct EngineKernel {
    const CoreFun *fun;
    LoopKernel *loop;
    Kernel *run; // once built
    EmitChecks checks;
    uint64_t *in, *out;
    RtArray **owned; // by param: the array handed over
    RtArray **made;  // by result: memory that the kernel asked for
} EngineKernel;

typedef enum EngineState {
    ENGINE_IDLE,
    ENGINE_BUILDS,
    ENGINE_READY,
    ENGINE_FAILED // `why` says why; for good
} EngineState;

struct ApiEngine {
    WeftProgram *program;
    bool must;
    atomic_int state; // EngineState
    EngineKernel *kernels;
    uint32_t count;
    Map by_fun; // address of a CoreFun -> 1 + kernel
    Str why;
    // The build, in a thread of its own with memory of its own.
    Str source;
    NativeCompiler compiler;
    pthread_t thread;
    bool has_thread;
    Mem mem;
    Arena arena;
    atomic_bool cancel;
    void *library;
};

// Gives a program past its passes an engine, if it is to have one. With
// WEFT_ENGINE_NATIVE what cannot be built is a failure. To be run by api_guard.
WeftStatus api_engine_new(WeftProgram *program);
// Lowers the kernels and starts to build them; the engine leaves the state IDLE. With
// `must`, WEFT_STATUS_USAGE if one cannot be lowered or there is no compiler.
WeftStatus api_engine_start(ApiEngine *engine);
// Waits until the build has ended. WEFT_STATUS_CANCELLED, or IO with the context's
// message, if kernels cannot run.
WeftStatus api_engine_wait(ApiEngine *engine);
// A program's kernels as loops or as C, for people.
void api_engine_print(WeftProgram *program, ApiStage stage, StrBuf *out);

// InterpOptions.run_kernel (kernel.c); data is the engine.
bool api_engine_run(void *data, const InterpOffer *offer, InterpError *error_out);

#endif
