// SPDX-License-Identifier: Apache-2.0
//
// The kernels of a program as code for the devices that it is launched on: written in
// the dialect of each, built by its driver.
#include "api/engine.h"

static void plan(ApiEngine *engine) {
    Arena *arena = &engine->program->arena;
    for (uint32_t i = 0; i < engine->count; i++) {
        EngineKernel *kernel = &engine->kernels[i];
        if (kernel->exec.plan != NULL) continue;
        loop_plan(kernel->loop, arena, &kernel->plan);
        exec_kernel_plan(&kernel->exec, &kernel->plan, arena);
    }
}

void api_launches_write(ApiEngine *engine, const Dialect *dialect, bool for_people,
                        StrBuf *out, StrBuf *tables_out) {
    Arena *arena = &engine->program->arena;
    LoopKernel **loops = arena_array(arena, LoopKernel *, engine->count);
    LoopPlan *plans = arena_array(arena, LoopPlan, engine->count);
    EmitChecks *checks = arena_array(arena, EmitChecks, engine->count);
    plan(engine);
    for (uint32_t i = 0; i < engine->count; i++) {
        loops[i] = engine->kernels[i].loop;
        plans[i] = engine->kernels[i].plan;
    }
    emit_launches(dialect, loops, plans, engine->count, for_people, out, tables_out,
                  checks);
    for (uint32_t i = 0; i < engine->count; i++) {
        engine->kernels[i].launch_checks = checks[i];
        engine->kernels[i].exec.launch_checks = checks[i].data;
    }
}

static WeftStatus build_for(ApiEngine *engine, const ApiPlace *place, void **code_out) {
    WeftContext *context = engine->program->context;
    Device *device = place->device;
    StrBuf text = strbuf(&engine->program->arena),
           tables = strbuf(&engine->program->arena);
    bool is_cuda = device->kind == DEVICE_CUDA;
    api_launches_write(engine, is_cuda ? &emit_cuda : &emit_opencl, false, &text,
                       &tables);
    api_lap(context, is_cuda ? "emit CUDA" : "emit OpenCL", NULL);
    Status status = dev_build(device, strbuf_done(&text), strbuf_done(&tables),
                              &context->cancel, code_out);
    api_lap(context, "build for devices", NULL);
    if (status == STATUS_OK) return WEFT_STATUS_OK;
    return api_fail(context, (WeftStatus)status,
                    "device %s cannot run this program: %s", place->address,
                    device->why);
}

WeftStatus api_launches_build(ApiEngine *engine) {
    WeftContext *context = engine->program->context;
    WeftStatus status = WEFT_STATUS_OK;
    engine->codes = arena_array(&engine->program->arena, void *, context->place_count);
    if (engine->count == 0) return WEFT_STATUS_OK;
    for (uint32_t i = 0; i < context->place_count && status == WEFT_STATUS_OK; i++)
        if (api_is_launched(&context->places[i]))
            status = build_for(engine, &context->places[i], &engine->codes[i]);
    return status;
}

void api_launches_free(ApiEngine *engine) {
    WeftContext *context = engine->program->context;
    for (uint32_t i = 0; i < context->place_count && engine->codes != NULL; i++)
        if (context->places[i].device != NULL)
            dev_unload(context->places[i].device, engine->codes[i]);
    engine->codes = NULL;
}
