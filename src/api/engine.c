// SPDX-License-Identifier: Apache-2.0
//
// Engines made and started (engine.h).
#include "api/engine.h"
#include "api/stream.h"

#include <stdlib.h>
#include <string.h>

#include "fission/strategy.h"
#include "loop/lift.h"
#include "loop/passes.h"
#include "opt/opt.h"
#include "opt/passes.h"

// ---- making kernels -----------------------------------------------------------------

// What one device that is launched on lacks, none uses.
static LoopShape shape_for(const WeftContext *context, LoopTargets targets) {
    if (targets != LOOP_FOR_ALL) return LOOP_PARALLEL;
    for (uint32_t i = 0; i < context->place_count; i++) {
        const ApiPlace *place = &context->places[i];
        if (api_is_launched(place) && !place->device->has_atomics_64)
            return LOOP_FOR_GPUS;
    }
    return LOOP_FOR_GPUS_64;
}

// The function as a kernel: parallel if it can be, else in one thread.
static LoopKernel *lower(WeftProgram *program, const CoreFun *fun, LoopTargets targets,
                         Arena *arena, const char **why_out) {
    LoopShape shape = shape_for(program->context, targets);
    LoopKernel *loop = NULL;
    if (fun->kernel == CORE_PARALLEL_KERNEL)
        loop = loop_lower(program->core, fun, shape, arena, why_out);
    if (loop != NULL) return loop;
    shape = shape == LOOP_PARALLEL ? LOOP_SEQUENTIAL : LOOP_SEQUENTIAL_FOR_GPUS;
    return loop_lower(program->core, fun, shape, arena, why_out);
}

static WeftStatus refuse(ApiEngine *engine, const CoreFun *fun, const char *why) {
    if (!engine->must) return WEFT_STATUS_OK;
    WeftProgram *program = engine->program;
    CoreLoc loc = fun->body->stms.data[fun->body->stms.len - 1]->loc;
    Str place = sources_show(&program->cx.sources, &program->context->scratch,
                             program->core->places.data[loc].span);
    return api_fail(program->context, WEFT_STATUS_USAGE,
                    "the native engine cannot run %.*s: %s", STR_ARG(place), why);
}

// A function on its way to a kernel.
typedef struct Making {
    ApiEngine *engine;
    const LoopOptions *options;
    const CoreFun *fun;
    LoopKernel *loop; // NULL: there is none yet
    const char *why;  // there can be none, if it was tried
} Making;

// What lowering and passes leave behind is far more than the kernel.
static void make_loop(void *data, uint32_t item, const ApiRooms *rooms) {
    Making *making = &((Making *)data)[item];
    LoopKernel *loop = lower(making->engine->program, making->fun,
                             making->options->targets, rooms->scratch, &making->why);
    if (loop == NULL) return;
    loop->notes = rooms->notes;
    loop_optimise(loop, making->options);
    making->loop = loop_compact(loop, rooms->kept);
}

// NULL: there can be none.
static LoopKernel *take_loop(WeftProgram *program, Making *making) {
    if (making->loop == NULL) {
        make_loop(making, 0,
                  &(ApiRooms){&program->arena, &program->workspace, &program->notes});
        arena_reset(&program->workspace);
        arena_reset(&program->notes);
    }
    if (making->loop != NULL) making->loop->arena = &program->arena;
    return making->loop;
}

// With the loops for cores and for what is launched on, which may be one.
static WeftStatus add_kernel(ApiEngine *engine, Making *making, Making *launched) {
    WeftProgram *program = engine->program;
    Arena *arena = &program->arena;
    LoopKernel *loop = take_loop(program, making);
    if (loop == NULL) return refuse(engine, making->fun, making->why);
    LoopKernel *launched_loop = take_loop(program, launched);
    if (launched_loop == NULL) return refuse(engine, launched->fun, launched->why);
    EngineKernel *kernel = &engine->kernels[engine->count++];
    kernel->fun = making->fun;
    kernel->loop = loop;
    kernel->launched_loop = launched_loop;
    uint32_t places = program->context->place_count + 1; // and all as one
    kernel->at = arena_array(arena, KernelAt, places);
    for (uint32_t i = 0; i < places; i++)
        kernel->at[i].made = arena_array(arena, size_t, loop->result_count);
    kernel->keeps = arena_array(arena, bool, loop->param_count);
    exec_kernel_init(&kernel->exec, loop, engine->count - 1, arena);
    exec_kernel_init(&kernel->launched_exec, launched_loop, engine->count - 1, arena);
    map_set(&engine->by_fun, (uint64_t)(uintptr_t)making->fun, engine->count);
    return WEFT_STATUS_OK;
}

// The functions that are like others, after these.
static void share_kernels(ApiEngine *engine, const uint32_t *alike) {
    CoreFun *const *funs = engine->program->core->funs.data;
    uint64_t number;
    for (uint32_t i = 0; i < engine->program->core->funs.len; i++)
        if (alike[i] != i &&
            map_get(&engine->by_fun, (uint64_t)(uintptr_t)funs[alike[i]], &number))
            map_set(&engine->by_fun, (uint64_t)(uintptr_t)funs[i], number);
}

// The second options are for what is launched on. Of kernels that do the same one is
// made, which the others are, too.
static WeftStatus make_kernels(ApiEngine *engine, const LoopOptions *options,
                               const LoopOptions *launched) {
    enum { MICROSECONDS = 500 }; // that a loop takes; its statements tell little
    WeftProgram *program = engine->program;
    CoreProgram *core = program->core;
    Arena *scratch = &program->context->scratch;
    uint32_t each = options == launched ? 1 : 2, count = 0;
    Making *makings = arena_array(scratch, Making, each * core->funs.len);
    engine->kernels = arena_array(&program->arena, EngineKernel, core->funs.len);
    map_init(&engine->by_fun, &program->arena);
    core->notes = &program->notes;
    const uint32_t *alike = opt_find_alike(core, scratch);
    core->notes = NULL;
    for (uint32_t i = 0; i < core->funs.len; i++) {
        const CoreFun *fun = core->funs.data[i];
        if (fun->kernel == CORE_NO_KERNEL || alike[i] != i) continue;
        for (uint32_t k = 0; k < each; k++)
            makings[count++] = (Making){
                .engine = engine, .options = k == 0 ? options : launched, .fun = fun};
    }
    api_hands(engine, (uint64_t)count * MICROSECONDS, count, make_loop, makings);
    for (uint32_t i = 0; i < count; i += each) {
        WeftStatus status = add_kernel(engine, &makings[i], &makings[i + each - 1]);
        if (status != WEFT_STATUS_OK) return status;
    }
    share_kernels(engine, alike);
    arena_free(&program->workspace);
    arena_free(&program->notes);
    return WEFT_STATUS_OK;
}

// ---- engines ------------------------------------------------------------------------

WeftStatus api_engine_start(ApiEngine *engine) {
    WeftProgram *program = engine->program;
    bool has_cores = api_has_cores(program->context);
    Str why;
    engine->state = ENGINE_FAILED; // in case memory runs out
    if (has_cores && !native_find(&program->arena, &engine->compiler, &why)) {
        if (engine->must)
            return api_fail(program->context, WEFT_STATUS_USAGE,
                            "the native engine cannot run: %.*s", STR_ARG(why));
        api_warn(program->context, "%.*s: programs are interpreted, which is slower",
                 STR_ARG(why));
        return WEFT_STATUS_OK;
    }
    api_lap(program->context, NULL, program->core);
    LoopOptions here = {LOOP_FOR_HERE, LOOP_PASSES_ALL, NULL, NULL};
    LoopOptions all = {LOOP_FOR_ALL, LOOP_PASSES_ALL, NULL, NULL};
    bool is_launched = api_has_launched(program->context);
    WeftStatus status =
        make_kernels(engine, has_cores ? &here : &all, is_launched ? &all : &here);
    if (status != WEFT_STATUS_OK) return status;
    api_lap(program->context, "loops", NULL);
    api_launches_plan(engine);
    if (has_cores) api_builds_plan(engine);
    engine->state = ENGINE_STARTED;
    if (has_cores && engine->entry != NULL) api_builds_want(engine, engine->entry);
    return WEFT_STATUS_OK;
}

// The group that failed is the first of those: it is why others are not waited for.
static WeftStatus refuse_build(const ApiEngine *engine) {
    for (uint32_t i = 0; i < engine->group_count; i++)
        if (engine->groups[i].state == GROUP_FAILED)
            return api_fail(engine->program->context, WEFT_STATUS_IO,
                            "the native engine cannot run: %.*s",
                            STR_ARG(engine->groups[i].build.why));
    return WEFT_STATUS_OK;
}

WeftStatus api_engine_enter(ApiEngine *engine, const CoreFun *entry) {
    if (engine->entry == entry) return WEFT_STATUS_OK;
    if (!engine->must) engine->entry = entry;
    if (engine->state != ENGINE_STARTED) return WEFT_STATUS_OK;
    if (engine->group_count > 0) api_builds_want(engine, entry);
    if (!engine->must) return WEFT_STATUS_OK;
    if (engine->group_count > 0) api_builds_poll(engine, NULL); // compilers start
    WeftStatus status = api_launches_enter(engine, entry);
    if (status == WEFT_STATUS_OK) status = api_builds_wait(engine, NULL);
    if (status == WEFT_STATUS_OK) status = refuse_build(engine);
    if (status == WEFT_STATUS_OK) engine->entry = entry;
    return status;
}

void api_engine_record(ApiEngine *engine) {
    api_builds_poll(engine, NULL);
}

void api_engine_free(ApiEngine *engine) {
    if (engine == NULL) return;
    api_builds_free(engine);
    api_launches_free(engine);
}

static ApiEngine *make_engine(WeftProgram *program, bool must) {
    ApiEngine *engine = arena_new(&program->arena, ApiEngine);
    engine->program = program;
    engine->must = must;
    return engine;
}

// Whether the engine asked for runs on the devices asked for.
static WeftStatus check_places(WeftContext *context) {
    if (context->options.engine != WEFT_ENGINE_NATIVE) return WEFT_STATUS_OK;
    for (uint32_t i = 0; i < context->place_count; i++)
        if (api_is_launched(&context->places[i]))
            return api_fail(context, WEFT_STATUS_USAGE,
                            "the native engine does not run on device %s; name the "
                            "device alone",
                            context->places[i].address);
    return WEFT_STATUS_OK;
}

static void divide_for_places(WeftProgram *program, double least) {
    const WeftContext *context = program->context;
    uint32_t *weights = arena_array(&program->arena, uint32_t, context->place_count);
    FissionDevices devices = {.weights = weights,
                              .count = context->place_count,
                              .is_shared = true,
                              .block_steps = true};
    for (uint32_t i = 0; i < context->place_count; i++) {
        const ApiPlace *place = &context->places[i];
        weights[i] = api_place_weight(context, place);
        devices.is_shared = devices.is_shared && place->is_shared;
        devices.block_steps = devices.block_steps && !api_is_launched(place);
        if (api_is_launched(place) != api_is_launched(&context->places[0]))
            devices.is_mixed = true;
    }
    fission_for_devices(program->core, &devices, least, &program->decisions);
}

// With several places, what is worth it is split among them; with little memory, all
// that may need it.
static void divide(WeftProgram *program) {
    const WeftContext *context = program->context;
    // A tenth of a millisecond on one core; other values are for tests.
    const char *wanted = getenv("WEFT_SPLIT");
    double least = wanted != NULL ? atof(wanted) : 200000;
    bool is_alone = context->place_count < 2;
    bool is_streamed = api_stream_is_for(context);
    if (!is_alone && wanted != NULL && strcmp(wanted, "none") == 0) return;
    if (is_alone && !is_streamed) return;
    program->core->notes = &program->notes;
    if (is_streamed) api_stream_divide(program, is_alone ? 0 : least);
    else divide_for_places(program, least);
    program->core->notes = NULL;
    arena_free(&program->notes);
    api_lap(program->context, "fission", program->core);
}

// The passes that find what is to be kernels; what they note goes when they end.
static void outline(WeftProgram *program, bool is_deep) {
    program->core->notes = &program->notes;
    if (is_deep) opt_deep(program->core);
    opt_outline(program->core);
    if (program->context->place_count > 1) opt_late(program->core);
    program->core->notes = NULL;
    arena_free(&program->notes);
    api_lap(program->context, "outline", program->core);
}

WeftStatus api_engine_new(WeftProgram *program) {
    WeftContext *context = program->context;
    WeftEngine wanted = context->options.engine;
    if (wanted == WEFT_ENGINE_INTERP && context->devices[0] != '\0')
        return api_fail(context, WEFT_STATUS_USAGE,
                        "the interpreter runs on no device: name an engine or devices");
    if (wanted == WEFT_ENGINE_INTERP) return WEFT_STATUS_OK;
    WeftStatus status = api_places_open(context);
    if (status == WEFT_STATUS_OK) status = check_places(context);
    if (status != WEFT_STATUS_OK) return status;
    if (context->devices[0] != '\0') api_lap(context, "open devices", NULL);
    divide(program);
    // Along long rows by blocks, as caches of cores need it; a device that is launched
    // on by itself has many rows at once instead.
    outline(program, api_has_cores(context));
    bool must = wanted == WEFT_ENGINE_NATIVE || context->devices[0] != '\0';
    program->engine = make_engine(program, must);
    program->engine->shares = api_shares_new(&program->arena, &program->decisions);
    bool has_choice = program->decisions.rows.len > 0 || context->alone != NULL;
    program->engine->chooses = context->place_count > 1 && has_choice &&
                               !program->decisions.is_stream &&
                               getenv("WEFT_SPLIT") == NULL;
    return program->engine->must ? api_engine_start(program->engine) : WEFT_STATUS_OK;
}

void api_engine_print(WeftProgram *program, ApiStage stage, int after, StrBuf *out) {
    bool is_launched = stage == API_STAGE_OPENCL || stage == API_STAGE_CUDA;
    outline(program, !is_launched);
    ApiEngine *engine = make_engine(program, false);
    LoopOptions options = {is_launched ? LOOP_FOR_ALL : LOOP_FOR_HERE, after, NULL,
                           NULL};
    if (stage == API_STAGE_LIFTED && after == API_AFTER_ALL)
        options.stop_after = LOOP_PASS_LIFT - 1;
    make_kernels(engine, &options, &options);
    api_lap(program->context, "loops", NULL);
    StrBuf tables = strbuf(out->arena);
    if (stage == API_STAGE_C)
        api_builds_write(engine, 0, engine->count, true, &program->arena,
                         &program->workspace, out);
    if (stage == API_STAGE_OPENCL)
        api_launches_write(engine, 0, engine->count, &emit_opencl, true, out, &tables);
    if (stage == API_STAGE_CUDA)
        api_launches_write(engine, 0, engine->count, &emit_cuda, true, out, &tables);
    if (stage > API_STAGE_LIFTED) api_lap(program->context, "emit", NULL);
    for (uint32_t i = 0; i < engine->count && stage == API_STAGE_LOOP; i++)
        loop_print(engine->kernels[i].loop, out);
    for (uint32_t i = 0; i < engine->count && stage == API_STAGE_LIFTED; i++)
        lift_show(engine->kernels[i].loop, out);
}
